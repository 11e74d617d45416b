"""What ModelArts answers, read into our values. A reply of another form raises ValueError, TypeError or KeyError.

The JSON itself is read: the SDK's classes drop fields, turn numbers into text and fail on empty ones."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from aisbench_core.model import Engine, Flavor, JobEvent, JobStatus, LogPreview, MetricSample, Pool, TaskStatus

Json = Mapping[str, Any]

NOT_MEASURED = -1

_ARCHITECTURES = {"arm": "aarch64", "arm64": "aarch64", "aarch64": "aarch64", "x86": "x86_64", "x86_64": "x86_64"}
"""The cloud's words for processors, which differ from place to place, and the one that images and packages use."""


def job_status(job: Json) -> JobStatus:
    """One job, as create, detail, list and stop tell it."""
    metadata, status = job["metadata"], job.get("status") or {}
    tasks = tuple(_task_status(task) for task in status.get("task_statuses") or ())
    return JobStatus(
        job_id=str(metadata["id"]),
        name=str(metadata["name"]),
        phase=str(status.get("phase") or ""),
        secondary_phase=str(status.get("secondary_phase") or ""),
        message=_message(status, tasks),
        created_at=moment(metadata.get("create_time")),
        started_at=moment(status.get("start_time")),
        duration_s=seconds(status.get("duration")),
        tasks=tuple(str(task) for task in status.get("tasks") or ()),
        task_statuses=tasks,
        node_count=int(((job.get("spec") or {}).get("resource") or {}).get("node_count") or 1),
        outputs=tuple(_outputs(job.get("algorithm") or {})),
    )


def job_page(reply: Json) -> list[JobStatus]:
    """One page of the list of jobs."""
    return [job_status(job) for job in reply.get("items") or ()]


def log_preview(reply: Json) -> LogPreview:
    """The newest part of a log; an answer without content is an empty log."""
    return LogPreview(
        content=str(reply.get("content") or ""),
        current_size=int(reply.get("current_size") or 0),
        full_size=int(reply.get("full_size") or 0),
    )


def samples(reply: Json, node: int, start: datetime) -> Iterator[MetricSample]:
    """One value a minute from `start` on; -1 means that there is no sample."""
    for metric in reply.get("metrics") or ():
        for minute, value in enumerate(metric.get("value") or ()):
            if value is not None and float(value) != NOT_MEASURED:
                yield MetricSample(start + timedelta(minutes=minute), node, str(metric["metric"]), float(value))


def job_event(event: Json) -> JobEvent:
    """One event; its time comes with an offset and leaves as UTC."""
    at = datetime.fromisoformat(event["time"])
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return JobEvent(at, str(event.get("level") or ""), str(event.get("message") or ""), str(event.get("source") or ""))


def flavor(reply: Json) -> Flavor:
    """One instance type. Cards: NPUs, else GPUs, else what its attributes say, else 1."""
    facts = reply.get("flavor_info") or {}
    accelerator = facts.get("npu") or facts.get("gpu") or {}
    cards = accelerator.get("unit_num") or (reply.get("attributes") or {}).get("cards")
    return Flavor(
        flavor_id=str(reply["flavor_id"]),
        name=str(reply.get("flavor_name") or reply["flavor_id"]),
        accelerator=str(reply.get("flavor_type") or ""),
        cards=max(1, int(cards or 1)),
        max_nodes=max(1, int(facts.get("max_num") or reply.get("max_num") or 1)),
        product=str(accelerator.get("product_name") or ""),
        architecture=_ARCHITECTURES.get(str((facts.get("cpu") or {}).get("arch")).lower(), ""),
    )


def engine(reply: Json) -> Engine:
    """One preset image."""
    return Engine(str(reply.get("engine_id") or ""), str(reply["engine_name"]), str(reply["engine_version"]))


def pool(reply: Json) -> Pool:
    """One dedicated pool; jobs name it by its metadata name, people by its label."""
    metadata, status = reply["metadata"], reply.get("status") or {}
    labels = metadata.get("labels") or {}
    available = _listed((status.get("resources") or {}).get("available"))
    resources = [*_listed((reply.get("spec") or {}).get("resources")), *available]
    return Pool(
        pool_id=str(metadata["name"]),
        name=str(labels.get("os.modelarts/name") or metadata["name"]),
        phase=str(status.get("phase") or ""),
        flavors=tuple(dict.fromkeys(str(resource["flavor"]) for resource in resources if resource.get("flavor"))),
        free_nodes=_nodes(available),
    )


def trains(reply: Json) -> bool:
    """Whether a pool runs training jobs; one that does not say what it is for does."""
    scope = (reply.get("spec") or {}).get("scope")
    return not scope or "Train" in scope


def _nodes(resources: Sequence[Json]) -> int | None:
    counts = [resource.get("count") for resource in resources]
    return sum(int(count) for count in counts if count is not None) if counts and None not in counts else None


def _outputs(algorithm: Json) -> Iterator[str]:
    for output in algorithm.get("outputs") or ():
        path = ((output.get("remote") or {}).get("obs") or {}).get("obs_url")
        if path:
            yield str(path)


def _task_status(task: Json) -> TaskStatus:
    code = task.get("exit_code")
    return TaskStatus(str(task.get("task") or ""), None if code is None else int(code), str(task.get("message") or ""))


def _message(status: Json, tasks: Sequence[TaskStatus]) -> str:
    """Why the job is where it is. The job itself has no such field: its tasks and its last record have."""
    told = [f"{task.task}: {task.message}" for task in tasks if task.message]
    records = status.get("running_records") or [{}]
    return str(status.get("message") or "; ".join(told) or records[-1].get("end_reason") or "")


def moment(milliseconds: object) -> datetime | None:
    """ModelArts counts in milliseconds; 0 stands for a time that has not come."""
    return datetime.fromtimestamp(_number(milliseconds) / 1000, UTC) if milliseconds else None


def seconds(milliseconds: object) -> float | None:
    return None if milliseconds is None else _number(milliseconds) / 1000


def _number(value: object) -> float:
    if not isinstance(value, int | float | str):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _listed(value: Any) -> Sequence[Json]:
    """The documents show a list, the SDK's classes one object."""
    if not value:
        return ()
    return value if isinstance(value, list) else (value,)
