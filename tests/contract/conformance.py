"""Reads conformance.yaml, which `make docs` writes as a table to build/conformance.md."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import huaweicloudsdkmodelarts.v1 as sdk
import yaml

PAGE = Path(__file__).parents[2] / "build" / "conformance.md"
"""Not kept: `make docs` writes it."""

INTRODUCTION = """# Conformance of the sandbox

Requests and fields of the training service, verified by tests. `a.*`: all fields below `a` that no other row names;
*partly*: accepted and returned, or emulated.

"""

_SOURCE = Path(__file__).with_name("conformance.yaml")
_IN_THE_ADDRESS = ("training_job_id", "task_id", "pool_name", "experiment_id", "algorithm_id")
_LIST = re.compile(r"list\[(.*)\]")


class Status(StrEnum):
    """How true a field is to the region."""

    IMITATED = "imitated"
    PARTLY = "partly"
    MISSING = "missing"


class Probe(StrEnum):
    """How a test sees that a field of a request is heeded."""

    REFUSED = "refused"
    SHOWN = "shown"
    CHANGES = "changes"
    NONE = "none"


_USUAL = {Status.IMITATED: Probe.REFUSED, Status.PARTLY: Probe.SHOWN, Status.MISSING: Probe.NONE}
_WORDS = {Status.IMITATED: "supported", Status.PARTLY: "partly", Status.MISSING: "not supported"}


@dataclass(frozen=True, slots=True)
class Row:
    """Some fields of a request or an answer."""

    patterns: tuple[str, ...]
    status: Status
    note: str
    probe: Probe


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One request. `asks` and `answers` name the SDK's classes whose fields the rows have to cover."""

    request: str
    source: str
    asks: str
    answers: str
    asked: tuple[Row, ...]
    answered: tuple[Row, ...]


def read() -> tuple[list[Endpoint], dict[str, str]]:
    """Every endpoint, and the sources of the requests that are not there."""
    stored = yaml.safe_load(_SOURCE.read_text("utf-8"))
    return [_endpoint(entry) for entry in stored["endpoints"]], stored["missing"]


def fields_of(class_name: str) -> list[str]:
    """All fields of one of the SDK's classes, by the names and paths that they have in JSON or in the query."""
    return [field for field in _fields(class_name, "", ()) if field not in _IN_THE_ADDRESS]


def row_of(field: str, rows: Sequence[Row]) -> Row | None:
    """The row that is about a field: the one that names it, or most of its path."""
    fitting = [(pattern, row) for row in rows for pattern in row.patterns if _fits(pattern, field)]
    return max(fitting, key=lambda found: (not found[0].endswith("*"), len(found[0])))[1] if fitting else None


def document() -> str:
    """The table as Markdown."""
    endpoints, missing = read()
    lines = ["| request | fields | status | source, note |", "|---|---|---|---|"]
    for endpoint in endpoints:
        status = "" if endpoint.asked or endpoint.answered else _WORDS[Status.IMITATED]
        lines.append(f"| **`{endpoint.request}`** | | {status} | {endpoint.source} |")
        lines.extend(_lines("request", endpoint.asked))
        lines.extend(_lines("response", endpoint.answered))
    lines.extend(f"| **`{request}`** | | not there | {source}; 501 |" for request, source in missing.items())
    return INTRODUCTION + "\n".join(lines) + "\n"


def _endpoint(entry: Mapping[str, Any]) -> Endpoint:
    rows = [tuple(_row(row) for row in entry.get(key, ())) for key in ("asked", "answered")]
    return Endpoint(entry["request"], entry["source"], entry.get("asks", ""), entry.get("answers", ""), *rows)


def _row(entry: Mapping[str, str]) -> Row:
    (status,) = [status for status in Status if status in entry]
    probe = Probe(entry["probe"]) if "probe" in entry else _USUAL[status]
    return Row(tuple(entry[status].split()), status, entry.get("note", ""), probe)


def _fields(class_name: str, path: str, outer: tuple[str, ...]) -> Iterator[str]:
    known = getattr(sdk, class_name, None)
    types: Mapping[str, str] = getattr(known, "openapi_types", {})
    if not types or class_name in outer:
        if path:
            yield path
        return
    for attribute, kind in types.items():
        name = known.attribute_map[attribute] if known else attribute
        inside = f"{path}.{name}" if path else name
        many = _LIST.fullmatch(kind)
        yield from _fields(many[1] if many else kind, f"{inside}[]" if many else inside, (*outer, class_name))


def _fits(pattern: str, field: str) -> bool:
    return field == pattern or (pattern.endswith("*") and field.startswith(pattern[:-1]))


def _lines(verb: str, rows: Sequence[Row]) -> Iterator[str]:
    for status in Status:
        merged: dict[str, list[str]] = {}
        for row in rows:
            if row.status is status:
                merged.setdefault(row.note, []).extend(f"`{pattern}`" for pattern in row.patterns)
        for note, patterns in merged.items():
            yield f"| {verb} | {', '.join(patterns)} | {_WORDS[status]} | {note} |"
