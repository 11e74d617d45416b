"""What a report says of runs: the cells of the exports, and what they rest on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.model import RankResult
from aisbench_core.warehouse.exporting.bases import basis_parameters
from aisbench_core.warehouse.exporting.columns import Sheet
from aisbench_core.warehouse.exporting.numbering import report_id
from aisbench_core.warehouse.exporting.runs import runs_where
from aisbench_core.warehouse.exporting.series import asked_by, series_where
from aisbench_core.warehouse.records.runs import rank_results
from aisbench_core.warehouse.validity import series_checks
from aisbench_core.warehouse.validity.judging import Judge, stored_checks
from aisbench_core.warehouse.validity.series_verdict import SeriesVerdict
from aisbench_core.warehouse.values import Check

Cells = Mapping[str, Any]
"""A row of an export by its columns' names; None is what was not measured."""

_NAMED = "list_contains($run_ids::VARCHAR[], run_id)"
_RUNS = runs_where(_NAMED)
_GROUPS = series_where(_NAMED, "true")


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """One run: its cells, what is stated of system and test, each check, and each card."""

    cells: Cells
    system: Mapping[str, object]
    tester: Mapping[str, object]
    checks: tuple[Check, ...]
    ranks: tuple[RankResult, ...]


@dataclass(frozen=True, slots=True)
class Reported:
    """Runs in the order of their launch, and the statistics over them: a row per series and row of the leaderboard.

    `series`: what the rules about series say of the whole series that runs belong to."""

    runs: tuple[ReportedRun, ...]
    groups: tuple[Cells, ...]
    series: tuple[SeriesVerdict, ...]
    report_id: str


def reported(
    cur: DuckDBPyConnection, run_ids: Sequence[str], at: datetime, judge: Judge, bases: Mapping[str, str]
) -> Reported:
    """Everything that a report says of these runs; unknown ones are left out. `bases`: of rulesets, by their ids."""
    number = report_id(cur, _NAMED, {"run_ids": list(run_ids)})
    asked: dict[str, object] = {"run_ids": list(run_ids), "exported_at": at.replace(tzinfo=None), "report_id": number}
    asked |= basis_parameters(bases)
    cells = [_with_message(row, bases) for row in _rows(cur, _RUNS, asked)]
    groups = _rows(cur, _GROUPS, asked | asked_by(cur, _NAMED, {"run_ids": list(run_ids)}, judge))
    series = sorted({row["series_id"] for row in cells if row["series_id"]})
    cur.execute(f"select run_id, system, tester, checks from runs join results using (run_id) where {_NAMED}",
                {"run_ids": list(run_ids)})  # fmt: skip
    besides = {run_id: rest for run_id, *rest in cur.fetchall()}
    ranks = rank_results(cur, run_ids)
    return Reported(
        tuple(_run(row, besides[row["run_id"]], ranks.get(row["run_id"], ())) for row in cells),
        tuple(groups),
        series_checks.of_series(cur, series, judge),
        number,
    )


def _rows(cur: DuckDBPyConnection, sheet: Sheet, asked: Mapping[str, object]) -> list[Cells]:
    cur.execute(sheet.select("*"), dict(asked))
    return [dict(zip(sheet.names, row, strict=True)) for row in cur.fetchall()]


def _with_message(cells: Cells, bases: Mapping[str, str]) -> Cells:
    """With the ruleset's basis as it is said, in the place of the text that was exported."""
    basis = bases.get(cells["ruleset_id"], "")
    return {**cells, "ruleset_basis": basis} if basis == cells["ruleset_basis"] else cells


def _run(cells: Cells, besides: Sequence[str | None], ranks: tuple[RankResult, ...]) -> ReportedRun:
    system, tester, checks = besides
    return ReportedRun(
        cells, json.loads(system or "{}"), json.loads(tester or "{}"), stored_checks(checks or "[]"), ranks
    )
