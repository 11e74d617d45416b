"""The four stages of each attempt of a job, with their events."""

from collections.abc import Sequence
from typing import Any

from aisbench_sandbox.events import PlatformEvent
from aisbench_sandbox.job import Job
from aisbench_sandbox.service.jobs.queue_reasons import QueueReason

Json = dict[str, Any]

# name: (English, Simplified Chinese)
_STAGES = {
    "scheduling": ("Scheduling", "调度"),
    "preparing": ("Preparing", "准备"),
    "running": ("Running", "运行"),
    "end": ("End", "结束"),
}
_AGAIN = frozenset({"preempted", "restarted"})
_END = _AGAIN | {"task_finished", "output_started", "output_done", "output_failed"}
_END |= {"completed", "failed", "interrupted", "terminated", "timed_out", "queue_failed"}


def stages_json(job: Job, waits: QueueReason | None = None) -> Json:
    """One record per attempt; the last attempt may still be in the queue, for the reason of `waits`."""
    parts = _by_running(job.events)
    records: list[Json] = [
        {"record_order": number, "stages": _list_stages(job, events, is_last=number == len(parts))}
        for number, events in enumerate(parts, 1)
    ]
    if waits and records[-1]["stages"]:
        records[-1]["stages"][-1]["sub_stages"].append(_waiting_step(job, waits))
    return {"total_count": len(records), "running_records": records}


def _by_running(events: Sequence[PlatformEvent]) -> list[list[PlatformEvent]]:
    """The events of each attempt; requeueing belongs to the attempt that it ends."""
    parts: list[list[PlatformEvent]] = [[]]
    for event in events:
        parts[-1].append(event)
        if event.kind in _AGAIN:
            parts.append([])
    return parts


def _list_stages(job: Job, events: Sequence[PlatformEvent], *, is_last: bool) -> list[Json]:
    # Events are recorded in order, so each one belongs to the stage of the one before it, or opens the next.
    stages: dict[str, list[PlatformEvent]] = {name: [] for name in _STAGES}
    name = "scheduling"
    for event in events:
        name = _find_stage(name, event)
        stages[name].append(event)
    reached = [(order, name) for order, name in enumerate(_STAGES, 1) if stages[name]]
    is_over = job.has_ended or not is_last
    # A stage ends when the next begins; the last one, with the attempt.
    ends = [stages[name][0].at for _, name in reached[1:]] + [events[-1].at if is_over and events else 0]
    return [_stage_json(job, name, order, stages[name], end) for (order, name), end in zip(reached, ends, strict=True)]


def _find_stage(before: str, event: PlatformEvent) -> str:
    """The stage of an event, given the stage before it."""
    if event.kind == "running":
        return "preparing"
    if event.kind == "task_started":
        return "running"
    if event.kind in _END:
        return "end"
    return before


def _stage_json(job: Job, name: str, order: int, events: Sequence[PlatformEvent], end: int) -> Json:
    english, chinese = _STAGES[name]
    return {
        "job_id": job.job_id,
        "name": name,
        "en_message": english,
        "zh_message": chinese,
        "stage_order": order,
        # Times are strings here (SDK, StageInfoWithSub), unlike in the rest of the API.
        "start_time": str(events[0].at),
        "end_time": str(end or ""),
        "sub_stages": [
            {
                "name": event.kind,
                "en_message": event.message("en-us"),
                "zh_message": event.message("zh-cn"),
                "create_time": str(event.at),
            }
            for event in events
        ],
    }


def _waiting_step(job: Job, waits: QueueReason) -> Json:
    texts = {"name": waits.name, "en_message": waits.english, "zh_message": waits.chinese}
    return {**texts, "create_time": str(job.queued_at)}
