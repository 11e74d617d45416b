"""Schedules: a series that is launched again and again, at the times of a cron expression."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from aisbench_core.base.messages import Message
from aisbench_core.model.run import Grant, Role
from aisbench_core.model.series import SeriesPlan
from aisbench_core.model.spec import Frozen


class Timing(Frozen):
    """When a schedule launches its series, and how much it may use."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
    cron: Annotated[str, Field(min_length=1, max_length=200)]
    time_zone: Annotated[str, Field(min_length=1, max_length=100)] = "UTC"
    weekly_hours: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A plan with its times. `owner` is whose series it launches, with at most `role`, by a token if there is an id.

    `weekly_hours`: node hours of its series in any seven days, or None. `next_at`: the next time. `due_at`: a time that
    has come and is not decided yet. `series_id`: the last series; `reported`: whether its outcome was told. `detail`:
    what happened last, one sentence."""

    name: str
    plan: SeriesPlan
    profile: str
    cron: str
    time_zone: str
    owner: str
    created_at: datetime
    next_at: datetime
    weekly_hours: float | None = None
    due_at: datetime | None = None
    series_id: str = ""
    reported: bool = False
    paused: bool = False
    detail: Message | str = ""
    version: int = 0
    role: Role = Role.ENGINEER
    token_id: str = ""

    @property
    def grant(self) -> Grant:
        """By what right it launches."""
        return Grant(self.role, self.token_id)

    @property
    def event_id(self) -> str:
        """What its events are stored under, beside those of runs and series."""
        return f"schedule:{self.name}"


@dataclass(frozen=True, slots=True)
class HeldSchedule:
    """A schedule that launches nothing, and why, with what to do about it."""

    name: str
    why: Message
