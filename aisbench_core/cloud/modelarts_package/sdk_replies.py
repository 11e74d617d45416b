"""What the package `modelarts` answers where that differs from the API (v2), read into our values.

A reply of another form raises ValueError, TypeError or KeyError."""

import re
from typing import Any

from aisbench_core.cloud.modelarts_v1 import v1_replies
from aisbench_core.cloud.modelarts_v2 import replies
from aisbench_core.model import Engine, Flavor, LogPreview

_ASCEND = re.compile(r"(?:kat1|pool\.visual)\.(?P<cards>[0-9]*)xlarge|kat1|snt[0-9]|d910|ascend|npu", re.IGNORECASE)


def log_preview(reply: Any) -> LogPreview:
    """The newest part of a log; no answer at all is an empty log."""
    return replies.log_preview(reply or {})


def flavors(reply: Any) -> list[Flavor]:
    """The instance types: names, or where a version of the package tells more, the API's own facts."""
    return [_described(each) if isinstance(each, dict) else _flavor(str(each)) for each in _listed(reply)]


def engines(reply: Any) -> list[Engine]:
    """The preset images; they have no ids here."""
    return [Engine("", str(each["framework_type"]), str(each["framework_version"])) for each in _listed(reply)]


def _described(facts: dict[str, Any]) -> Flavor:
    return v1_replies.flavor(facts) if "spec_code" in facts else replies.flavor(facts)


def _listed(reply: Any) -> list[Any]:
    if reply is not None and not isinstance(reply, list):
        raise TypeError(f"a list is expected, not {type(reply).__name__}")
    return reply or []


def _flavor(name: str) -> Flavor:
    """What a name tells; the rest is not known."""
    found = _ASCEND.search(name)
    told = found and found["cards"]
    cards = None if told is None else int(told or 1)
    kind = "Ascend" if found else "CPU" if ".cpu." in name else ""
    return Flavor(flavor_id=name, name=name, accelerator=kind, cards=cards, max_nodes=None)
