"""Tags of training jobs: their limits, and searches by tag."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aisbench_sandbox.job import Job
from aisbench_sandbox.service.state import parameters

# SDK, JobSearches.tags: 10 keys, each once, with 10 values each.
MAX_CONDITIONS = 10

# SDK, TmsTag: letters of any language, no blank at either end, at most 128 characters; values at most 255.
_KEY = re.compile(r"[\w.:=+\-@]([\w .:=+\-@]*[\w.:=+\-@])?")
_VALUE = re.compile(r"[\w ./:=+\-@]*")


@dataclass(frozen=True, slots=True)
class TagCondition:
    """Matches jobs that have this key with one of these values; with any value if there are none."""

    key: str
    values: tuple[str, ...]

    def holds(self, job: Job) -> bool:
        """Whether the job matches."""
        value = tags_of(job).get(self.key)
        # SDK, JobSearches.tags: values of a key are alternatives, different keys all have to match.
        return value is not None and (not self.values or value in self.values)


def tags_of(job: Job) -> Mapping[str, str]:
    """The job's tags, value by key."""
    tags: Mapping[str, str] = job.body.get("tags") or {}
    return tags


def set_tags(job: Job, tags: Mapping[str, str]) -> Job:
    """The job with exactly these tags."""
    return replace(job, body={**job.body, "tags": dict(tags)})


def read_tags(body: Mapping[str, Any]) -> dict[str, str]:
    """The tags in a request, value by key. Raises Refused (2788)."""
    tags = [(_read_key(entry), _read_value(entry.get("value"))) for entry in parameters.read_entries(body, "tags")]
    if not tags:
        raise parameters.make_refusal("tags", "at least one tag")
    if len({key for key, _ in tags}) < len(tags):
        raise parameters.make_refusal("tags", "each key once")
    return dict(tags)


def read_conditions(body: Mapping[str, Any]) -> tuple[TagCondition, ...]:
    """The tags to search for: at most 10 keys with 10 values. Raises Refused (2788)."""
    conditions = [_read_condition(entry) for entry in parameters.read_entries(body, "tags")]
    if len(conditions) > MAX_CONDITIONS or len({condition.key for condition in conditions}) < len(conditions):
        raise parameters.make_refusal("tags", f"at most {MAX_CONDITIONS} keys, each once")
    return tuple(conditions)


def all_tags(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Every key with all its values, in order."""
    values: dict[str, set[str]] = {}
    for job in jobs:
        for key, value in tags_of(job).items():
            values.setdefault(key, set()).add(value)
    return [{"key": key, "values": sorted(values[key])} for key in sorted(values)]


def tags_json(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags in the API's format."""
    return [{"key": key, "value": value} for key, value in tags.items()]


def _read_condition(entry: Mapping[str, Any]) -> TagCondition:
    values = parameters.read_texts(entry.get("values"), "tags.values", MAX_CONDITIONS)
    # SDK, JobSearches.tags: with no values, or only empty ones, the key alone has to match.
    return TagCondition(_read_key(entry), tuple(_read_value(value) for value in values if value))


def _read_key(entry: Mapping[str, Any]) -> str:
    key = entry.get("key")
    if not isinstance(key, str) or len(key) > 128 or not _KEY.fullmatch(key) or key.startswith("_sys_"):
        allowed = "1 to 128 letters, digits, blanks inside and _.:=+-@, not beginning with _sys_"
        raise parameters.make_refusal("tags.key", allowed)
    return key


def _read_value(value: object) -> str:
    value = "" if value is None else value
    if not isinstance(value, str) or len(value) > 255 or not _VALUE.fullmatch(value):
        raise parameters.make_refusal("tags.value", "at most 255 letters, digits, blanks and _.:/=+-@")
    return value
