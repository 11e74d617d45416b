"""What the follower does for schedules: it launches each series once, and tells what was missed and what came of it.

First it is stored that a time has come, then the series is launched with a token made of that time, then the outcome is
stored; whoever takes over after a kill finds the series by its token."""

import logging
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from aisbench_core.base.errors import AisbenchError, ConfigError, NotAllowed, SpecError, StaleRun
from aisbench_core.base.messages import Message, choose_plural, join_parts
from aisbench_core.model import Clock, Event, Level, NewsKind, Notice, Schedule, WayIn
from aisbench_core.running.schedules.cron import next_time, times_until
from aisbench_core.running.schedules.outcomes import series_outcome
from aisbench_core.running.schedules.service import ScheduleService
from aisbench_core.running.series.service import SeriesService
from aisbench_core.running.series.snapshot import ROUNDING, SeriesSnapshot
from aisbench_core.store.ledger.schedules import ScheduleLedger

LOG = logging.getLogger(__name__)

# A follower that comes later than this does not launch: people expect a series of the night to run in the night.
LATEST = timedelta(minutes=10)
WEEK = timedelta(days=7)


@dataclass(slots=True)
class ScheduledLaunches:
    """For one thread at a time."""

    ledger: ScheduleLedger
    series: SeriesService
    schedules: ScheduleService
    clock: Clock
    _errors: dict[str, str] = field(default_factory=dict)

    def tick(self) -> None:
        """Do what is due for each schedule. Never raises: runs must go on."""
        try:
            due = self.ledger.due(self.clock())
        except Exception as error:
            self._log_once("schedules", error)
            return
        for schedule in due:
            self._log_once(f"schedule {schedule.name}", self._work_on(schedule))

    def _work_on(self, schedule: Schedule) -> Exception | None:
        """Each step goes on with what the one before stored. Returns the last error, which hinders no other step."""
        last: Exception | None = None
        for step in (self._report_outcome, self._claim_due, self._launch_or_skip):
            try:
                schedule = step(schedule)
            except StaleRun:
                break  # a person was quicker; the next tick sees what they did
            except Exception as error:
                last = error
        return last

    def _claim_due(self, schedule: Schedule) -> Schedule:
        """Store that a time has come, and tell which times nobody was there for."""
        now = self.clock()
        if schedule.paused or schedule.due_at or schedule.next_at > now:
            return schedule
        times = list(times_until(schedule.cron, schedule.time_zone, schedule.next_at, now))
        due_at = times[-1] if now - times[-1] <= LATEST else None
        missed = times if due_at is None else times[:-1]
        claimed = replace(
            schedule,
            next_at=next_time(schedule.cron, schedule.time_zone, now),
            due_at=due_at,
        )
        if not missed:
            return self._store_change(schedule, claimed)
        text = Message(
            "missed since {first} because no follower was running: {times}; missed launches are not repeated",
            times=choose_plural(len(missed), "{number} launch", "{number} launches"),
            first=_format_utc(missed[0]),
        )
        return self._store_notice(schedule, replace(claimed, detail=text), text, missed[-1])

    def _launch_or_skip(self, schedule: Schedule) -> Schedule:
        """Launch what has come due, or tell why it is not launched."""
        if schedule.due_at is None:
            return schedule
        token = f"schedule:{schedule.name}:{schedule.created_at.isoformat()}:{schedule.due_at.isoformat()}"
        series = self.series.ledger.launched_with(token)
        if series is None:
            reason = self._find_reason(schedule)
            if reason:
                return self._skip_launch(schedule, reason)
            try:
                series = self.series.launch(schedule.plan, schedule.profile, self.schedules.launcher(schedule), token)
            except (SpecError, ConfigError, NotAllowed) as error:  # anything else may pass by itself
                return self._skip_launch(schedule, error.sentence)
        text = Message("launched: {series_id}", series_id=series.series_id)
        launched = replace(schedule, due_at=None, series_id=series.series_id, reported=False, detail=text)
        return self._store_change(schedule, launched, self._make_event(schedule, Level.INFO, text))

    def _find_reason(self, schedule: Schedule) -> Message | None:
        """Why a time that has come launches nothing."""
        assert schedule.due_at  # noqa: S101  # only what is due is decided
        now = self.clock()
        if now - schedule.due_at > LATEST:
            return Message("it could not be launched in time")
        if schedule.series_id and self.ledger.is_open(schedule.series_id):
            return Message("the previous series, {series_id}, has not ended", series_id=schedule.series_id)
        if schedule.weekly_hours is None:
            return None
        used = self._used_hours(schedule, now)
        needed = self.series.check_plan(schedule.plan, schedule.profile).estimate.node_hours
        if used + needed <= schedule.weekly_hours + ROUNDING:
            return None
        return Message(
            "the budget is {budget:.4g} node hours a week, of which {used:.4g} are used, and the series needs about"
            " {needed:.4g}",
            budget=schedule.weekly_hours,
            used=used,
            needed=needed,
        )

    def _used_hours(self, schedule: Schedule, now: datetime) -> float:
        launched = self.series.ledger.of(self.ledger.launched_since(schedule.name, now - WEEK))
        hours = [SeriesSnapshot.of(self.series.ledger, series, now).hours for series in launched]
        return sum(each.used + each.promised + each.to_come for each in hours)

    def _skip_launch(self, schedule: Schedule, reason: Message) -> Schedule:
        text = Message("not launched: {reason}", reason=reason)
        assert schedule.due_at  # noqa: S101  # only what is due is skipped
        return self._store_notice(schedule, replace(schedule, due_at=None, detail=text), text, schedule.due_at)

    def _store_notice(self, before: Schedule, after: Schedule, text: Message, at: datetime) -> Schedule:
        notice_id = f"{NewsKind.SKIPPED}:{before.name}:{at.isoformat()}"
        notice = Notice(notice_id, before.name, NewsKind.SKIPPED, self.clock(), text)
        return self._store_change(before, after, self._make_event(before, Level.WARNING, text), notice)

    def _report_outcome(self, schedule: Schedule) -> Schedule:
        """Tell what came of the last series, once it has ended."""
        if not schedule.series_id or schedule.reported or self.ledger.is_open(schedule.series_id):
            return schedule
        series = self.series.get(schedule.series_id)
        outcome = series_outcome(self.series.matrix(series.series_id), self.series.warehouse)
        text = join_parts(": ", [schedule.name, outcome.text])
        notice = Notice(f"{NewsKind.SERIES}:{series.series_id}", series.series_id, NewsKind.SERIES, self.clock(), text)
        event = self._make_event(schedule, outcome.level, join_parts(": ", [series.series_id, outcome.text]))
        return self._store_change(schedule, replace(schedule, reported=True, detail=outcome.text), event, notice)

    def _store_change(
        self, before: Schedule, after: Schedule, event: Event | None = None, notice: Notice | None = None
    ) -> Schedule:
        self.ledger.change(before, after, event, notice)
        return replace(after, version=before.version + 1)

    def _make_event(self, schedule: Schedule, level: Level, text: Message) -> Event:
        return Event(schedule.event_id, self.clock(), WayIn.FOLLOWER, level, text)

    def _log_once(self, where: str, error: Exception | None) -> None:
        said = str(error) if error else ""
        if error and self._errors.get(where) != said:
            bug = None if isinstance(error, AisbenchError) else error
            LOG.error("%s: %s", where, said, exc_info=bug)  # ours need no traceback
        self._errors[where] = said


def _format_utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
