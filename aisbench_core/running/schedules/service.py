"""Schedules: what people do with them. What the follower does is in `launching.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import ConfigError, NotAllowed, ScheduleNotFound, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted, permitted_for
from aisbench_core.domain.access.changes import note_values
from aisbench_core.domain.access.guard import require_permission
from aisbench_core.domain.access.server_files import closed_files, require_open_files
from aisbench_core.model import Actor, Clock, Event, HeldSchedule, Schedule, SeriesPlan, Timing
from aisbench_core.people.tokens.service import Tokens
from aisbench_core.running.schedules.cron import WHAT, first_time, next_time
from aisbench_core.running.series.service import SeriesService
from aisbench_core.running.series.snapshot import ROUNDING, SeriesSnapshot
from aisbench_core.store.ledger.schedules import ScheduleLedger

TAKE_OVER = Message("its owner can resume it with the right role or another token; or remove it, and add it again")
# What the follower has, and a console that follows nothing may not: the values of secrets, and the code.
OF_THE_FOLLOWER = (
    *("secrets.value", "boot.missing"),
    *("code.missing", "code.files", "code.size", "code.depth", "code.unreadable"),
)
CORRECT_PLAN = Message("correct that, or remove the schedule and add it again with another plan")


def _find_owner(self: "ScheduleService", name: str, **_: object) -> str | None:
    try:
        return self.ledger.get(name).owner
    except ScheduleNotFound:  # said by the method itself
        return None


@dataclass(frozen=True, slots=True)
class ScheduleService:
    """All schedules of this console. Methods about one of them raise ScheduleNotFound.

    `is_following`: whether this console may launch them, with its secrets and code."""

    ledger: ScheduleLedger
    series: SeriesService
    tokens: Tokens
    clock: Clock
    is_following: bool

    def all(self) -> list[Schedule]:
        """Every schedule, by name."""
        return self.ledger.all()

    def get(self, name: str) -> Schedule:
        """One schedule."""
        return self.ledger.get(name)

    def launcher(self, schedule: Schedule) -> Actor:
        """Who launches its series: its owner, in the least role of when it was made and now.

        Raises NotAllowed if the token that made it, or the owner's access, has ended, or the role is too low for a
        launch or for the files that the plan names."""
        self.tokens.require_unexpired(schedule.grant, TAKE_OVER)
        actor = self.tokens.find_actor(schedule.owner, schedule.grant, TAKE_OVER)
        require_permission(actor, SeriesService.launch.__qualname__)
        for closed in closed_files(schedule.plan.spec, actor, self.series.runs.open_folders):
            raise NotAllowed(closed.message, TAKE_OVER)
        return actor

    def hold(self, schedule: Schedule) -> Message | None:
        """Why each of its times launches nothing until somebody does something about it; None if it may launch."""
        try:
            self.launcher(schedule)
            ignored = () if self.is_following else OF_THE_FOLLOWER
            draft = self.series.check_plan(schedule.plan, schedule.profile, ignored)
        except NotAllowed as error:
            return error.sentence
        except (ConfigError, SpecError) as error:
            return Message("{message} ({hint})", message=error.description, hint=error.hint or CORRECT_PLAN)
        return _budget_hold(schedule, draft.estimate.node_hours) or self._series_hold(schedule)

    def list_held(self) -> list[HeldSchedule]:
        """The schedules that launch nothing until somebody does something about it; paused ones are meant to."""
        holds = ((each.name, self.hold(each)) for each in self.all() if not each.paused)
        return [HeldSchedule(name, why) for name, why in holds if why]

    def _series_hold(self, schedule: Schedule) -> Message | None:
        """While a held series has cells to launch, the next one is not launched."""
        if not schedule.series_id or not self.ledger.is_open(schedule.series_id):
            return None
        last = SeriesSnapshot.of(self.series.ledger, self.series.get(schedule.series_id), self.clock())
        if last.active or not (last.hold or last.series.launch_error or last.series.held):
            return None
        return Message(
            "its last series, {series_id}, is held: see its page, then resume or stop it", series_id=schedule.series_id
        )

    def events(self, schedule: Schedule) -> list[Event]:
        """What happened to it, oldest first."""
        return self.series.run_ledger.events(schedule.event_id)

    @permitted
    def add(self, plan: SeriesPlan, timing: Mapping[str, Any], profile: str, actor: Actor) -> Schedule:
        """Store a schedule of a plan that could be launched now. `timing`: the fields of Timing; None is the default.

        Raises SpecError, naming the fields, and ScheduleExists."""
        chosen = parse_document(Timing, {name: value for name, value in timing.items() if value is not None}, WHAT)
        now = self.clock()
        first = first_time(chosen.cron, chosen.time_zone, now)
        require_open_files(plan.spec, actor, self.series.runs.open_folders)
        draft = self.series.check_plan(plan, profile)
        schedule = Schedule(
            **chosen.model_dump(), plan=draft.plan, profile=self.series.regions.profile(profile).name,
            owner=actor.name, created_at=now, next_at=first, role=actor.grant.role, token_id=actor.grant.token_id,
        )  # fmt: skip
        added = Message("added: {cron}, {time_zone}", cron=chosen.cron, time_zone=chosen.time_zone)
        self.ledger.add(schedule, self._make_event(schedule, added, actor))
        return schedule

    @permitted_for(_find_owner)
    def change(
        self, name: str, plan: SeriesPlan | None, timing: Mapping[str, Any], profile: str, actor: Actor
    ) -> Schedule:
        """Replace the plan, unless it is None, and the fields of Timing that `timing` has. The owner stays.

        If it is the owner who changes it, it launches by the right of this change from now on.
        Times count from now on; a series that runs goes on. Raises SpecError, and StaleRun if it changed meanwhile.
        """
        schedule = self.ledger.get(name)
        before = {field: getattr(schedule, field) for field in Timing.model_fields}
        chosen = parse_document(Timing, {**before, **timing, "name": name}, WHAT)
        changed = _grant_role(replace(schedule, **chosen.model_dump()), actor)
        if plan is not None:
            require_open_files(plan.spec, actor, self.series.runs.open_folders)
            draft = self.series.check_plan(plan, profile)
            changed = replace(changed, plan=draft.plan, profile=self.series.regions.profile(profile).name)
        if changed == schedule:
            return schedule
        following = first_time(chosen.cron, chosen.time_zone, self.clock())
        text = Message("changed: {cron}, {time_zone}", cron=chosen.cron, time_zone=chosen.time_zone)
        note_values(_timing_text(schedule), _timing_text(changed))
        self.ledger.change(schedule, replace(changed, next_at=following), self._make_event(schedule, text, actor))
        return self.ledger.get(name)

    def list_launched(self, schedule: Schedule, most: int = 20) -> list[str]:
        """The ids of the newest series that it launched, newest first."""
        return self.ledger.launched_since(schedule.name, schedule.created_at)[::-1][:most]

    @permitted_for(_find_owner)
    def pause(self, name: str, actor: Actor) -> Schedule:
        """Launch nothing until it is resumed. Can be repeated."""
        schedule = self.ledger.get(name)
        if schedule.paused:
            return schedule
        event = self._make_event(schedule, Message("paused"), actor)
        self.ledger.change(schedule, replace(schedule, paused=True), event)
        return self.ledger.get(name)

    @permitted_for(_find_owner)
    def resume(self, name: str, actor: Actor) -> Schedule:
        """Launch again from the next time on; what came meanwhile was not missed. Can be repeated.

        If it is the owner who resumes it, it launches by the right of this actor from now on."""
        schedule = self.ledger.get(name)
        resumed = _grant_role(replace(schedule, paused=False), actor)
        if resumed == schedule:
            return schedule
        following = next_time(schedule.cron, schedule.time_zone, self.clock())
        event = self._make_event(schedule, Message("resumed"), actor)
        self.ledger.change(schedule, replace(resumed, next_at=following), event)
        return self.ledger.get(name)

    @permitted_for(_find_owner)
    def remove(self, name: str, actor: Actor) -> None:
        """Delete a schedule. Its series stay, and one that runs goes on."""
        schedule = self.ledger.get(name)
        self.ledger.remove(name, self._make_event(schedule, Message("removed"), actor))

    def _make_event(self, schedule: Schedule, message: Message, actor: Actor) -> Event:
        return Event.by(actor, schedule.event_id, self.clock(), message)


def _budget_hold(schedule: Schedule, needed: float) -> Message | None:
    if schedule.weekly_hours is None or needed <= schedule.weekly_hours + ROUNDING:
        return None
    return Message(
        "a series needs about {needed:.4g} node hours, more than its budget of {budget:.4g} a week (raise the budget,"
        " or add the schedule again with a smaller plan)",
        needed=needed,
        budget=schedule.weekly_hours,
    )


def _grant_role(schedule: Schedule, actor: Actor) -> Schedule:
    """With the right of its owner; nobody else lends it theirs."""
    if actor.name != schedule.owner:
        return schedule
    return replace(schedule, role=actor.grant.role, token_id=actor.grant.token_id)


def _timing_text(schedule: Schedule) -> str:
    hours = "" if schedule.weekly_hours is None else f", {schedule.weekly_hours:g} node hours a week"
    return f"{schedule.cron}, {schedule.time_zone}{hours}"
