"""Finds jobs as the search request asks: filters, order and one page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aisbench_core.sandbox.jobs import Job
from aisbench_core.sandbox.refusals import Refused

MOST_PER_PAGE = 50

_FIELDS: Mapping[str, Callable[[Job], str]] = {
    "name": lambda job: job.name,
    "create_time": lambda job: str(job.created_at),
    "phase": lambda job: job.phase.value,
    "kind": lambda _: "job",
    "algorithm_name": lambda job: str(job.algorithm.get("name") or ""),
    "user_id": lambda _: "",
    "runtime_type": lambda _: "",
}
_SORTS: Mapping[str, Callable[[Job], Any]] = {
    "create_time": lambda job: job.created_at,
    "name": lambda job: job.name,
    "phase": lambda job: job.phase.value,
    "start_time": lambda job: job.started_at,
}
_OPERATORS: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    "in": lambda found, wanted: found in wanted,
    "not": lambda found, wanted: found not in wanted,
    "like": lambda found, wanted: any(part in found for part in wanted),
    "between": lambda found, wanted: int(wanted[0]) <= int(found) <= int(wanted[1]),
}


@dataclass(frozen=True, slots=True)
class Search:
    """One search. `offset` counts jobs, not pages."""

    offset: int = 0
    limit: int = 10
    order: str = "desc"
    sort_by: str = "create_time"
    filters: tuple[tuple[str, str, tuple[str, ...]], ...] = ()

    def matching(self, jobs: Sequence[Job]) -> list[Job]:
        """Every job that passes all filters, in order."""
        found = [job for job in jobs if all(_passes(job, *condition) for condition in self.filters)]
        return sorted(found, key=_SORTS[self.sort_by], reverse=self.order == "desc")

    def page(self, matching: Sequence[Job]) -> Sequence[Job]:
        """The jobs that the answer holds."""
        return matching[self.offset : self.offset + self.limit]


def read_search(body: Mapping[str, Any]) -> Search:
    """The search that a body asks for. Raises Refused with the documented codes."""
    offset, limit = body.get("offset", 0), body.get("limit", 10)
    if not _is_int(offset) or offset < 0:
        raise Refused(400, "ModelArts.2788", f"Invalid parameter: offset {offset}.", "Use 0 or more.")
    if not _is_int(limit) or not 1 <= limit <= MOST_PER_PAGE:
        raise Refused(400, "ModelArts.2788", f"Invalid parameter: limit {limit}.", f"Use 1 to {MOST_PER_PAGE}.")
    order, sort_by = body.get("order") or "desc", body.get("sort_by") or "create_time"
    if order not in ("asc", "desc") or sort_by not in _SORTS:
        raise Refused(400, "ModelArts.2790", f"Invalid sorting: {sort_by} {order}.", f"Sort by {', '.join(_SORTS)}.")
    return Search(offset, limit, order, sort_by, tuple(_condition(entry) for entry in body.get("filters") or ()))


def _condition(entry: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    key, operator, values = entry.get("key", ""), entry.get("operator", ""), entry.get("value")
    if key not in _FIELDS:
        raise Refused(400, "ModelArts.2807", f"Invalid search condition: key {key}.", f"Use {', '.join(_FIELDS)}.")
    if operator not in _OPERATORS or (operator == "between" and key != "create_time"):
        raise Refused(400, "ModelArts.2808", f"Invalid search condition: operator {operator} for {key}.")
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise Refused(400, "ModelArts.2809", f"Invalid search condition: value of {key}.", "Give a list of strings.")
    if operator == "between" and not (len(values) == 2 and all(value.isdecimal() for value in values)):
        raise Refused(400, "ModelArts.2809", "Invalid search condition: between needs two times in ms.")
    return key, operator, tuple(values)


def _passes(job: Job, key: str, operator: str, values: tuple[str, ...]) -> bool:
    return _OPERATORS[operator](_FIELDS[key](job), values)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
