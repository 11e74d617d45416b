"""Job searches: filters, tags, hosts, order and one page."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from aisbench_sandbox.job import Job
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state import parameters
from aisbench_sandbox.service.state.hosts import hosts_of
from aisbench_sandbox.service.state.tags import TagCondition, read_conditions

# SDK, JobSearches; also the 10 hosts and the 31 days for searches by tags or hosts.
MAX_PER_PAGE = 50
MAX_HOSTS = 10
MAX_TIME = timedelta(days=31)
USER_ID = "sandbox-user"

# The keys that the documents' examples use; there is no complete list.
_FIELDS: Mapping[str, Callable[[Job], str]] = {
    "name": lambda job: job.name,
    "create_time": lambda job: str(job.created_at),
    "phase": lambda job: job.phase.value,
    "kind": lambda _: "job",
    "algorithm_name": lambda job: str(job.algorithm.get("name") or ""),
    "user_id": lambda _: USER_ID,
    "runtime_type": lambda _: "",
}
_SORTS: Mapping[str, Callable[[Job], Any]] = {
    "create_time": lambda job: job.created_at,
    "name": lambda job: job.name,
    "phase": lambda job: job.phase.value,
    "start_time": lambda job: job.started_at,
}
_OPERATORS: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    "in": lambda value, wanted: value in wanted,
    "not": lambda value, wanted: value not in wanted,
    "like": lambda value, wanted: any(part in value for part in wanted),
    "between": lambda value, wanted: int(wanted[0]) <= int(value) <= int(wanted[1]),
}

Condition = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Search:
    """One search. `offset` counts jobs, or pages if it `counts_pages`; an empty workspace matches all."""

    offset: int = 0
    limit: int = 10
    order: str = "desc"
    sort_by: str = "create_time"
    filters: tuple[Condition, ...] = ()
    tags: tuple[TagCondition, ...] = ()
    hosts: frozenset[str] = frozenset()
    workspace: str = ""
    group_by: str = ""
    train_type: str = ""
    counts_pages: bool = False

    def find_matching(self, jobs: Sequence[Job]) -> list[Job]:
        """All matching jobs, in order."""
        selected = [job for job in jobs if self._is_match(job)]
        return sorted(selected, key=_SORTS[self.sort_by], reverse=self.order == "desc")

    def page(self, matching: Sequence[Job]) -> Sequence[Job]:
        """The jobs of the requested page."""
        return parameters.page_of(matching, self.offset, self.limit, counts_pages=self.counts_pages)

    def _is_match(self, job: Job) -> bool:
        return (
            self.workspace in ("", job.body["metadata"]["workspace_id"])
            and self.train_type in ("", "job")
            and all(_OPERATORS[operator](_FIELDS[key](job), values) for key, operator, values in self.filters)
            and all(tag.holds(job) for tag in self.tags)
            and (not self.hosts or not self.hosts.isdisjoint(hosts_of(job)))
        )


def read_search(body: Mapping[str, Any], now: int, *, counts_pages: bool) -> Search:
    """Parse the search in a body; `now` in ms. Raises Refused with the documented codes."""
    offset, limit = body.get("offset"), body.get("limit")
    # Not `or`: an explicit 0 for the limit is an error.
    offset, limit = 0 if offset is None else offset, 10 if limit is None else limit
    if not parameters.is_count(offset, 0, 2**31 - 1):
        raise parameters.make_refusal("offset", "0 or more")
    if not parameters.is_count(limit, 1, MAX_PER_PAGE):
        raise parameters.make_refusal("limit", f"1 to {MAX_PER_PAGE}")
    order, sort_by = (
        parameters.read_text(body, "order") or "desc",
        parameters.read_text(body, "sort_by") or "create_time",
    )
    if order not in ("asc", "desc") or sort_by not in _SORTS:
        raise Refused(400, "ModelArts.2790", f"Invalid sorting: {sort_by} {order}.", f"Sort by {', '.join(_SORTS)}.")
    train_type = parameters.read_text(body, "train_type")
    if train_type not in ("", "job", "ftjob"):
        raise parameters.make_refusal("train_type", "job or ftjob")
    search = Search(
        offset,
        limit,
        order,
        sort_by,
        tuple(_read_condition(entry) for entry in _read_filters(body)),
        read_conditions(body),
        frozenset(_read_hosts(body)),
        parameters.read_text(body, "workspace_id"),
        parameters.read_text(body, "group_by"),
        train_type,
        counts_pages,
    )
    return _within_a_month(search, now) if search.tags or search.hosts else search


def _read_filters(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    filters = body.get("filters") or []
    if not isinstance(filters, list) or not all(isinstance(entry, dict) for entry in filters):
        raise Refused(400, "ModelArts.2789", "Invalid filters.", "Give a list of objects with key, operator and value.")
    return filters


def _read_condition(entry: Mapping[str, Any]) -> Condition:
    key, operator, values = entry.get("key"), entry.get("operator"), entry.get("value")
    if not isinstance(key, str) or key not in _FIELDS:
        raise Refused(400, "ModelArts.2807", f"Invalid search condition: key {key}.", f"Use {', '.join(_FIELDS)}.")
    is_operator = isinstance(operator, str) and operator in _OPERATORS
    if not is_operator or (operator == "between" and key != "create_time"):
        solution = f"Use {', '.join(_OPERATORS)}; between is for create_time."
        raise Refused(400, "ModelArts.2808", f"Invalid search condition: operator {operator} for {key}.", solution)
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise Refused(400, "ModelArts.2809", f"Invalid search condition: value of {key}.", "Give a list of strings.")
    if operator == "between" and not (len(values) == 2 and all(_is_time(value) for value in values)):
        solution = "Give the first and the last time."
        raise Refused(400, "ModelArts.2809", "Invalid search condition: between needs two times in ms.", solution)
    return key, str(operator), tuple(values)


def _is_time(value: str) -> bool:
    # 16 digits of ms reach far beyond the year 9999.
    return value.isascii() and value.isdigit() and len(value) <= 16


def _read_hosts(body: Mapping[str, Any]) -> list[str]:
    hosts = parameters.read_texts(body.get("host_ips"), "host_ips", MAX_HOSTS)
    try:
        return [str(ipaddress.ip_address(host)) for host in hosts]
    except ValueError as error:
        raise parameters.make_refusal("host_ips", "IPv4 or IPv6 addresses") from error


def _within_a_month(search: Search, now: int) -> Search:
    """Searches by tags or hosts cover at most 31 days: the requested ones, or the last ones."""
    longest = MAX_TIME // timedelta(milliseconds=1)
    spans = [values for key, operator, values in search.filters if (key, operator) == ("create_time", "between")]
    if not spans:
        return replace(
            search,
            filters=(*search.filters, ("create_time", "between", (str(now - longest), str(now + longest)))),
        )
    if any(int(last) - int(first) > longest for first, last in spans):
        message = "Invalid search condition: with tags or host_ips, create_time spans at most 31 days."
        raise Refused(400, "ModelArts.2809", message, "Give times that are less apart.")
    return search
