"""A job's status in the API: phase, duration, node count over time, and its attempts."""

from typing import Any

from aisbench_sandbox.attempts import FaultScenario, JobAttempt, Recovery
from aisbench_sandbox.job import Job, JobPhase

Json = dict[str, Any]

# The documents advise against relying on secondary_phase. Queuing is the only one that differs from its phase here.
_SECONDARY = {JobPhase.PENDING: "Queuing"}


def status_json(job: Job, now: int) -> Json:
    """The status block; `now` in ms is needed for a running job's duration, which excludes time in the queue."""
    ends = [{"task": end.task, "exit_code": end.exit_code, "message": end.message} for end in job.ends]
    return {
        "phase": job.phase.value,
        "secondary_phase": _SECONDARY.get(job.phase, job.phase.value),
        "duration": job.running_ms(now),
        # ms, like create_time; 0 before the start.
        "start_time": job.started_at,
        "node_count_metrics": _node_counts(job),
        "tasks": list(job.tasks),
        # null rather than an empty list, as in the API reference's examples.
        "task_statuses": ends or None,
        "running_records": [_running_record(job, number) for number in range(len(job.attempts))],
    }


def _node_counts(job: Job) -> list[list[int]] | None:
    """The number of nodes from each point in time, in ms; None before the job has started."""
    if not job.attempts:
        return None
    counts = [[job.created_at, 0]]
    for attempt in job.attempts:
        counts.append([attempt.started_at, job.node_count])
        if attempt.ended_at:
            counts.append([attempt.ended_at, 0])
    return counts


def _running_record(job: Job, number: int) -> Json:
    """One attempt of the job; its times are in seconds."""
    attempt = job.attempts[number]
    # Seconds in these records, milliseconds in the rest of the status (SDK, RunningRecord).
    record: Json = {"start_at": attempt.started_at // 1000, "start_type": "init_or_rescheduled"}
    if attempt.ended_at:
        record["end_at"] = attempt.ended_at // 1000
    if attempt.reason:
        record["end_reason"] = attempt.reason
    if attempt.task:
        record["end_related_task"] = attempt.task
    if attempt.recovery:
        record["end_recover"] = attempt.recovery.value
        # The API has no scenario for preemption or for a platform that stopped.
        if attempt.trouble in (FaultScenario.CODE, FaultScenario.NODE, FaultScenario.HANG):
            record["recover_records"] = [_to_recovery_json(job, number, attempt, attempt.recovery)]
    return record


def _to_recovery_json(job: Job, number: int, attempt: JobAttempt, recovery: Recovery) -> Json:
    later = job.attempts[number + 1 :]
    ended_at = later[0].started_at if later else job.ended_at
    record: Json = {
        "recover_start_at": attempt.ended_at // 1000,
        "recover": recovery.value,
        "fault_scenario": attempt.trouble.value if attempt.trouble else "",
        "reason": attempt.reason,
        "related_task": attempt.task,
        "recover_result": _find_result(job, has_run_again=bool(later)),
    }
    return {**record, "recover_end_at": ended_at // 1000} if ended_at else record


def _find_result(job: Job, *, has_run_again: bool) -> str:
    if has_run_again:
        # Success of the recovery: the job ran again, however that ended.
        return "success"
    if job.phase is JobPhase.TERMINATED:
        return "terminated"
    return "failed" if job.has_ended else "recovering"
