"""What a change is about: the id or name by which the audit finds it again."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

MADE = "made"
"""What a method returned, among its arguments."""

MOST_NAMED = 5
MOST_LETTERS = 80

# An address that is refused for the password in it must not bring that into the audit.
_WITH_PASSWORD = re.compile(r"password|passfile|//[^/@]*:[^/@]*@", re.IGNORECASE)


def subject_of(subject: str, given: Mapping[str, Any]) -> str:
    """The first text of some alternatives: `made.run_id|profile`; one can have several paths: `scope name`.

    A path names an argument, and after dots its attributes, keys or numbers. Empty for what has no name, such as the
    warehouse."""
    texts = (
        " ".join(filter(None, (_to_text(_resolve_value(path, given)) for path in paths))) for paths in paths_of(subject)
    )
    return next(filter(None, texts), "")


def paths_of(subject: str) -> list[list[str]]:
    """The paths of each alternative."""
    return [alternative.split() for alternative in subject.split("|")]


def _resolve_value(path: str, given: Mapping[str, Any]) -> Any:
    value: Any = given
    for name in path.split("."):
        if isinstance(value, Mapping):  # also what somebody typed, where anything can be missing
            value = value.get(name)
        elif isinstance(value, Sequence) and name.isdigit():
            value = value[int(name)]
        else:
            value = getattr(value, name, None)
    return value


def _to_text(value: Any) -> str:
    if isinstance(value, str):
        return f"{value.partition(':')[0]}:…" if _WITH_PASSWORD.search(value) else value
    if isinstance(value, Sequence):
        return ", ".join(filter(None, map(_to_text, value[:MOST_NAMED])))
    return "" if value is None else str(value)[:MOST_LETTERS]
