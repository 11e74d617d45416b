"""The attempts of a job: when and where each one ran, and how it ended; a restarted job has several."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class FaultScenario(StrEnum):
    """Why an attempt ended early, in the API's words where it has them."""

    # SDK, RecoverRecord.fault_scenario; the last two are ours and not shown there.
    CODE = "job_failed"
    NODE = "node_fault"
    HANG = "job_hanged"
    PREEMPTED = "preempted"
    LOST = "sandbox_ended"


class Recovery(StrEnum):
    """How the platform recovers the job; "with taint" avoids the faulty nodes."""

    # SDK, RunningRecord.end_recover. Processes are never restarted in place here.
    OTHER_NODE = "job_reschedule_with_taint"
    AGAIN = "job_reschedule"


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One execution of a job. Times are ms since the epoch, `ended_at` 0 while it runs; `hosts` has each task's node.

    `trouble` (its name in stored files) is why it ended, `reason` and `task` describe that; `recovery` is set if the
    job is run again."""

    started_at: int
    hosts: tuple[str, ...]
    ended_at: int = 0
    trouble: FaultScenario | None = None
    reason: str = ""
    task: str = ""
    recovery: Recovery | None = None

    @property
    def restarted(self) -> bool:
        """Whether fault tolerance restarted the job; preemption does not count."""
        return self.recovery is not None and self.trouble is not FaultScenario.PREEMPTED

    def to_finished(self, at: int) -> "JobAttempt":
        """The same attempt, ended if it was still running."""
        return self if self.ended_at else replace(self, ended_at=at)

    def to_failed(
        self, at: int, fault: FaultScenario, reason: str, task: str, recovery: Recovery | None = None
    ) -> "JobAttempt":
        """The same attempt, ended by a fault."""
        return replace(self.to_finished(at), trouble=fault, reason=reason, task=task, recovery=recovery)


def read_attempt(stored: Mapping[str, Any]) -> JobAttempt:
    """An attempt from its stored JSON."""
    fault, recovery = stored["trouble"], stored["recovery"]
    return JobAttempt(
        **{
            **stored,
            "hosts": tuple(stored["hosts"]),
            "trouble": FaultScenario(fault) if fault else None,
            "recovery": Recovery(recovery) if recovery else None,
        }
    )
