"""How many training jobs the project may have: read, changed and stored."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state import parameters
from aisbench_sandbox.service.state.json_store import JsonStore

MOST = 2**31 - 1
# What an account may have by default (user guide of ModelArts Standard).
DEFAULT_JOBS = 10_000

# resource: (least, most) of its quota
# SDK, ModifyTrainingQuotaItem; job-num-quota-notify has its topic in extra_info.
_RANGES = {
    "job-num": (1, MOST),
    "visual-job-num": (1, MOST),
    "job-retention-enabled": (0, 1),
    "job-num-quota-notify": (0, 0),
}


class Quotas:
    """The project's quotas; `count` returns the number of jobs."""

    def __init__(self, store: JsonStore, count: Callable[[], int]) -> None:
        self._store = store
        self._count = count

    @property
    def max_jobs(self) -> int:
        """The maximum number of jobs."""
        return int(self._store.read("quotas").get("job-num", {}).get("quota", DEFAULT_JOBS))

    @property
    def used(self) -> int:
        """The number of jobs."""
        return self._count()

    def check(self) -> None:
        """Raises Refused (2815) if no further job may be created."""
        # Jobs that have ended count, too, until they are deleted.
        if self._count() >= self.max_jobs:
            message = f"The number of training jobs has reached the quota of {self.max_jobs}."
            raise Refused(400, "ModelArts.2815", message, "Delete jobs that are no longer needed, or raise the quota.")

    def to_json(self) -> list[dict[str, Any]]:
        """The quotas as the API lists them."""
        return [{"resource": "job-num", "quota": self.max_jobs, "used": self._count()}]

    def set(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Change quotas; returns them as given. Raises Refused (2788)."""
        wanted = [self._read_quota(entry) for entry in parameters.read_entries(body, "quotas")]
        if not wanted:
            raise parameters.make_refusal("quotas", "at least one quota")
        self._store.change("quotas", lambda stored: stored.update({entry["resource"]: entry for entry in wanted}))
        return self._complete_entries(wanted)

    def _complete_entries(self, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{**entry, "used": self._count() if entry["resource"] == "job-num" else 0} for entry in wanted]

    def _read_quota(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        resource = parameters.read_text(entry, "resource")
        if resource not in _RANGES:
            raise parameters.make_refusal("quotas.resource", " or ".join(_RANGES))
        least, most = _RANGES[resource]
        quota = entry.get("quota")
        if not parameters.is_count(quota, least, most):
            raise parameters.make_refusal(f"the quota of {resource}", f"a whole number from {least} to {most}")
        item = {"resource": resource, "quota": quota}
        return (
            {**item, "extra_info": parameters.read_text(entry, "extra_info", most=1024)}
            if "extra_info" in entry
            else item
        )
