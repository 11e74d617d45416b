"""The operations of the training service: create, search, stop and delete jobs, and read their logs."""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aisbench_sandbox.capacity import Capacity
from aisbench_sandbox.engine.engine import JobEngine
from aisbench_sandbox.job import Job, JobPhase
from aisbench_sandbox.jobs import JobStore
from aisbench_sandbox.obs.paths import bucket_and_key
from aisbench_sandbox.obs.signed_urls import signed_link
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state import parameters
from aisbench_sandbox.service.state.creation import accept_request
from aisbench_sandbox.service.state.experiments import Experiments
from aisbench_sandbox.service.state.quotas import Quotas
from aisbench_sandbox.service.state.saved_algorithms import SavedAlgorithms
from aisbench_sandbox.service.state.searches import Search
from aisbench_sandbox.service.state.updates import apply_update

# API reference, logs/preview: the newest 5 MB; logs/url: a link that is valid for 5 minutes.
MAX_PREVIEW_BYTES = 5 * 1024 * 1024
LINK_SECONDS = 300
# SDK, BatchDeleteJobsReq; also that all jobs are of one workspace.
MAX_DELETED = 100
# The key of the v1 data in a job's body; the newer API does not show such jobs.
LEGACY = "legacy"


class NothingRecorded(Exception):
    """There is no log or measurement yet: the service answers 204."""


