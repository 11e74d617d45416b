"""Each time a job runs: from when to when, where, and what came of it. A job that is restarted has several."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class FaultScenario(StrEnum):
    """Why a job stopped running before its time, in the API's words where it has them."""

    CODE = "job_failed"
    NODE = "node_fault"
    HANG = "job_hanged"
    PREEMPTED = "preempted"
    LOST = "sandbox_ended"


class Recovery(StrEnum):
    """What the platform does about it; with taint: elsewhere than on the faulty nodes."""

    ELSEWHERE = "job_reschedule_with_taint"
    AGAIN = "job_reschedule"


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One running. Times are ms since the epoch, `ended_at` 0 while it runs; `hosts` holds the node of each task.

    `trouble` says why it ended, `reason` and `task` what is told of that; `recovery` is set when the job goes on."""

    started_at: int
    hosts: tuple[str, ...]
    ended_at: int = 0
    trouble: FaultScenario | None = None
    reason: str = ""
    task: str = ""
    recovery: Recovery | None = None

    @property
    def restarted(self) -> bool:
        """Whether fault tolerance ran the job again; preemption is no fault."""
        return self.recovery is not None and self.trouble is not FaultScenario.PREEMPTED

    def over(self, at: int) -> "JobAttempt":
        """The same, ended, if it was not."""
        return self if self.ended_at else replace(self, ended_at=at)

    def failed(
        self, at: int, trouble: FaultScenario, reason: str, task: str, recovery: Recovery | None = None
    ) -> "JobAttempt":
        """The same, ended by trouble."""
        return replace(self.over(at), trouble=trouble, reason=reason, task=task, recovery=recovery)


def read_attempt(stored: Mapping[str, Any]) -> JobAttempt:
    """An attempt from its JSON."""
    trouble, recovery = stored["trouble"], stored["recovery"]
    return JobAttempt(
        **{
            **stored,
            "hosts": tuple(stored["hosts"]),
            "trouble": FaultScenario(trouble) if trouble else None,
            "recovery": Recovery(recovery) if recovery else None,
        }
    )
