"""One row of the leaderboard with everything behind it: its benchmark's other rows, its runs, people and node hours."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import GROUP_KEYS, NODE_HOURS
from aisbench_core.warehouse.answers.board import fetch_leaderboard
from aisbench_core.warehouse.measures.costs import costs_where
from aisbench_core.warehouse.queries.group_statistics import group_id, groups_of_row
from aisbench_core.warehouse.records.runs import by_ids
from aisbench_core.warehouse.tables.times import to_aware
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow

# Rows of one benchmark that are ranked, and the newest runs of the row that are listed.
MAX_ROWS, MAX_RUNS = 10_000, 100

_OF_ROW = "group_id in (select unnest(?::BIGINT[]))"

_RUNS = f"select run_id from runs where {_OF_ROW} order by created_at desc, run_id limit {MAX_RUNS}"

_TOTAL = f"select count(*) from runs where {_OF_ROW}"
_FACTS = f"""
    select min(created_at), max(created_at),
        list_sort(list(distinct created_by) filter (where created_by <> ''))
    from runs where {_OF_ROW}
"""

_HOURS = f"select coalesce(sum({NODE_HOURS}), 0) from runs where {_OF_ROW} and origin = 'launched'"
_COSTS = costs_where(_OF_ROW)


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """A row of the leaderboard among those of its benchmark. `best` is the fastest of these with a rank and without a
    missed target where there are any; `ranked` is how many have a rank.

    `total`: its runs, valid or not, which are in these `groups`."""

    row: BoardRow
    best: BoardRow
    ranked: int
    total: int
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BoardRowDetails:
    """A row of the leaderboard and its place.

    `runs`: the newest MAX_RUNS. `node_hours`, and `costs` by currency: of launched runs."""

    row: BoardRow
    best: BoardRow
    ranked: int
    runs: tuple[RunRow, ...]
    total: int
    first_at: datetime
    last_at: datetime
    people: tuple[str, ...]
    node_hours: float
    costs: Mapping[str, float]


def find_place(cur: DuckDBPyConnection, run_id: str) -> BoardPlace | None:
    """Of the row that counts this run; None if there is no such run, or if the row is beyond MAX_ROWS of its benchmark.

    The cursor sees one moment."""
    named = by_ids(cur, [run_id])
    if not named:
        return None
    run = named[0]
    groups = groups_of_row(cur, group_id({name: getattr(run, name) for name in GROUP_KEYS}))
    query = BoardQuery(
        run.region,
        rehearsal=run.rehearsal,
        fingerprint=run.fingerprint,
        include_invalid=True,
        limit=MAX_ROWS,
    )
    rows = [row for row in fetch_leaderboard(cur, query).rows if row.throughput_unit == run.throughput_unit]
    row = next((row for row in rows if _group_of(row, run.region) == groups[0]), None)
    if row is None:  # beyond MAX_ROWS
        return None
    [(total,)] = cur.execute(_TOTAL, [groups]).fetchall()
    rows = [one for one in rows if (one.synthetic_data, one.dataset_sha256) == (row.synthetic_data, row.dataset_sha256)]
    ranked = [one for one in rows if one.rank_from is not None]
    best = max(ranked or rows, key=lambda one: (not one.missed, one.throughput or 0.0))
    return BoardPlace(row, best, len(ranked), total, tuple(groups))


def board_row(cur: DuckDBPyConnection, run_id: str) -> BoardRowDetails | None:
    """The row that counts this run, as `find_place` finds it, with everything behind it."""
    place = find_place(cur, run_id)
    if place is None:
        return None
    groups = list(place.groups)
    first_at, last_at, people = cur.execute(_FACTS, [groups]).fetchall()[0]
    ids = [newest for (newest,) in cur.execute(_RUNS, [groups]).fetchall()]
    by_id = {one.run_id: one for one in by_ids(cur, ids)}
    [(hours,)] = cur.execute(_HOURS, [groups]).fetchall()
    costs = dict(cur.execute(_COSTS, [groups]).fetchall())
    return BoardRowDetails(
        place.row,
        place.best,
        place.ranked,
        tuple(by_id[one] for one in ids),
        place.total,
        to_aware(first_at),
        to_aware(last_at),
        tuple(people or ()),
        hours,
        costs,
    )


def _group_of(row: BoardRow, region: str) -> int:
    return group_id({"region": region} | {name: getattr(row, name) for name in GROUP_KEYS if name != "region"})
