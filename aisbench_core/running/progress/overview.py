"""How far a run is, how fast, and what it costs, as of now: one answer for everybody who looks at it."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.progress.estimate import remaining_seconds
from aisbench_core.model import Clock, Run, TrainingPoint
from aisbench_core.running.progress.loss_band import LossBand, loss_band
from aisbench_core.running.run_files import LaunchFacts, RunFiles
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.compared import Usual

MAX_REMEMBERED = 2000

Money = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Earlier:
    """What earlier valid runs of the same configuration and size say; None is not known."""

    usual: Usual | None = None
    loss: LossBand | None = None


@dataclass(frozen=True, slots=True)
class RunOverview:
    """Answers about one run at the time `at`; None, and no currency in money, is not known.

    `remaining_s`: until the training ends; `by_earlier` if only earlier runs of the configuration tell. `hours_end` and
    `cost_end`: expected at the end, at the price of the launch. A rehearsal costs nothing, so that it has no cost."""

    at: datetime
    points: tuple[TrainingPoint, ...]
    earlier: Earlier
    unit: str
    rehearsal: bool
    remaining_s: float | None
    by_earlier: bool
    hours: float | None
    hours_end: float | None
    cost: Money
    cost_end: Money

    @property
    def last(self) -> TrainingPoint | None:
        """The newest point, if the log has told any."""
        return self.points[-1] if self.points else None

    @property
    def ends_at(self) -> datetime | None:
        """When the training is expected to end."""
        return None if self.remaining_s is None else self.at + timedelta(seconds=self.remaining_s)


@dataclass(slots=True)
class RunOverviews:
    """Overviews of runs. Threads may share it."""

    files: RunFiles
    warehouse: Warehouse
    clock: Clock
    _earlier: dict[tuple[str, str], Earlier] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def of(self, run: Run, points: tuple[TrainingPoint, ...]) -> RunOverview:
        """The run's overview as of now, from the points of its training."""
        now = self.clock()
        facts = self._read_facts(run)
        earlier = self._earlier_of(run, facts) if facts else Earlier()
        remaining, by_earlier = _estimate_remaining(run, points, earlier.usual, now)
        hours = run.node_hours(now)
        more = None if remaining is None or hours is None else hours + run.spec.node_count * remaining / 3600
        return RunOverview(
            now,
            points,
            earlier,
            facts.workload.throughput_unit if facts else "",
            facts.rehearsal if facts else False,
            remaining,
            by_earlier,
            hours,
            more,
            run.money(hours),
            run.money(more),
        )

    def _read_facts(self, run: Run) -> LaunchFacts | None:
        try:
            return self.files.facts(run.run_id)
        except AisbenchError:  # a run of an earlier version, or a damaged file: it has no band
            return None

    def _earlier_of(self, run: Run, facts: LaunchFacts) -> Earlier:
        """Asked once per run and what its names stood for: only runs that were launched before it count."""
        try:
            resolved = self.files.read_resolved(run.run_id)
        except AisbenchError:  # as with damaged facts
            return Earlier()
        key = run.run_id, resolved.text
        with self._guard:
            if key in self._earlier:
                return self._earlier[key]
        try:
            usual = self.warehouse.runs.find_usual(
                run, facts.workload, resolved, facts.region, rehearsal=facts.rehearsal
            )
        except AisbenchError:  # the warehouse is busy: the next overview asks again
            return Earlier()
        newest = usual.newest if usual else ()
        found = Earlier(usual, loss_band([self._read_points(run_id) for run_id in newest]))
        with self._guard:
            if len(self._earlier) > MAX_REMEMBERED:
                self._earlier.clear()
            self._earlier[key] = found
        return found

    def _read_points(self, run_id: str) -> list[TrainingPoint]:
        try:
            return self.files.training_points(run_id)
        except AisbenchError:  # merged from another data folder
            return []


def _estimate_remaining(
    run: Run, points: tuple[TrainingPoint, ...], usual: Usual | None, now: datetime
) -> tuple[float | None, bool]:
    """Seconds until the training ends, and whether only earlier runs say so."""
    if run.state.is_terminal or run.started_at is None:
        return None, False
    remaining = remaining_seconds(points, now)
    if remaining is not None or points or usual is None or usual.duration_s is None:
        return remaining, False
    left = usual.duration_s - (now - run.started_at).total_seconds()
    return (left, True) if left > 0 else (None, False)
