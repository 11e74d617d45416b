"""What people may be told about runs and series, and what became of the messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from aisbench_core.base.messages import Message
from aisbench_core.model.run import Run


class NewsKind(StrEnum):
    """What can be told."""

    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    STALLED = "stalled"
    STRAGGLER = "straggler"
    ALERT = "alert"
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    RECORD = "record"
    HELD = "held"
    SKIPPED = "skipped"
    SERIES = "series"
    BUDGET = "budget"
    HEAD = "head"


@dataclass(frozen=True, slots=True)
class Notice:
    """What somebody may want to be told about a run or a series. The id is the same for the same happening."""

    notice_id: str
    subject: str
    kind: str
    at: datetime
    text: Message | str = ""

    @classmethod
    def from_ended(cls, run: Run) -> "Notice":
        """A run reached its last state."""
        return cls(f"{run.state}:{run.run_id}", run.run_id, run.state.value, run.updated_at, run.detail)


class DeliveryState(StrEnum):
    """What became of a message."""

    PENDING = "pending"
    SENT = "sent"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True)
class News:
    """One event, as it is told: `subject` is a run or a series, `facts` are what channels filter by."""

    news_id: str
    kind: NewsKind
    subject: str
    at: datetime
    title: Message
    text: Message
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one channel. Deliveries with the same `message_id` are sent as one message."""

    message_id: str
    channel: str
    notification: News
    state: DeliveryState
    attempts: int
    next_at: datetime
    error: str
    sent_at: datetime | None
