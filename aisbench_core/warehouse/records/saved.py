"""A saved view: a page of the console with its filters, under a name, for everybody who shares the warehouse."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from aisbench_core.model import canonical_json, tag_complaint

NAME_MOST, ADDRESS_MOST = 64, 8000
"""Letters of a name, and of an address as JSON."""

Address = Mapping[str, tuple[str, ...]]
"""The parameters of a page's URL."""


@dataclass(frozen=True, slots=True)
class SavedView:
    """What a page showed: the parameters of its URL. A name is there once per page."""

    page: str
    name: str
    address: Address
    saved_by: str
    saved_at: datetime


def view_complaint(name: str, address: Address) -> str:
    """What is wrong with a name or an address; empty if nothing is."""
    if len(canonical_json(address)) > ADDRESS_MOST:
        return "shows too much for one address: choose fewer values"
    return tag_complaint(name)
