"""Launches the cells of series as runs, and stops trials of searches that have no hope left; a follower calls it."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from aisbench_core.base.errors import AisbenchError, StaleRun
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.cloud.regions import Regions
from aisbench_core.domain.costs import expected_cost
from aisbench_core.model import (
    Actor,
    Attempt,
    Clock,
    Event,
    Grant,
    Level,
    Notice,
    Role,
    Run,
    RunSpec,
    RunState,
    Series,
    SeriesRow,
    WayIn,
)
from aisbench_core.people.budgets.series_holds import SeriesHolds, cell_check
from aisbench_core.running.run_files import SeriesFiles
from aisbench_core.running.runs import Runs
from aisbench_core.running.series.early_stop import find_hopeless_runs
from aisbench_core.running.series.matrix import Matrix
from aisbench_core.running.series.sampler import Trial, suggest_values
from aisbench_core.running.series.search_plans import choice_of, space_of, trial_row
from aisbench_core.running.series.snapshot import SeriesSnapshot
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.series import ASK_AGAIN, SeriesLedger

LOG = logging.getLogger(__name__)

# A cell that could not be launched is retried after this long.
AGAIN_SECONDS = 30.0

INTERNAL = Message("internal error: the traceback is in the log file; other series go on")

Pool = tuple[str, str]
Acting = Callable[[str, Grant, Message], Actor]
"""Who acts for somebody who asked by that right. Raises NotAllowed, with the hint, if nobody may any more."""


@dataclass(slots=True)
class Admitting:
    """Launches the cells of series: each becomes a run as soon as there is room for it. For one thread at a time.

    `results`: what the trials of a search have measured so far. `wants_more`: whether a series still needs runs, for
    reasons that are not in its plan."""

    run_ledger: Ledger
    ledger: SeriesLedger
    files: SeriesFiles
    regions: Regions
    runs: Runs
    results: Callable[[SeriesSnapshot], Matrix]
    acting: Acting
    clock: Clock
    wants_more: Callable[[str], bool] = lambda _series_id: True
    _held: set[str] = field(default_factory=set)
    _later: dict[str, datetime] = field(default_factory=dict)
    _checked: dict[str, datetime] = field(default_factory=dict)

    def admit(self) -> None:
        """Launch what there is room for, oldest series first. A cell that cannot be launched delays only its series."""
        self._end_expired()
        running = self.ledger.active()
        self._stop_hopeless({run.series_id for run in running})
        waiting = self.ledger.list_waiting()
        if not waiting:
            return
        active = Counter(_get_pool(run.profile, run.spec, run.series_id) for run in running)
        for series in waiting:
            later = self._later.get(series.series_id)
            if later is None or later <= self.clock():
                self._admit_cells(series, active)

    def _end_expired(self) -> None:
        """End series that nobody approved in time."""
        holds = SeriesHolds(self.run_ledger)
        for series_id in holds.list_expired(self.clock()):
            text = Message("nobody approved it in time")
            holds.end(series_id, Event(series_id, self.clock(), WayIn.FOLLOWER, Level.INFO, text))

    def _admit_cells(self, series: Series, active: Counter[Pool]) -> None:
        pool = _get_pool(series.profile, series.rows[0].spec, series.series_id)
        while active[pool] < series.plan.parallel:
            snapshot = self._order_attempts(SeriesSnapshot.of(self.ledger, series, self.clock()))
            following = snapshot.next
            if following is None or self._is_held(snapshot) or not self.wants_more(series.series_id):
                return
            try:
                launched = self.launch(snapshot, following)
            except StaleRun:
                return  # a person was quicker; the next tick launches what is left
            except Exception as raised:
                error = raised if isinstance(raised, AisbenchError) else AisbenchError(INTERNAL)
                if error is not raised:
                    LOG.exception("series %s: a bug", series.series_id)
                self._put_off(series, error)
                return
            if launched.state is RunState.HELD:
                return  # the whole series waits for an approval
            active[pool] += 1
            self._later.pop(series.series_id, None)
            if series.launch_error:
                self.ledger.set_launch_error(series.series_id, "")
            if series.plan.search:  # the next trial is chosen with this one's values in mind
                series = self.ledger.get(series.series_id)

    def _order_attempts(self, snapshot: SeriesSnapshot) -> SeriesSnapshot:
        """Of a series with a stopping rule: without the attempts that it does not need any more, and of the others
        those that it wants now, the most wanted first."""
        series = snapshot.series
        judgement = self.results(snapshot).judgement if series.plan.until else None
        if judgement is None:
            return snapshot
        waiting = {attempt.row for attempt in snapshot.attempts if attempt.is_waiting}
        kept = {*judgement.wanted, *judgement.later}
        if not snapshot.active and waiting.isdisjoint(judgement.wanted):
            kept = set()  # the wanted rows have no repeats left, and nothing under way can change what is wanted
        if surplus := waiting - kept:
            titles = join_parts(", ", [series.rows[row].title for row in sorted(surplus)])
            text = Message("no more runs of {rows}: {finding}", rows=titles, finding=judgement.finding)
            event = Event(series.series_id, self.clock(), WayIn.FOLLOWER, Level.INFO, text)
            self.ledger.drop_waiting(series.series_id, surplus, event)
        return snapshot.choose_waiting(judgement.wanted)

    def launch(self, snapshot: SeriesSnapshot, attempt: Attempt) -> Run:
        """Launch an attempt as a run in the name of its creator. Raises as `SeriesLedger.admit` does.

        One that no budget has room for is not stored; it is returned as held, and so is its series."""
        actor = self.acting(attempt.requested_by, attempt.grant, ASK_AGAIN)
        series, row, chosen = snapshot.series, snapshot.series.rows[attempt.row], None
        if series.plan.search and not row.parameters:
            row = chosen = self._choose_values(snapshot, attempt)
            rows = tuple(row if number == attempt.row else other for number, other in enumerate(series.rows))
            self.files.replace(replace(series, rows=rows))
        else:
            self.files.keep(series)

        profile = self.regions.profile(series.profile)
        cost = expected_cost(row.spec, profile)
        check = cell_check(self.runs.limits, cost, self.runs.settings.approval_days)

        def store(run: Run, event: Event) -> Run:
            of_series = replace(run, series_id=series.series_id, series_index=attempt.cell)
            return self.ledger.admit(attempt, of_series, event, chosen, check)

        return self.runs.create(row.spec, profile, actor, store)

    def _choose_values(self, snapshot: SeriesSnapshot, attempt: Attempt) -> SeriesRow:
        """The row of a trial with values that the sampler chooses from what the other trials have measured."""
        plan, rows = snapshot.series.plan, self.results(snapshot).rows
        assert plan.search  # noqa: S101  # only trials have rows without values
        space = space_of(plan)
        trials = [
            Trial(choice_of(row.planned, space), all(cell.shown.has_ended for cell in row.cells), row.objective)
            for row in rows
            if row.planned.parameters
        ]
        choice = suggest_values(plan.search, space, attempt.cell, trials)
        return trial_row(rows[attempt.row].planned, choice)

    def _stop_hopeless(self, series_ids: set[str]) -> None:
        """Stop unpromising trials, at the pace at which their logs grow here."""
        now, pause = self.clock(), timedelta(seconds=self.runs.settings.poll_seconds)
        due = [one for one in series_ids if one not in self._checked or abs(now - self._checked[one]) >= pause]
        self._checked = {one: now if one in due else self._checked[one] for one in series_ids}
        for series in self.ledger.of(due) if due else ():
            if series.plan.search is None:
                continue
            try:
                self._stop_trials(series)
            except Exception as error:  # must not keep cells of any series from being launched
                bug = None if isinstance(error, AisbenchError) else error
                LOG.warning("series %s: its trials were not checked: %s", series.series_id, error, exc_info=bug)

    def _stop_trials(self, series: Series) -> None:
        snapshot = SeriesSnapshot.of(self.ledger, series, self.clock())
        for run, reason in find_hopeless_runs(snapshot, partial(self.results, snapshot), self.runs.folder_with_logs):
            owner = Actor(run.created_by, Role.ENGINEER.included, WayIn.FOLLOWER)
            self.runs.stop_early(run.run_id, reason, owner)

    def _is_held(self, snapshot: SeriesSnapshot) -> bool:
        """Whether the budget forbids the next cell; the event is stored once, when no run of the series is active."""
        series_id, hold = snapshot.series.series_id, snapshot.hold
        if hold is None:
            self._held.discard(series_id)
        elif not snapshot.active and series_id not in self._held:
            self._held.add(series_id)
            event = self._make_hold_event(series_id, Level.WARNING, hold.sentence)
            # Once for each budget, also when another follower takes over.
            notice_id = f"held:{series_id}:{snapshot.series.budget}"
            self.run_ledger.note(event, Notice(notice_id, series_id, "held", event.at, hold.sentence))
        return hold is not None

    def _put_off(self, series: Series, error: AisbenchError) -> None:
        self._later[series.series_id] = self.clock() + timedelta(seconds=AGAIN_SECONDS)
        if series.launch_error != str(error):
            LOG.warning("series %s: %s", series.series_id, error)
            event = self._make_hold_event(series.series_id, Level.ERROR, error.sentence)
            self.ledger.set_launch_error(series.series_id, error.sentence, event)

    def _make_hold_event(self, series_id: str, level: Level, why: Message) -> Event:
        return Event(series_id, self.clock(), "follower", level, Message("held: {reason}", reason=why))


def _get_pool(profile: str, spec: RunSpec, series_id: str) -> Pool:
    """The jobs that `parallel` limits: those of all series in a dedicated pool; elsewhere only the series' own."""
    return (profile, spec.pool_id) if spec.pool_id else ("", series_id)
