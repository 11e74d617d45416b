"""Parses replies of the package `modelarts` that differ from API v2.

A reply of another form raises ValueError, TypeError or KeyError."""

from typing import Any

from aisbench_core.cloud.modelarts_v1 import v1_replies
from aisbench_core.cloud.modelarts_v2 import replies
from aisbench_core.config.flavor_names import accelerator_in_name, cards_in_name
from aisbench_core.model import Engine, Flavor


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
    kind, cards = accelerator_in_name(name), cards_in_name(name)
    return Flavor(flavor_id=name, name=name, accelerator=kind, cards=cards or None, max_nodes=None)
