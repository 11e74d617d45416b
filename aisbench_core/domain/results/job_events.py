"""What the platform said about a run's job, as events of the run and as sentences for people."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from aisbench_core.base.messages import Message, join_parts, make_bilingual
from aisbench_core.model import AlertKind, Event, JobAlert, JobDetails, JobFault, Level, RunAttempt

_LEVELS = {"Error": Level.ERROR, "Warning": Level.WARNING}
CLOUD = "cloud"  # the source of such events
KUBERNETES = "K8S"  # by whom, in the words of the API
_SECOND = timedelta(microseconds=999_999)

FAULTS = {
    JobFault.CARD: Message("a card failed"),
    JobFault.NODE: Message("a node failed"),
    JobFault.CODE: Message("the code failed"),
    JobFault.HANG: Message("the job seemed to hang"),
    JobFault.DEGRADED: Message("the hardware was degraded"),
    JobFault.LOG: Message("the platform found an error in the log"),
}

# In the API's words (SDK, RunningRecord.end_recover and RecoverRecord.recover).
RECOVERIES = {
    "job_reschedule": Message("started again"),
    "job_reschedule_with_taint": Message("started again on other nodes"),
    "pod_reschedule": Message("one task was moved"),
    "proc_restart": Message("processes restarted"),
    "npu_proc_restart": Message("processes restarted"),
    "gpu_proc_restart": Message("processes restarted"),
    "npu_step_retry": Message("step repeated"),
}


def cloud_events(run_id: str, details: JobDetails) -> list[Event]:
    """The platform's events, the steps of stages that are in none of them, and the places in the queue, by time."""
    events = [
        *_iter_platform_events(run_id, details),
        *_iter_step_events(run_id, details),
        *_iter_queue_events(run_id, details),
    ]
    return sorted(events, key=lambda event: event.at)


def sort_events(events: Iterable[Event]) -> list[Event]:
    """Events of all sources by time. The platform's times are whole seconds: within its second, such a one is last."""
    return sorted(events, key=lambda event: event.at + (_SECOND if _is_rounded(event) else timedelta()))


def is_of_kubernetes(event: Event) -> bool:
    """Whether it is one of Kubernetes, which say little to those who did not build the platform."""
    return event.source == CLOUD and event.actor == KUBERNETES and event.level is Level.INFO


def _is_rounded(event: Event) -> bool:
    return event.source == CLOUD and event.at.microsecond == 0


def alert_message(alert: JobAlert) -> Message:
    """What happened to the job, in one sentence."""
    attempt = alert.attempt
    number = attempt.number if attempt else 1
    why = describe_interruption(attempt) if attempt else Message("no reason given")
    match alert.kind:
        case AlertKind.HANG:
            return Message("The platform suspects that the job hangs.")
        case AlertKind.STALLED if alert.is_measured:
            return Message("No sign of life since then: no new log lines, no new objects, idle cards.")
        case AlertKind.STALLED:
            return Message(
                "No sign of life since then: no new log lines, no new objects; use of the cards is not measured."
            )
        case AlertKind.QUIET:
            return Message("No sign of life since then: the longest pause of this run.")
        case AlertKind.RESTARTING:
            return Message("Attempt {number} ended: {why}. The platform restarts the job.", number=number, why=why)
        case AlertKind.RESTARTED:
            values = {"number": number + 1, "before": number, "why": why}
            return Message("The job was restarted: this is attempt {number}. Attempt {before} ended: {why}.", **values)
        case AlertKind.ENDED:
            return Message("Attempt {number} ended: {why}.", number=number, why=why)


def describe_interruption(attempt: RunAttempt) -> Message:
    """Why an attempt ended, and on which node, as far as the platform says."""
    fault = FAULTS.get(JobFault(attempt.fault)) if attempt.fault in set(JobFault) else attempt.fault
    reason = attempt.reason if attempt.reason and attempt.reason != fault else ""
    why = (
        join_parts(": ", [part for part in (fault, reason) if part]) if fault or reason else Message("no reason given")
    )
    if not attempt.task:
        return why
    if not attempt.host:
        return Message("{why} ({task})", why=why, task=attempt.task)
    return Message("{why} ({task} on {host})", why=why, task=attempt.task, host=attempt.host)


def recovery_text(attempt: RunAttempt) -> str:
    """How the platform went on after an attempt; empty if it did not, unknown words of the API as they are."""
    return RECOVERIES.get(attempt.recovery, attempt.recovery)


def _iter_platform_events(run_id: str, details: JobDetails) -> Iterator[Event]:
    for event in details.events:
        level = _LEVELS.get(event.level, Level.INFO)
        yield Event(run_id, event.at, CLOUD, level, make_bilingual(event.message, event.chinese), event.source)


def _iter_step_events(run_id: str, details: JobDetails) -> Iterator[Event]:
    # Some steps are events, too.
    known = {event.message for event in details.events}
    for stage in details.stages:
        for step in stage.steps:
            if step.english not in known:
                yield Event(run_id, step.at, CLOUD, Level.INFO, make_bilingual(step.english, step.chinese))


def _iter_queue_events(run_id: str, details: JobDetails) -> Iterator[Event]:
    for queued in details.queue:
        values = {"position": queued.position, "waiting": queued.waiting}
        message = Message("place {position} of {waiting} in the queue of the pool", **values)
        yield Event(run_id, queued.at, CLOUD, Level.INFO, message)
