"""Explanations of runs: the first error, the probable cause, what to do, and what a corrected spec changes."""

from dataclasses import dataclass
from enum import StrEnum

from aisbench_core.base.messages import Message
from aisbench_core.model import FieldDifference, Scalar

Fix = tuple[str, Scalar | None]
"""A dotted field of a spec and its new value, as in `Finding.fix`; None removes the field."""


class Confidence(StrEnum):
    """How sure a cause is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class CauseSource(StrEnum):
    """Where a cause was found, most trusted first."""

    DIAGNOSIS = "diagnosis"
    ASCEND_FD = "ascend_fd"
    PLATFORM = "platform"
    RESULT = "result"
    LOG = "log"
    MESSAGE = "message"
    EXIT_CODE = "exit_code"
    STALL_GUARD = "stall_guard"


class Situation(StrEnum):
    """What an explanation is about. A run that a person stopped has no cause; NOTHING: neither failed nor hangs."""

    FAILED = "failed"
    HANGING = "hanging"
    STOPPED = "stopped"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Link:
    """A page of a manual."""

    title: Message
    url: str


@dataclass(frozen=True, slots=True)
class Cause:
    """A probable cause. `rule`: the id of the rule that found it."""

    rule: str
    text: Message
    advice: Message
    confidence: Confidence
    source: CauseSource
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstError:
    """The lines that a run failed with. `rank`: None if nothing says which; `line`: of the error, from 1, if known."""

    node: int | None
    """Number of the node, from 0."""
    rank: int | None
    """Number of the card, from 0."""
    line: int | None
    """Number of the line, from 1."""
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a run failed or hangs. Without `cause` it is unknown; `changes`: what a corrected spec changes.

    `log_offset`: the byte at which the line of the error begins in the log of its node, if that is known."""

    run_id: str
    situation: Situation
    cause: Cause | None = None
    error: FirstError | None = None
    fixes: tuple[Fix, ...] = ()
    changes: tuple[FieldDifference, ...] = ()
    log_offset: int | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether the run failed or hangs, and nothing says why."""
        return self.cause is None and self.situation in (Situation.FAILED, Situation.HANGING)
