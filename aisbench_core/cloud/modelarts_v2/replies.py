"""Parses replies of API v2. A reply of another form raises ValueError, TypeError or KeyError.

The raw JSON is parsed: the SDK's classes drop fields, turn numbers into text and fail on empty ones."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from aisbench_core.model import (
    Engine,
    Flavor,
    JobStatus,
    MetricSample,
    Pool,
    Quota,
    RunAttempt,
    TaskStatus,
    WaitingJob,
)

Json = Mapping[str, Any]

NOT_MEASURED = -1  # how the API marks a missing sample
GIVEN_UP = ("failed", "terminated", "quotaExceeded")  # results of a recovery that did not start the job again

# The cloud's names of processors, which differ between APIs, and those that images and packages use.
_ARCHITECTURES = {"arm": "aarch64", "arm64": "aarch64", "aarch64": "aarch64", "x86": "x86_64", "x86_64": "x86_64"}
_GIGABYTES = re.compile(r"(\d+(?:\.\d+)?) ?GB")


def job_status(job: Json) -> JobStatus:
    """One job, as in the replies of create, detail, list and stop."""
    metadata, status = job["metadata"], job.get("status") or {}
    tasks = tuple(_task_status(task) for task in status.get("task_statuses") or ())
    spec = job.get("spec") or {}
    priority = (spec.get("schedule_policy") or {}).get("priority")
    return JobStatus(
        job_id=str(metadata["id"]),
        name=str(metadata["name"]),
        phase=str(status.get("phase") or ""),
        secondary_phase=str(status.get("secondary_phase") or ""),
        message=_join_messages(status, tasks),
        created_at=to_moment(metadata.get("create_time")),
        started_at=to_moment(status.get("start_time")),
        duration_s=parse_milliseconds(status.get("duration")),
        tasks=tuple(str(task) for task in status.get("tasks") or ()),
        task_statuses=tasks,
        node_count=int((spec.get("resource") or {}).get("node_count") or 1),
        outputs=tuple(_iter_outputs(job.get("algorithm") or {})),
        priority=None if priority is None else int(priority),
        attempts=_readable_attempts(status.get("running_records") or ()),
    )


def job_page(reply: Json) -> list[JobStatus]:
    return [job_status(job) for job in reply.get("items") or ()]


def log_paths(job: JobStatus, log_path: str) -> Mapping[int, str]:
    """The path of each node's log object, by node index. The API names the objects, so no reply is needed."""
    directory = log_path.rstrip("/")
    return {node: f"{directory}/modelarts-job-{job.job_id}-worker-{node}.log" for node in range(job.node_count)}


def parse_samples(reply: Json, task: str, start: datetime) -> tuple[MetricSample, ...]:
    """The metrics of a task such as worker-0: one value per minute from `start` on."""
    node = int(task.rpartition("-")[2])
    return tuple(
        MetricSample(start + timedelta(minutes=minute), node, str(metric["metric"]), float(value))
        for metric in reply.get("metrics") or ()
        for minute, value in enumerate(metric.get("value") or ())
        if value is not None and float(value) != NOT_MEASURED
    )


def parse_flavors(reply: Json) -> list[Flavor]:
    return [parse_flavor(item) for item in reply.get("flavors") or ()]


def parse_flavor(reply: Json) -> Flavor:
    """One instance type. Cards: its NPUs, else GPUs, else its attribute, else 1."""
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
        card_gb=_parse_gigabytes(accelerator.get("memory")),
    )


def _parse_gigabytes(written: object) -> float | None:
    """A card's memory, such as 32GB; None if it is not written so."""
    found = _GIGABYTES.fullmatch(str(written))
    return float(found[1]) if found else None


def parse_engines(reply: Json) -> list[Engine]:
    return [
        Engine(str(item.get("engine_id") or ""), str(item["engine_name"]), str(item["engine_version"]))
        for item in reply.get("items") or ()
    ]


def training_pools(reply: Json) -> list[Pool]:
    """The dedicated pools for training; a pool without a scope is for everything."""
    pools = reply.get("items") or ()
    return [parse_pool(item) for item in pools if "Train" in ((item.get("spec") or {}).get("scope") or ("Train",))]


