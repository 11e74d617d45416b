"""Which runs a query chooses and in which order, and what a list says of them.

First the groups that the filters choose, from what is kept of each; then the places of a page's runs, by the fewest
columns; then what is told of these runs only. All columns of one run cost as much as one column of a thousand.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from duckdb import DuckDBPyConnection

from aisbench_core.model import Mode, Origin, RunState
from aisbench_core.model.columns import COUNTED
from aisbench_core.warehouse.answers.filters import (
    SAID,
    Parameters,
    groups_asked,
    order,
    parameters,
    standings_of,
)
from aisbench_core.warehouse.answers.group_statistics import MARKED, current
from aisbench_core.warehouse.answers.listed import ListedRun, ListPage
from aisbench_core.warehouse.answers.sorts import RUN_SORTS
from aisbench_core.warehouse.records.rows import aware
from aisbench_core.warehouse.store.schema import RESULTS
from aisbench_core.warehouse.values import BoardQuery, Validity

NAMES = {
    "throughput": "throughput_cluster",
    "per_node": "throughput_per_node",
    "per_card": "throughput_per_card",
    "accuracy": "accuracy_measured",
    "parameters": "speed_parameters",
}
"""Columns that lists call otherwise."""

_FIELDS = tuple(field.name for field in fields(ListedRun))

_OF_GROUPS = tuple(name for name in _FIELDS if name in MARKED)
"""The same in all runs of a group, of which there are few."""

_OF_RESULTS = tuple(name for name in _FIELDS[1:] if NAMES.get(name, name) in RESULTS)
_OF_RUNS = tuple(name for name in _FIELDS[1:] if name not in (*_OF_GROUPS, *_OF_RESULTS))

_PLACE = "run_id, runs.rowid, results.rowid"
_TOLD = ", ".join(NAMES.get(name, name) for name in ("run_id", "group_id", *_OF_RUNS, *_OF_RESULTS))

FEW = 1000
"""Of so many runs all is read and sorted at once: asking twice takes longer."""

DAYS = (1, 8, 64, 512)
"""How far back one looks for the newest runs, before one looks at all of them."""


class Place(NamedTuple):
    """Where a run lies in the tables, at this moment."""

    run_id: str
    run: int
    result: int


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """The places of a page's runs, in their order."""

    places: Sequence[Place]
    total: int
    rehearsal: bool


def search(cur: DuckDBPyConnection, query: BoardQuery, few: int = FEW) -> ListPage:
    """One page of runs, sorted. The cursor sees one moment."""
    chosen = parameters(cur, query)
    groups, total = _groups(cur, query, chosen)
    found: Iterable[Sequence[Any]]
    if total <= few:
        found = _sorted(cur, query, chosen, groups, _TOLD)
    else:
        found = _told(cur, [Place(*row) for row in _sorted(cur, query, chosen, groups, _PLACE)])
    rows = (_row([run_id, *rest, *groups[group]]) for run_id, group, *rest in found)
    return ListPage(tuple(rows), total, rehearsal=bool(chosen["rehearsal"]))


def places(cur: DuckDBPyConnection, query: BoardQuery) -> FoundRuns:
    """Where the runs of a query's page lie, and how many runs it chooses in all."""
    chosen = parameters(cur, query)
    groups, total = _groups(cur, query, chosen)
    found = _sorted(cur, query, chosen, groups, _PLACE)
    return FoundRuns([Place(*row) for row in found], total, rehearsal=bool(chosen["rehearsal"]))


def _sorted(
    cur: DuckDBPyConnection, query: BoardQuery, chosen: Parameters, groups: Iterable[int], columns: str
) -> list[tuple[Any, ...]]:
    """These columns of the page's runs, in their order."""
    sorted_by = f"{order(query, RUN_SORTS, NAMES)}, created_at desc, run_id"
    condition, values = _condition(query, chosen, groups)
    values |= {"limit": query.limit, "offset": query.offset}
    asked = f"select {columns} {condition} {{since}} order by {sorted_by} limit $limit offset $offset"
    for since in _since(cur, query):
        among = asked.format(since="and created_at >= $since::TIMESTAMP")
        found = cur.execute(among, values | {"since": since}).fetchall()
        if len(found) == query.limit:
            return found
    return cur.execute(asked.format(since=""), values).fetchall()


def _told(cur: DuckDBPyConnection, found: Sequence[Place]) -> Iterator[list[Any]]:
    """_TOLD of the runs at these places."""
    runs = _cells(cur, "runs", ("group_id", *_OF_RUNS), [place.run for place in found])
    results = _cells(cur, "results", _OF_RESULTS, [place.result for place in found])
    for place in found:
        yield [place.run_id, *runs[place.run], *results[place.result]]


