"""Runs one by one: pages of them, single ones, and their cards."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.messages import from_json
from aisbench_core.model import Mode, Origin, RankResult, RunState
from aisbench_core.model.columns import Kind, by_field
from aisbench_core.warehouse.answers.search import at, places, told
from aisbench_core.warehouse.records.rows import aware
from aisbench_core.warehouse.validity.judging import stored_checks
from aisbench_core.warehouse.values import BoardQuery, RunPage, RunRow, Validity

_FIELDS = {field.name: by_field()[field.name].value for field in fields(RunRow)}

_BESIDE = "detail_data"
_SELECT = ", ".join([*(f"{sql} as {name}" for name, sql in _FIELDS.items()), _BESIDE])

_TIMES = tuple(name for name in _FIELDS if by_field()[name].kind is Kind.TIME)


@dataclass(frozen=True, slots=True)
class Asked:
    """A run's spec as it was written, and those of its parameters that decide speed.

    Of an imported run's spec, only what is known; its parameters are None."""

    spec: dict[str, Any]
    speed_parameters: dict[str, object] | None


def page(cur: DuckDBPyConnection, query: BoardQuery) -> RunPage:
    """One page of runs, sorted, with how many there are in all. The cursor sees one moment."""
    found = places(cur, query)
    asked = f"select {_SELECT} from {told('runs', '$runs')} join {told('results', '$results')} using (run_id)"
    cur.execute(asked, at(found.places))
    rows = {row.run_id: row for row in map(_row, cur.fetchall())}
    return RunPage(tuple(rows[place.run_id] for place in found.places), found.total, found.rehearsal)


def by_ids(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> list[RunRow]:
    """The runs that exist of these, in no order."""
    asked = f"select {_SELECT} from {_whole('runs')} join {_whole('results')} using (run_id)"
    cur.execute(asked, {"ids": list(run_ids)})
    return [_row(values) for values in cur.fetchall()]


def _whole(table: str) -> str:
    """The rows of the runs $ids, found by one column first: the place of a row leads to all of them at once, as its id
    does not."""
    found = f"select rowid from {table} where run_id in (select unnest($ids::VARCHAR[]))"
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
    row = dict(zip((*_FIELDS, _BESIDE), values, strict=True))
    row["detail"] = from_json(row["detail"], row.pop(_BESIDE))
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
