"""What a change is about: the id or name by which the audit finds it again."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from aisbench_core.model import Schedule, StoredBudget

# Arguments that name it, the most telling first. What was made, such as the run of a launch, comes before OTHERS.
NAMES = ("run_id", "series_id", "token_id", "session", "job", "algorithm", "channel", "view", "where")
OTHERS = ("plan", "person", "name", "group_id", "run_ids", "message_ids", "package", "database", "to", "one", "profile")
IDS = ("run_id", "series_id", "token_id", "algorithm_id", "name", "at")

# An address that is refused for the password in it must not bring that into the audit.
_WITH_PASSWORD = re.compile(r"password|passfile|//[^/@]*:[^/@]*@", re.IGNORECASE)


def subject_of(given: Mapping[str, Any], returned: Sequence[object]) -> str:
    """By what a method was given, or what it made; empty for what has no name, such as the warehouse."""
    made = [part for value in returned for part in (value if isinstance(value, tuple) else (value,))]
    values = [*(given.get(name) for name in NAMES), *map(_made_id, made), *(given.get(name) for name in OTHERS)]
    return next(filter(None, map(_id_of, values)), "")


def _made_id(value: object) -> str:
    if isinstance(value, Schedule):  # its series_id is that of the last series, which was not changed
        return value.name
    if isinstance(value, StoredBudget):
        return f"{value.budget.scope} {value.budget.name}".strip()
    return next((str(getattr(value, name)) for name in IDS[:4] if getattr(value, name, "")), "")


def _id_of(value: Any) -> str:
    if isinstance(value, str) and _WITH_PASSWORD.search(value):
        return f"{value.partition(':')[0]}:…"
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):  # as somebody typed it: what else is in it may be a secret
        return " ".join(str(value[name])[:80] for name in ("scope", "name") if value.get(name))
    if isinstance(value, Sequence):
        return ", ".join(filter(None, map(_id_of, value[:5])))
    if status := getattr(value, "status", None):  # of a job
        return _id_of(status)
    return next((str(getattr(value, name)) for name in IDS if getattr(value, name, None)), str(value)[:80])
