"""A saved view: a page of the console with its filters, under a name, for everybody who shares the warehouse."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from aisbench_core.base.messages import Hint, Message
from aisbench_core.model import canonical_json, tag_error

# Characters of an address as JSON.
MAX_ADDRESS = 8000

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


def view_error(name: str, address: Address) -> Hint:
    """Why a name or an address is invalid; empty if both are valid."""
    if len(canonical_json(address)) > MAX_ADDRESS:
        return Message("shows too much for one address: choose fewer values")
    return tag_error(name)
