"""What a person can do with series: plan, launch, look, stop, run again, and give more budget."""

import secrets
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from aisbench_core.authoring.workloads import Workloads
from aisbench_core.errors import Problem, SeriesNotFound, SpecError
from aisbench_core.job_secrets import JobSecrets
from aisbench_core.messages import Message, joined
from aisbench_core.model import Attempt, Clock, Event, Finding, Level, Run, RunRecord, RunSpec, Series, SeriesPlan
from aisbench_core.regions import Regions
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.ledger_series import SeriesLedger
from aisbench_core.running.series_files import SeriesFiles
from aisbench_core.series import planning
from aisbench_core.series.admitting import Admitting
from aisbench_core.series.comparing import SeriesComparison, compared
from aisbench_core.series.elsewhere import standing_of
from aisbench_core.series.matrix import Matrix, matrix_of
from aisbench_core.series.standing import Standing
from aisbench_core.warehouse import Warehouse

ID_LETTERS = 6
LETTERS = string.ascii_lowercase + string.digits

StopRun = Callable[[str, str], Run]
"""Stops the run with this id for this person."""


class SeriesDesk:
    """Every series of this console. Threads may share it. Every method about one raises SeriesNotFound."""

    def __init__(
        self,
        ledger: Ledger,
        files: SeriesFiles,
        warehouse: Warehouse,
        workloads: Workloads,
        regions: Regions,
        secrets_of_jobs: JobSecrets,
        preflight_online: Callable[[RunSpec, str], Sequence[Finding]],
        launch_cell: Callable[[SeriesLedger, Series, Attempt], Run],
        stop_run: StopRun,
        clock: Clock,
    ) -> None:
        self._ledger = SeriesLedger(ledger)
        self._files = files
        self._warehouse = warehouse
        self._workloads = workloads
        self._regions = regions
        self._secrets = secrets_of_jobs
        self._preflight_online = preflight_online
        self._launch_cell = launch_cell
        self._stop_run = stop_run
        self._clock = clock

    def plan(self, spec: RunSpec, answers: Mapping[str, Any], profile: str = "") -> planning.SeriesDraft:
        """What a person's answers mean, with findings and estimate; nothing is stored.

        `answers` are the fields of SeriesPlan but the spec; None is not answered. Raises SpecError, ConfigError."""
        return self._drafted(planning.plan_of(spec, answers), profile)

    def online(self, draft: planning.SeriesDraft, profile: str = "") -> tuple[planning.RowFinding, ...]:
        """What the region says against the rows with the most nodes, which ask for the most, in each version and image.

        Raises CloudError when it cannot be asked."""
        most = max(draft.plan.node_counts)
        rows = [row for row in draft.rows if row.node_count == most]
        return planning.checked(rows, lambda spec: self._preflight_online(spec, profile))

    def launch(self, plan: SeriesPlan, profile: str, who: str, token: str = "") -> Series:
        """Write down a series; the follower launches its cells. The same token is launched once.

        Raises SpecError with every error of every cell."""
        draft = self._drafted(plan, profile)
        if draft.errors:
            raise SpecError(Message("this series cannot be launched"), [_problem(found) for found in draft.errors])
        now = self._clock()
        series_id = f"s{now:%Y%m%d-%H%M%S}-{''.join(secrets.choice(LETTERS) for _ in range(ID_LETTERS))}"
        place = self._regions.profile(profile).name
        series = Series(series_id, plan, draft.rows, place, now, who, plan.budget)
        attempts = planning.first_attempts(series_id, plan, draft.rows, who, now)
        message = Message(
            "launched: {cells} cells, about {node_hours:.4g} node hours",
            cells=len(attempts),
            node_hours=draft.estimate.node_hours,
        )
        launched = self._ledger.add(series, attempts, self._event(series_id, message, who), token)
        self._files.keep(launched)
        return launched

    def record(self, run_record: RunRecord) -> None:
        """Store a run's record; with the first one of a series its plan, for everybody who shares the warehouse."""
        if run_record.run.series_id:
            self._warehouse.series.keep([self._ledger.get(run_record.run.series_id)])
        self._warehouse.record(run_record)

    def get(self, series_id: str) -> Series:
        """One series of this console, by its id or by a beginning of it that no other shares."""
        return self._ledger.get(series_id)

    def look(self, series_id: str) -> Matrix:
        """The series as it stands, as far as it was recorded when another console launched it.

        Raises WarehouseError when the results cannot be read."""
        try:
            return self._matrices([self.get(series_id)])[0]
        except SeriesNotFound:
            found = self._warehouse.series.starting_with(series_id) if series_id else []
            if not found or (len(found) > 1 and found[0].series_id != series_id):
                raise
        return self._recorded(found[:1])[0]

    def page(self, limit: int = 20, offset: int = 0) -> list[Matrix]:
        """Series as they stand, newest first, those of other consoles among them."""
        known = sorted(self._listed().items(), key=lambda each: (each[1], each[0]), reverse=True)
        chosen = [series_id for series_id, _ in known[offset : offset + limit]]
        here = self._ledger.of(chosen)
        missing = {*chosen} - {series.series_id for series in here}
        elsewhere = self._warehouse.series.of(sorted(missing))
        matrices = [*self._matrices(here), *self._recorded(elsewhere)]
        return sorted(matrices, key=lambda each: chosen.index(each.series.series_id))

    def compare(self, baseline_id: str, series_id: str) -> SeriesComparison:
        """The second series against the first one, row by row. Raises SpecError for one against itself."""
        return compared(self.look(baseline_id), self.look(series_id), self._warehouse.compare)

    def like(self, series: Series, limit: int = 50) -> list[Series]:
        """Other series of the same workload, newest first, among the newest `limit`."""
        known = sorted(self._listed().items(), key=lambda each: (each[1], each[0]), reverse=True)
        ids = [series_id for series_id, _ in known if series_id != series.series_id][:limit]
        here = self._ledger.of(ids)
        elsewhere = self._warehouse.series.of(sorted({*ids} - {each.series_id for each in here}))
        alike = [each for each in (*here, *elsewhere) if each.plan.spec.workload == series.plan.spec.workload]
        return sorted(alike, key=lambda each: ids.index(each.series_id))

    def count(self) -> int:
        """How many series there are."""
        return len(self._listed())

    def _listed(self) -> dict[str, datetime]:
        """When each series was launched, by its id."""
        return {series_id: at for at, series_id in (*self._warehouse.series.listed(), *self._ledger.listed())}

    def stop(self, series_id: str, who: str) -> Matrix:
        """Cancel what is not launched yet, and ask every active run to end. Again is fine."""
        series = self.get(series_id)
        self._ledger.cancel(series.series_id, self._event(series.series_id, Message("stopped"), who))
        for run in self._ledger.runs([series.series_id]):  # after the cancelling, since when none is added
            if not run.state.is_terminal:
                self._stop_run(run.run_id, who)
        return self.look(series.series_id)

    def rerun(self, series_id: str, who: str) -> Matrix:
        """Ask for one more try at every cell that ended without a valid result. Raises SpecError if there is none."""
        matrix = self.look(series_id)
        now, series = self._clock(), matrix.series
        again = [
            Attempt(series.series_id, cell.index, len(cell.tries) + 1, number, cell.repeat, who, now)
            for number, row in enumerate(matrix.rows)
            for cell in row.cells
            if cell.is_lost
        ]
        if not again:
            none, valid = Message("none has ended without a valid result"), Message("{count} valid", count=matrix.valid)
            what = Message("series {series_id}", series_id=series.series_id)
            raise SpecError(what, [Problem("cells", none, valid)])
        said = Message("run again: {count} cells", count=len(again))
        self._ledger.add_attempts(again, self._event(series.series_id, said, who))
        return self.look(series.series_id)

    def resume(self, series_id: str, budget: float, who: str) -> Matrix:
        """Give another budget, in node hours, so that a held series goes on. Raises SpecError on an unfit one."""
        series = self.get(series_id)
        plan = planning.plan_of(series.plan.spec, {**_answers(series.plan), "budget": budget})
        message = Message(
            "budget: {budget} instead of {before}", budget=_hours(plan.budget), before=_hours(series.budget)
        )
        self._ledger.set_budget(series.series_id, plan.budget, self._event(series.series_id, message, who))
        return self.look(series.series_id)

    def admitting(self) -> Admitting:
        """What a follower does for series."""
        return Admitting(self._ledger, self._launch, self._clock)

    def _drafted(self, plan: SeriesPlan, profile: str) -> planning.SeriesDraft:
        place = self._regions.profile(profile)
        return planning.drafted(plan, place, self._workloads, self._regions.known_flavors(place), self._secrets)

    def _matrices(self, found: Sequence[Series]) -> list[Matrix]:
        ids = [series.series_id for series in found]
        now, attempts, runs = self._clock(), self._ledger.attempts(ids), self._ledger.runs(ids)
        ended = [run.run_id for run in runs if run.state.is_terminal]
        recorded = self._warehouse.runs_of(ended) if ended else {}
        verdicts = self._warehouse.series.verdicts(ids) if recorded else ()
        return [
            matrix_of(
                Standing(
                    series,
                    [attempt for attempt in attempts if attempt.series_id == series.series_id],
                    {run.run_id: run for run in runs if run.series_id == series.series_id},
                    now,
                ),
                recorded,
                self._ledger.events(series.series_id),
                verdicts,
            )
            for series in found
        ]

    def _recorded(self, found: Sequence[Series]) -> list[Matrix]:
        """Series that this console's ledger does not know."""
        ids = [series.series_id for series in found]
        places = self._warehouse.series.places(ids) if ids else {}
        rows = self._warehouse.runs_of([run_id for some in places.values() for run_id, _ in some])
        verdicts = self._warehouse.series.verdicts(ids)
        now = self._clock()
        return [
            replace(matrix_of(standing_of(series, places[series.series_id], rows, now), rows, (), verdicts), here=False)
            for series in found
        ]

    def _launch(self, series: Series, attempt: Attempt) -> Run:
        self._files.keep(series)
        return self._launch_cell(self._ledger, series, attempt)

    def _event(self, series_id: str, message: Message, who: str) -> Event:
        return Event(series_id, self._clock(), "console", Level.INFO, message, who)


def _answers(plan: SeriesPlan) -> dict[str, Any]:
    return {name: getattr(plan, name) for name in type(plan).model_fields if name != "spec"}


def _hours(budget: float | None) -> Message:
    return Message("none") if budget is None else Message("{hours:.4g} node hours", hours=budget)


def _problem(found: planning.RowFinding) -> Problem:
    finding: Finding = found.finding
    if found.everywhere:
        return Problem(finding.field, finding.sentence)
    where = joined(", ", [row.title for row in found.rows])
    return Problem(finding.field, joined(": ", [where, finding.sentence]))
