"""Runs one by one: pages of them, single ones, and their cards."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.model import Mode, Origin, RankResult, RunState
from aisbench_core.warehouse.filters import CHOSEN, WORTH, Parameters, order, parameters, standings_of, worth
from aisbench_core.warehouse.judging import stored_checks
from aisbench_core.warehouse.rows import aware
from aisbench_core.warehouse.sorts import RUN_SORTS
from aisbench_core.warehouse.values import BoardQuery, RunPage, RunRow, Validity

_FIELDS = {field.name: field.name for field in fields(RunRow)} | {
    "throughput": "throughput_cluster",
    "per_node": "throughput_per_node",
    "per_card": "throughput_per_card",
    "throughput_reported": "throughput_ratio",
    "accuracy": "accuracy_measured",
    "accuracy_reported": "results.accuracy",
    "division": "case when rehearsal then 'rehearsal' else coalesce(system->>'$.division', '') end",
    "reproduces": "coalesce(launch->>'$.reproduces', '')",
    "manifest_sha256": "coalesce(launch->>'$.manifest_sha256', '')",
}

_SELECT = ", ".join(f"{sql} as {name}" for name, sql in _FIELDS.items())
_SORTED = ", ".join(f"{_FIELDS[name]} as {name}" for name in dict.fromkeys(("run_id", "created_at", *RUN_SORTS)))
"""Only what sorting needs: the page's rows are read whole afterwards, the other thousands are not."""

_CHOSEN = f"runs join results using (run_id) where {CHOSEN} and {WORTH}"
_SINCE = "($since::TIMESTAMP is null or created_at >= $since::TIMESTAMP)"

DAYS = (1, 8, 64, 512)
"""How far back one looks for the newest runs, before one looks at all of them."""

_TIMES = ("created_at", "submitted_at", "started_at", "ended_at", "imported_at")


@dataclass(frozen=True, slots=True)
class Asked:
    """A run's spec as it was written, and those of its parameters that decide speed.

    Of an imported run's spec, only what is known; its parameters are None."""

    spec: dict[str, Any]
    speed_parameters: dict[str, object] | None


def page(cur: DuckDBPyConnection, query: BoardQuery) -> RunPage:
    """One page of runs, sorted, with how many there are in all."""
    chosen = parameters(cur, query)
    condition = chosen | worth(query)
    sorted_by = f"{order(query, RUN_SORTS)}, created_at desc, run_id"
    found = cur.execute(
        f"select {_SORTED} from {_CHOSEN} and {_SINCE} order by {sorted_by} limit $limit offset $offset",  # noqa: S608
        condition | {"since": _since(cur, query, condition), "limit": query.limit, "offset": query.offset},
    ).fetchall()
    rows = {row.run_id: row for row in by_ids(cur, [run_id for run_id, *_ in found])}
    listed = tuple(rows[run_id] for run_id, *_ in found if run_id in rows)  # one may just have been removed
    return RunPage(listed, _total(cur, query, chosen), rehearsal=bool(chosen["rehearsal"]))


def _since(cur: DuckDBPyConnection, query: BoardQuery, condition: Parameters) -> datetime | None:
    """For the newest runs, from when on enough of them are: older ones need not be looked at. None: look at all."""
    if query.sort != "created_at" or not query.descending:
        return None
    [(newest,)] = cur.execute("select max(created_at) from runs").fetchall()
    for days in DAYS if newest else ():
        since: datetime = newest - timedelta(days=days)
        asked = f"select count(*) from {_CHOSEN} and {_SINCE}"  # noqa: S608 (our own words)
        [(count,)] = cur.execute(asked, condition | {"since": since}).fetchall()
        if count >= query.limit + query.offset:
            return since
    return None


def count(cur: DuckDBPyConnection, query: BoardQuery) -> int:
    """How many runs a page's query chooses in all."""
    return _total(cur, query, parameters(cur, query))


def _total(cur: DuckDBPyConnection, query: BoardQuery, chosen: Parameters) -> int:
    count = query.validity or ("recorded" if query.include_invalid else "valid")
    asked = f"select coalesce(sum({count}), 0)::BIGINT from {standings_of(cur, query)}"  # noqa: S608 (our own words)
    return int(cur.execute(asked, chosen).fetchall()[0][0])


def by_ids(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> list[RunRow]:
    """The runs that exist of these, in no order."""
    asked = f"select {_SELECT} from {_whole('runs')} join {_whole('results')} using (run_id)"  # noqa: S608 (our own words)
    cur.execute(asked, {"ids": list(run_ids)})
    return [_row(values) for values in cur.fetchall()]


def _whole(table: str) -> str:
    """The rows of the runs $ids. They are found by one column first: all columns of a row cost as much as a thousand
    rows of one, and the place of a row leads to them, as its id does not."""
    found = f"select rowid from {table} where run_id in (select unnest($ids::VARCHAR[]))"  # noqa: S608 (our own words)
    return f"(from {table} where rowid in ({found})) as {table}"


def known(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> frozenset[str]:
    """Those of the runs that are stored."""
    cur.execute("select run_id from runs where run_id in (select unnest(?::VARCHAR[]))", [list(run_ids)])
    return frozenset(run_id for (run_id,) in cur.fetchall())


def starting_with(cur: DuckDBPyConnection, starts: Sequence[str]) -> frozenset[str]:
    """The ids of stored runs that begin with one of these texts, which are equally long."""
    cur.execute(
        "select run_id from runs where left(run_id, ?) in (select unnest(?::VARCHAR[]))",
        [max(map(len, starts), default=0), list(starts)],
    )
    return frozenset(run_id for (run_id,) in cur.fetchall())


def of_jobs(cur: DuckDBPyConnection, job_ids: Sequence[str]) -> dict[str, str]:
    """The launched run of each job, by the job's id; jobs without one are left out."""
    cur.execute(
        """select job_id, run_id from runs
        where origin = 'launched' and job_id <> '' and job_id in (select unnest(?::VARCHAR[]))""",
        [list(job_ids)],
    )
    return dict(cur.fetchall())


def asked_for(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, Asked]:
    """What each run was asked to do, by run_id."""
    cur.execute(
        "select run_id, spec, speed_parameters from runs where run_id in (select unnest(?::VARCHAR[]))", [list(run_ids)]
    )
    return {run_id: Asked(json.loads(spec), json.loads(speed)) for run_id, spec, speed in cur.fetchall()}


def rank_results(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, tuple[RankResult, ...]]:
    """The cards of each run that hold a number, by server and rank."""
    cur.execute(
        """select run_id, server, rank, throughput from rank_results
        where run_id in (select unnest(?::VARCHAR[])) and throughput is not null order by server, rank""",
        [list(run_ids)],
    )
    found: dict[str, list[RankResult]] = defaultdict(list)
    for run_id, *card in cur.fetchall():
        found[run_id].append(RankResult(*card))
    return {run_id: tuple(cards) for run_id, cards in found.items()}


def _row(values: tuple[Any, ...]) -> RunRow:
    row = dict(zip(_FIELDS, values, strict=True))
    return RunRow(
        **{
            **row,
            **{name: aware(row[name]) for name in _TIMES if row[name]},
            "mode": Mode(row["mode"]),
            "state": RunState(row["state"]),
            "origin": Origin(row["origin"]),
            "validity": Validity(row["validity"]),
            "tags": tuple(json.loads(row["tags"])),
            "not_measured": tuple(json.loads(row["not_measured"])),
            "checks": stored_checks(row["checks"]),
        }
    )
