"""All jobs of a region, also those created elsewhere: list, stop and delete them by name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from aisbench_core.base.errors import (
    AccessDenied,
    AuthFailed,
    CloudNotFound,
    CloudRejected,
    CloudUnavailable,
    Problem,
    SpecError,
)
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.cloud.ports import Connect, TrainingService
from aisbench_core.domain.access import permitted_for
from aisbench_core.domain.access.changes import log_change, note_values
from aisbench_core.model import Actor, Api, Clock, DiagnosisTask, Event, JobStatus, Phase, RegionJob, Run
from aisbench_core.running.runs import Runs
from aisbench_core.store.ledger.ledger import Ledger

FIND = Message("find the job")
_ID = re.compile(r"[A-Za-z0-9_-]+(/[0-9]+)?")  # API v1: a job and its version
MAX_PRIORITY = 3
NOT_WAITING = Message("only a run that waits in a dedicated pool has a priority that can be changed")
HIGHEST_DENIED = Message(
    "priority 3 needs the permission modelarts:trainJob:setHighPriority: ask the account's administrator, or set 2"
)


def _launched_by(job: RegionJob, **_: object) -> str:
    """Whose job it is; "" if this console did not launch it."""
    return job.run.created_by if job.run else ""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Every method raises CloudError when the region does not answer, and ConfigError without a usable profile.

    `api`: the training API to use; None means the profile's."""

    ledger: Ledger
    interactive: Connect
    runs: Runs
    clock: Clock

    def active(self, profile: str, api: Api | None = None) -> list[RegionJob]:
        """The active jobs of the workspace, newest first; at most a few hundred."""
        return self._with_runs(self.interactive(profile, api).training.active())

    def find(self, profile: str, name: str, version: int | None = None, api: Api | None = None) -> RegionJob:
        """The newest job with exactly this name or id; `version` selects one version of it.

        Raises CloudNotFound, which lists the versions that exist."""
        training = self.interactive(profile, api).training
        named = training.list_by_name(name)
        wanted = [job for job in named if version in (None, job.version)]
        match = wanted[0] if wanted else None if named else _by_id(training, name)
        if match is None:
            raise _no_job(name, version, named)
        return self._with_runs([match])[0]

    def describe(self, profile: str, job: RegionJob, api: Api | None = None) -> Mapping[str, Any]:
        """A job in the API's own words, with what it was created from."""
        return {"job_name": job.status.name, **self.interactive(profile, api).training.describe(job.status.job_id)}

    @permitted_for(_launched_by)
    def stop(self, profile: str, job: RegionJob, actor: Actor, api: Api | None = None) -> None:
        """Stop a job. The job of one of our runs is stopped through that run, so that its results are collected."""
        if job.run is not None:
            self.runs.stop(job.run.run_id, actor)
        else:
            log_change(actor, f"stop job {job.status.name} of profile {profile}")
            self.interactive(profile, api).training.stop(job.status.job_id)

    @permitted_for(lambda self, run_id, **_: self.ledger.get(run_id).created_by)
    def set_priority(self, run_id: str, priority: int, actor: Actor) -> Run:
        """Change the priority of a run whose job waits in a dedicated pool. Its spec stays as it was launched.

        Raises RunNotFound, SpecError if it does not wait there, and CloudRejected if the region refuses."""
        run = self.ledger.get(run_id)
        if not 1 <= priority <= MAX_PRIORITY:
            _refuse_priority(run, Message("must be 1 to {most}", most=MAX_PRIORITY), str(priority))
        if not run.waits_in_pool:
            _refuse_priority(run, NOT_WAITING, str(run.state))
        log_change(actor, f"set the priority of {run.run_id} to {priority}")
        training = self.interactive(run.profile, run.spec.api).training
        try:
            before = training.set_priority(run.job_id, priority)
        except AccessDenied as error:
            # IAM's own message does not say which permission is missing.
            error.hint = HIGHEST_DENIED if priority == MAX_PRIORITY else error.hint
            raise
        except CloudUnavailable:
            # The region refuses it with a code that also stands for another operation in progress.
            phase = training.detail(run.job_id).phase
            if phase in (Phase.CREATING, Phase.PENDING):
                raise
            _refuse_priority(run, NOT_WAITING, phase)
        if before is None:
            _refuse_priority(run, Message("api {api} cannot change it", api=run.spec.api), str(priority))
        note_values(before, priority)
        values = {"before": before, "priority": priority, "who": actor.name}
        message = Message("priority changed from {before} to {priority} by {who}", **values)
        self.ledger.note(Event.by(actor, run.run_id, self.clock(), message))
        return run

    @permitted_for(_launched_by)
    def delete(self, profile: str, job: RegionJob, actor: Actor, api: Api | None = None) -> None:
        """Delete an ended job; its output stays. Raises SpecError while it may still be running."""
        if not job.status.has_ended or (job.run and not job.run.state.is_terminal):
            reason, value = Message("only a job that has ended can be deleted"), make_verbatim(job.status.phase)
            if job.run is not None:
                value = Message("{phase}, run {state}", phase=job.status.phase, state=job.run.state)
            title = Message("job {name} is kept", name=job.status.name)
            raise SpecError(title, [Problem("phase", reason, value)])
        log_change(actor, f"delete job {job.status.name} of profile {profile}")
        self.interactive(profile, api).training.delete(job.status.job_id)

    @permitted_for(_launched_by)
    def request_diagnosis(self, profile: str, job: RegionJob, actor: Actor) -> str | None:
        """Start a diagnosis task of the platform; returns its id, None if the API or the region offers none."""
        log_change(actor, f"request a diagnosis of job {job.status.name} of profile {profile}")
        return self.interactive(profile).training.request_diagnosis(job.status.job_id)

    def diagnosis_tasks(self, profile: str, job: RegionJob) -> Sequence[DiagnosisTask]:
        """The job's newest diagnosis task of each kind."""
        return self.interactive(profile).training.diagnosis_tasks(job.status.job_id)

    def _with_runs(self, jobs: Sequence[JobStatus]) -> list[RegionJob]:
        runs = {run.job_id: run for run in self.ledger.of_jobs([job.job_id for job in jobs])}
        return [RegionJob(job, runs.get(job.job_id)) for job in jobs]


def _by_id(training: TrainingService, job_id: str) -> JobStatus | None:
    if not _ID.fullmatch(job_id):  # other slashes in the address would make it another request
        return None
    try:
        return training.detail(job_id)
    except AuthFailed:
        raise
    except CloudRejected:  # no such job, or not an id in this API's format
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


def _refuse_priority(run: Run, reason: Message, value: str) -> NoReturn:
    raise SpecError(Message("run {run_id}", run_id=run.run_id), [Problem("priority", reason, value)])
