"""Runs with everything measured of them, one by one, for exports to other stores."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from duckdb import DuckDBPyConnection as Cursor

from aisbench_core.model.columns import COUNTED, TIMES_OF_KEYS
from aisbench_core.warehouse.queries.filters import build_parameters, choose_runs_sql
from aisbench_core.warehouse.values.runs import BoardQuery

# Runs that are in memory at a time.
CHUNK = 200

# For tables: DuckDB skips row groups by their smallest and largest ids.
_OF_TABLE = "run_id in (select unnest(?::VARCHAR[]))"

# For views: a filter is pushed down to each of the joined tables, which a join with `unnest` is not.
_OF_VIEW = "list_contains(?::VARCHAR[], run_id)"


@dataclass(frozen=True, slots=True)
class FullRun:
    """A run: the columns of `v_runs` by name, the times of the tool's phases (UTC, naive), its block as text, its cards
    (server, rank, throughput), servers (server, throughput, accuracy), samples (at, node, name, value) and named
    metrics (name, value)."""

    values: Mapping[str, Any]
    times: Mapping[str, datetime]
    raw: str
    ranks: Sequence[tuple[int, int, float]]
    servers: Sequence[tuple[int, float | None, float | None]]
    samples: Sequence[tuple[datetime, int, str, float]]
    metrics: Sequence[tuple[str, float]]


def iter_full_runs(cur: Cursor, query: BoardQuery) -> Iterator[FullRun]:
    """Every run of the query, not only its page, the oldest first; `cur` is a reader's."""
    chosen = build_parameters(cur, query) | {"include_invalid": query.include_invalid}
    cur.execute(
        f"""select run_id from runs join results using (run_id)
        where {choose_runs_sql(query)} and ($include_invalid or {COUNTED}) order by created_at, run_id""",
        chosen,
    )
    run_ids = [run_id for (run_id,) in cur.fetchall()]
    for start in range(0, len(run_ids), CHUNK):
        yield from _full_runs(cur, run_ids[start : start + CHUNK])


def _full_runs(cur: Cursor, run_ids: Sequence[str]) -> Iterator[FullRun]:
    values = {row["run_id"]: row for row in _iter_rows(cur, f"* from v_runs where {_OF_VIEW}", run_ids)}
    raw = f"run_id, raw, {', '.join(TIMES_OF_KEYS)} from results where {_OF_TABLE}"
    results = {row["run_id"]: row for row in _iter_rows(cur, raw, run_ids)}
    ranks = _group_rows(cur, "server, rank, throughput", "rank_results", run_ids, "throughput is not null")
    servers = _group_rows(cur, "server, throughput, accuracy", "server_results", run_ids)
    samples = _group_rows(cur, "at_utc, node, name, value", "metric_samples", run_ids)
    metrics = _group_rows(cur, "name, value", "run_metrics", run_ids)
    for run_id in run_ids:
        times = {name: at for name in TIMES_OF_KEYS if (at := results[run_id][name])}
        rows = (ranks[run_id], servers[run_id], samples[run_id], metrics[run_id])
        yield FullRun(values[run_id], times, results[run_id]["raw"] or "", *rows)


def _iter_rows(cur: Cursor, selection: str, run_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    cur.execute(f"select {selection}", [list(run_ids)])
    names = [column[0] for column in cur.description or ()]
    return (dict(zip(names, row, strict=True)) for row in cur.fetchall())


def _group_rows(
    cur: Cursor, columns: str, table: str, run_ids: Sequence[str], condition: str = "true"
) -> defaultdict[str, list[tuple[Any, ...]]]:
    query = f"select run_id, {columns} from {table} where {_OF_TABLE} and {condition} order by all"
    cur.execute(query, [list(run_ids)])
    rows: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for run_id, *row in cur.fetchall():
        rows[run_id].append(tuple(row))
    return rows
