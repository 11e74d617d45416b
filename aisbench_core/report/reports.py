"""Reports on runs: which runs, what of them, and the page."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from aisbench_core.errors import Problem, RunNotFound, SpecError
from aisbench_core.messages import Message
from aisbench_core.model import Clock, canonical_json
from aisbench_core.report.page import Report, page
from aisbench_core.report.words import MOST_RUNS, ReportLanguage
from aisbench_core.warehouse import BoardQuery, Check, Warehouse
from aisbench_core.warehouse.exporting.reported import Reported


class Reports:
    """What is known about runs, as a page to print. Threads may share it."""

    def __init__(self, warehouse: Warehouse, clock: Clock) -> None:
        self._warehouse = warehouse
        self._clock = clock

    def chosen(self, query: BoardQuery) -> list[str]:
        """The runs of a query. Raises SpecError when there are none, or too many for a report."""
        found = self._warehouse.search(replace(query, sort="created_at", descending=False, limit=MOST_RUNS, offset=0))
        if not found.rows:
            raise SpecError(Message("report"), [Problem("runs", Message("no run fits the filter"), query.region)])
        if found.total > MOST_RUNS:
            problem = Problem(
                "runs",
                Message("a report is about {most_runs} runs at most: choose fewer", most_runs=MOST_RUNS),
                str(found.total),
            )
            raise SpecError(Message("report"), [problem])
        return [row.run_id for row in found.rows]

    def write(self, run_ids: Sequence[str], language: ReportLanguage, ruleset_id: str = "") -> str:
        """The report as HTML; `ruleset_id`: whose verdicts count, those that are stored by default.

        Raises RunNotFound, and SpecError on too many runs or on runs of several kinds."""
        asked = list(dict.fromkeys(run_ids))
        if not 1 <= len(asked) <= MOST_RUNS:
            raise SpecError(
                Message("report"),
                [Problem("runs", Message("must be 1 to {most_runs}", most_runs=MOST_RUNS), str(len(asked)))],
            )
        now = self._clock()
        found = self._warehouse.reported(asked, now.astimezone(UTC), ruleset_id)
        unknown = {*asked} - {run.cells["run_id"] for run in found.runs}
        if unknown:
            raise RunNotFound(
                Message("no such run: {unknown}", unknown=", ".join(sorted(unknown))),
                Message("aisbench runs lists those that there are"),
            )
        kinds = {(run.cells["region"], run.cells["rehearsal"]) for run in found.runs}
        if len(kinds) > 1:
            listed = ", ".join(sorted(f"{region}{' (rehearsals)' if is_one else ''}" for region, is_one in kinds))
            problem = Problem("runs", Message("must be of one region, and either measurements or rehearsals"), listed)
            raise SpecError(Message("report"), [problem])
        return page(Report(found, _sha256(found), now, language))


def _sha256(found: Reported) -> str:
    """Over everything that the report shows, but for the moment of writing."""
    told: dict[str, Any] = {
        "runs": [
            {
                "cells": _told(run.cells),
                "system": run.system,
                "tester": run.tester,
                "checks": _checks(run.checks),
                "ranks": [[rank.server, rank.rank, rank.throughput] for rank in run.ranks],
            }
            for run in found.runs
        ],
        "groups": [_told(group) for group in found.groups],
        "series": [
            [each.series_id, each.node_count, each.framework_version, each.image, each.run_ids, _checks(each.checks)]
            for each in found.series
        ],
    }
    return hashlib.sha256(canonical_json(told).encode()).hexdigest()


def _checks(checks: Sequence[Check]) -> list[list[str]]:
    return [[check.id, check.level, check.expected, check.found, check.evidence] for check in checks]


def _told(cells: Any) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in cells.items()
        if name != "exported_at_utc"
    }