def sorted_by(query: BoardQuery) -> str:
    """The order that the query asks for, of runs and their results. Raises SpecError as `order` does."""
    return f"{order(query, RUN_SORTS, NAMES)}, created_at desc, run_id"


def count(cur: DuckDBPyConnection, query: BoardQuery) -> int:
    """How many runs a page's query chooses in all."""
    return _groups(cur, query, parameters(cur, query))[1]


def told(table: str, rows: str) -> str:
    """The rows of a table that lie at `rows`, which is SQL for a list of places."""
    return f"(from {table} where rowid in (select unnest({rows}::BIGINT[]))) as {table}"


def at(found: Iterable[Place]) -> Parameters:
    """The values that `told` names."""
    some = list(found)
    return {"runs": [place.run for place in some], "results": [place.result for place in some]}


_COUNTS = {
    Validity.VALID: "case when origin = 'launched' then valid else 0 end",
    Validity.CLAIMED: "case when origin = 'imported' then valid else 0 end",
    Validity.INVALID: "invalid",
    Validity.INCOMPLETE: "incomplete",
}
"""How many runs of a group are worth this, by its standing. Those that count are valid, or claimed, by their origin."""

_WORTH = {
    Validity.VALID: f"{COUNTED} and origin = 'launched'",
    Validity.CLAIMED: f"{COUNTED} and origin = 'imported'",
    Validity.INVALID: "validity = 'invalid'",
    Validity.INCOMPLETE: "validity = 'incomplete'",
}


def _groups(cur: DuckDBPyConnection, query: BoardQuery, chosen: Parameters) -> tuple[dict[int, Sequence[Any]], int]:
    """The groups that the query chooses, with what their runs share, and how many of their runs."""
    if query.text or query.tags:
        source, values = standings_of(cur, query), chosen
    else:
        condition, values = groups_asked(chosen)
        source = f"{current(cur)} where {condition}"
    every = "recorded" if query.include_invalid else "valid"
    count = _COUNTS[query.validity] if query.validity else every
    asked = f"select group_id, {count}, {', '.join(_OF_GROUPS)} from {source}"
    found = cur.execute(asked, values).fetchall()
    return {group_id: rest for group_id, _, *rest in found}, sum(runs or 0 for _, runs, *_ in found)


def _condition(query: BoardQuery, chosen: Parameters, groups: Iterable[int]) -> tuple[str, Parameters]:
    """The runs of these groups that the query chooses; what filters nothing is left out, and quicker to plan so."""
    demands, values = ["group_id in (select unnest($groups::BIGINT[]))"], Parameters(groups=list(groups))
    if query.text or query.tags:
        demands.append(SAID)
        values |= {"text": chosen["text"], "tags": chosen["tags"]}
    if query.validity or not query.include_invalid:
        demands.append(_WORTH[query.validity] if query.validity else COUNTED)
    return f"from runs join results using (run_id) where {' and '.join(demands)}", values


def _since(cur: DuckDBPyConnection, query: BoardQuery) -> Iterator[datetime]:
    """For the newest runs, from when on to look first: where a page of them is found, older ones need not be read."""
    if query.sort == "created_at" and query.descending:
        [(newest,)] = cur.execute("select max(created_at) from runs").fetchall()
        yield from (newest - timedelta(days=days) for days in DAYS if newest)


def _cells(cur: DuckDBPyConnection, table: str, names: Sequence[str], rows: Sequence[int]) -> dict[int, Sequence[Any]]:
    """These columns of the rows at these places, by place."""
    columns = ", ".join(NAMES.get(name, name) for name in names)
    asked = f"select rowid, {columns} from {table} where rowid in (select unnest(?::BIGINT[]))"
    return {place: rest for place, *rest in cur.execute(asked, [list(rows)]).fetchall()}


_MADE: Mapping[str, Callable[[Any], object]] = {
    "created_at": aware,
    "ended_at": lambda at: aware(at) if at else None,
    "state": RunState,
    "mode": Mode,
    "origin": Origin,
    "validity": Validity,
    "parameters": json.loads,
    "tags": lambda text: tuple(json.loads(text)),
}
_MAKING = tuple((index, _MADE[name]) for index, name in enumerate(_FIELDS) if name in _MADE)


def _row(values: Sequence[Any]) -> ListedRun:
    cells = list(values)
    for index, made in _MAKING:
        cells[index] = made(cells[index])
    return ListedRun(*cells)
