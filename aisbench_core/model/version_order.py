"""The order of framework versions, from the oldest to the newest, by their names alone."""

import re
from collections.abc import Iterable

# What may stand between the numbers of a preview, from the earliest on; a release comes after all of them.
_PREVIEWS = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "pre": -1, "preview": -1}
_END, _WORD, _NUMBER = 0, 1, 2

_PREFIX = re.compile(r"\A[rv](?=[0-9])", re.IGNORECASE)  # of "r1.10" and "v1.10"
_PARTS = re.compile(r"([0-9]+)|([a-z]+)")

VersionKey = tuple[tuple[tuple[int, int, str], ...], str]


def version_key(version: str) -> VersionKey:
    """A sort key by which r1.9 < r1.10rc1 < r1.10 < r1.10.1; names without any number come first."""
    parts: list[tuple[int, int, str]] = []
    for digits, word in _PARTS.findall(_PREFIX.sub("", version, count=1).lower()):
        if digits:
            parts.append((_NUMBER, int(digits[:4000]), ""))  # Python refuses to read longer numbers
            continue
        _drop_zeros(parts)
        parts.append((_PREVIEWS.get(word, _WORD), 0, word))
    _drop_zeros(parts)
    # Names that mean the same, as 1.10 and 1.10.0 do, are told apart by their text.
    return (*parts, (_END, 0, "")), version


def in_version_order(versions: Iterable[str]) -> tuple[str, ...]:
    """Each version once, the oldest first."""
    return tuple(sorted(set(versions), key=version_key))


def _drop_zeros(parts: list[tuple[int, int, str]]) -> None:
    """A release is the same with zeros at its end, so that 1.10rc1 comes before 1.10.0 as well."""
    while parts and parts[-1][:2] == (_NUMBER, 0):
        parts.pop()
