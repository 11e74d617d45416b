"""What a report says of runs: the cells of the exports, and what they rest on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any

from duckdb import DuckDBPyConnection

from aisbench_core.model import RankResult
from aisbench_core.warehouse.exporting import csv_file
from aisbench_core.warehouse.exporting.columns import Sheet
from aisbench_core.warehouse.exporting.provenance import build_provenance
from aisbench_core.warehouse.exporting.runs import runs_where
from aisbench_core.warehouse.exporting.series import ruleset_parameters, series_where
from aisbench_core.warehouse.queries.group_statistics import build_statistics_sql, homes_of
from aisbench_core.warehouse.records.runs import rank_results
from aisbench_core.warehouse.validity import series_checks
from aisbench_core.warehouse.validity.evaluation import Evaluator, stored_checks
from aisbench_core.warehouse.values.runs import Check, SeriesEvaluation

Cells = Mapping[str, Any]
"""A row of an export by its columns' names; None is what was not measured."""

_NAMED = "list_contains($run_ids::VARCHAR[], run_id)"
_RUNS = runs_where(_NAMED)
_GROUPS = series_where(_NAMED, "true")
_FAILED_EARLY = f"""
    with numbers as ({build_statistics_sql(_NAMED, "series_id")}), homes as ({homes_of("numbers", "series_id")}),
        named as (select run_id, group_id, series_id from runs where {_NAMED})
    select early.run_id, min(home.run_id)
    from homes join named early using (group_id, series_id)
        join named home on home.group_id = homes.home_id and home.series_id = homes.series_id
    group by all order by all"""


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """One run: its cells, the stated descriptions of system and tester, each check, and each card."""

    cells: Cells
    system: Mapping[str, object]
    tester: Mapping[str, object]
    checks: tuple[Check, ...]
    ranks: tuple[RankResult, ...]


@dataclass(frozen=True, slots=True)
class Reported:
    """Runs in the order of their launch, and the statistics over them: a row per series and row of the leaderboard.

    `series`: the checks of the whole series that runs belong to."""

    runs: tuple[ReportedRun, ...]
    groups: tuple[Cells, ...]
    series: tuple[SeriesEvaluation, ...]
    report_id: str


def fetch_reported(
    cur: DuckDBPyConnection, run_ids: Sequence[str], at: datetime, evaluator: Evaluator, bases: Mapping[str, str]
) -> Reported:
    """Everything that a report says of these runs; those that do not exist are left out. `bases`: by ruleset."""
    filters = {"run_ids": list(run_ids)}
    values = filters | build_provenance(cur, _NAMED, filters, at, bases)
    cells = _fetch_rows(cur, _RUNS, values)
    groups = _fetch_rows(cur, _GROUPS, values | ruleset_parameters(cur, _NAMED, filters, evaluator))
    series = sorted({row["series_id"] for row in cells if row["series_id"]})
    cur.execute(f"select run_id, system, tester, checks from runs join results using (run_id) where {_NAMED}", filters)
    documents = {run_id: texts for run_id, *texts in cur.fetchall()}
    ranks = rank_results(cur, run_ids)
    return Reported(
        tuple(_build_run(row, documents[row["run_id"]], ranks.get(row["run_id"], ()), bases) for row in cells),
        tuple(groups),
        series_checks.of_series(cur, series, evaluator),
        str(values["report_id"]),
    )


def write_tables(
    cur: DuckDBPyConnection,
    run_ids: Sequence[str],
    at: datetime,
    evaluator: Evaluator,
    bases: Mapping[str, str],
    runs: IO[bytes],
    groups: IO[bytes],
    audit_head: str,
) -> dict[str, str]:
    """Write the exports of these runs, and of the statistics over them, as CSV.

    Returns the runs that failed early, each with a run of the row that counts it."""
    filters = {"run_ids": list(run_ids)}
    values = filters | build_provenance(cur, _NAMED, filters, at, bases, audit_head)
    csv_file.write(cur, _RUNS, [values], runs, bom=False)
    values |= ruleset_parameters(cur, _NAMED, filters, evaluator)
    csv_file.write(cur, _GROUPS, [values], groups, bom=False)
    return dict(cur.execute(_FAILED_EARLY, filters).fetchall())


def _fetch_rows(cur: DuckDBPyConnection, sheet: Sheet, values: Mapping[str, object]) -> list[Cells]:
    cur.execute(sheet.select("*"), dict(values))
    return [dict(zip(sheet.names, row, strict=True)) for row in cur.fetchall()]


def _build_run(
    cells: Cells, documents: Sequence[str | None], ranks: tuple[RankResult, ...], bases: Mapping[str, str]
) -> ReportedRun:
    system, tester, checks = documents
    basis = bases.get(cells["ruleset_id"], "")
    if basis == cells["ruleset_basis"]:  # a Message in place of its text, so that it has a translation
        cells = {**cells, "ruleset_basis": basis}
    return ReportedRun(
        cells, json.loads(system or "{}"), json.loads(tester or "{}"), stored_checks(checks or "[]"), ranks
    )
