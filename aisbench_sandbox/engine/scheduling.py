"""Jobs in the scheduler's terms: what they need, what they hold, and when they are overdue."""

from collections.abc import Sequence
from dataclasses import replace

from aisbench_sandbox.capacity import Capacity
from aisbench_sandbox.job import Job, JobPhase
from aisbench_sandbox.queue import Host, Occupied, Waiting, assign_hosts
from aisbench_sandbox.refusals import Refused


def to_waiting(job: Job) -> Waiting:
    """A queued job."""
    return Waiting(job.job_id, job.pool, job.node_count, job.flavor.cards, job.created_at, job.priority, job.ahead)


def to_occupied(job: Job, *, is_ending: bool) -> Occupied:
    """A running job."""
    last = job.attempts[-1]
    return Occupied(
        job.job_id,
        job.pool,
        last.hosts,
        job.flavor.cards,
        last.started_at,
        job.priority,
        job.preemptible,
        is_ending,
    )


def check_size(job: Job, capacity: Capacity) -> None:
    """Raises Refused when the job would not fit into an empty pool."""
    # Isolated nodes count: a new plan may bring them back while the job waits.
    hosts = capacity.largest(job.pool)
    if _can_fit(job, hosts):
        return
    if not job.pool:
        message = f"The job needs {job.card_count} cards and this sandbox runs at most {hosts[0].cards} at once."
        raise Refused(400, "ModelArts.2815", message, "Use fewer nodes, or start the sandbox with --cards.")
    message = f"The pool {job.pool} has {len(hosts)} nodes, which have no room for the job's {job.node_count}."
    raise Refused(400, "ModelArts.2815", message, "Use fewer nodes, or another capacity plan.")


def fail_if_overdue(job: Job, longest_s: float, now: int) -> Job:
    """The job, failed if it was requeued after a fault more than `longest_s` ago and still waits; `now` in ms."""
    if job.phase is not JobPhase.PENDING or not job.ahead:
        return job
    # 30 minutes in the cloud (training guide 5.2.1), unless the plan says otherwise.
    deadline = job.queued_at + round(longest_s * 1000)
    if now <= deadline:
        return job
    # At the deadline, not now: nobody may have asked about the job for hours.
    failed = replace(job, phase=JobPhase.FAILED, ended_at=deadline)
    return failed.with_event(deadline, "queue_failed", longest=f"{longest_s:g}")


def _can_fit(job: Job, hosts: Sequence[Host]) -> bool:
    """Whether it fits into an empty pool."""
    return assign_hosts(job.node_count, job.flavor.cards, {host.name: host.cards for host in hosts}) is not None
