"""Launches the cells of series: the follower makes the next one a run as soon as there is room for it."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from aisbench_core.errors import AisbenchError, StaleRun
from aisbench_core.messages import Message
from aisbench_core.model import Attempt, Clock, Event, Level, Run, Series
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.ledger_series import SeriesLedger
from aisbench_core.series.snapshot import SeriesSnapshot

LOG = logging.getLogger(__name__)

# A cell that could not be launched is retried after this long.
AGAIN_SECONDS = 30.0

INTERNAL = Message("internal error: the traceback is in the log file; other series go on")

Launch = Callable[[Series, Attempt], Run]
"""Launches an attempt as a run. Raises StaleRun when it is one already, or was cancelled."""

Pool = tuple[str, str]


@dataclass(slots=True)
class Admitting:
    """Visits every series with cells to launch, oldest first. For one thread at a time."""

    events: Ledger
    ledger: SeriesLedger
    launch: Launch
    clock: Clock
    _held: set[str] = field(default_factory=set)
    _later: dict[str, datetime] = field(default_factory=dict)

    def admit(self) -> None:
        """Launch what there is room for. A cell that cannot be launched delays only its own series."""
        waiting = self.ledger.waiting()
        if not waiting:
            return
        active = Counter(_pool(run) for run in self.ledger.active())
        for series in waiting:
            later = self._later.get(series.series_id)
            if later is None or later <= self.clock():
                self._admit_cells(series, active)

    def _admit_cells(self, series: Series, active: Counter[Pool]) -> None:
        pool = pool_of(series)
        while active[pool] < series.plan.parallel:
            standing = snapshot_of(self.ledger, series, self.clock())
            following = standing.next
            if following is None or self._is_held(standing):
                return
            try:
                self.launch(series, following)
            except StaleRun:
                return  # a person was quicker; the next tick launches what is left
            except AisbenchError as error:
                self._put_off(series, error)
                return
            except Exception:
                LOG.exception("series %s: a bug", series.series_id)
                self._put_off(series, AisbenchError(INTERNAL))
                return
            active[pool] += 1
            self._go_on(series)

    def _is_held(self, standing: SeriesSnapshot) -> bool:
        """Whether the budget forbids the next cell; the event is stored once, when no run of the series is active."""
        series, hold = standing.series, standing.hold
        if hold is None:
            self._held.discard(series.series_id)
        elif not standing.active and series.series_id not in self._held:
            self._held.add(series.series_id)
            self._note(series, Level.WARNING, _held(hold.sentence))
        return hold is not None

    def _put_off(self, series: Series, error: AisbenchError) -> None:
        self._later[series.series_id] = self.clock() + timedelta(seconds=AGAIN_SECONDS)
        if series.launch_error != str(error):
            LOG.warning("series %s: %s", series.series_id, error)
            event = Event(series.series_id, self.clock(), "follower", Level.ERROR, _held(error.sentence))
            self.ledger.set_launch_error(series.series_id, error.sentence, event)

    def _go_on(self, series: Series) -> None:
        self._later.pop(series.series_id, None)
        if series.launch_error:
            self.ledger.set_launch_error(series.series_id, "")

    def _note(self, series: Series, level: Level, message: Message) -> None:
        self.events.note(Event(series.series_id, self.clock(), "follower", level, message))


def _held(why: Message) -> Message:
    return Message("held: {reason}", reason=why)


def snapshot_of(ledger: SeriesLedger, series: Series, now: datetime) -> SeriesSnapshot:
    """A series as the ledger has it now."""
    attempts = ledger.attempts([series.series_id])
    return SeriesSnapshot(series, attempts, {run.run_id: run for run in ledger.runs([series.series_id])}, now)


def pool_of(series: Series) -> Pool:
    """The jobs that `parallel` limits: those of all series in a dedicated pool; elsewhere only the series' own."""
    pool_id = series.rows[0].spec.pool_id
    return (series.profile, pool_id) if pool_id else ("", series.series_id)


def _pool(run: Run) -> Pool:
    return (run.profile, run.spec.pool_id) if run.spec.pool_id else ("", run.series_id)
