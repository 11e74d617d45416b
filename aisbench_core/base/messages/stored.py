"""Messages in a database: template and values as JSON, in a column beside the English text.

Databases are untrusted: a stored template may only contain plain named placeholders, and is not filled if the result
would be longer than the stored text."""

import json
import re
import string
from collections.abc import Sequence
from typing import Any

from aisbench_core.base.messages.message import Bilingual, Joined, Message, Value, join_parts, make_bilingual

_FORMAT = re.compile(r"[,.\w%]{0,6}")
_WIDE = re.compile(r"\d{3}")
_LONGEST_CHINESE = 4


def to_json(text: str) -> str:
    """Template and values of a Message as JSON; empty for plain text."""
    return json.dumps(to_data(text), ensure_ascii=False) if isinstance(text, Message) else ""


def from_json(text: str, data: str | None) -> str:
    """The Message that was stored as `text` and `data`; plain text without data, or if the data gives another text.

    The text takes precedence, because somebody may have edited it."""
    if not data:
        return text
    try:
        return from_data(text, json.loads(data))
    except (ValueError, RecursionError):
        return text


def list_to_json(texts: Sequence[str]) -> str:
    """Templates and values of several texts as JSON; empty if none of them is a Message."""
    data = [to_data(text) for text in texts]
    return json.dumps(data, ensure_ascii=False) if any(data) else ""


def list_from_json(texts: Sequence[str], data: str | None) -> list[str]:
    """The inverse of `list_to_json`; each text like `from_json`."""
    try:
        items = json.loads(data or "[]")
    except (ValueError, RecursionError):
        return list(texts)
    if not isinstance(items, list) or len(items) != len(texts):
        return list(texts)
    return [from_data(text, item) for text, item in zip(texts, items, strict=True)]


def to_data(text: str) -> dict[str, Any] | None:
    """Template and values as JSON data; None for plain text."""
    if not isinstance(text, Message):
        return None
    values = {name: to_data(value) if isinstance(value, Message) else value for name, value in text.values.items()}
    if isinstance(text, Joined):
        return {"join": text.template, "parts": list(values.values())}
    if isinstance(text, Bilingual):
        return values
    return {"id": text.template, "values": values}


def from_data(text: str, data: object) -> str:
    """Like `from_json`, from JSON data."""
    if data is None:
        return text
    try:
        message = _parse_message(data, len(text))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return text
    return message if message == text else text


def _parse_message(data: Any, max_length: int) -> Message:
    """Raises ValueError when it is longer than max_length."""
    if "join" in data:
        parts = [_parse_value(value, max_length) for value in data["parts"]]
        if len(data["join"]) * (len(parts) - 1) + sum(len(str(part)) for part in parts) > max_length:
            raise ValueError("longer than its text")
        return join_parts(data["join"], parts)
    if "chinese" in data:
        # Chinese is shorter than its English as a rule; the factor leaves room for what both quote.
        if len(data["chinese"]) > _LONGEST_CHINESE * max_length:
            raise ValueError("longer than its text")
        return make_bilingual(str(data["english"]), str(data["chinese"]))
    values = {name: _parse_value(value, max_length) for name, value in data["values"].items()}
    _check_template(data["id"], values, max_length)
    return Message(data["id"], **values)


def _check_template(template: str, values: dict[str, Value], max_length: int) -> None:
    """Raise ValueError unless the template has only plain placeholders, and its text fits.

    Other placeholders could read attributes, or pad the text to any length."""
    if not values:
        return
    length = 0
    for literal, name, how, _ in string.Formatter().parse(template):
        length += len(literal)
        if name is None:
            continue
        if not name.isidentifier() or not _FORMAT.fullmatch(how or "") or _WIDE.search(how or ""):
            raise ValueError("not a template of ours")
        value = values[name]
        length += len(value) if isinstance(value, str) else 0
    if length > max_length:
        raise ValueError("longer than its text")


def _parse_value(value: Any, max_length: int) -> Value:
    if isinstance(value, dict):
        return _parse_message(value, max_length)
    if isinstance(value, str | int | float) or value is None:
        return value
    raise TypeError("no value of a template")
