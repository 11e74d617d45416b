"""How far a run is, how fast, and what it costs, as of now: one answer for everybody who looks at it."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from aisbench_core.errors import AisbenchError
from aisbench_core.model import Clock, Run, TrainingPoint
from aisbench_core.progress.estimate import remaining_seconds
from aisbench_core.running.run_files import LaunchFacts, RunFiles
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.answers.compared import Usual

MAX_REMEMBERED = 2000

Money = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunOverview:
    """Answers about one run at the time `at`; None, and no currency in money, is not known.

    `remaining_s`: until the training ends; `by_earlier` if only earlier runs of the configuration tell. `hours_end` and
    `cost_end`: expected at the end, at the price of the launch. A rehearsal costs nothing, so that it has no cost."""

    at: datetime
    points: tuple[TrainingPoint, ...]
    usual: Usual | None
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
    _usual: dict[str, Usual | None] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def of(self, run: Run, points: tuple[TrainingPoint, ...]) -> RunOverview:
        """The run's overview as of now, from the points of its training."""
        now = self.clock()
        facts = self._facts(run)
        usual = self._usual_of(run, facts) if facts else None
        remaining, by_earlier = _remaining(run, points, usual, now)
        hours = run.node_hours(now)
        more = None if remaining is None or hours is None else hours + run.spec.node_count * remaining / 3600
        return RunOverview(
            now,
            points,
            usual,
            facts.workload.throughput_unit if facts else "",
            facts.rehearsal if facts else False,
            remaining,
            by_earlier,
            hours,
            more,
            run.money(hours),
            run.money(more),
        )

    def _facts(self, run: Run) -> LaunchFacts | None:
        try:
            return self.files.facts(run.run_id)
        except AisbenchError:  # a run of an earlier version, or a damaged file: it has no band
            return None

    def _usual_of(self, run: Run, facts: LaunchFacts) -> Usual | None:
        """Asked once per run: only runs that were launched before it count."""
        with self._guard:
            if run.run_id in self._usual:
                return self._usual[run.run_id]
        try:
            found = self.warehouse.usual(run, facts.workload, facts.region, rehearsal=facts.rehearsal)
        except AisbenchError:  # the warehouse is busy: the next overview asks again
            return None
        with self._guard:
            if len(self._usual) > MAX_REMEMBERED:
                self._usual.clear()
            self._usual[run.run_id] = found
        return found


def _remaining(
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
