"""The project's own algorithms: code, boot file and engine under an id, from which jobs are created."""

import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state import parameters
from aisbench_sandbox.service.state.algorithms import completed_engine
from aisbench_sandbox.service.state.creation import check_code, check_parameters, is_name
from aisbench_sandbox.service.state.json_store import JsonStore

_STORE = "algorithms"
_SUBSCRIBED = "subscriptions"
_ENGINE = ("engine_id", "engine_name", "engine_version", "image_url")  # SDK, AlgorithmCreateEngine
_WORKSPACE = re.compile(r"[0-9A-Za-z-]{1,32}")

Json = dict[str, Any]


class SavedAlgorithms:
    """The algorithms; `now` is the time in ms."""

    def __init__(self, store: JsonStore, now: Callable[[], int], objects: Objects) -> None:
        self._store = store
        self._now = now
        self._objects = objects

    def create(self, body: Mapping[str, Any]) -> Json:
        """A new algorithm as the API shows it. Raises Refused."""
        algorithm_id, now = str(uuid.uuid4()), self._now()
        shown = self._accept_algorithm(body)
        times = {"id": algorithm_id, "is_valid": True, "create_time": now, "update_time": now}
        shown["metadata"] |= times
        self._store.change(_STORE, lambda stored: stored.update({algorithm_id: shown}))
        return shown

    def show(self, algorithm_id: str) -> Json:
        """One algorithm. Raises Refused (2755)."""
        found = self.find(algorithm_id)
        if not found:
            # 2755 is documented for jobs; the code of this answer is not.
            raise Refused(404, "ModelArts.2755", f"The algorithm {algorithm_id} is not found.", "See algorithms.")
        return found

    def all(self, workspace: str) -> list[Json]:
        """Every algorithm of a workspace, oldest first; "" means all workspaces."""
        stored = self._store.read(_STORE).values()
        return [entry for entry in stored if workspace in ("", entry["metadata"]["workspace_id"])]

    def change(self, algorithm_id: str, body: Mapping[str, Any]) -> Json:
        """Replace an algorithm; jobs that were created from it stay as they are. Raises Refused."""
        before, shown = self.show(algorithm_id)["metadata"], self._accept_algorithm(body)
        unchanged = {name: before[name] for name in ("id", "is_valid", "create_time", "workspace_id")}
        shown["metadata"] |= {**unchanged, "update_time": self._now()}
        self._store.change(_STORE, lambda stored: stored.update({algorithm_id: shown}))
        return shown

    def delete(self, algorithm_id: str) -> None:
        """Delete an algorithm. Raises Refused (2755)."""
        self.show(algorithm_id)
        self._store.change(_STORE, lambda stored: stored.pop(algorithm_id))

    def find(self, algorithm_id: str) -> Json:
        """One algorithm; empty if there is none."""
        return dict(self._store.read(_STORE).get(algorithm_id, {}))

    def subscribe(self, algorithm_id: str) -> Json:
        """Publish an algorithm as it is now, and subscribe to it; the two ids that jobs name. Raises Refused (2755).

        There is no AI Gallery here: on the platform another account publishes."""
        ids = {"subscription_id": str(uuid.uuid4()), "item_version_id": str(uuid.uuid4())}
        entry = {"algorithm": self.show(algorithm_id), **ids, "created_at": self._now()}
        self._store.change(_SUBSCRIBED, lambda stored: stored.update({ids["subscription_id"]: entry}))
        return ids

    def subscriptions(self) -> list[Json]:
        """Every subscription, newest first."""
        return sorted(self._store.read(_SUBSCRIBED).values(), key=lambda entry: entry["created_at"], reverse=True)

    def find_subscription(self, subscription_id: str) -> Json:
        """One subscription; empty if there is none."""
        return dict(self._store.read(_SUBSCRIBED).get(subscription_id, {}))

    def of_job(self, algorithm: Mapping[str, Any]) -> Json:
        """The algorithm that a job names, by its id or as a subscribed one; empty if there is none."""
        if algorithm.get("id"):
            return self.find(str(algorithm["id"]))
        entry = self.find_subscription(str(algorithm.get("subscription_id")))
        fits = bool(entry) and entry["item_version_id"] == algorithm.get("item_version_id")
        return dict(entry["algorithm"]) if fits else {}

    def _accept_algorithm(self, body: Mapping[str, Any]) -> Json:
        requirements = {name: body[name] for name in ("resource_requirements", "advanced_config") if body.get(name)}
        config = self._check_config(parameters.read_block(body, "job_config"))
        return {
            "metadata": _read_metadata(parameters.read_block(body, "metadata")),
            "job_config": config,
            **requirements,
        }

    def _check_config(self, config: Mapping[str, Any]) -> Json:
        check_parameters(parameters.read_entries(config, "parameters"))
        for kind in ("inputs", "outputs"):
            for entry in parameters.read_entries(config, kind):
                if not is_name(entry.get("name")):
                    raise Refused(400, "ModelArts.2753", f"Each entry of job_config.{kind} needs a name.")
        parameters.read_flag(config, "parameters_customization")
        requested = parameters.read_block(config, "engine")
        texts = {name: parameters.read_text(requested, name, most=512) for name in _ENGINE if requested.get(name)}
        engine = completed_engine(config, texts)
        check_code(config, self._objects)
        return {"parameters": [], "inputs": [], "outputs": [], **config, "engine": engine}


def _read_metadata(body: Mapping[str, Any]) -> Json:
    if not is_name(body.get("name")):
        raise parameters.make_refusal("metadata.name", "1 to 64 letters, digits, hyphens (-) and underscores (_)")
    workspace = parameters.read_text(body, "workspace_id", most=32) or "0"
    if not _WORKSPACE.fullmatch(workspace):
        raise parameters.make_refusal("metadata.workspace_id", "0, or the id of a workspace")
    return {"name": body["name"], "description": parameters.read_text(body, "description"), "workspace_id": workspace}
