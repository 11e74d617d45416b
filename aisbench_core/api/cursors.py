"""Cursors: where the next page begins, as a text that programs hand back and do not read."""

import base64
import json
from typing import Any

from aisbench_core.errors import Problem, SpecError
from aisbench_core.messages import Message


def cursor_of(*position: str | int) -> str:
    """A position as a cursor."""
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def position_of(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """The position that a cursor stands for. Raises SpecError for a text that is none of this list."""
    try:
        position = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"==="))
    except (ValueError, RecursionError):
        position = None
    if not isinstance(position, list) or [*map(type, position)] != [*kinds]:
        problem = Problem(
            "cursor", Message("is none of this list; take it from `next` of the page before"), cursor[:80]
        )
        raise SpecError(Message("the query"), [problem])
    return tuple(position)
