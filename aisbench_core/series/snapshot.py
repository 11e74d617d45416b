"""A series at one moment: node hours used and expected, and the next cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aisbench_core.messages import Message
from aisbench_core.model import Attempt, Run, RunState, Series

HOUR_S = 3600.0
# Node hours below which an excess is a rounding error of sums.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Hold:
    """The next cell needs more node hours than the budget leaves.

    `spent`: used so far, plus what active runs are still expected to take."""

    needed: float
    spent: float
    budget: float

    @property
    def sentence(self) -> Message:
        """The reason as a sentence."""
        return Message(
            "the budget is {budget:.4g} node hours, of which {spent:.4g} are used or promised to active"
            " runs, and the next cell needs about {needed:.4g}",
            budget=self.budget,
            spent=self.spent,
            needed=self.needed,
        )


@dataclass(frozen=True, slots=True)
class SeriesSnapshot:
    """A series, its attempts in launch order, and their runs by id."""

    series: Series
    attempts: Sequence[Attempt]
    runs: Mapping[str, Run]
    now: datetime

    @property
    def next(self) -> Attempt | None:
        """The attempt to launch next."""
        return next((attempt for attempt in self.attempts if attempt.is_waiting), None)

    @property
    def active(self) -> list[Run]:
        """Its active runs."""
        return [run for run in self.runs.values() if not run.state.is_terminal]

    @property
    def used(self) -> float:
        """Node hours of all jobs so far; of running ones until now."""
        return sum(node_hours(run, self.now) for run in self.runs.values())

    @property
    def promised(self) -> float:
        """Node hours that active runs are expected to take beyond what they have used."""
        expected = self._expected()
        return sum(max(0.0, expected[self._row_of(run)] - node_hours(run, self.now)) for run in self.active)

    @property
    def to_come(self) -> float:
        """Node hours that the cells not launched yet are expected to take."""
        expected = self._expected()
        return sum(expected[attempt.row] for attempt in self.attempts if attempt.is_waiting)

    @property
    def hold(self) -> Hold | None:
        """Why the budget forbids the next cell; None if it does not."""
        budget, following = self.series.budget, self.next
        if budget is None or following is None:
            return None
        needed, spent = self._expected()[following.row], self.used + self.promised
        return Hold(needed, spent, budget) if spent + needed > budget + ROUNDING else None

    def _expected(self) -> list[float]:
        """Expected node hours of a run of each row: its longest completed run, or else the user's estimate."""
        longest: dict[int, float] = {}
        for run in self.runs.values():
            hours = node_hours(run, self.now)
            if run.state is RunState.COMPLETED and hours:
                longest[self._row_of(run)] = max(longest.get(self._row_of(run), 0.0), hours)
        guess = self.series.plan.hours_per_run
        return [longest.get(row, row_spec.node_count * guess) for row, row_spec in enumerate(self.series.rows)]

    def _row_of(self, run: Run) -> int:
        return ((run.series_index or 1) - 1) % len(self.series.rows)


def node_hours(run: Run, now: datetime) -> float:
    """Nodes × hours of the run's job, by the platform's own duration once there is one."""
    seconds = run.duration_s
    if seconds is None and run.started_at is not None:
        seconds = ((run.ended_at or now) - run.started_at).total_seconds()
    return run.spec.node_count * max(0.0, seconds or 0.0) / HOUR_S
