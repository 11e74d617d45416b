"""The jobs of a region, whoever made them: listed, and by their names stopped and deleted."""

from collections.abc import Callable, Sequence

from aisbench_core.cloud.ports import TrainingService
from aisbench_core.errors import AuthFailed, CloudNotFound, CloudRejected, Problem, SpecError
from aisbench_core.messages import Message, verbatim
from aisbench_core.model import Api, JobStatus, RegionJob, Run
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.steps import Connect

FIND = Message("find the job")

StopRun = Callable[[str, str], Run]
"""Stops the run with this id for this person."""


class Jobs:
    """Every method raises CloudError when the region does not answer, and ConfigError without a usable profile.

    `api`: the API that is asked; None means the profile's own."""

    def __init__(self, ledger: Ledger, look: Connect, stop_run: StopRun) -> None:
        self._ledger = ledger
        self._look = look
        self._stop_run = stop_run

    def active(self, profile: str, api: Api | None = None) -> list[RegionJob]:
        """The jobs of the workspace that have not ended, newest first; at most some hundred."""
        return self._with_runs(self._look(profile, api).training.active())

    def find(self, profile: str, name: str, version: int | None = None, api: Api | None = None) -> RegionJob:
        """The newest job with exactly this name, or with this id; `version` asks for a given version of it.

        Raises CloudNotFound if there is none, with the versions that there are."""
        training = self._look(profile, api).training
        named = training.named(name)
        wanted = [job for job in named if version in (None, job.version)]
        found = wanted[0] if wanted else None if named else _by_id(training, name)
        if found is None:
            raise _no_job(name, version, named)
        return self._with_runs([found])[0]

    def stop(self, profile: str, job: RegionJob, who: str, api: Api | None = None) -> None:
        """Ask a job to end. One that carries out a run of ours is stopped as that run, so its results are kept."""
        if job.run is not None:
            self._stop_run(job.run.run_id, who)
        else:
            self._look(profile, api).training.stop(job.status.job_id)

    def delete(self, profile: str, job: RegionJob, api: Api | None = None) -> None:
        """Remove an ended job from the region's list; what it wrote stays. Raises SpecError while it may still run."""
        if not job.status.has_ended or (job.run and not job.run.state.is_terminal):
            why, found = Message("only a job that has ended can be deleted"), verbatim(job.status.phase)
            if job.run is not None:
                found = Message("{phase}, run {state}", phase=job.status.phase, state=job.run.state)
            kept = Message("job {name} is kept", name=job.status.name)
            raise SpecError(kept, [Problem("phase", why, found)])
        self._look(profile, api).training.delete(job.status.job_id)

    def _with_runs(self, jobs: Sequence[JobStatus]) -> list[RegionJob]:
        runs = {run.job_id: run for run in self._ledger.of_jobs([job.job_id for job in jobs])}
        return [RegionJob(job, runs.get(job.job_id)) for job in jobs]


def _by_id(training: TrainingService, job_id: str) -> JobStatus | None:
    try:
        return training.detail(job_id)
    except AuthFailed:
        raise
    except CloudRejected:  # not there, or no id of this API's form
        return None


def _no_job(name: str, version: int | None, named: Sequence[JobStatus]) -> CloudNotFound:
    if not named:
        hint = Message("`aisbench jobs list` shows what has not ended; names must be given in full")
        return CloudNotFound(Message("there is no job {name!r}", name=name), operation=FIND, hint=hint)
    there = ", ".join(str(job.version) for job in named if job.version)
    versions = there or Message("none: its jobs have no versions")
    return CloudNotFound(
        Message("job {name!r} has no version {version}", name=name, version=version),
        operation=FIND,
        hint=Message("versions that exist: {versions}", versions=versions),
    )
