"""What the name of a flavor says about its cards: flavor_names.yaml, where no region is asked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aisbench_core.base import strict_yaml

FILE = Path(__file__).with_suffix(".yaml")


@dataclass(frozen=True, slots=True)
class FlavorName:
    """A form of names, or a part of them. `examples`: names and their cards, None if not stated."""

    pattern: re.Pattern[str]
    is_part: bool
    accelerator: str
    examples: Mapping[str, int | None]


@cache
def list_forms() -> tuple[FlavorName, ...]:
    """All forms, in the order in which they are tried."""
    entries = strict_yaml.load(FILE.read_text("utf-8"))
    return tuple(
        FlavorName(
            re.compile(each.get("pattern") or each["part"], re.IGNORECASE),
            "part" in each,
            each["accelerator"],
            each["examples"],
        )
        for each in entries
    )


def cards_in_name(flavor: str) -> int:
    """Cards per node; 0 if the name does not state them."""
    match = _match_form(flavor)[1]
    cards = match.groupdict().get("cards") if match else None
    return 0 if cards is None else int(cards or 1)


def accelerator_in_name(flavor: str) -> str:
    """Ascend, GPU or CPU; empty if the name does not say."""
    return _match_form(flavor)[0]


def asks_for_cards(flavor: str) -> bool:
    """Whether a flavor may have cards of which its name does not state the number."""
    return bool(flavor) and not cards_in_name(flavor) and accelerator_in_name(flavor) != "CPU"


def _match_form(flavor: str) -> tuple[str, re.Match[str] | None]:
    name = flavor[:200]  # longer than any
    tried = (
        (form.accelerator, form.pattern.search(name) if form.is_part else form.pattern.fullmatch(name))
        for form in list_forms()
    )
    return next(((accelerator, match) for accelerator, match in tried if match), ("", None))