class TrainingJobs:
    """The operations behind the routes. `script` returns the script of a new job, for the scripted engine."""

    def __init__(
        self,
        jobs: JobStore,
        engine: JobEngine,
        objects: Objects,
        obs_url: str,
        keys: Mapping[str, str],
        script: Callable[[], Mapping[str, Any] | None],
        quotas: Quotas,
        experiments: Experiments,
        capacity: Capacity,
        algorithms: SavedAlgorithms,
    ) -> None:
        self.jobs = jobs
        self._engine = engine
        self._objects = objects
        self._obs_url = obs_url
        self._keys = keys
        self._script = script
        self._quotas = quotas
        self._making = threading.RLock()
        self._experiments = experiments
        self.capacity = capacity
        self._algorithms = algorithms

    def create(self, body: Mapping[str, Any]) -> Job:
        """A new job. Raises Refused."""
        accepted = self.admit(body)
        with self._making:  # quota and experiment are checked and changed together
            if self.jobs.has_name(accepted["metadata"]["name"]):
                raise _duplicate_name(accepted)
            return self.add(self._experiments.join(accepted))

    def admit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The validated request in its stored form. Raises Refused if it cannot be a job."""
        accepted = accept_request(body, self._objects, self.capacity.pool, self._algorithms.of_job)
        # Before anything is stored: a job that can never run must not enter the list.
        self._engine.check(Job("", accepted, 0))
        self._quotas.check()
        return accepted

    def add(self, accepted: Mapping[str, Any]) -> Job:
        """Store and start a job whose request was accepted. Raises Refused if its name exists or the quota is used
        up."""
        with self._making:
            # Again, under the lock: another request may have used up the quota since `admit`.
            self._quotas.check()
            job = self.jobs.add(accepted, self._script())
        if job is None:
            raise _duplicate_name(accepted)
        self._engine.start(job)
        return job

    def all(self) -> list[Job]:
        """The jobs of this API, oldest first."""
        return [job for job in self.jobs.all() if LEGACY not in job.body]

    def refresh(self) -> None:
        """Bring all jobs up to date before they are read."""
        self._engine.refresh()

    def search(self, search: Search) -> tuple[Sequence[Job], int]:
        """All matching jobs, in order, and the number of all jobs."""
        self._engine.refresh()
        jobs = self.all()
        return search.find_matching(jobs), len(jobs)

    def show(self, job_id: str) -> Job:
        """One job. Raises Refused."""
        self._engine.refresh()
        return self.job(job_id)

    def job(self, job_id: str) -> Job:
        """One job in its stored state, without a refresh. Raises Refused."""
        job = self.jobs.find(job_id)
        if job is None or LEGACY in job.body:
            # The documents have 400 for a missing job, not 404.
            raise Refused(400, "ModelArts.2775", f"The training job {job_id} is not found.")
        return job

    def stop(self, job_id: str) -> Job:
        """Stop a job. Raises Refused if it has ended."""
        return self.stop_job(self.job(job_id))

    def stop_job(self, job: Job) -> Job:
        """Stop this job. Raises Refused if it has ended."""
        # Stored before the engine acts: if the sandbox dies in between, the next one sees that a stop was requested.
        stopping = self.jobs.change(job.job_id, _terminate_job)
        self._engine.stop(job.job_id)
        return stopping or job

    def update(self, job_id: str, body: Mapping[str, Any]) -> None:
        """Change a job's description, notification or scheduling. Raises Refused."""
        self.change(job_id, lambda job: apply_update(job, body))
        self._engine.refresh()  # its priority may have changed

    def change(self, job_id: str, step: Callable[[Job], Job]) -> Job:
        """Store and return the job after `step`. Raises Refused if there is none."""
        self.job(job_id)
        return self.jobs.change(job_id, step) or self.job(job_id)

    def delete(self, job_id: str) -> None:
        """Delete a job, and end it if it runs. Raises Refused if there is none."""
        self.delete_job(self.job(job_id))

    def delete_job(self, job: Job) -> None:
        """Delete this job, and end it if it runs."""
        if not job.has_ended:
            # The job may have ended since it was read.
            self.jobs.change(job.job_id, lambda now: now if now.has_ended else now.to_terminating())
            self._engine.stop(job.job_id)
        self.jobs.remove(job.job_id)

    def delete_all(self, body: Mapping[str, Any]) -> None:
        """Delete many jobs of one workspace, all or none. Raises Refused."""
        entries = parameters.read_entries(body, "jobs")
        if not 1 <= len(entries) <= MAX_DELETED:
            raise parameters.make_refusal("jobs", f"1 to {MAX_DELETED} jobs")
        ids = [parameters.read_text(parameters.read_block(entry, "metadata"), "id", 1) for entry in entries]
        # All are looked up before the first is deleted, so an unknown id deletes none.
        jobs = [self.job(job_id) for job_id in dict.fromkeys(ids)]
        if len({job.body["metadata"]["workspace_id"] for job in jobs}) > 1:
            raise parameters.make_refusal("jobs", "jobs of one workspace")
        for job in jobs:
            self.delete_job(job)

    def log_preview(self, job_id: str, task: str) -> tuple[str, int]:
        """The newest part of a task's log as text, and the log's size in bytes. Raises NothingRecorded."""
        file = self.log_file(job_id, task)
        size = file.stat().st_size
        with file.open("rb") as stream:
            # The log may grow meanwhile; the size that was read first decides.
            stream.seek(max(0, size - MAX_PREVIEW_BYTES))
            return stream.read(MAX_PREVIEW_BYTES).decode("utf-8", "replace"), size

    def log_file(self, job_id: str, task: str) -> Path:
        """The sandbox's copy of a task's log. Raises NothingRecorded."""
        file = self.jobs.log_file(job_id, self._find_node(job_id, task))
        if not file.exists():
            raise NothingRecorded
        return file

    def log_link(self, job_id: str, task: str, expires: int, save_as: bool) -> str:
        """A signed OBS URL of a task's log, valid until `expires` (s), to be shown or saved. Raises Refused."""
        path = self.job(job_id).log_object(self._find_node(job_id, task))
        if not path:
            raise Refused(400, "ModelArts.2822", "The log export path is not set.", "Set spec.log_export_path.")
        bucket, key = bucket_and_key(path)
        if self._objects.head(bucket, key) is None:
            raise Refused(400, "ModelArts.2818", "The log is not generated yet.", "Ask again when the job runs.")
        access_key, secret_key = next(iter(self._keys.items()))
        name = key.rpartition("/")[2] if save_as else ""
        return signed_link(self._obs_url, bucket, key, access_key, secret_key, expires, name)

    def find_measured(self, job_id: str, task: str) -> Job:
        """The job, if it has measurements of the task. Raises NothingRecorded."""
        self._find_node(job_id, task)
        job = self.job(job_id)
        if task not in job.metrics:
            raise NothingRecorded
        return job

    def _find_node(self, job_id: str, task: str) -> int:
        tasks = self.job(job_id).tasks
        if task not in tasks:
            raise Refused(400, "ModelArts.2788", f"Invalid parameter: task {task}.", f"Use {', '.join(tasks)}.")
        return self.job(job_id).node_of(task)


def _terminate_job(job: Job) -> Job:
    # Training guide 4.10: only jobs that are being created, wait or run can be stopped.
    if job.has_ended or job.phase is JobPhase.TERMINATING:
        message = f"The training job is {job.phase} and cannot be terminated."
        raise Refused(409, "ModelArts.2796", message, "Stop jobs that are Creating, Pending or Running.")
    return job.to_terminating()


def _duplicate_name(accepted: Mapping[str, Any]) -> Refused:
    name = accepted["metadata"]["name"]
    return Refused(400, "ModelArts.2751", f"Duplicate training job (name {name}).", "Use another name.")
