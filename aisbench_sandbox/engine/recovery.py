"""What follows when a job stops running: its end, or its way back into the queue."""

from dataclasses import dataclass, replace

from aisbench_sandbox.attempts import Recovery, Trouble
from aisbench_sandbox.job import Job, Phase, TaskEnd

MOST_IN_A_ROW = 3
"""How often in a row a job is restarted for a fault of its own code, or because it hangs."""

_REASONS = {
    Trouble.NODE: "the node is faulty",
    Trouble.HANG: "the job is suspected to hang",
    Trouble.PREEMPTED: "preempted by a job of higher priority",
    Trouble.LOST: "the sandbox stopped while the job was running",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why a job stopped running: `event` names what is told if that is its end, `ends` how its tasks ended.

    `faulty` are the numbers of the nodes that are to blame."""

    event: str
    ends: tuple[TaskEnd, ...] = ()
    trouble: Trouble | None = None
    faulty: tuple[int, ...] = ()


def after(job: Job, outcome: Outcome, now: int) -> Job:
    """The job after it stopped running; `now` in ms."""
    if outcome.event == "terminated":
        return job.terminated(now)
    if outcome.event == "timed_out":
        return job.terminated(now, "timed_out", hours=str(job.longest_hours))
    if outcome.trouble is None or job.phase is Phase.TERMINATING:
        return job.ended(now, outcome.ends, outcome.event)
    task = next((end.task for end in outcome.ends if end.exit_code), "")
    reason = _reason(outcome, outcome.trouble)
    if goes_on(job, outcome.trouble):
        recovery = Recovery.ELSEWHERE if outcome.faulty else Recovery.AGAIN
        return job.requeued(now, outcome.trouble, reason, task, recovery)
    ended = job.ended(now, outcome.ends, outcome.event)
    last = ended.attempts[-1].failed(now, outcome.trouble, reason, task)
    return replace(ended, attempts=(*ended.attempts[:-1], last))


def goes_on(job: Job, trouble: Trouble) -> bool:
    """Whether the job is run again: after preemption always, else as often as its annotations allow."""
    if trouble is Trouble.PREEMPTED:
        return True
    restarts = [attempt.trouble for attempt in job.attempts if attempt.restarted]
    if len(restarts) >= job.most_retries:
        return False
    if trouble in (Trouble.NODE, Trouble.LOST):
        return True
    asked_for = job.retries_always if trouble is Trouble.CODE else job.retries_hangs
    return asked_for and restarts[-MOST_IN_A_ROW:] != [trouble] * MOST_IN_A_ROW


def _reason(outcome: Outcome, trouble: Trouble) -> str:
    if trouble in _REASONS:
        return _REASONS[trouble]
    return next((f"exit with {end.exit_code}" for end in outcome.ends if end.exit_code), "failed")
