"""Launches the cells of series: the follower makes the next one a run as soon as there is room for it."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from aisbench_core.errors import AisbenchError, StaleRun
from aisbench_core.messages import Message
from aisbench_core.model import Attempt, Clock, Event, Level, Run, RunSpec, Series
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.ledger_series import SeriesLedger
from aisbench_core.series.matrix import SeriesSnapshot

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
        active = Counter(_pool(run.profile, run.spec, run.series_id) for run in self.ledger.active())
        for series in waiting:
            later = self._later.get(series.series_id)
            if later is None or later <= self.clock():
                self._admit_cells(series, active)

    def _admit_cells(self, series: Series, active: Counter[Pool]) -> None:
        pool = _pool(series.profile, series.rows[0].spec, series.series_id)
        while active[pool] < series.plan.parallel:
            snapshot = SeriesSnapshot.of(self.ledger, series, self.clock())
            following = snapshot.next
            if following is None or self._is_held(snapshot):
                return
            try:
                self.launch(series, following)
            except StaleRun:
                return  # a person was quicker; the next tick launches what is left
            except Exception as raised:
                error = raised if isinstance(raised, AisbenchError) else AisbenchError(INTERNAL)
                if error is not raised:
                    LOG.exception("series %s: a bug", series.series_id)
                self._put_off(series, error)
                return
            active[pool] += 1
            self._later.pop(series.series_id, None)
            if series.launch_error:
                self.ledger.set_launch_error(series.series_id, "")

    def _is_held(self, snapshot: SeriesSnapshot) -> bool:
        """Whether the budget forbids the next cell; the event is stored once, when no run of the series is active."""
        series_id, hold = snapshot.series.series_id, snapshot.hold
        if hold is None:
            self._held.discard(series_id)
        elif not snapshot.active and series_id not in self._held:
            self._held.add(series_id)
            self.events.note(self._event(series_id, Level.WARNING, hold.sentence))
        return hold is not None

    def _put_off(self, series: Series, error: AisbenchError) -> None:
        self._later[series.series_id] = self.clock() + timedelta(seconds=AGAIN_SECONDS)
        if series.launch_error != str(error):
            LOG.warning("series %s: %s", series.series_id, error)
            event = self._event(series.series_id, Level.ERROR, error.sentence)
            self.ledger.set_launch_error(series.series_id, error.sentence, event)

    def _event(self, series_id: str, level: Level, why: Message) -> Event:
        return Event(series_id, self.clock(), "follower", level, Message("held: {reason}", reason=why))


def _pool(profile: str, spec: RunSpec, series_id: str) -> Pool:
    """The jobs that `parallel` limits: those of all series in a dedicated pool; elsewhere only the series' own."""
    return (profile, spec.pool_id) if spec.pool_id else ("", series_id)
