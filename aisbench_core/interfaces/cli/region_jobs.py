"""`aisbench jobs`: the jobs of a region, whoever created them."""

from pathlib import Path

import click

from aisbench_core.base import formats
from aisbench_core.exchange.upstream.configs.contents import Hints
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import (
    Decorator,
    Group,
    combine_options,
    output_option,
    profile_option,
    to_absolute,
    yaml_of,
    yes_option,
)
from aisbench_core.model import Api, DiagnosisTask, RegionJob

_api_option: Decorator = click.option(
    "--api", type=click.Choice(["v1", "v2", "sdk", "sdk-v1"]), help="API to use; default: the profile's."
)
_described_options: Decorator = combine_options(
    click.argument("name", metavar="JOB"),
    click.option("--version", type=click.IntRange(1), metavar="N", help="Version of the job; default: the newest."),
    profile_option,
    _api_option,
)
_job_options: Decorator = combine_options(_described_options, yes_option)


jobs = Group(
    "jobs",
    help="List, clone, stop and delete jobs of a region, whoever created them.\n\n"
    "JOB is the full name of a job, or its id.",
)


@jobs.command("list")
@profile_option
@_api_option
def active_jobs(profile: str, api: str | None, as_json: bool) -> None:
    """List active jobs and their runs, newest first.

    At most 200 jobs are listed; 100 with --api v1 or sdk-v1.
    """
    core = open_core(writing=False)
    jobs = core.jobs.active(core.regions.profile(profile).name, _parse_api(api))
    columns: display.Columns[RegionJob] = {
        "job": lambda job: job.status.name,
        ">version": lambda job: str(job.status.version or formats.MISSING),
        "phase": lambda job: job.status.phase,
        ">nodes": lambda job: str(job.status.node_count),
        "created": lambda job: display.local_time(job.status.created_at),
        "run": lambda job: job.run.run_id if job.run else formats.MISSING,
        "id": lambda job: job.status.job_id,
    }
    display.print_result(jobs, as_json, lambda: display.table_of(jobs, columns))


@jobs.command("clone")
@_described_options
@click.option("--workload", default="", metavar="NAME", help="The workload, if the job does not tell.")
@click.option("--framework-version", default="", metavar="V", help="The framework version, if the job does not tell.")
@click.option("--code-dir", default="", metavar="DIR", help="Folder of the training code on this machine.")
@output_option
def clone_job(
    name: str, version: int | None, profile: str, api: str | None, output: Path | None, as_json: bool, **hints: str
) -> None:
    """Print a spec that describes a job of the region, to edit it and launch it with `aisbench run`.

    What a spec cannot say, and what the region does not tell, is listed on stderr. Of a run of this console, its own
    spec is printed, as by `aisbench clone`.
    """
    core = open_core(writing=False)
    profile = core.regions.profile(profile).name
    job = core.jobs.find(profile, name, version, _parse_api(api))
    if job.run:
        display.write_text(output, yaml_of(core.clones.spec(core.clones.original(job.run.run_id))))
        return
    document = core.configs.describe_job(core.jobs.describe(profile, job, _parse_api(api)), job.status.name)
    code = to_absolute(hints["code_dir"], Path.cwd()) if hints["code_dir"] else ""
    imported = core.configs.understand(document, Hints(hints["workload"], hints["framework_version"], code_dir=code))
    display.show_findings(imported.findings)
    spec = imported.specs[0].spec
    if output:
        display.write_and_report(output, yaml_of(spec))
    if as_json or not output:
        answer = {"spec": spec, "findings": imported.findings}
        display.print_result(answer, as_json, lambda: yaml_of(spec).rstrip("\n"))


@jobs.command("stop")
@_job_options
def stop_job(name: str, version: int | None, profile: str, api: str | None, yes: bool, as_json: bool) -> None:
    """Stop a job. If it belongs to a run, this is the same as `aisbench stop`."""
    core = open_core(writing=False)
    profile = core.regions.profile(profile).name
    job = core.jobs.find(profile, name, version, _parse_api(api))
    if job.can_stop:
        if not yes:
            click.confirm(f"Stop {_job_title(job)}?", abort=True, err=True)
        core.jobs.stop(profile, job, get_actor(), _parse_api(api))
    job = core.jobs.find(profile, job.status.job_id, None, _parse_api(api))  # to print the phase after the stop
    display.print_result(job, as_json, lambda: f"{_job_title(job)}: {job.status.phase}")


@jobs.command("delete")
@_job_options
def delete_job(name: str, version: int | None, profile: str, api: str | None, yes: bool) -> None:
    """Delete an ended job from the region. Its files stay in OBS, and its run stays here."""
    core = open_core(writing=False)
    profile = core.regions.profile(profile).name
    job = core.jobs.find(profile, name, version, _parse_api(api))
    if not yes:
        click.confirm(f"Delete {_job_title(job)}?", abort=True, err=True)
    core.jobs.delete(profile, job, get_actor(), _parse_api(api))
    click.echo(f"{_job_title(job)}: deleted")


@jobs.command("diagnose")
@click.argument("name", metavar="JOB")
@profile_option
@click.option("--show", is_flag=True, help="Only show what was requested before.")
def diagnose_job(name: str, profile: str, show: bool, as_json: bool) -> None:
    """Request a diagnosis of a job from the platform, and show its diagnosis tasks.

    The platform runs the diagnosis as a task of its own, which takes a while: use --show later. Only API v2 has it, and
    only some regions. `aisbench explain` works without it.
    """
    core = open_core(writing=False)
    profile = core.regions.profile(profile).name
    job = core.jobs.find(profile, name)
    if not show and core.jobs.request_diagnosis(profile, job, get_actor()) is None:
        display.print_message("this region has no diagnosis tasks, or none of this job")
    tasks = core.jobs.diagnosis_tasks(profile, job)
    display.print_result(tasks, as_json, lambda: "\n\n".join(map(_diagnosis_text, tasks)))


def _diagnosis_text(task: DiagnosisTask) -> str:
    return display.format_fields(("task", task.task_id), ("type", task.kind), ("status", task.status), *task.results)


def _parse_api(name: str | None) -> Api | None:
    return Api(name) if name else None


def _job_title(job: RegionJob) -> str:
    version = f" version {job.status.version}" if job.status.version else ""
    return f"{job.status.name}{version}" + (f" (run {job.run.run_id})" if job.run else "")
