"""Whether what a person states of a system contradicts what was captured: people shorten names and round numbers."""

import re

_QUANTITY = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?)\s?(TiB|TB|GiB|GB|MiB|MB|GHz|MHz)\b", re.IGNORECASE)
_FACTORS = {"t": 1e12, "g": 1e9, "m": 1e6}
# Kernels keep some memory to themselves, and 1 GiB is 7 % more than 1 GB.
_TOLERANCE = 0.1
_VERSION = re.compile(r"([A-Za-z][A-Za-z_-]{0,40})[ _=:]{1,3}v?(\d[\w.]{0,40})")
_WORD = re.compile(r"[a-z]+|\d[\d.]*")


def are_contradictory(stated: str | int, captured: str | int) -> bool:
    """Whether both cannot be true. Versions are compared by name, and one may be the beginning of the other."""
    if isinstance(stated, int) or isinstance(captured, int):
        return stated != captured
    quantities = [_read_quantity(text) for text in (stated, captured)]
    if all(quantities):
        first, second = quantities
        return abs(first - second) > _TOLERANCE * max(first, second)
    versions, known = (_read_versions(text) for text in (stated, captured))
    if common := versions.keys() & known.keys():
        return any(not _is_beginning(versions[name], known[name]) for name in common)
    words, others = ({*_WORD.findall(text.lower())} for text in (stated, captured))
    return not (words <= others or others <= words)


def _read_quantity(text: str) -> float:
    """In bytes or Hz; 0 if it is not one quantity."""
    found = _QUANTITY.findall(text)
    return float(found[0][0]) * _FACTORS[found[0][1][0].lower()] if len(found) == 1 else 0.0


def _read_versions(text: str) -> dict[str, str]:
    return {name.lower().replace("_", "-"): version.rstrip(".") for name, version in _VERSION.findall(text)}


def _is_beginning(one: str, other: str) -> bool:
    first, second = (re.split(r"[._+-]", text.lower()) for text in (one, other))
    length = min(len(first), len(second))
    return first[:length] == second[:length]
