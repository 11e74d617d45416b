"""Why a job waits: the jobs before it, or the nodes that are not free."""

from collections.abc import Sequence
from dataclasses import dataclass

from aisbench_sandbox.engine.scheduling import to_occupied, to_waiting
from aisbench_sandbox.job import Job, JobPhase
from aisbench_sandbox.queue import Host, free_hosts

_HELD = (JobPhase.RUNNING, JobPhase.TERMINATING)


@dataclass(frozen=True, slots=True)
class QueueReason:
    """The reason as a step of the scheduling stage, in both languages of the API."""

    name: str
    english: str
    chinese: str


def queue_reason(job: Job, jobs: Sequence[Job], hosts: Sequence[Host]) -> QueueReason | None:
    """Why this job waits; None if it does not. `jobs` are all, `hosts` the schedulable nodes of its pool."""
    if job.phase is not JobPhase.PENDING:
        return None
    others = [other for other in jobs if other.pool == job.pool and other.job_id != job.job_id]
    order = to_waiting(job).queue_order
    before = [other for other in others if other.phase is JobPhase.PENDING and to_waiting(other).queue_order < order]
    if before:
        return QueueReason(
            "waiting_for_jobs",
            f"Waiting in the queue. Jobs before this one: {len(before)}.",
            f"正在排队，前面还有{len(before)}个作业。",
        )
    held = [to_occupied(other, is_ending=False) for other in others if other.phase in _HELD and other.attempts]
    free = free_hosts(hosts, held, job.flavor.cards)
    return QueueReason(
        "insufficient_resources",
        f"Insufficient resources: nodes needed {job.node_count}, free {free} of {len(hosts)}.",
        f"资源不足：需要{job.node_count}个节点，{len(hosts)}个节点中有{free}个空闲。",
    )
