"""The leaderboard's filters by keyword, as `open_warehouse()` takes them: checked, and as a query."""

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.model import Origin
from aisbench_core.warehouse.answers import facets
from aisbench_core.warehouse.open.queries import Cursor
from aisbench_core.warehouse.values.conditions import parse_conditions
from aisbench_core.warehouse.values.runs import BoardQuery, Validity

# So many rows are all.
ALL = 1_000_000_000

# No `ruleset_id`: views show the stored validity. No `by_parameter`: it only sorts. No `run_ids`: SQL selects them.
NAMES = tuple(field.name for field in fields(BoardQuery) if field.name not in ("ruleset_id", "by_parameter", "run_ids"))
_PAGED = frozenset({"sort", "descending", "limit", "offset"})
_MANY = frozenset({"models", "workloads", "framework_versions", "flavors", "node_counts", "tags"})
_FILTERS = Message("filters")
_VALIDITY = Problem(
    "validity",
    Message(
        "is of single runs, and a row of the leaderboard holds several: ask runs(validity=…); rows without a valid run "
        "come with leaderboard(include_invalid=True)"
    ),
)
_WORDS: Mapping[str, type[StrEnum]] = {"origin": Origin, "validity": Validity}

Filters = Mapping[str, Any]


def normalize_filters(filters: Filters) -> Filters:
    """The filters that say something, many values as tuples. Raises SpecError, which says what is allowed."""
    allowed = ", ".join(name for name in NAMES if name not in _PAGED)
    problems = [Problem(name, _one_of(allowed)) for name in filters if name not in NAMES]
    given = {name: value for name, value in filters.items() if value is not None}
    problems += [
        Problem(name, _one_of(", ".join(words)), repr(given[name]))
        for name, words in _WORDS.items()
        if name in given and given[name] not in list(words)
    ]
    if problems:
        raise SpecError(_FILTERS, problems)
    return {name: _convert_value(name, value) for name, value in given.items()}


def of_rows(filters: Filters) -> Filters:
    """The same for rows of the leaderboard, which have no validity of their own."""
    if "validity" in filters:
        raise SpecError(_FILTERS, [_VALIDITY])
    return normalize_filters(filters)


def query_of(cur: Cursor, filters: Filters) -> BoardQuery:
    """Stated filters as a query. Raises SpecError without a region where there are several."""
    answers = {**filters, "limit": filters.get("limit") or ALL}
    return BoardQuery(**answers | {"region": filters.get("region") or _find_only_region(cur)})


def _convert_value(name: str, value: Any) -> Any:
    if name == "where":
        return parse_conditions((value,) if isinstance(value, str) else value)
    if name in _MANY:
        return (value,) if isinstance(value, (str, int)) else tuple(value)
    return _WORDS[name](value) if name in _WORDS else value


def _find_only_region(cur: Cursor) -> str:
    regions = sorted({region.region for region in facets.list_regions(cur)})
    if len(regions) > 1:
        raise SpecError(_FILTERS, [Problem("region", _one_of(", ".join(regions)))])
    return regions[0] if regions else ""


def _one_of(allowed: str) -> Message:
    return Message("must be one of {allowed}", allowed=allowed)
