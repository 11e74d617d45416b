"""Messages in a database: their ids and values as JSON, beside the English sentence.

Whoever wrote a database may have written anything there. So templates name their values and do nothing else with them,
and nothing is filled in that would be longer than the sentence which it is to give."""

import json
import re
import string
from collections.abc import Sequence
from typing import Any

from aisbench_core.messages.message import Joined, Message, Value, joined

_FORMAT = re.compile(r"[,.\w%]{0,6}")
_WIDE = re.compile(r"\d{3}")


def to_json(text: str) -> str:
    """Template and values of a Message; empty for a text that is not one."""
    return json.dumps(to_data(text), ensure_ascii=False) if isinstance(text, Message) else ""


def from_json(text: str, data: str | None) -> str:
    """The Message that was stored as `text` and `data`; the text as it is where there is no data, or none that fits.

    The text decides: what somebody else changed or wrote is never replaced by what the data would give."""
    if not data:
        return text
    try:
        return from_data(text, json.loads(data))
    except (ValueError, RecursionError):
        return text


def list_to_json(texts: Sequence[str]) -> str:
    """Templates and values of several texts, in their order; empty where none of them is a Message."""
    data = [to_data(text) for text in texts]
    return json.dumps(data, ensure_ascii=False) if any(data) else ""


def list_from_json(texts: Sequence[str], data: str | None) -> list[str]:
    """Texts that were stored with such data, each as `from_json` gives it."""
    try:
        known = json.loads(data or "[]")
    except (ValueError, RecursionError):
        return list(texts)
    if not isinstance(known, list) or len(known) != len(texts):
        return list(texts)
    return [from_data(text, each) for text, each in zip(texts, known, strict=True)]


def to_data(text: str) -> dict[str, Any] | None:
    """The same as what JSON is made of; None for a text that is no Message."""
    return _data(text) if isinstance(text, Message) else None


def from_data(text: str, data: object) -> str:
    """The Message that was stored as `text` and such data, as `from_json` gives it."""
    if data is None:
        return text
    try:
        message = _message(data, len(text))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return text
    return message if message == text else text


def _data(message: Message) -> dict[str, Any]:
    values = {name: _data(value) if isinstance(value, Message) else value for name, value in message.values.items()}
    if isinstance(message, Joined):
        return {"join": message.template, "parts": list(values.values())}
    return {"id": message.template, "values": values}


def _message(data: Any, most: int) -> Message:
    """Raises ValueError when it is longer than so many letters."""
    if "join" in data:
        parts = [_value(value, most) for value in data["parts"]]
        if len(data["join"]) * (len(parts) - 1) + sum(len(str(part)) for part in parts) > most:
            raise ValueError("longer than its text")
        return joined(data["join"], parts)
    values = {name: _value(value, most) for name, value in data["values"].items()}
    _check(data["id"], values, most)
    return Message(data["id"], **values)


def _check(template: str, values: dict[str, Value], most: int) -> None:
    """That the template names values only, and that they fit into its text."""
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
    if length > most:
        raise ValueError("longer than its text")


def _value(value: Any, most: int) -> Value:
    if isinstance(value, dict):
        return _message(value, most)
    if isinstance(value, str | int | float) or value is None:
        return value
    raise TypeError("no value of a template")
