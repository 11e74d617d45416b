"""What the training service does: jobs are created, found, stopped, deleted, and tell about themselves."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aisbench_core.sandbox.creation import accept
from aisbench_core.sandbox.engine import Engine
from aisbench_core.sandbox.jobs import Job, Jobs, Phase
from aisbench_core.sandbox.objects import Objects
from aisbench_core.sandbox.obs_links import signed_link
from aisbench_core.sandbox.obs_paths import bucket_and_key
from aisbench_core.sandbox.refusals import Refused
from aisbench_core.sandbox.searches import Search

MOST_PREVIEW_BYTES = 5 * 1024 * 1024
LINK_SECONDS = 300


class NothingYet(Exception):
    """There is no log or measurement yet: the service answers 204."""


class TrainingJobs:
    """The behaviour behind the routes. `script` says what a new job pretends, for engines that pretend."""

    def __init__(
        self,
        jobs: Jobs,
        engine: Engine,
        objects: Objects,
        obs_url: str,
        keys: Mapping[str, str],
        script: Callable[[], Mapping[str, Any] | None],
    ) -> None:
        self.jobs = jobs
        self._engine = engine
        self._objects = objects
        self._obs_url = obs_url
        self._keys = keys
        self._script = script

    def create(self, body: Mapping[str, Any]) -> Job:
        """A new job. Raises Refused."""
        accepted = accept(body, self._objects)
        self._engine.check(Job("", accepted, 0))
        job = self.jobs.add(accepted, self._script())
        if job is None:
            name = accepted["metadata"]["name"]
            raise Refused(400, "ModelArts.2751", f"A training job named {name} exists already.", "Use another name.")
        self._engine.start(job)
        return job

    def search(self, search: Search) -> tuple[Sequence[Job], int]:
        """All jobs that match, in order, and how many jobs there are."""
        self._engine.look()
        jobs = self.jobs.all()
        return search.matching(jobs), len(jobs)

    def show(self, job_id: str) -> Job:
        """One job. Raises Refused."""
        self._engine.look()
        return self.job(job_id)

    def job(self, job_id: str) -> Job:
        """One job as it is; nobody looks at its status. Raises Refused."""
        job = self.jobs.find(job_id)
        if job is None:
            raise Refused(400, "ModelArts.2775", f"The training job {job_id} is not found.")
        return job

    def stop(self, job_id: str) -> Job:
        """Ask a job to end. Raises Refused when it has ended."""
        job = self.job(job_id)
        stopping = self.jobs.change(job_id, _asked_to_stop)
        self._engine.stop(job_id)
        return stopping or job

    def delete(self, job_id: str) -> None:
        """Forget a job; one that runs is ended. Raises Refused when there is none."""
        job = self.job(job_id)
        if not job.has_ended:
            self.jobs.change(job_id, lambda now: now if now.has_ended else now.terminating())
            self._engine.stop(job_id)
        self.jobs.remove(job_id)

    def log_preview(self, job_id: str, task: str) -> tuple[str, int]:
        """The newest part of a task's log as text, and the whole log's size in bytes. Raises NothingYet."""
        file = self.jobs.log_file(job_id, self._node(job_id, task))
        if not file.exists():
            raise NothingYet
        size = file.stat().st_size
        with file.open("rb") as stream:
            stream.seek(max(0, size - MOST_PREVIEW_BYTES))
            return stream.read(MOST_PREVIEW_BYTES).decode("utf-8", "replace"), size

    def log_link(self, job_id: str, task: str, expires: int) -> str:
        """A signed OBS address of a task's log that holds until `expires` (s). Raises Refused."""
        path = self.job(job_id).log_object(self._node(job_id, task))
        if not path:
            raise Refused(400, "ModelArts.2822", "The log export path is not set.", "Set spec.log_export_path.")
        bucket, key = bucket_and_key(path)
        if self._objects.head(bucket, key) is None:
            raise Refused(400, "ModelArts.2818", "The log is not generated yet.")
        access_key, secret_key = next(iter(self._keys.items()))
        return signed_link(self._obs_url, bucket, key, access_key, secret_key, expires)

    def measured(self, job_id: str, task: str) -> Job:
        """The job, which has measurements of the task. Raises NothingYet."""
        self._node(job_id, task)
        job = self.job(job_id)
        if task not in job.metrics:
            raise NothingYet
        return job

    def _node(self, job_id: str, task: str) -> int:
        tasks = self.job(job_id).tasks
        if task not in tasks:
            raise Refused(400, "ModelArts.2788", f"Invalid parameter: task {task}.", f"Use {', '.join(tasks)}.")
        return tasks.index(task)


def _asked_to_stop(job: Job) -> Job:
    if job.has_ended or job.phase is Phase.TERMINATING:
        message = f"The training job is {job.phase} and cannot be terminated."
        raise Refused(409, "ModelArts.2796", message)
    return job.terminating()
