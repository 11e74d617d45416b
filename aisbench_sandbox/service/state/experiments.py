"""Training experiments: named groups of jobs."""

import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from aisbench_sandbox.job import Job
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state import parameters
from aisbench_sandbox.service.state.json_store import JsonStore

_STORE = "experiments"
# The SDK says "no special characters" and does not name them.
_SPECIAL = re.compile(r"[!<>=&\"'$;/\\|*?%#@^`~{}\[\]]")

Json = dict[str, Any]


class Experiments:
    """The project's experiments; `now` is the time in ms, `jobs` returns all jobs."""

    def __init__(self, store: JsonStore, now: Callable[[], int], jobs: Callable[[], list[Job]]) -> None:
        self._store = store
        self._now = now
        self._jobs = jobs

    def create(self, body: Mapping[str, Any]) -> Json:
        """A new experiment as the API shows it. Raises Refused (2788, 2841)."""
        name, description = _read_name(body), _read_description(body)
        workspace = parameters.read_text(body, "workspace_id", most=32) or "0"
        now = self._now()
        made = {"id": str(uuid.uuid4()), "name": name, "description": description, "workspace_id": workspace}

        def step(stored: Json) -> None:
            # Inside the step, which the store runs under its lock: two requests cannot both find the name free.
            _check_name_unused(stored, name, workspace)
            stored[made["id"]] = {**made, "create_time": now, "update_time": now, "serial": 0}

        self._store.change(_STORE, step)
        return self.show(made["id"])

    def show(self, experiment_id: str) -> Json:
        """One experiment with its number of jobs. Raises Refused (2842)."""
        return self._to_json(_require_experiment(self._store.read(_STORE), experiment_id))

    def all(self, workspace: str) -> list[Json]:
        """Every experiment of a workspace, oldest first; "" means all workspaces."""
        stored = self._store.read(_STORE).values()
        return [self._to_json(entry) for entry in stored if workspace in ("", entry["workspace_id"])]

    def has_name(self, name: str, workspace: str) -> bool:
        """Whether an experiment of the workspace has this name."""
        return _id_of(self._store.read(_STORE), name, workspace) is not None

    def change(self, experiment_id: str, body: Mapping[str, Any]) -> Json:
        """Change an experiment's name or description. Raises Refused (2788, 2841, 2842)."""
        changes = {key: read(body) for key, read in _READ.items() if body.get(key) is not None}

        def step(stored: Json) -> None:
            entry = _require_experiment(stored, experiment_id)
            if changes.get("name", entry["name"]) != entry["name"]:
                _check_name_unused(stored, changes["name"], entry["workspace_id"])
            entry.update(changes, update_time=self._now())

        self._store.change(_STORE, step)
        return self.show(experiment_id)

    def delete(self, experiment_id: str) -> None:
        """Delete an experiment; its jobs stay. Raises Refused (2842)."""
        _require_experiment(self._store.read(_STORE), experiment_id)
        self._store.change(_STORE, lambda stored: stored.pop(experiment_id))

    def join(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The accepted create request with its experiment, which is created if only a name is given.

        Raises Refused (2788, 2842)."""
        # With an id the job joins an experiment, with a name it may make one (SDK, TrainingExperimentRequest).
        requested = parameters.read_block(body["metadata"], "training_experiment_reference")
        if not requested:
            return body
        reference = self._make_reference(requested, body["metadata"]["workspace_id"])
        return {**body, "metadata": {**body["metadata"], "training_experiment_reference": reference}}

    def _make_reference(self, requested: Mapping[str, Any], workspace: str) -> Json:
        """The experiment as a job refers to it, with the job's serial number in it."""
        experiment_id = parameters.read_text(requested, "id", most=64) or self._by_name(requested, workspace)

        def count(stored: Json) -> None:
            # Never given twice, even when a job is deleted.
            _require_experiment(stored, experiment_id)["serial"] += 1

        self._store.change(_STORE, count)
        entry = _require_experiment(self._store.read(_STORE), experiment_id)
        return {"id": entry["id"], "name": entry["name"], "serial_number": str(entry["serial"])}

    def _by_name(self, requested: Mapping[str, Any], workspace: str) -> str:
        experiment_id = _id_of(self._store.read(_STORE), _read_name(requested), workspace)
        return experiment_id or str(self.create({**requested, "workspace_id": workspace})["metadata"]["id"])

    def _to_json(self, entry: Mapping[str, Any]) -> Json:
        jobs = [job for job in self._jobs() if reference_of(job).get("id") == entry["id"]]
        # The counter is ours.
        metadata = {key: value for key, value in entry.items() if key != "serial"}
        return {"metadata": metadata, "statistic": {"job_count": len(jobs)}}


def reference_of(job: Job) -> Mapping[str, Any]:
    """The experiment of a job, as in its metadata; empty for none."""
    reference: Mapping[str, Any] = job.body["metadata"].get("training_experiment_reference") or {}
    return reference


def _read_name(body: Mapping[str, Any]) -> str:
    name = parameters.read_text(body, "name", 1, 64)
    if _SPECIAL.search(name):
        raise parameters.make_refusal("name", "no special characters")
    return name


def _read_description(body: Mapping[str, Any]) -> str:
    return parameters.read_text(body, "description")


_READ = {"name": _read_name, "description": _read_description}


def _id_of(stored: Mapping[str, Any], name: str, workspace: str) -> str | None:
    wanted = (name, workspace)
    return next((key for key, entry in stored.items() if (entry["name"], entry["workspace_id"]) == wanted), None)


def _check_name_unused(stored: Mapping[str, Any], name: str, workspace: str) -> None:
    if _id_of(stored, name, workspace) is not None:
        message = f"Duplicate training experiment (name: {name})."
        raise Refused(400, "ModelArts.2841", message, "Use another name.")


def _require_experiment(stored: Mapping[str, Any], experiment_id: str) -> Json:
    if experiment_id not in stored:
        message = f"Training experiment (id: {experiment_id}) not found."
        raise Refused(400, "ModelArts.2842", message, "See training-experiments.")
    entry: Json = stored[experiment_id]
    return entry
