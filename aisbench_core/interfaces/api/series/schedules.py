"""Schedules: series that are launched again and again, their next times, and what came of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from aisbench_core.interfaces.api.cursors import Cursor, Limit, cursor_of, position_of
from aisbench_core.interfaces.api.endpoint import PREFIX, Answered, ApiCall
from aisbench_core.interfaces.api.series.changes import SeriesRequest, answers_of
from aisbench_core.model import Event, Frozen, Level, Schedule, SeriesPlan
from aisbench_core.running.schedules.cron import next_times

NEXT_TIMES = 5
LAST_EVENTS = 50


class SchedulesQuery(Frozen):
    """Which page of schedules."""

    limit: Limit = 50
    cursor: Cursor = ""


class ScheduleRequest(SeriesRequest):
    """A plan with its times."""

    cron: Annotated[
        str,
        Field(min_length=1, max_length=200, description="Minute, hour, day, month, day of the week: `0 2 * * 1-5`."),
    ]
    time_zone: Annotated[
        str, Field(min_length=1, max_length=100, description="Of the expression, such as Asia/Shanghai.")
    ] = "UTC"
    weekly_hours: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="Node hours of its series in any 7 days; null: no limit."),
    ] = None


@dataclass(frozen=True, slots=True)
class ScheduleSummary:
    """A schedule in a list. `detail`: what happened last, one sentence; `series_id`: the last series, or empty.

    `held`: why its owner may not launch it any more, or empty."""

    name: str
    workload: str
    profile: str
    cron: str
    time_zone: str
    weekly_hours: Annotated[float | None, Field(description="Node hours in any 7 days; null: no limit.")]
    owner: str
    created_at: datetime
    paused: bool
    next_at: Annotated[datetime | None, Field(description="When it launches its next series; null while paused.")]
    series_id: str
    detail: str
    held: Annotated[str, Field(description="Why its owner may not launch it any more; or empty.")]


@dataclass(frozen=True, slots=True)
class ScheduleListing:
    """Schedules by name. `next` is null on the last page."""

    items: Sequence[ScheduleSummary]
    next: str | None


@dataclass(frozen=True, slots=True)
class ScheduleEvent:
    """What happened to a schedule: launched, not launched and why, missed, what came of a series, changed by whom."""

    at: datetime
    level: Level
    message: str
    actor: str


@dataclass(frozen=True, slots=True)
class ScheduleDetails:
    """A schedule with its plan, its next times, the series that it launched, and what happened to it, newest first."""

    schedule: ScheduleSummary
    plan: SeriesPlan
    next_times: Annotated[Sequence[datetime], Field(description="The next 5; none while paused.")]
    series_ids: Annotated[Sequence[str], Field(description="Of the newest 20 series.")]
    events: Annotated[Sequence[ScheduleEvent], Field(description="The newest 50.")]


def list_schedules(call: ApiCall) -> ScheduleListing:
    """A page of schedules."""
    query: SchedulesQuery = call.query
    (behind,) = position_of(query.cursor, str) if query.cursor else ("",)
    found = [each for each in call.core.schedules.all() if each.name > behind]
    page = found[: query.limit]
    following = cursor_of(page[-1].name) if len(found) > query.limit else None
    return ScheduleListing([_to_summary(each, call) for each in page], following)


def show_schedule(call: ApiCall) -> ScheduleDetails:
    """One schedule, by its name."""
    return _to_details(call.core.schedules.get(call.path["name"]), call)


def put_schedule(call: ApiCall) -> Answered:
    """Add a schedule: 201. One of this name is changed, and keeps its owner: 200. Repeating it changes nothing."""
    request: ScheduleRequest = call.body
    service, name = call.core.schedules, call.path["name"]
    plan = call.core.series.plan(request.plan.spec, answers_of(request.plan), request.profile).plan
    timing = {"cron": request.cron, "time_zone": request.time_zone, "weekly_hours": request.weekly_hours}
    if any(each.name == name for each in service.all()):
        schedule, status = service.change(name, plan, timing, request.profile, call.actor), HTTPStatus.OK
    else:
        schedule = service.add(plan, {**timing, "name": name}, request.profile, call.actor)
        status = HTTPStatus.CREATED
    return Answered(_to_details(schedule, call), status, {"Location": f"{PREFIX}/schedules/{name}"})


def pause_schedule(call: ApiCall) -> ScheduleDetails:
    """Launch nothing until it is resumed. Can be repeated."""
    return _to_details(call.core.schedules.pause(call.path["name"], call.actor), call)


def resume_schedule(call: ApiCall) -> ScheduleDetails:
    """Launch again from the next time on. Can be repeated."""
    return _to_details(call.core.schedules.resume(call.path["name"], call.actor), call)


def remove_schedule(call: ApiCall) -> Response:
    """Remove a schedule; its series stay, and one that runs goes on."""
    call.core.schedules.remove(call.path["name"], call.actor)
    return Response(status_code=HTTPStatus.NO_CONTENT)


def _to_details(schedule: Schedule, call: ApiCall) -> ScheduleDetails:
    service = call.core.schedules
    after = call.core.clock()
    times = [] if schedule.paused else next_times(schedule.cron, schedule.time_zone, after, NEXT_TIMES)
    events = [_to_event(event, call) for event in service.events(schedule)[::-1][:LAST_EVENTS]]
    return ScheduleDetails(_to_summary(schedule, call), schedule.plan, times, service.list_launched(schedule), events)


def _to_summary(schedule: Schedule, call: ApiCall) -> ScheduleSummary:
    return ScheduleSummary(
        schedule.name, schedule.plan.spec.workload, schedule.profile, schedule.cron, schedule.time_zone,
        schedule.weekly_hours, schedule.owner, schedule.created_at, schedule.paused,
        None if schedule.paused else schedule.next_at, schedule.series_id, call.say(schedule.detail),
        call.say(call.core.schedules.hold(schedule) or ""),
    )  # fmt: skip


def _to_event(event: Event, call: ApiCall) -> ScheduleEvent:
    return ScheduleEvent(event.at, event.level, call.say(event.message), event.actor)
