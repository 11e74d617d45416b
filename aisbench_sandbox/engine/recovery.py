"""What happens when a job stops running: it ends, or it goes back into the queue."""

from dataclasses import dataclass, replace

from aisbench_sandbox.attempts import FaultScenario, Recovery
from aisbench_sandbox.job import Job, JobPhase, TaskEnd

# For job-unconditional-retry and hang-retry (API reference, Creating a Training Job: annotations).
# How often in a row a job is restarted because its own code fails, or because it hangs.
MAX_IN_A_ROW = 3

_REASONS = {
    FaultScenario.NODE: "the node is faulty",
    FaultScenario.HANG: "the job is suspected to hang",
    FaultScenario.PREEMPTED: "preempted by a job of higher priority",
    FaultScenario.LOST: "the sandbox stopped while the job was running",
}


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How an attempt ended: `event` is the event to record if the job ends with it, `ends` are its tasks' exit codes.

    `faulty` are the indexes of the faulty nodes."""

    event: str
    ends: tuple[TaskEnd, ...] = ()
    fault: FaultScenario | None = None
    faulty: tuple[int, ...] = ()


def job_after(job: Job, outcome: JobOutcome, now: int) -> Job:
    """The job after it stopped running; `now` in ms."""
    if outcome.event == "terminated":
        return job.to_terminated(now)
    if outcome.event == "timed_out":
        return job.to_terminated(now, "timed_out", hours=str(job.max_hours))
    # A stop that was requested while the job failed counts more than its restart.
    if outcome.fault is None or job.phase is JobPhase.TERMINATING:
        return job.to_ended(now, outcome.ends, outcome.event)
    task = next((end.task for end in outcome.ends if end.exit_code), "")
    reason = _find_reason(outcome, outcome.fault)
    if is_retried(job, outcome.fault):
        recovery = Recovery.OTHER_NODE if outcome.faulty else Recovery.AGAIN
        return job.to_requeued(now, outcome.fault, reason, task, recovery)
    ended = job.to_ended(now, outcome.ends, outcome.event)
    last = ended.attempts[-1].to_failed(now, outcome.fault, reason, task)
    return replace(ended, attempts=(*ended.attempts[:-1], last))


def is_retried(job: Job, fault: FaultScenario) -> bool:
    """Whether the job is run again: always after preemption, else as often as its annotations allow."""
    if fault is FaultScenario.PREEMPTED:
        return True
    restarts = [attempt.trouble for attempt in job.attempts if attempt.restarted]
    if len(restarts) >= job.max_retries:
        return False
    # Faults of the platform, for which job-retry-num alone is enough; the job's own need an annotation more.
    if fault in (FaultScenario.NODE, FaultScenario.LOST):
        return True
    is_enabled = job.retries_always if fault is FaultScenario.CODE else job.retries_hangs
    return is_enabled and restarts[-MAX_IN_A_ROW:] != [fault] * MAX_IN_A_ROW


def _find_reason(outcome: JobOutcome, fault: FaultScenario) -> str:
    if fault in _REASONS:
        return _REASONS[fault]
    return next((f"exit with {end.exit_code}" for end in outcome.ends if end.exit_code), "failed")
