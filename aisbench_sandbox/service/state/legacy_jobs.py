"""Training jobs with versions of the older API (v1): each version is a job of the engine."""

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aisbench_sandbox.job import Job
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state import parameters
from aisbench_sandbox.service.state.creation import is_name
from aisbench_sandbox.service.state.json_store import JsonStore
from aisbench_sandbox.service.state.legacy_requests import create_request, invalid_argument, with_v1_code_dir
from aisbench_sandbox.service.state.training_jobs import LEGACY, TrainingJobs

_STORE = "legacy"
_NOT_FOUND = "ModelArts.0105"


@dataclass(frozen=True, slots=True)
class LegacyJob:
    """A job and its versions, oldest first; `created_at` in ms."""

    job_id: int
    name: str
    description: str
    workspace: str
    created_at: int
    versions: tuple[Job, ...]


def facts_of(version: Job) -> Mapping[str, Any]:
    """The v1 data of a version: its numbers and its configuration."""
    facts: Mapping[str, Any] = version.body[LEGACY]
    return facts


class LegacyJobs:
    """The older API's jobs."""

    def __init__(self, store: JsonStore, jobs: TrainingJobs) -> None:
        self._store = store
        self._jobs = jobs
        self._making = threading.Lock()

    def create(self, body: Mapping[str, Any]) -> LegacyJob:
        """A new job with its first version, unless the request wants none. Raises Refused."""
        name = body.get("job_name")
        if not is_name(name):
            raise invalid_argument("job_name has 1 to 64 letters, digits, hyphens and underscores")
        config = parameters.read_block(body, "config")
        made = {
            "name": name,
            "description": parameters.read_text(body, "job_desc"),
            "workspace": parameters.read_text(body, "workspace_id") or "0",
            "created_at": self._jobs.jobs.now(),
            "versions_made": 0,
        }
        with self._making:  # name and output are checked and stored together
            if any(entry["name"] == name for entry in self._read_entries().values()):
                # The only code that the documents of this API name.
                raise Refused(400, "ModelArts.0103", f"Job name:{name} is existed")
            # The API makes a version unless create_version is false (API reference, Historical APIs).
            with_version = config.get("create_version", True) is not False
            # Before anything is stored: a job whose version is refused must not stay behind without one.
            accepted = self._accept_version(made, config) if with_version else None
            job_id = self._take_number("last_job")
            self._store.change(_STORE, lambda stored: stored.setdefault("jobs", {}).update({str(job_id): made}))
            if accepted is not None:
                self._add_version(job_id, accepted, config, 0)
        return self.job(job_id)

    def create_version(self, job_id: int, body: Mapping[str, Any]) -> LegacyJob:
        """The job with one more version, based on an older one. Raises Refused."""
        job = self.job(job_id)
        config = parameters.read_block(body, "config")
        previous = config.get("pre_version_id", body.get("pre_version_id"))
        existing = [facts_of(version)["version_id"] for version in job.versions]
        if not isinstance(previous, int) or isinstance(previous, bool) or previous not in existing:
            raise invalid_argument(f"pre_version_id {previous} is no version of the job")
        with self._making:
            accepted = self._accept_version(self._read_entries()[str(job_id)], config)
            if body.get("job_desc") is not None:
                self.describe(job_id, body)
            self._add_version(job_id, accepted, config, previous)
        return self.job(job_id)

    def all(self) -> list[LegacyJob]:
        """Every job, oldest first."""
        self._jobs.refresh()
        return [self._read_job(int(job_id), entry) for job_id, entry in self._read_entries().items()]

    def job(self, job_id: int) -> LegacyJob:
        """One job. Raises Refused."""
        entry = self._read_entries().get(str(job_id))
        if entry is None:
            raise Refused(400, _NOT_FOUND, f"The training job {job_id} is not found.")
        return self._read_job(job_id, entry)

    def _read_job(self, job_id: int, entry: Mapping[str, Any]) -> LegacyJob:
        versions = [job for job in self._jobs.jobs.all() if job.body.get(LEGACY, {}).get("job_id") == job_id]
        name, description, workspace = entry["name"], entry["description"], entry["workspace"]
        return LegacyJob(job_id, name, description, workspace, entry["created_at"], tuple(versions))

    def version(self, job_id: int, version_id: int) -> tuple[LegacyJob, Job]:
        """A job and one of its versions. Raises Refused."""
        job = self.job(job_id)
        for version in job.versions:
            if facts_of(version)["version_id"] == version_id:
                return job, version
        raise Refused(400, _NOT_FOUND, f"The version {version_id} of the training job {job_id} is not found.")

    def describe(self, job_id: int, body: Mapping[str, Any]) -> None:
        """Change a job's description. Raises Refused."""
        self.job(job_id)
        description = parameters.read_text(body, "job_desc")
        self._store.change(_STORE, lambda stored: stored["jobs"][str(job_id)].update(description=description))

    def stop(self, job_id: int, version_id: int) -> None:
        """Stop a version. Raises Refused if it has ended."""
        self._jobs.stop_job(self.version(job_id, version_id)[1])

    def delete_version(self, job_id: int, version_id: int) -> None:
        """Delete a version, and end it if it runs. Raises Refused."""
        self._jobs.delete_job(self.version(job_id, version_id)[1])

    def delete(self, job_id: int) -> None:
        """Delete a job and all its versions. Raises Refused."""
        for version in self.job(job_id).versions:
            self._jobs.delete_job(version)
        self._store.change(_STORE, lambda stored: stored["jobs"].pop(str(job_id), None))

    def _accept_version(self, job: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
        self._check_output_unused(config)
        body = create_request(str(job["name"]), str(job["description"]), str(job["workspace"]), config)
        return self._jobs.admit(body)

    def _check_output_unused(self, config: Mapping[str, Any]) -> None:
        """Two jobs that run at once would overwrite each other's results."""
        for job in self._jobs.jobs.all():
            used = job.body.get(LEGACY, {}).get("config", {}).get("train_url")
            # User guide, troubleshooting: train_url must not be shared with a job that has not ended.
            if used and used == config.get("train_url") and not job.has_ended:
                raise invalid_argument(f"train_url {used} is the output of a job that has not ended")

    def _add_version(self, job_id: int, accepted: Mapping[str, Any], config: Mapping[str, Any], previous: int) -> None:
        version_id = self._take_number("last_version")
        job = self._read_entries()[str(job_id)]
        number = int(job["versions_made"]) + 1
        # Counted apart from the versions that exist: a deleted one's name is not used again.
        self._store.change(_STORE, lambda stored: stored["jobs"][str(job_id)].update(versions_made=number))
        # Scripts build the logs' names from it: {resource_id}-job-{job_name}-{node}.log.
        resource_id = f"job{secrets.token_hex(4)}"
        facts = {
            "job_id": job_id,
            "version_id": version_id,
            "version_name": f"V{number:04}",
            "pre_version_id": previous,
            "resource_id": resource_id,
            "config": dict(config),
        }
        self._jobs.add(
            {
                **accepted,
                "algorithm": with_v1_code_dir(accepted),
                # No name in the newer API has a slash.
                "metadata": {**accepted["metadata"], "name": f"{job['name']}/{facts['version_name']}"},
                "log_prefix": f"{resource_id}-job-{job['name']}-",
                LEGACY: facts,
            }
        )

    def _take_number(self, counter: str) -> int:
        # Counters only go up, so the number of a deleted job does not come back.
        self._store.change(_STORE, lambda stored: stored.update({counter: stored.get(counter, 0) + 1}))
        return int(self._store.read(_STORE)[counter])

    def _read_entries(self) -> Mapping[str, Any]:
        jobs: Mapping[str, Any] = self._store.read(_STORE).get("jobs", {})
        return jobs
