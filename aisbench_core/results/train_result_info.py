"""The block train_result_info: upstream's 15 keys, exactly as spelt."""

import json
from dataclasses import fields
from datetime import UTC, datetime

from aisbench_core.model import TrainResultInfo

AS_TEXT = frozenset({"accuracy", "throughput_ratio"})


def render(info: TrainResultInfo) -> str:
    """The block as JSON. Accuracy and throughput are numbers in strings, as upstream writes them.

    Where upstream writes a placeholder, this block holds null: not measured. Times are ISO-8601 in UTC."""
    values = {field.name: getattr(info, field.name) for field in fields(info)}
    return json.dumps({name: _shown(name, values[name]) for name in sorted(values)}, indent=3)


def _shown(name: str, value: float | datetime | None) -> str | float | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return repr(value) if value is not None and name in AS_TEXT else value
