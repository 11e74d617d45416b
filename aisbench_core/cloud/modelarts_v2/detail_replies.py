"""Parses replies of API v2 about one job: its events, stages, tasks and diagnosis. Raises like `replies`."""

import json
import re
from datetime import UTC, datetime
from typing import Any

from aisbench_core.cloud.modelarts_v2.replies import Json, to_moment
from aisbench_core.model import (
    DiagnosedFault,
    DiagnosisTask,
    EventKind,
    JobDiagnosis,
    JobEvent,
    JobStage,
    JobTask,
    StageStep,
)

# The training guide (4.3) has the Chinese sentences; the English ones differ between documents.
_KINDS = (
    (EventKind.HANG, re.compile(r"suspected to (be suspended|hang)|\b(hang(s|ed|ing)?|hung)\b|卡死", re.IGNORECASE)),
    (EventKind.PREEMPTED, re.compile(r"\bpreempted\b|被抢占", re.IGNORECASE)),
)
_JOB = "Job"  # a task's events quote what the code prints

# Documented fields of a diagnosis task.
_OF_TASKS = ("task_id", "type", "status", "training_job_id", "created_at", "updated_at")


def job_events(reply: Json) -> list[JobEvent]:
    return [job_event(event) for event in reply.get("events") or ()]


def job_event(event: Json) -> JobEvent:
    """One event; its time has an offset, which is converted to UTC."""
    message, source = str(event.get("message") or ""), str(event.get("source") or "")
    return JobEvent(
        _parse_time(event["time"]), str(event.get("level") or ""), message, source, _classify_event(message, source)
    )


def job_stages(reply: Json) -> list[JobStage]:
    """The stages of all attempts, in their order."""
    records = sorted(reply.get("running_records") or (), key=lambda record: int(record.get("record_order") or 0))
    return [
        _parse_stage(stage, int(record.get("record_order") or number))
        for number, record in enumerate(records, start=1)
        for stage in sorted(record.get("stages") or (), key=lambda stage: int(stage.get("stage_order") or 0))
    ]


def job_tasks(reply: Any) -> list[JobTask]:
    """The tasks; the reply is a list, not an object. An empty reply means none."""
    return [
        JobTask(str(item["task"]), str(item.get("ip") or ""), str(item.get("host_ip") or "")) for item in reply or ()
    ]


def job_diagnosis(reply: Json) -> JobDiagnosis:
    """The platform's diagnosis. Of its fields beyond the code, names and texts are kept as they come."""
    faults = tuple(_parse_fault(item) for item in reply.get("conclusions") or ())
    return JobDiagnosis(reply.get("status") == "Completed", str(reply.get("level") or ""), faults)


def diagnosis_tasks(reply: Json) -> list[DiagnosisTask]:
    """The diagnosis tasks; fields beyond the documented ones are kept by their own names."""
    return [
        DiagnosisTask(
            str(item["task_id"]),
            str(item.get("type") or ""),
            str(item["status"]),
            tuple((name, text) for name, text in _list_texts(item) if name not in _OF_TASKS),
        )
        for item in reply.get("tasks") or ()
    ]


def _parse_fault(item: Json) -> DiagnosedFault:
    conclusion = item.get("conclusion") or {}
    facts = tuple((name, text) for name, text in _list_texts(conclusion) if name != "code")
    sources = (
        ", ".join(f"{name}: {text}" for name, text in _list_texts(source)) for source in item.get("sources") or ()
    )
    return DiagnosedFault(str(conclusion.get("code") or ""), facts, tuple(filter(None, sources)))


def _list_texts(values: Json) -> list[tuple[str, str]]:
    """What has a value, as text; lists and objects as JSON."""
    return [
        (str(name), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in values.items()
        if value not in (None, "", [], {})
    ]


def _classify_event(message: str, source: str) -> EventKind:
    if source not in ("", _JOB):
        return EventKind.OTHER
    return next((kind for kind, pattern in _KINDS if pattern.search(message)), EventKind.OTHER)


def _parse_stage(stage: Json, attempt: int) -> JobStage:
    name = str(stage["name"])
    return JobStage(
        attempt=attempt,
        name=name,
        english=str(stage.get("en_message") or name),
        chinese=str(stage.get("zh_message") or ""),
        started_at=_time_or_none(stage.get("start_time")),
        ended_at=_time_or_none(stage.get("end_time")),
        steps=tuple(step for item in stage.get("sub_stages") or () if (step := _parse_step(item)) is not None),
    )


def _parse_step(item: Json) -> StageStep | None:
    """A step; None for one that has not begun, or says nothing."""
    at = _time_or_none(item.get("create_time"))
    english = str(item.get("en_message") or item.get("name") or "")
    return None if at is None or not english else StageStep(at, english, str(item.get("zh_message") or ""))


def _time_or_none(value: Any) -> datetime | None:
    # The SDK says text without a form: milliseconds as elsewhere, or a date as in events.
    if value in (None, "", "0"):
        return None
    return to_moment(value) if str(value).isdecimal() else _parse_time(value)


def _parse_time(text: Any) -> datetime:
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
