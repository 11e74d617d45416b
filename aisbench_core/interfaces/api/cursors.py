"""Cursors: where the next page begins, as a text that programs hand back and do not read."""

import base64
import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Field

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.model import Frozen

T = TypeVar("T")

MOST = 500
Limit = Annotated[int, Field(ge=1, le=MOST, description="Items of a page.")]
Cursor = Annotated[str, Field(max_length=400, description="`next` of the page before; empty: the first page.")]


class PageQuery(Frozen):
    """Which page."""

    limit: Limit = 100
    cursor: Cursor = ""


def cursor_of(*position: str | int) -> str:
    """A position as a cursor."""
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def position_of(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """The position that a cursor stands for. Raises SpecError for a text that is none of this list."""
    try:
        position = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"==="))
    except (ValueError, RecursionError):
        position = None
    if not isinstance(position, list) or [*map(type, position)] != [*kinds] or not all(map(_is_storable, position)):
        problem = Problem(
            "cursor", Message("is not a cursor of this list; use `next` of the previous page"), cursor[:80]
        )
        raise SpecError(Message("the query"), [problem])
    return tuple(position)


def _is_storable(value: str | int) -> bool:
    """Whether databases take it: a number of 64 bits, or text without halves of characters."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return not any("\ud800" <= letter <= "\udfff" or letter == "\0" for letter in value)


def page_of(found: Sequence[T], query: PageQuery) -> tuple[Sequence[T], str | None]:
    """A page of what is known whole, and the cursor of the next one; None after the last."""
    (start,) = position_of(query.cursor, int) if query.cursor else (0,)
    end = max(0, start) + query.limit
    return found[max(0, start) : end], cursor_of(end) if end < len(found) else None
