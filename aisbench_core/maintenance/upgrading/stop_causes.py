"""Why a run was stopped, from its sentence: development versions read that from the names of placeholders."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from aisbench_core.base.messages.stored import from_data
from aisbench_core.model import StopCause, StopKind

_PERSON = "stopped by {who}"


def find_stop_cause(data: str) -> StopCause | None:
    """The cause in a stored sentence's template and values; None if it names none."""
    try:
        return next(filter(None, map(_to_cause, _iter_parts(json.loads(data or "null")))), None)
    except (ValueError, LookupError, TypeError):  # not what this product wrote
        return None


def _iter_parts(data: Any) -> Iterator[Mapping[str, Any]]:
    """A message and those inside it."""
    if isinstance(data, dict):
        yield data
        for part in (*data.get("values", {}).values(), *data.get("parts", ())):
            yield from _iter_parts(part)


def _to_cause(part: Mapping[str, Any]) -> StopCause | None:
    values = part.get("values", {})
    if "search_reason" in values:
        return StopCause(StopKind.SEARCH, _to_text(values["search_reason"]))
    if "stalled_minutes" in values:
        return StopCause(StopKind.STALL, values["stalled_minutes"])
    return StopCause(StopKind.PERSON, values["who"]) if part.get("id") == _PERSON else None


def _to_text(data: Any) -> str:
    """A text, or the sentence that is stored as template and values."""
    if not isinstance(data, dict):
        return str(data)
    if "join" in data:
        return from_data(data["join"].join(map(_to_text, data["parts"])), data)
    values = {name: _to_text(value) if isinstance(value, dict) else value for name, value in data["values"].items()}
    return from_data(data["id"].format(**values) if values else data["id"], data)
