"""What ModelArts is asked to run: a JobRequest in the words of its v2 API."""

from collections.abc import Iterable
from typing import Any

from huaweicloudsdkmodelarts.v1 import (
    AutoStop,
    Input,
    InputDataInfo,
    InputDataInfoObs,
    Job,
    JobAlgorithm,
    JobEngine,
    JobMetadata,
    LogExportPath,
    Nfs,
    Output,
    Parameters,
    Remote,
    RemoteObs,
    SchedulePolicy,
    Spec,
    SpecResource,
    SpecVolumes,
)

from aisbench_core.model import Channel, JobRequest, NfsVolume, RunSpec

RETRIES = "fault-tolerance/job-retry-num"


def job_body(job: JobRequest, workspace_id: str) -> Any:
    """The SDK's Job. What is not set is left out, so that the cloud's own default holds."""
    return Job(kind="job", metadata=_metadata(job, workspace_id), algorithm=_algorithm(job), spec=_spec(job))


def _metadata(job: JobRequest, workspace_id: str) -> Any:
    return JobMetadata(
        name=job.name,
        workspace_id=workspace_id,
        description=job.spec.description or None,
        annotations={RETRIES: str(job.spec.retries)} if job.spec.retries else None,
    )


def _algorithm(job: JobRequest) -> Any:
    return JobAlgorithm(
        code_dir=job.code_path or None,
        **_start(job),
        parameters=[Parameters(name=name, value=value) for name, value in job.parameters.items()],
        inputs=list(_inputs(job.inputs)),
        outputs=list(_outputs(job.outputs)),
        environments=dict(job.environments),
    )


def _start(job: JobRequest) -> dict[str, Any]:
    """A preset engine starts a boot file, a custom image a command; the API refuses a mixture."""
    spec = job.spec
    if spec.image_url:
        return {"command": spec.command, "engine": JobEngine(image_url=spec.image_url)}
    engine = JobEngine(engine_name=spec.engine_name, engine_version=spec.engine_version)
    return {"boot_file": job.boot_path, "engine": engine}


def _inputs(channels: Iterable[Channel]) -> Iterable[Any]:
    for channel in channels:
        remote = InputDataInfo(obs=InputDataInfoObs(obs_url=channel.path))
        yield Input(name=channel.name, access_method=channel.access_method.value, remote=remote)


def _outputs(channels: Iterable[Channel]) -> Iterable[Any]:
    for channel in channels:
        remote = Remote(obs=RemoteObs(obs_url=channel.path))
        yield Output(name=channel.name, access_method=channel.access_method.value, remote=remote)


def _spec(job: JobRequest) -> Any:
    spec = job.spec
    return Spec(
        resource=SpecResource(flavor_id=spec.flavor or None, node_count=spec.node_count, pool_id=spec.pool_id or None),
        log_export_path=LogExportPath(obs_url=job.log_path) if job.log_path else None,
        volumes=[_volume(volume) for volume in spec.volumes] or None,
        auto_stop=AutoStop(time_unit="HOURS", duration=spec.auto_stop_hours) if spec.auto_stop_hours else None,
        schedule_policy=_schedule(spec),
    )


def _volume(volume: NfsVolume) -> Any:
    nfs = Nfs(nfs_server_path=volume.server_path, local_path=volume.local_path, read_only=volume.read_only)
    return SpecVolumes(nfs=nfs)


def _schedule(spec: RunSpec) -> Any:
    """Only a dedicated pool has priorities; the public one refuses the field."""
    return SchedulePolicy(priority=spec.priority) if spec.pool_id else None
