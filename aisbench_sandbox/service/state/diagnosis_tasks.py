"""Diagnosis tasks of failed jobs: each request advances one by a status, as if it took a while."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from aisbench_sandbox.job import Job, JobPhase
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state.json_store import JsonStore
from aisbench_sandbox.service.state.responses import diagnosis_json

_STORE = "diagnosis_tasks"
# API reference, ListTrainingJobDiagnosisTasks; the last word is the sandbox's.
_STATUSES = ("CREATING", "PENDING", "RUNNING", "COMPLETED")

Json = dict[str, Any]


class DiagnosisTasks:
    """The newest task of each job; `now` is the time in ms."""

    def __init__(self, store: JsonStore, now: Callable[[], int]) -> None:
        self._store = store
        self._now = now

    def create(self, job: Job) -> Json:
        """A new task as the API shows it. Raises Refused if the job has not failed."""
        if job.phase is not JobPhase.FAILED:
            # The reference says that the status may not allow it, not with which code.
            raise Refused(409, "ModelArts.2796", f"A job that is {job.phase} is not diagnosed.")
        task_id, now = str(uuid.uuid4()), self._format_time()
        task = {"task_id": task_id, "status": _STATUSES[0], "created_at": now, "updated_at": now}
        self._store.change(_STORE, lambda stored: stored.update({job.job_id: task}))
        return {
            "task_id": task_id,
            "task_name": f"diagnosis-{task_id[:8]}",
            "training_job_id": job.job_id,
            "create_time": now,
            "update_time": now,
            "task_status": _STATUSES[0],
            "description": "",
        }

    def show(self, job: Job) -> Json:
        """The job's tasks as the API shows them; a task that has not ended is one status further next time."""
        task = self._store.read(_STORE).get(job.job_id)
        if task is None:
            return {"total": 0, "tasks": []}
        shown = {**task, "type": "standard", "training_job_id": job.job_id}
        if task["status"] == _STATUSES[-1]:
            return {"total": 1, "tasks": [{**shown, "conclusions": diagnosis_json(job)["conclusions"]}]}
        further = {"status": _STATUSES[_STATUSES.index(task["status"]) + 1], "updated_at": self._format_time()}
        self._store.change(_STORE, lambda stored: stored[job.job_id].update(further))
        return {"total": 1, "tasks": [shown]}

    def _format_time(self) -> str:
        return datetime.fromtimestamp(self._now() / 1000, UTC).isoformat()
