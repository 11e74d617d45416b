"""What ModelArts' older API (v1) answers, read into our values.

A job there has versions, and a version is what runs: `job_id` of our values names both, as `<job>/<version>`. A reply
of another form raises ValueError, TypeError or KeyError."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from aisbench_core.cloud.modelarts_v2.replies import NOT_MEASURED, Json, moment, seconds
from aisbench_core.model import ENDED_PHASES, Engine, Flavor, JobStatus, MetricSample, Phase

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
"""The API's numbers, 0 to 22, by their names, and what they are to us."""

ACTIVE = ",".join(str(number) for number, (_, phase) in enumerate(_STATUSES) if phase not in ENDED_PHASES)
"""The numbers of jobs that have not ended, as the list is asked for them."""

_PLAIN_ENDS = frozenset({"COMPLETED", "FAILED", "KILLED", "CANCELED"})
_ASCEND = re.compile(r"kat1\.(?P<cards>[0-9]*)xlarge|kat1|snt[0-9]|d910|ascend|npu", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JobVersion:
    """One version in full: what it does, and the name under which the cloud keeps its logs."""

    status: JobStatus
    number: int
    resource_id: str
    metrics: Json


def version_path(job: object, version: object) -> str:
    """One text for both numbers, as our ledger keeps it."""
    return f"{job}/{version}"


def listed(job: Json) -> JobStatus:
    """A job in the list with its newest version. The list tells neither nodes nor start: look at the version."""
    return _status(job, str(job["job_id"]), job.get("version_id") or 0)


def listing(reply: Json) -> list[JobStatus]:
    """One page of the list of jobs."""
    return [listed(job) for job in reply.get("jobs") or ()]


def made(reply: Json, node_count: int) -> JobStatus:
    """What a creation answers, of a job or of a version."""
    return _status(reply, str(reply["job_id"]), reply["version_id"], node_count)


def version(reply: Json, job: str, name: str = "") -> JobVersion:
    """One version, alone or in the list of a job's versions (which tells the job's name beside it)."""
    count = int(reply.get("worker_server_num") or 1)
    status = _status({"job_name": name, **reply}, job, reply["version_id"], count)
    output = str(reply.get("train_url") or "")
    return JobVersion(
        status=replace(status, outputs=(directory(output),) if output else ()),
        number=int(reply["version_id"]),
        resource_id=str(reply["resource_id"]),
        metrics=reply.get("system_metric_list") or {},
    )


def versions(reply: Json) -> list[JobVersion]:
    """All versions of a job."""
    job, name = str(reply["job_id"]), str(reply["job_name"])
    return [version(each, job, name) for each in reply.get("versions") or ()]


def log_names(reply: Json) -> list[str]:
    """The logs that a version has."""
    return [str(name) for name in reply.get("log_file_list") or ()]


def log_text(reply: Json) -> str:
    """A part of a log."""
    return str(reply.get("content") or "")


def directory(path: str) -> str:
    """An OBS directory as we write it, /bucket/a/, however it was written: obs://bucket/a, s3://bucket/a/."""
    return f"/{path.partition('://')[2].strip('/') if '://' in path else path.strip('/')}/"


def samples(metrics: Json, start: datetime) -> Iterator[MetricSample]:
    """One value a minute from `start` on, told as texts and for the whole job; empty ones and -1 are no samples."""
    for name, values in metrics.items():
        for minute, value in enumerate(values or ()):
            if value not in ("", None) and float(value) != NOT_MEASURED:
                yield MetricSample(start + timedelta(minutes=minute), 0, str(name), float(value))


def flavors(reply: Json) -> list[Flavor]:
    """The instance types."""
    return [flavor(spec) for spec in reply.get("specs") or ()]


def spec_numbers(reply: Json) -> dict[str, int]:
    """The instance types' numbers, by which jobs name them."""
    return {str(spec["spec_code"]): int(spec["spec_id"]) for spec in reply.get("specs") or ()}


def engines(reply: Json) -> list[Engine]:
    """The preset images."""
    return [
        Engine(str(each["engine_id"]), str(each["engine_name"]), str(each["engine_version"]))
        for each in reply.get("engines") or ()
    ]


def engine_numbers(reply: Json) -> dict[str, int]:
    """The preset images' numbers, by name and version."""
    return {f"{engine.name} {engine.version}": int(engine.engine_id) for engine in engines(reply)}


def flavor(spec: Json) -> Flavor:
    """One instance type. Cards: as counted, else what its attributes or its name say, else 1."""
    code = str(spec["spec_code"])
    product = str(spec.get("gpu_type") or "")
    cards = int(spec.get("gpu_num") or 0)
    ascend = _ASCEND.search(code) or _ASCEND.search(product)
    in_name = int(ascend["cards"] or 1) if ascend and ascend["cards"] is not None else 0
    told = cards or int((spec.get("attributes") or {}).get("cards") or 0) or in_name
    return Flavor(
        flavor_id=code,
        name=code,
        accelerator="Ascend" if ascend else "GPU" if cards else "CPU",
        cards=max(1, told),
        max_nodes=max(1, int(spec.get("max_num") or 1)),
        product=product,
    )


def _status(facts: Json, job: str, version_id: object, node_count: int = 1) -> JobStatus:
    word, phase = _phase(facts["status"])
    return JobStatus(
        job_id=version_path(job, version_id),
        name=str(facts["job_name"]),
        phase=phase,
        secondary_phase=word,
        message=word if phase in ENDED_PHASES and word not in _PLAIN_ENDS else "",
        created_at=moment(facts.get("create_time")),
        started_at=moment(facts.get("start_time")),
        duration_s=seconds(facts.get("duration")),
        tasks=tuple(f"worker-{node}" for node in range(node_count)),
        node_count=node_count,
        version=_number(facts.get("version_name")),
    )


def _number(version_name: object) -> int:
    """V0004 is the fourth version; 0 where an answer does not tell."""
    digits = str(version_name or "").removeprefix("V")
    return int(digits) if digits.isdecimal() else 0


def _phase(status: Any) -> tuple[str, str]:
    """Name and phase of a number; one that the API may add later is kept as text, and the job goes on."""
    number = int(status)
    if 0 <= number < len(_STATUSES):
        return _STATUSES[number]
    return f"status {number}", f"status {number}"
