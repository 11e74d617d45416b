"""A saved view: a page of the console with its filters, under a name, for everybody who shares the warehouse."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Hint, Message
from aisbench_core.model import Origin, canonical_json, tag_error
from aisbench_core.warehouse.values.conditions import parse_conditions
from aisbench_core.warehouse.values.runs import BoardQuery, Validity

# Characters of an address as JSON.
MAX_ADDRESS = 8000

Address = Mapping[str, tuple[str, ...]]
"""The parameters of a page's URL."""


BOARD, COMPARISON = "leaderboard", "compare"
"""The pages whose views choose runs."""


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


def to_query(view: SavedView) -> BoardQuery:
    """The runs that a view of the leaderboard shows. Raises SpecError, also for one of another page."""
    address = view.address
    if view.page != BOARD:
        problem = Problem("page", Message("must be {kind}", kind=f"{BOARD}, {COMPARISON}"), view.page)
        raise SpecError(Message("the view"), [problem])
    one = {name: values[-1] for name, values in address.items() if values}
    region, _, kind = one.get("region", "").partition("~")
    nodes = [one["tab"]] if one.get("tab", "").isdecimal() else address.get("nodes", ())
    is_chosen = one.get("show") == "runs" and one.get("invalid") == "1" and "worth" in one
    try:
        return BoardQuery(
            region,
            rehearsal=kind == "rehearsal",
            models=address.get("model", ()),
            workloads=address.get("workload", ()),
            framework_versions=address.get("version", ()),
            flavors=address.get("flavor", ()),
            node_counts=tuple(map(int, nodes)),
            origin=Origin(one["origin"]) if "origin" in one else None,
            tags=address.get("tag", ()),
            where=parse_conditions(address.get("where", ())),
            text=one.get("q", ""),
            fingerprint=one.get("benchmark", ""),
            ruleset_id=one.get("ruleset", ""),
            metric=one.get("metric", ""),
            include_invalid=one.get("invalid") == "1",
            validity=Validity(one["worth"]) if is_chosen else None,
        )
    except ValueError as error:
        raise SpecError(Message("the view"), [Problem("address", Message("cannot be read"), str(error))]) from None
