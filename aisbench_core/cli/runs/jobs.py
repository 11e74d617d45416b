"""`aisbench jobs`: the jobs of a region, whoever created them."""

from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.options import Decorator, as_json, combined, profile_option, yes_option

if TYPE_CHECKING:
    from aisbench_core.model import Api, RegionJob

_api_option: Decorator = click.option(
    "--api", type=click.Choice(["v1", "v2", "sdk", "sdk-v1"]), help="API to use; default: the profile's."
)
_job_options: Decorator = combined(
    click.argument("name", metavar="JOB"),
    click.option("--version", type=click.IntRange(1), metavar="N", help="Version of the job; default: the newest."),
    profile_option,
    _api_option,
    yes_option,
)


@click.group()
def jobs() -> None:
    """List, stop and delete jobs of a region, whoever created them.

    JOB is the full name of a job, or its id.
    """


@jobs.command("list")
@profile_option
@_api_option
@as_json
def active(profile: str, api: str | None, as_json: bool) -> None:
    """List active jobs and their runs, newest first.

    At most 200 jobs are listed; 100 with --api v1 or sdk-v1.
    """
    core = open_core(writing=False)
    jobs = core.jobs.active(core.regions.profile(profile).name, _api(api))
    display.result(jobs, as_json, lambda: _table(jobs))


@jobs.command()
@_job_options
@as_json
def stop(name: str, version: int | None, profile: str, api: str | None, yes: bool, as_json: bool) -> None:
    """Stop a job. If it belongs to a run, this is the same as `aisbench stop`."""
    core = open_core(writing=False)
    profile = core.regions.profile(profile).name
    job = core.jobs.find(profile, name, version, _api(api))
    if job.can_stop:
        if not yes:
            click.confirm(f"Stop {_title(job)}?", abort=True, err=True)
        core.jobs.stop(profile, job, actor(), _api(api))
    job = core.jobs.find(profile, job.status.job_id, None, _api(api))  # to print the phase after the stop
    display.result(job, as_json, lambda: f"{_title(job)}: {job.status.phase}")


@jobs.command()
@_job_options
def delete(name: str, version: int | None, profile: str, api: str | None, yes: bool) -> None:
    """Delete an ended job from the region. Its files stay in OBS, and its run stays here."""
    core = open_core(writing=False)
    profile = core.regions.profile(profile).name
    job = core.jobs.find(profile, name, version, _api(api))
    if not yes:
        click.confirm(f"Delete {_title(job)}?", abort=True, err=True)
    core.jobs.delete(profile, job, actor(), _api(api))
    click.echo(f"{_title(job)}: deleted")


def _api(name: str | None) -> "Api | None":
    from aisbench_core.model import Api

    return Api(name) if name else None


def _title(job: "RegionJob") -> str:
    version = f" version {job.status.version}" if job.status.version else ""
    return f"{job.status.name}{version}" + (f" (run {job.run.run_id})" if job.run else "")


def _table(jobs: "list[RegionJob]") -> str:
    columns: display.Columns[RegionJob] = {
        "job": lambda job: job.status.name,
        ">version": lambda job: str(job.status.version or formats.MISSING),
        "phase": lambda job: job.status.phase,
        ">nodes": lambda job: str(job.status.node_count),
        "created": lambda job: display.local_time(job.status.created_at),
        "run": lambda job: job.run.run_id if job.run else formats.MISSING,
        "id": lambda job: job.status.job_id,
    }
    return display.table_of(jobs, columns)
