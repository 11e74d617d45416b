"""Messages in a database: their ids and values as JSON, beside the English sentence."""

import json
from typing import Any

from aisbench_core.messages.message import Joined, Message, Value, joined


def to_json(text: str) -> str:
    """Template and values of a Message; empty for a text that is not one."""
    return json.dumps(_data(text), ensure_ascii=False) if isinstance(text, Message) else ""


def from_json(text: str, data: str | None) -> str:
    """The Message that was stored as `text` and `data`; the text as it is where there is no data, or none that fits.

    The text decides: what somebody else changed or wrote is never replaced by what the data would give."""
    if not data:
        return text
    try:
        message = _message(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return text
    return message if message == text else text


def _data(message: Message) -> dict[str, Any]:
    values = {name: _data(value) if isinstance(value, Message) else value for name, value in message.values.items()}
    if isinstance(message, Joined):
        return {"join": message.template, "parts": list(values.values())}
    return {"id": message.template, "values": values}


def _message(data: dict[str, Any]) -> Message:
    if "join" in data:
        return joined(data["join"], map(_value, data["parts"]))
    return Message(data["id"], **{name: _value(value) for name, value in data["values"].items()})


def _value(value: Any) -> Value:
    return _message(value) if isinstance(value, dict) else value
