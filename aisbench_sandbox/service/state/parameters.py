"""Parses and validates requests: JSON bodies and their fields, and query parameters."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from starlette.requests import Request

from aisbench_sandbox.files import MAX_NAME_BYTES
from aisbench_sandbox.refusals import Refused

T = TypeVar("T")


def json_object(request: Request) -> dict[str, Any]:
    """The body as a JSON object. Raises Refused (2787)."""
    try:
        # Python's parser accepts NaN and Infinity, turns 1e999 into infinity, and takes half a surrogate pair for
        # text; none of these could be written back as JSON.
        body = json.loads(request.state.body, parse_constant=_no_number, parse_float=_parse_finite)
        json.dumps(body, ensure_ascii=False).encode()  # an unpaired surrogate is not text
    except (ValueError, RecursionError) as error:
        raise Refused(400, "ModelArts.2787", f"Invalid JSON: {error}.") from error
    if not isinstance(body, dict):
        raise Refused(400, "ModelArts.2787", "Invalid JSON: an object is expected.")
    return body


def read_number(request: Request, name: str, default: int, least: int, most: int = 2**31 - 1) -> int:
    """A whole number in the query. Raises Refused (2764)."""
    # The length is compared before `int`, which refuses more than 4,300 digits with a ValueError.
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise Refused(400, "ModelArts.2764", f"Invalid query parameter: {name}={text}.", f"Use {least} to {most}.")
    return int(text)


def read_word(text: str, name: str, allowed: tuple[str, ...]) -> str:
    """One of the allowed values. Raises Refused (2764)."""
    if text not in allowed:
        raise Refused(400, "ModelArts.2764", f"Invalid parameter: {name}={text}.", f"Use {' or '.join(allowed)}.")
    return text


def read_entries(body: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of objects, empty if it is missing. Raises Refused (2788)."""
    values = body.get(name)
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(entry, dict) for entry in values):
        raise make_refusal(name, "a list of objects")
    return values


def read_block(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object, empty if it is missing. Raises Refused (2788)."""
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise make_refusal(name, "an object")
    return value


def read_text(body: Mapping[str, Any], name: str, least: int = 0, most: int = 256) -> str:
    """A text of `least` to `most` characters, empty if it is missing. Raises Refused (2788)."""
    value = body.get(name)
    # The SDK leaves out None, but other clients send null for what is not set.
    value = "" if value is None else value
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise make_refusal(name, f"a text of {least} to {most} characters")
    return value


def read_texts(values: object, name: str, most: int) -> list[str]:
    """A list of at most `most` different texts. Raises Refused (2788)."""
    values = [] if values is None else values
    if not isinstance(values, list) or len(values) > most or not all(isinstance(value, str) for value in values):
        raise make_refusal(name, f"a list of at most {most} texts")
    if len(set(values)) < len(values):
        raise make_refusal(name, "no text twice")
    return values


def read_flag(body: Mapping[str, Any], name: str) -> bool:
    """True or false; false if it is missing. Raises Refused (2788)."""
    value = body.get(name)
    if value is None:
        return False
    # Strict: bool("false") is true.
    if not isinstance(value, bool):
        raise make_refusal(name, "true or false")
    return value


def page_of(entries: Sequence[T], offset: int, limit: int, *, counts_pages: bool) -> Sequence[T]:
    """One page of a list whose `offset` counts entries, or pages."""
    # The API reference and the SDK speak of pages, the SDK reference of entries; see docs/sandbox.md.
    start = offset * limit if counts_pages else offset
    return entries[start : start + limit]


def has_long_name(path: str) -> bool:
    """Whether a path has a component that is too long for file systems."""
    return any(len(name.encode()) > MAX_NAME_BYTES for name in path.split("/"))


def is_count(value: object, least: int = 1, most: float = math.inf) -> bool:
    """Whether a JSON value is a whole number within these limits."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def make_refusal(field: str, allowed: str) -> Refused:
    """The error for a field's value (2788)."""
    return Refused(400, "ModelArts.2788", f"Invalid parameter: {field}.", f"Allowed: {allowed}.")


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _parse_finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value
