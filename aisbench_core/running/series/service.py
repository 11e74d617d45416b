"""Plans, launches, shows, stops and repeats series, and changes their budgets; launches their cells as runs."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from aisbench_core.base.errors import Problem, SeriesNotFound, SpecError
from aisbench_core.base.formats import MISSING
from aisbench_core.base.messages import Message, choose_plural, join_parts
from aisbench_core.cloud.regions import Regions
from aisbench_core.config.job_secrets import JobSecrets
from aisbench_core.domain.access import permitted, permitted_for
from aisbench_core.domain.access.changes import note_values
from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight.service import Preflight
from aisbench_core.domain.results.progress import seconds_in
from aisbench_core.model import (
    Actor,
    Attempt,
    Clock,
    Event,
    Objective,
    RunMetric,
    RunRecord,
    RunSpec,
    Series,
    SeriesPlan,
)
from aisbench_core.people.budgets.ledger import PlannedLaunch
from aisbench_core.people.budgets.series_holds import series_check
from aisbench_core.running.run_files import SeriesFiles
from aisbench_core.running.runs import Runs
from aisbench_core.running.series import planning
from aisbench_core.running.series.admission import Acting, Admitting
from aisbench_core.running.series.comparing import SeriesComparison, compare_series
from aisbench_core.running.series.matrix import Matrix, matrix_of
from aisbench_core.running.series.named_metric import list_metrics, show_metric
from aisbench_core.running.series.snapshot import SeriesSnapshot, attempts_and_runs
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.series import SeriesCheck, SeriesLedger
from aisbench_core.store.run_folders.run_paths import new_id
from aisbench_core.warehouse.facade import Warehouse

LOG = logging.getLogger(__name__)

# A cell that could not be launched is retried after this long.
AGAIN_SECONDS = 30.0

INTERNAL = Message("internal error: the traceback is in the log file; other series go on")

Pool = tuple[str, str]


def _created_by(self: "SeriesService", series_id: str, **_: object) -> str:
    try:
        return self.get(series_id).created_by
    except SeriesNotFound:  # of another console
        return self.matrix(series_id).series.created_by


@dataclass(frozen=True, slots=True)
class SeriesService:
    """All series of this console. Threads may share it; methods about one series raise SeriesNotFound."""

    run_ledger: Ledger
    ledger: SeriesLedger
    files: SeriesFiles
    warehouse: Warehouse
    workloads: Workloads
    regions: Regions
    job_secrets: JobSecrets
    preflight: Preflight
    runs: Runs
    acting: Acting
    clock: Clock

    def plan(self, spec: RunSpec, answers: Mapping[str, Any], profile: str = "") -> planning.SeriesDraft:
        """A draft of a series with findings and estimate; nothing is stored.

        `answers`: the fields of SeriesPlan without the spec; None means the default. Raises SpecError, ConfigError."""
        return self._draft_plan(planning.plan_of(spec, answers, self.workloads), profile)

    def online(self, draft: planning.SeriesDraft, profile: str = "") -> tuple[planning.RowFinding, ...]:
        """Online findings about the rows with the most nodes, in each version and image: they need the most.

        Raises CloudError when the region cannot be reached."""
        most = max(draft.plan.node_counts)
        rows = [row for row in draft.checked if row.node_count == most]
        return planning.check_rows(rows, lambda spec: self.preflight.online(spec, profile))

    @permitted
    def launch(self, plan: SeriesPlan, profile: str, actor: Actor, token: str = "") -> Series:
        """Store a series; the follower launches its cells, after an approval if no budget has room for all of them.

        A token launches once.

        Raises SpecError with every error of every cell."""
        require_open_files(plan.spec, actor, self.runs.open_folders)
        draft = self.check_plan(plan, profile)
        plan = draft.plan
        now = self.clock()
        series_id, chosen = new_id("s", now), self.regions.profile(profile)
        series = Series(series_id, plan, draft.rows, chosen.name, now, actor.name, plan.budget)
        first = planning.first_attempts(series_id, plan, draft.rows, actor.name, now)
        attempts = _grant_attempts(planning.price_attempts(first, draft.rows, chosen), actor)
        message = choose_plural(
            len(attempts),
            "launched: {number} cell, about {node_hours:.4g} node hours",
            "launched: {number} cells, about {node_hours:.4g} node hours",
            node_hours=draft.estimate.node_hours,
        )
        check = self._make_check(series, actor, attempts)
        launched = self.ledger.add(series, attempts, self._make_event(series_id, message, actor), token, check)
        self.files.keep(launched)
        return launched

    def check_plan(self, plan: SeriesPlan, profile: str, ignored: Collection[str] = ()) -> planning.SeriesDraft:
        """The draft of a plan that can be launched. Raises SpecError with every error of every cell.

        `ignored`: the names of rules that do not count."""
        draft = self._draft_plan(plan, profile)
        if errors := [row_finding for row_finding in draft.errors if row_finding.finding.rule not in ignored]:
            raise SpecError(
                Message("this series cannot be launched"), [_to_problem(row_finding) for row_finding in errors]
            )
        return draft

    def record(self, run_record: RunRecord) -> None:
        """Store a run's record; the first one of a series also stores the plan, for all who share the warehouse."""
        if run_record.run.series_id:
            self.warehouse.series.keep([self.ledger.get(run_record.run.series_id)])
        self.warehouse.record(run_record)

    def get(self, series_id: str) -> Series:
        """One series of this console by its id or a unique prefix of it."""
        return self.ledger.get(series_id)

    def matrix(self, series_id: str, metric: str = "") -> Matrix:
        """The series now; as far as it was recorded if another console launched it. `metric`: shown in place of
        throughputs where any run has it.

        Raises WarehouseError when the results cannot be read."""
        try:
            matrix = self._build_matrices([self.get(series_id)])[0]
        except SeriesNotFound:
            recorded = self.warehouse.series.starting_with(series_id) if series_id else []
            if not recorded or (len(recorded) > 1 and recorded[0].series_id != series_id):
                raise
            matrix = self._build_recorded_matrices(recorded[:1])[0]
        return show_metric(matrix, metric, self._find_metrics(matrix)) if metric else matrix

    def measure(self, series_id: str, metric: str) -> Matrix:
        """The same with a metric that its runs have; empty: throughput. Raises SpecError for any other one."""
        matrix = self.matrix(series_id, metric)
        if metric and matrix.metric is None:
            names = ", ".join(self.list_metrics(matrix)) or MISSING
            unknown = Message("no valid run of the series has it; known: {names}", names=names)
            raise SpecError(Message("the metric"), [Problem("metric", unknown, metric)])
        return matrix

    def list_metrics(self, matrix: Matrix) -> list[str]:
        """The names of the metrics of its valid runs."""
        return list_metrics(matrix, self._find_metrics(matrix))

    def _find_metrics(self, matrix: Matrix) -> Mapping[str, Sequence[RunMetric]]:
        run_ids = [tried.run.run_id for cell in matrix.cells for tried in cell.tries if tried.run]
        return self.warehouse.runs.find_metrics(run_ids)

    def page(self, limit: int = 20, offset: int = 0) -> list[Matrix]:
        """A page of series, newest first, including those of other consoles."""
        return self._build_page(self._list_newest()[offset : offset + limit])

    def page_behind(self, series_id: str, limit: int) -> list[Matrix]:
        """A page of the same list behind a series; empty: its first page. Series launched meanwhile do not move it.

        Raises SeriesNotFound."""
        ids = self._list_newest()
        if series_id and series_id not in ids:
            raise SeriesNotFound(Message("there is no series {series_id!r}", series_id=series_id))
        start = ids.index(series_id) + 1 if series_id else 0
        return self._build_page(ids[start : start + limit])

    def _build_page(self, chosen: list[str]) -> list[Matrix]:
        here, recorded = self._get_plans(chosen)
        matrices = [*self._build_matrices(here), *self._build_recorded_matrices(recorded)]
        return sorted(matrices, key=lambda matrix: chosen.index(matrix.series.series_id))

    def compare(self, baseline_id: str, series_id: str, metric: str = "") -> SeriesComparison:
        """The second series against the first, row by row, by a metric as in `measure`.

        Raises SpecError for a series against itself."""
        baseline, candidate = self.matrix(baseline_id, metric), self.measure(series_id, metric)
        return compare_series(baseline, candidate, self.warehouse.runs.compare)

    def like(self, series: Series, limit: int = 50) -> list[Series]:
        """Other series of the same workload, newest first, among the newest `limit`."""
        return [
            other
            for other in self.newest(limit + 1)
            if other.series_id != series.series_id and other.plan.spec.workload == series.plan.spec.workload
        ]

    def newest(self, limit: int) -> list[Series]:
        """The newest series, of this console or of others, newest first."""
        ids = self._list_newest()[:limit]
        return sorted(chain(*self._get_plans(ids)), key=lambda series: ids.index(series.series_id))

    def count(self) -> int:
        """The number of series."""
        return len(self._list_newest())

    def _list_newest(self) -> list[str]:
        """The ids of all series, newest first."""
        listed = {
            series_id: at for at, series_id in (*self.warehouse.series.list_launches(), *self.ledger.list_launches())
        }
        return sorted(listed, key=lambda series_id: (listed[series_id], series_id), reverse=True)

    def _get_plans(self, ids: Sequence[str]) -> tuple[list[Series], list[Series]]:
        """Those of the series that this console's ledger has, and those that only the warehouse has."""
        here = self.ledger.of(ids)
        return here, self.warehouse.series.of(sorted({*ids} - {series.series_id for series in here}))

    @permitted_for(_created_by)
    def stop(self, series_id: str, actor: Actor) -> Matrix:
        """Cancel cells that are not launched yet, and stop all active runs. Can be repeated."""
        series = self.get(series_id)
        self.ledger.cancel(series.series_id, self._make_event(series.series_id, Message("stopped"), actor))
        for run in self.ledger.runs([series.series_id]):  # read after the cancellation, since which no run can be added
            if not run.state.is_terminal:
                self.runs.stop(run.run_id, actor)
        return self.matrix(series.series_id)

    @permitted_for(_created_by)
    def rerun(self, series_id: str, actor: Actor) -> Matrix:
        """Add an attempt at every cell that ended without a valid result. Raises SpecError if there is none."""
        matrix = self.matrix(self.get(series_id).series_id)
        now, series = self.clock(), matrix.series
        again = [
            Attempt(series.series_id, cell.index, len(cell.tries) + 1, number, cell.repeat, actor.name, now)
            for number, row in enumerate(matrix.rows)
            for cell in row.cells
            if cell.is_lost
        ]
        if not again:
            reason = Message("none has ended without a valid result")
            problem = Problem("cells", reason, Message("{count} valid", count=matrix.valid))
            raise SpecError(Message("series {series_id}", series_id=series.series_id), [problem])
        message = choose_plural(len(again), "run again: {number} cell", "run again: {number} cells")
        again = _grant_attempts(
            planning.price_attempts(again, series.rows, self.regions.profile(series.profile)), actor
        )
        check_of = partial(self._make_check, series, actor)
        self.ledger.add_attempts(series, again, self._make_event(series.series_id, message, actor), check_of)
        return self.matrix(series.series_id)

    @permitted_for(_created_by)
    def resume(self, series_id: str, budget: float, actor: Actor) -> Matrix:
        """Change the budget, in node hours, so that a held series continues. Raises SpecError on an invalid one."""
        series = self.get(series_id)
        answers = {name: getattr(series.plan, name) for name in SeriesPlan.model_fields if name != "spec"}
        plan = planning.plan_of(series.plan.spec, {**answers, "budget": budget}, self.workloads)
        message = Message(
            "budget: {budget} instead of {before}",
            budget=_format_hours(plan.budget),
            before=_format_hours(series.budget),
        )
        note_values(_format_hours(series.budget), _format_hours(plan.budget))
        self.ledger.set_budget(series.series_id, plan.budget, self._make_event(series.series_id, message, actor))
        return self.matrix(series.series_id)

    def admission(self) -> Callable[[], None]:
        """The function that a follower calls at every tick: it launches the cells for which there is room, and stops
        trials of searches that have no hope left."""
        return self.start_admitting().admit

    def start_admitting(self) -> Admitting:
        """What launches cells, with nothing launched yet."""
        return Admitting(
            self.run_ledger, self.ledger, self.files, self.regions, self.runs, self.results, self.acting, self.clock
        )

    def _make_check(self, series: Series, actor: Actor, attempts: Sequence[Attempt]) -> SeriesCheck:
        """Holds the series unless budgets have room for these attempts, too."""
        profile = self.regions.profile(series.profile)
        cost = planning.total_cost(attempts, series.rows, profile)
        launch = PlannedLaunch(actor.name, cost, self.clock(), series.series_id)
        return series_check(launch, self.runs.settings.approval_days)

    def _draft_plan(self, plan: SeriesPlan, profile: str) -> planning.SeriesDraft:
        chosen = self.regions.profile(profile)
        return planning.draft_series(plan, chosen, self.workloads, self.regions.known_flavors(chosen), self.job_secrets)

    def _build_matrices(self, several: Sequence[Series]) -> list[Matrix]:
        ids = [series.series_id for series in several]
        now, (attempts, runs) = self.clock(), attempts_and_runs(self.ledger, ids)
        ended = [run.run_id for run in runs if run.state.is_terminal]
        recorded = self.warehouse.runs.find_rows(ended) if ended else {}
        evaluations = self.warehouse.series.evaluations(ids) if recorded else ()
        matrices = []
        for series in several:
            own = [attempt for attempt in attempts if attempt.series_id == series.series_id]
            own_runs = {run.run_id: run for run in runs if run.series_id == series.series_id}
            snapshot, events = SeriesSnapshot(series, own, own_runs, now), self.run_ledger.events(series.series_id)
            matrices.append(matrix_of(snapshot, recorded, events, evaluations, self._seconds_to_target(snapshot)))
        return matrices

    def results(self, snapshot: SeriesSnapshot) -> Matrix:
        """The matrix of a snapshot without evaluations: what the trials of a search have measured so far."""
        ended = [run.run_id for run in snapshot.runs.values() if run.state.is_terminal]
        recorded = self.warehouse.runs.find_rows(ended) if ended else {}
        return matrix_of(snapshot, recorded, seconds_to_target=self._seconds_to_target(snapshot))

    def _seconds_to_target(self, snapshot: SeriesSnapshot) -> dict[str, float]:
        """By run id, if the series searches for the least time to its target."""
        search = snapshot.series.plan.search
        if search is None or search.objective is not Objective.TIME_TO_ACCURACY:
            return {}
        events = chain.from_iterable(self.run_ledger.events(run_id) for run_id in snapshot.runs)
        return {event.run_id: seconds for event in events if (seconds := seconds_in(event)) is not None}

    def _build_recorded_matrices(self, several: Sequence[Series]) -> list[Matrix]:
        """Matrices of series that are not in this console's ledger."""
        ids = [series.series_id for series in several]
        cells = self.warehouse.series.run_cells(ids) if ids else {}
        rows = self.warehouse.runs.find_rows([run_id for runs in cells.values() for run_id, _ in runs])
        evaluations, now = self.warehouse.series.evaluations(ids), self.clock()
        snapshots = [SeriesSnapshot.from_records(series, cells[series.series_id], rows, now) for series in several]
        return [replace(matrix_of(snapshot, rows, (), evaluations), here=False) for snapshot in snapshots]

    def _make_event(self, series_id: str, message: Message, actor: Actor) -> Event:
        return Event.by(actor, series_id, self.clock(), message)


def _grant_attempts(attempts: Iterable[Attempt], actor: Actor) -> list[Attempt]:
    return [replace(attempt, role=actor.grant.role, token_id=actor.grant.token_id) for attempt in attempts]


def _format_hours(budget: float | None) -> Message:
    return Message("none") if budget is None else Message("{hours:.4g} node hours", hours=budget)


def _to_problem(row_finding: planning.RowFinding) -> Problem:
    finding, where = row_finding.finding, join_parts(", ", [row.title for row in row_finding.rows])
    return Problem(
        finding.field, finding.sentence if row_finding.everywhere else join_parts(": ", [where, finding.sentence])
    )
