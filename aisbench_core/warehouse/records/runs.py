"""Runs one by one: pages of them, single ones, and their cards."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.base.messages.stored import from_json
from aisbench_core.model import Mode, Origin, Passport, RankResult, RunState, StopCause, passport_of
from aisbench_core.model.columns import Kind, by_field
from aisbench_core.warehouse.queries.search import rows_at, search_runs
from aisbench_core.warehouse.tables.times import to_aware
from aisbench_core.warehouse.validity.evaluation import stored_checks
from aisbench_core.warehouse.values.runs import BoardQuery, RunPage, RunRow, Validity

_FIELDS = {field.name: by_field()[field.name].value for field in fields(RunRow)}

_DETAIL_DATA = "detail_data"
_SELECT = ", ".join([*(f"{sql} as {name}" for name, sql in _FIELDS.items()), _DETAIL_DATA])

_TIMES = tuple(name for name in _FIELDS if by_field()[name].kind is Kind.TIME)


@dataclass(frozen=True, slots=True)
class StoredSpec:
    """A run's spec as it was written, and those of its parameters that decide speed.

    Of an imported run's spec, only the known fields; its parameters are None. `passport`: None if nothing was
    captured on its nodes."""

    spec: dict[str, Any]
    speed_parameters: dict[str, object] | None
    passport: Passport | None = None


def fetch_page(cur: DuckDBPyConnection, query: BoardQuery) -> RunPage:
    """One page of runs, sorted, with how many there are in all. The cursor must be one of `moment`.

    Raises SpecError if the sort is not in RUN_SORTS."""
    ids = search_runs(cur, query)
    statement = f"select {_SELECT} from {rows_at('runs', '$runs')} join {rows_at('results', '$results')} using (run_id)"
    cur.execute(statement, {"runs": [run.run for run in ids.runs], "results": [run.result for run in ids.runs]})
    rows = {row.run_id: row for row in map(_to_row, cur.fetchall())}
    return RunPage(tuple(rows[run.run_id] for run in ids.runs), ids.total, ids.rehearsal)


def by_ids(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> list[RunRow]:
    """Those of the runs that are stored, in no order."""
    sql = f"select {_SELECT} from {_by_rowid('runs')} join {_by_rowid('results')} using (run_id)"
    cur.execute(sql, {"ids": list(run_ids)})
    return list(map(_to_row, cur.fetchall()))


def find_row(cur: DuckDBPyConnection, run_id: str) -> RunRow | None:
    """One run; None if it was not recorded."""
    return next(iter(by_ids(cur, [run_id])), None)


def find_rows(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> Mapping[str, RunRow]:
    """Those of the runs that were recorded, by id."""
    return {row.run_id: row for row in by_ids(cur, run_ids)}


def _by_rowid(table: str) -> str:
    # DuckDB scans every selected column for an id, but jumps to a rowid: so scan the one column of ids first.
    rowids = f"select rowid from {table} where run_id in (select unnest($ids::VARCHAR[]))"
    return f"(from {table} where rowid in ({rowids})) as {table}"


def filter_recorded(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> frozenset[str]:
    """Those of the runs that are stored."""
    cur.execute("select run_id from runs where run_id in (select unnest(?::VARCHAR[]))", [list(run_ids)])
    return frozenset(run_id for (run_id,) in cur.fetchall())


def starting_with(cur: DuckDBPyConnection, starts: Sequence[str]) -> frozenset[str]:
    """The ids of stored runs that have one of these prefixes, which are equally long."""
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


def specs_of(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, StoredSpec]:
    """The specs of those of the runs that are stored, by run_id."""
    cur.execute(
        "select run_id, spec, speed_parameters, passport from runs where run_id in (select unnest(?::VARCHAR[]))",
        [list(run_ids)],
    )
    return {
        run_id: StoredSpec(json.loads(spec), json.loads(speed), passport_of(passport))
        for run_id, spec, speed, passport in cur.fetchall()
    }


def find_spec(cur: DuckDBPyConnection, run_id: str) -> StoredSpec | None:
    """A run's spec, of an imported run only the known fields; None if it was not recorded."""
    return specs_of(cur, [run_id]).get(run_id)


def rank_results(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, tuple[RankResult, ...]]:
    """The cards of each run that hold a number, by server and rank."""
    cur.execute(
        """select run_id, server, rank, throughput from rank_results
        where run_id in (select unnest(?::VARCHAR[])) and throughput is not null order by server, rank""",
        [list(run_ids)],
    )
    results: dict[str, list[RankResult]] = defaultdict(list)
    for run_id, *card in cur.fetchall():
        results[run_id].append(RankResult(*card))
    return {run_id: tuple(cards) for run_id, cards in results.items()}


def _to_row(values: tuple[Any, ...]) -> RunRow:
    row = dict(zip((*_FIELDS, _DETAIL_DATA), values, strict=True))
    row["detail"] = from_json(row["detail"], row.pop(_DETAIL_DATA))
    return RunRow(
        **{
            **row,
            **{name: to_aware(row[name]) for name in _TIMES if row[name]},
            "mode": Mode(row["mode"]),
            "state": RunState(row["state"]),
            "origin": Origin(row["origin"]),
            "validity": Validity(row["validity"]),
            "tags": tuple(json.loads(row["tags"])),
            "not_measured": tuple(json.loads(row["not_measured"])),
            "checks": stored_checks(row["checks"]),
            "stop_cause": StopCause.from_json(row["stop_cause"]) if row["stop_cause"] else None,
        }
    )
