"""`aisbench jobs`: the jobs of a region by their names, also those that were made elsewhere."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core_for_reading, profile_option, user

if TYPE_CHECKING:
    from aisbench_core.model import Api, RegionJob

AnyCommand = Callable[..., Any]

api_option: Callable[[AnyCommand], AnyCommand] = click.option(
    "--api", type=click.Choice(["v1", "v2", "sdk", "sdk-v1"]), help="Which API is asked; default: the profile's own."
)
version_option: Callable[[AnyCommand], AnyCommand] = click.option(
    "--version", type=click.IntRange(1), metavar="N", help="A given version of the job; default: its newest."
)
yes_option: Callable[[AnyCommand], AnyCommand] = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group()
def jobs() -> None:
    """List, stop and delete jobs of a region, whoever made them.

    JOB is a job's name in full, or its id.
    """


@jobs.command("list")
@profile_option
@api_option
@as_json
def active(profile: str, api: str | None, as_json: bool) -> None:
    """List the jobs that have not ended, newest first, and which runs they carry out.

    The newest 200 are listed, with --api v1 or sdk-v1 100.
    """
    core = open_core_for_reading()
    found = core.jobs.active(core.regions.profile(profile).name, _api(api))
    shown.answer(found, as_json, lambda: _table(found))


@jobs.command()
@click.argument("name", metavar="JOB")
@version_option
@profile_option
@api_option
@yes_option
@as_json
def stop(name: str, version: int | None, profile: str, api: str | None, yes: bool, as_json: bool) -> None:
    """Stop a job. One that carries out a run of this console is stopped as `aisbench stop` does."""
    core = open_core_for_reading()
    place = core.regions.profile(profile).name
    job = core.jobs.find(place, name, version, _api(api))
    if job.can_stop:
        _ask(yes, f"Stop {_named(job)}?")
        core.jobs.stop(place, job, user(), _api(api))
    after = core.jobs.find(place, job.status.job_id, None, _api(api))
    shown.answer(after, as_json, lambda: f"{_named(after)}: {after.status.phase}")


@jobs.command()
@click.argument("name", metavar="JOB")
@version_option
@profile_option
@api_option
@yes_option
def delete(name: str, version: int | None, profile: str, api: str | None, yes: bool) -> None:
    """Delete an ended job from the region's list; what it wrote stays in OBS, and its run stays here."""
    core = open_core_for_reading()
    place = core.regions.profile(profile).name
    job = core.jobs.find(place, name, version, _api(api))
    _ask(yes, f"Delete {_named(job)}?")
    core.jobs.delete(place, job, _api(api))
    click.echo(f"{_named(job)}: deleted")


def _api(word: str | None) -> "Api | None":
    from aisbench_core.model import Api

    return Api(word) if word else None


def _ask(yes: bool, question: str) -> None:
    if not yes:
        click.confirm(question, abort=True, err=True)


def _named(job: "RegionJob") -> str:
    version = f" version {job.status.version}" if job.status.version else ""
    return f"{job.status.name}{version}" + (f" (run {job.run.run_id})" if job.run else "")


def _table(found: "list[RegionJob]") -> str:
    heads = ("job", ">version", "phase", ">nodes", "created", "run", "id")
    return shown.table(
        heads,
        [
            (
                job.status.name,
                str(job.status.version or formats.MISSING),
                job.status.phase,
                str(job.status.node_count),
                shown.moment(job.status.created_at),
                job.run.run_id if job.run else formats.MISSING,
                job.status.job_id,
            )
            for job in found
        ],
    )
