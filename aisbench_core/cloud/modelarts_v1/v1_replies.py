"""Parses replies of API v1. A reply of another form raises ValueError, TypeError or KeyError.

A job has versions, and a version is what runs: our job ids are `<job>/<version>`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from aisbench_core.cloud.modelarts_v2.replies import NOT_MEASURED, Json, parse_milliseconds, to_moment
from aisbench_core.config.flavor_names import accelerator_in_name, cards_in_name
from aisbench_core.model import ENDED_PHASES, Engine, Flavor, JobStatus, MetricSample, Phase

# The names and phases of the API's status numbers, 0 to 22.
_STATUSES = (
    ("UNKNOWN", Phase.CREATING),
    ("INIT", Phase.CREATING),
    ("IMAGE_CREATING", Phase.CREATING),
    ("IMAGE_FAILED", Phase.FAILED),
    ("SUBMIT_TRYING", Phase.CREATING),
    ("SUBMIT_FAILED", Phase.FAILED),
    ("DELETE_FAILED", Phase.ABNORMAL),
    ("WAITING", Phase.PENDING),
    ("RUNNING", Phase.RUNNING),
    ("KILLING", Phase.TERMINATING),
    ("COMPLETED", Phase.COMPLETED),
    ("FAILED", Phase.FAILED),
    ("KILLED", Phase.TERMINATED),
    ("CANCELED", Phase.TERMINATED),
    ("LOST", Phase.ABNORMAL),
    ("SCALING", Phase.RUNNING),
    ("SUBMIT_MODEL_FAILED", Phase.FAILED),
    ("DEPLOY_SERVICE_FAILED", Phase.FAILED),
    ("CHECK_INIT", Phase.CREATING),
    ("CHECK_RUNNING", Phase.CREATING),
    ("CHECK_RUNNING_COMPLETED", Phase.CREATING),
    ("CHECK_FAILED", Phase.FAILED),
    ("MOUNT_FAILED", Phase.FAILED),
)

# The status numbers of jobs that have not ended, as a query.
ACTIVE = ",".join(str(number) for number, (_, phase) in enumerate(_STATUSES) if phase not in ENDED_PHASES)

_PLAIN_ENDS = frozenset({"COMPLETED", "FAILED", "KILLED", "CANCELED"})


@dataclass(frozen=True, slots=True)
class JobVersion:
    """One version; `resource_id` is part of its log names."""

    status: JobStatus
    number: int
    resource_id: str
    metrics: Json


def parse_listed_job(job: Json) -> JobStatus:
    """A job in the list, with its newest version; without nodes and start, which only the version has."""
    return _parse_status(job, str(job["job_id"]), job.get("version_id") or 0)


def parse_jobs(reply: Json) -> list[JobStatus]:
    return [parse_listed_job(job) for job in reply.get("jobs") or ()]


def parse_created_job(reply: Json, node_count: int) -> JobStatus:
    """The reply to creating a job or a version."""
    return _parse_status(reply, str(reply["job_id"]), reply["version_id"], node_count)


def parse_version(reply: Json, job: str, name: str = "") -> JobVersion:
    """One version, alone or from the list of a job's versions, which has the job's name beside it."""
    count = int(reply.get("worker_server_num") or 1)
    status = _parse_status({"job_name": name, **reply}, job, reply["version_id"], count)
    output = str(reply.get("train_url") or "")
    return JobVersion(
        status=replace(status, outputs=(to_directory(output),) if output else ()),
        number=int(reply["version_id"]),
        resource_id=str(reply["resource_id"]),
        metrics=reply.get("system_metric_list") or {},
    )


def parse_versions(reply: Json) -> list[JobVersion]:
    job, name = str(reply["job_id"]), str(reply["job_name"])
    return [parse_version(item, job, name) for item in reply.get("versions") or ()]


def to_directory(path: str) -> str:
    """An OBS directory as /bucket/a/, from obs://bucket/a, s3://bucket/a/ or a path."""
    return f"/{path.partition('://')[2].strip('/') if '://' in path else path.strip('/')}/"


def parse_samples(metrics: Json, start: datetime) -> Iterator[MetricSample]:
    """The metrics of the whole job: one value per minute from `start` on, as text; empty and -1 mean none."""
    for name, values in metrics.items():
        for minute, value in enumerate(values or ()):
            if value not in ("", None) and float(value) != NOT_MEASURED:
                yield MetricSample(start + timedelta(minutes=minute), 0, str(name), float(value))


def parse_flavors(reply: Json) -> list[Flavor]:
    return [parse_flavor(spec) for spec in reply.get("specs") or ()]


def spec_numbers(reply: Json) -> dict[str, int]:
    """The numbers of the instance types, which requests use, by name."""
    return {str(spec["spec_code"]): int(spec["spec_id"]) for spec in reply.get("specs") or ()}


def parse_engines(reply: Json) -> list[Engine]:
    return [
        Engine(str(item["engine_id"]), str(item["engine_name"]), str(item["engine_version"]))
        for item in reply.get("engines") or ()
    ]


def engine_numbers(reply: Json) -> dict[str, int]:
    """The numbers of the preset images, by name and version."""
    return {f"{engine.name} {engine.version}": int(engine.engine_id) for engine in parse_engines(reply)}


def parse_flavor(spec: Json) -> Flavor:
    """One instance type. Cards: gpu_num, else its attribute, else from its name, else 1."""
    code = str(spec["spec_code"])
    product = str(spec.get("gpu_type") or "")
    cards = int(spec.get("gpu_num") or 0)
    is_ascend = "Ascend" in (accelerator_in_name(code), accelerator_in_name(product))
    card_count = cards or int((spec.get("attributes") or {}).get("cards") or 0) or cards_in_name(code)
    return Flavor(
        flavor_id=code,
        name=code,
        accelerator="Ascend" if is_ascend else "GPU" if cards else "CPU",
        cards=max(1, card_count),
        max_nodes=max(1, int(spec.get("max_num") or 1)),
        product=product,
    )


def _parse_status(facts: Json, job: str, version_id: object, node_count: int = 1) -> JobStatus:
    number = int(facts["status"])
    # A number that the API may add later is kept as text, and the job goes on.
    name = f"status {number}"
    word, phase = _STATUSES[number] if 0 <= number < len(_STATUSES) else (name, name)
    version_name = str(facts.get("version_name") or "").removeprefix("V")  # V0004 is the fourth
    return JobStatus(
        job_id=f"{job}/{version_id}",
        name=str(facts["job_name"]),
        phase=phase,
        secondary_phase=word,
        message=word if phase in ENDED_PHASES and word not in _PLAIN_ENDS else "",
        created_at=to_moment(facts.get("create_time")),
        started_at=to_moment(facts.get("start_time")),
        duration_s=parse_milliseconds(facts.get("duration")),
        tasks=tuple(f"worker-{node}" for node in range(node_count)),
        node_count=node_count,
        version=int(version_name) if version_name.isdecimal() else 0,
    )
