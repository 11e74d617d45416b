"""One row of the leaderboard with everything behind it: its benchmark's other rows, its runs, people and node hours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import NODE_HOURS
from aisbench_core.warehouse.answers.board import fetch_leaderboard
from aisbench_core.warehouse.measures.costs import costs_where
from aisbench_core.warehouse.queries.group_statistics import build_current_sql, groups_of_row
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
    """A row of the leaderboard among those of its benchmark. `best` is the best of these with a rank and without a
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


def find_with_metric(cur: DuckDBPyConnection, run_id: str, metric: str) -> str:
    """A run of the same row that has the metric: this one, otherwise the newest; empty if none has."""
    cur.execute(
        f"""select run_id from runs join run_metrics using (run_id) where name = ? and {_OF_ROW}
        order by run_id = ? desc, created_at desc, run_id limit 1""",
        [metric, _find_groups(cur, run_id), run_id],
    )
    return "".join(found for (found,) in cur.fetchall())


def find_place(cur: DuckDBPyConnection, run_id: str) -> BoardPlace | None:
    """Of the row that counts this run; None if there is no such run, or if the row is beyond MAX_ROWS of its benchmark.

    The cursor sees one moment, and may show a metric in place of throughputs."""
    named = by_ids(cur, [run_id])
    if not named:
        return None
    run, groups = named[0], _find_groups(cur, run_id)
    latest = cur.execute(
        f"select latest_run_id from {build_current_sql(cur)} where group_id = ?", groups[:1]
    ).fetchall()
    query = BoardQuery(
        run.region,
        rehearsal=run.rehearsal,
        fingerprint=run.fingerprint,
        include_invalid=True,
        limit=MAX_ROWS,
    )
    rows = fetch_leaderboard(cur, query).rows
    row = next((row for row in rows if (row.latest_run_id,) in latest), None)
    if row is None:  # beyond MAX_ROWS
        return None
    [(total,)] = cur.execute(_TOTAL, [groups]).fetchall()
    rivals = [one for one in rows if _benchmark_of(one) == _benchmark_of(row)]
    ranked = [one for one in rivals if one.rank_from is not None]
    return BoardPlace(row, max(ranked or rivals, key=_rate_row), len(ranked), total, tuple(groups))


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


def _find_groups(cur: DuckDBPyConnection, run_id: str) -> Sequence[int]:
    found = cur.execute("select group_id from runs where run_id = ?", [run_id]).fetchall()
    return groups_of_row(cur, found[0][0]) if found else []


def _benchmark_of(row: BoardRow) -> tuple[object, ...]:
    return row.throughput_unit, row.throughput_definition, row.synthetic_data, row.dataset_sha256


def _rate_row(row: BoardRow) -> tuple[bool, bool, float]:
    value = row.throughput or 0.0
    return not row.missed, row.throughput is not None, -value if row.is_lower_better else value
