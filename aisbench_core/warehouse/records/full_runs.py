"""Runs with everything that is measured of them, one by one, for those who write them down elsewhere."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aisbench_core.model.columns import COUNTED, TIMES_OF_KEYS
from aisbench_core.warehouse.answers.filters import CHOSEN, parameters
from aisbench_core.warehouse.open.answer_files import Cursor
from aisbench_core.warehouse.values import BoardQuery

CHUNK = 200
"""Runs that are held together."""

_NAMED = "run_id in (select unnest(?::VARCHAR[]))"
"""Rows of a table of these runs: the engine passes over most others."""

_VIEWED = "list_contains(?::VARCHAR[], run_id)"
"""Rows of a view that joins tables: this reaches each of them."""


@dataclass(frozen=True, slots=True)
class ToldRun:
    """A run: the columns of `v_runs` by name, the times of the tool's phases (UTC, naive) and its block as text, and
    what each card (server, rank, throughput), server (server, throughput, accuracy) and sample (at, node, name, value)
    told."""

    values: Mapping[str, Any]
    times: Mapping[str, datetime]
    raw: str
    ranks: Sequence[tuple[int, int, float]]
    servers: Sequence[tuple[int, float | None, float | None]]
    samples: Sequence[tuple[datetime, int, str, float]]


def told_runs(cur: Cursor, query: BoardQuery) -> Iterator[ToldRun]:
    """Every run of the query, not only its page, the oldest first; `cur` is a reader's."""
    chosen = parameters(cur, query) | {"include_invalid": query.include_invalid}
    cur.execute(
        f"""select run_id from runs join results using (run_id)
        where {CHOSEN} and ($include_invalid or {COUNTED}) order by created_at, run_id""",
        chosen,
    )
    run_ids = [run_id for (run_id,) in cur.fetchall()]
    for start in range(0, len(run_ids), CHUNK):
        yield from _told(cur, run_ids[start : start + CHUNK])


def _told(cur: Cursor, run_ids: Sequence[str]) -> Iterator[ToldRun]:
    values = {row["run_id"]: row for row in _rows(cur, f"* from v_runs where {_VIEWED}", run_ids)}
    raw = f"run_id, raw, {', '.join(TIMES_OF_KEYS)} from results where {_NAMED}"
    results = {row["run_id"]: row for row in _rows(cur, raw, run_ids)}
    ranks = _grouped(cur, "server, rank, throughput", "rank_results", run_ids, "throughput is not null")
    servers = _grouped(cur, "server, throughput, accuracy", "server_results", run_ids)
    samples = _grouped(cur, "at_utc, node, name, value", "metric_samples", run_ids)
    for run_id in run_ids:
        times = {name: at for name in TIMES_OF_KEYS if (at := results[run_id][name])}
        yield ToldRun(
            values[run_id], times, results[run_id]["raw"] or "", ranks[run_id], servers[run_id], samples[run_id]
        )


def _rows(cur: Cursor, what: str, run_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    cur.execute(f"select {what}", [list(run_ids)])
    names = [column[0] for column in cur.description or ()]
    return (dict(zip(names, row, strict=True)) for row in cur.fetchall())


def _grouped(
    cur: Cursor, columns: str, table: str, run_ids: Sequence[str], condition: str = "true"
) -> defaultdict[str, list[tuple[Any, ...]]]:
    asked = f"select run_id, {columns} from {table} where {_NAMED} and {condition} order by all"
    cur.execute(asked, [list(run_ids)])
    found: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for run_id, *row in cur.fetchall():
        found[run_id].append(tuple(row))
    return found
