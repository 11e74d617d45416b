"""The request body for a job in API v2."""

from typing import Any

from huaweicloudsdkmodelarts import v1 as sdk

from aisbench_core.model import JobRequest, NfsVolume

RETRIES = "fault-tolerance/job-retry-num"


def job_body(job: JobRequest, workspace_id: str) -> Any:
    """The SDK's Job. Unset fields are left out, so that the cloud's defaults apply."""
    metadata = sdk.JobMetadata(
        name=job.name,
        workspace_id=workspace_id,
        description=job.spec.description or None,
        annotations={RETRIES: str(job.spec.retries)} if job.spec.retries else None,
    )
    return sdk.Job(kind="job", metadata=metadata, algorithm=_algorithm(job), spec=_spec(job))


def _algorithm(job: JobRequest) -> Any:
    return sdk.JobAlgorithm(
        code_dir=job.code_path or None,
        **_start(job),
        parameters=[sdk.Parameters(name=name, value=value) for name, value in job.parameters.items()],
        inputs=[
            sdk.Input(
                name=channel.name,
                access_method=channel.access_method.value,
                remote=sdk.InputDataInfo(obs=sdk.InputDataInfoObs(obs_url=channel.path)),
            )
            for channel in job.inputs
        ],
        outputs=[
            sdk.Output(
                name=channel.name,
                access_method=channel.access_method.value,
                remote=sdk.Remote(obs=sdk.RemoteObs(obs_url=channel.path)),
            )
            for channel in job.outputs
        ],
        environments=dict(job.environments),
    )


def _start(job: JobRequest) -> dict[str, Any]:
    # A preset engine starts a boot file, a custom image a command; the API refuses both together (2806).
    spec = job.spec
    if spec.image_url:
        return {"command": spec.command, "engine": sdk.JobEngine(image_url=spec.image_url)}
    engine = sdk.JobEngine(engine_name=spec.engine_name, engine_version=spec.engine_version)
    return {"boot_file": job.boot_path, "engine": engine}


def _spec(job: JobRequest) -> Any:
    spec = job.spec
    return sdk.Spec(
        resource=sdk.SpecResource(
            flavor_id=spec.flavor or None, node_count=spec.node_count, pool_id=spec.pool_id or None
        ),
        log_export_path=sdk.LogExportPath(obs_url=job.log_path) if job.log_path else None,
        volumes=[_volume(volume) for volume in spec.volumes] or None,
        # HOURS is the only unit; time in the queue does not count.
        auto_stop=sdk.AutoStop(time_unit="HOURS", duration=spec.auto_stop_hours) if spec.auto_stop_hours else None,
        # The public pool refuses the field.
        schedule_policy=sdk.SchedulePolicy(priority=spec.priority) if spec.pool_id else None,
    )


def _volume(volume: NfsVolume) -> Any:
    nfs = sdk.Nfs(nfs_server_path=volume.server_path, local_path=volume.local_path, read_only=volume.read_only)
    return sdk.SpecVolumes(nfs=nfs)