def parse_pool(reply: Json) -> Pool:
    """One dedicated pool. Its id for jobs is the metadata name; its display name is a label."""
    metadata, status = reply["metadata"], reply.get("status") or {}
    labels = metadata.get("labels") or {}
    spec, counts = reply.get("spec") or {}, status.get("resources") or {}
    planned, available = _to_list(spec.get("resources")), _to_list(counts.get("available"))
    resources = [*planned, *available]
    return Pool(
        pool_id=str(metadata["name"]),
        name=str(labels.get("os.modelarts/name") or metadata["name"]),
        phase=str(status.get("phase") or ""),
        flavors=tuple(dict.fromkeys(str(resource["flavor"]) for resource in resources if resource.get("flavor"))),
        free_nodes=_count_nodes(available),
        total_nodes=_count_nodes(planned),
        faulty_nodes=_count_nodes(_to_list(counts.get("abnormal"))),
        kind=str(spec.get("type") or ""),
    )


def waiting_jobs(reply: Json) -> list[WaitingJob]:
    """The queue of a pool, first in the queue first; jobs without a position come last."""
    jobs = [_waiting_job(item) for item in reply.get("items") or ()]
    return sorted(jobs, key=lambda job: (job.position == 0, job.position))


def _waiting_job(item: Json) -> WaitingJob:
    waited = item.get("pendingDuration")
    return WaitingJob(
        name=str(item.get("jobName") or item["name"]),
        position=int(item.get("pendingPosition") or 0),
        waited_s=None if waited is None else float(waited),
        flavor=str(item.get("flavor") or ""),
        user=str(item.get("userName") or ""),
    )


def parse_quotas(reply: Json) -> list[Quota]:
    """The project's limits."""
    return [
        Quota(str(item["resource"]), int(item["quota"]), None if item.get("used") is None else int(item["used"]))
        for item in reply.get("quotas") or ()
    ]


def _count_nodes(resources: Sequence[Json]) -> int | None:
    counts = [resource.get("count") for resource in resources]
    return sum(int(count) for count in counts if count is not None) if counts and None not in counts else None


def _iter_outputs(algorithm: Json) -> Iterator[str]:
    for output in algorithm.get("outputs") or ():
        path = ((output.get("remote") or {}).get("obs") or {}).get("obs_url")
        if path:
            yield str(path)


def _task_status(task: Json) -> TaskStatus:
    code = task.get("exit_code")
    return TaskStatus(str(task.get("task") or ""), None if code is None else int(code), str(task.get("message") or ""))


def _readable_attempts(records: Sequence[Json]) -> tuple[RunAttempt, ...]:
    """A job's attempts; none if the records have another form, which must not hide the state of the job."""
    try:
        return tuple(_iter_attempts(records))
    except (AttributeError, KeyError, OSError, OverflowError, TypeError, ValueError):
        return ()


def _iter_attempts(records: Sequence[Json]) -> Iterator[RunAttempt]:
    """A job's attempts; a record without a start is of one that has not begun."""
    begun = [record for record in records if record.get("start_at")]
    for number, record in enumerate(begun, start=1):
        recoveries = record.get("recover_records") or ()
        last: Json = recoveries[-1] if recoveries else {}
        given_up = number == len(begun) and last.get("recover_result") in GIVEN_UP
        yield RunAttempt(
            number,
            _parse_second(record["start_at"]),
            _parse_second(record["end_at"]) if record.get("end_at") else None,
            fault=str(last.get("fault_scenario") or ""),
            reason=str(last.get("reason") or record.get("end_reason") or ""),
            task=str(record.get("end_related_task") or last.get("related_task") or ""),
            recovery="" if given_up else str(record.get("end_recover") or last.get("recover") or ""),
        )


def _parse_second(seconds: object) -> datetime:
    # Records count seconds, everything else in a status milliseconds.
    return datetime.fromtimestamp(_to_number(seconds), UTC)


def _join_messages(status: Json, tasks: Sequence[TaskStatus]) -> str:
    # Not documented for the job itself; its tasks and its last record have messages.
    messages = [f"{task.task}: {task.message}" for task in tasks if task.message]
    records = status.get("running_records") or [{}]
    return str(status.get("message") or "; ".join(messages) or records[-1].get("end_reason") or "")


def to_moment(milliseconds: object) -> datetime | None:
    """A time in ms since 1970; 0 means not yet."""
    return datetime.fromtimestamp(_to_number(milliseconds) / 1000, UTC) if milliseconds else None


def parse_milliseconds(milliseconds: object) -> float | None:
    """A duration in ms; None if it is missing."""
    return None if milliseconds is None else _to_number(milliseconds) / 1000


def _to_number(value: object) -> float:
    if not isinstance(value, int | float | str):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _to_list(value: Any) -> Sequence[Json]:
    # The API reference shows a list here, the SDK's classes one object.
    if not value:
        return ()
    return value if isinstance(value, list) else (value,)
