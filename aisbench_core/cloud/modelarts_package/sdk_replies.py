"""Parses replies of the package `modelarts` that differ from API v2.

A reply of another form raises ValueError, TypeError or KeyError."""

import re
from typing import Any

from aisbench_core.cloud.modelarts_v1 import v1_replies
from aisbench_core.cloud.modelarts_v2 import replies
from aisbench_core.model import Engine, Flavor

_ASCEND = re.compile(r"(?:kat1|pool\.visual)\.(?P<cards>[0-9]*)xlarge|kat1|snt[0-9]|d910|ascend|npu", re.IGNORECASE)


def parse_flavors(reply: Any) -> list[Flavor]:
    """The instance types: names, or in some versions of the package the API's own objects."""
    return [_parse_flavor(item) for item in _require_list(reply)]


def parse_engines(reply: Any) -> list[Engine]:
    return [Engine("", str(item["framework_type"]), str(item["framework_version"])) for item in _require_list(reply)]


def _require_list(reply: Any) -> list[Any]:
    if reply is not None and not isinstance(reply, list):
        raise TypeError(f"a list is expected, not {type(reply).__name__}")
    return reply or []


def _parse_flavor(item: Any) -> Flavor:
    if isinstance(item, dict):
        return v1_replies.parse_flavor(item) if "spec_code" in item else replies.parse_flavor(item)
    name = str(item)
    match = _ASCEND.search(name)
    digits = match and match["cards"]  # "" in kat1.xlarge, which has one card
    cards = None if digits is None else int(digits or 1)
    kind = "Ascend" if match else "CPU" if ".cpu." in name else ""
    return Flavor(flavor_id=name, name=name, accelerator=kind, cards=cards, max_nodes=None)
