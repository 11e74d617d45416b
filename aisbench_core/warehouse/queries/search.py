"""Which runs a query chooses, in which order, and where their rows are.

First the groups that the filters choose, from the statistics kept of each; then the row ids of one page of runs, from
the few columns that filters and order need. Whoever shows the page reads its rows by these ids: all columns of one run
cost as much as one column of a thousand runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import COLUMNS, COUNTED
from aisbench_core.warehouse.measures.sorts import RUN_SORTS
from aisbench_core.warehouse.queries.conditions import build_conditions_sql, condition_parameters
from aisbench_core.warehouse.queries.filters import (
    Parameters,
    active_filters,
    build_order_sql,
    build_parameters,
    single_run_parameters,
    single_runs_sql,
    statistics_of,
)
from aisbench_core.warehouse.queries.group_statistics import build_current_sql
from aisbench_core.warehouse.values.conditions import Condition
from aisbench_core.warehouse.values.runs import BoardQuery, Validity

_SORT_COLUMNS = {column.field: column.value for column in COLUMNS if column.sortable}

# Periods to search for the newest runs, shortest first, before all runs are searched.
DAYS = (1, 8, 64, 512)


class RowIds(NamedTuple):
    """A run and its rows in `runs` and `results`; row ids hold only as long as the cursor's transaction."""

    run_id: str
    run: int
    result: int


@dataclass(frozen=True, slots=True)
class PageOfIds:
    """One page of runs in order, and how many runs the query chooses in all."""

    runs: Sequence[RowIds]
    total: int
    rehearsal: bool


def search_runs(cur: DuckDBPyConnection, query: BoardQuery) -> PageOfIds:
    """The runs of the query's page. The cursor must see one moment, so that the row ids hold when they are read."""
    chosen = build_parameters(cur, query)
    groups, total = _fetch_groups(cur, query, chosen)
    runs = [RowIds(*row) for row in _fetch_sorted(cur, query, groups)]
    return PageOfIds(runs, total, rehearsal=bool(chosen["rehearsal"]))


def count_runs(cur: DuckDBPyConnection, query: BoardQuery) -> int:
    """How many runs the query chooses, whichever page it asks for."""
    return _fetch_groups(cur, query, build_parameters(cur, query))[1]


def list_fulfilling(cur: DuckDBPyConnection, conditions: Sequence[Condition], most: int) -> tuple[str, ...]:
    """The ids of the newest runs, of whatever region, that fulfil all conditions."""
    statement = f"select run_id from runs where true{build_conditions_sql(conditions)} order by created_at desc, run_id"
    rows = cur.execute(f"{statement} limit {int(most)}", condition_parameters(conditions)).fetchall()
    return tuple(run_id for (run_id,) in rows)


def sorted_by(query: BoardQuery) -> str:
    """The query's order over `runs join results`. Raises SpecError as `order` does."""
    return f"{build_order_sql(query, RUN_SORTS, _SORT_COLUMNS)}, created_at desc, run_id"


def rows_at(table: str, row_ids: str) -> str:
    """The rows of a table with these row ids, which is SQL for a list of them."""
    # A semi-join lets the scan skip blocks without any of them, which a function of the row id would not.
    return f"(from {table} where rowid in (select unnest({row_ids}::BIGINT[]))) as {table}"


def _fetch_groups(cur: DuckDBPyConnection, query: BoardQuery, chosen: Parameters) -> tuple[list[int], int]:
    """The groups that the query chooses, and how many of their runs it chooses."""
    # The statistics of groups know the counts: a total needs no scan of the runs.
    if query.chooses_single_runs:
        source, values = statistics_of(cur, query), chosen
    else:
        condition, values = active_filters(chosen)
        source = f"{build_current_sql(cur)} where {condition}"
    number = _COUNTS[query.validity] if query.validity else "recorded" if query.include_invalid else "valid"
    rows = cur.execute(f"select group_id, {number} from {source}", values).fetchall()
    return [group_id for group_id, _ in rows], sum(runs or 0 for _, runs in rows)


# How many runs of a group have this validity: those that count are valid or claimed, by the group's origin.
_COUNTS = {
    Validity.VALID: "case when origin = 'launched' then valid else 0 end",
    Validity.CLAIMED: "case when origin = 'imported' then valid else 0 end",
    Validity.INVALID: "invalid",
    Validity.INCOMPLETE: "incomplete",
    Validity.SET_ASIDE: "set_aside",
}

_OF_VALIDITY = {
    Validity.VALID: f"{COUNTED} and origin = 'launched'",
    Validity.CLAIMED: f"{COUNTED} and origin = 'imported'",
    Validity.INVALID: "validity = 'invalid'",
    Validity.INCOMPLETE: "validity = 'incomplete'",
    Validity.SET_ASIDE: "validity = 'set_aside'",
}


def _fetch_sorted(cur: DuckDBPyConnection, query: BoardQuery, groups: Sequence[int]) -> list[tuple[Any, ...]]:
    condition, values = _build_condition(query, groups)
    values |= {"limit": query.limit, "offset": query.offset}
    statement = f"""select run_id, runs.rowid, results.rowid {condition} {{since}}
        order by {sorted_by(query)} limit $limit offset $offset"""
    for since in _iter_starts(cur, query):
        recent = statement.format(since="and created_at >= $since::TIMESTAMP")
        rows = cur.execute(recent, values | {"since": since}).fetchall()
        if len(rows) == query.limit:
            return rows
    return cur.execute(statement.format(since=""), values).fetchall()


def _build_condition(query: BoardQuery, groups: Sequence[int]) -> tuple[str, Parameters]:
    # A condition that filters nothing still costs time to plan, so only those that filter are written.
    demands, values = ["group_id in (select unnest($groups::BIGINT[]))"], Parameters(groups=list(groups))
    if query.chooses_single_runs:
        demands.append(single_runs_sql(query))
        values |= single_run_parameters(query)
    if query.validity or not query.include_invalid:
        demands.append(_OF_VALIDITY[query.validity] if query.validity else COUNTED)
    return f"from runs join results using (run_id) where {' and '.join(demands)}", values


def _iter_starts(cur: DuckDBPyConnection, query: BoardQuery) -> Iterator[datetime]:
    """Where to begin for the newest runs: the engine skips blocks of older rows, and a page is rarely that old."""
    if query.sort == "created_at" and query.descending:
        [(newest,)] = cur.execute("select max(created_at) from runs").fetchall()
        yield from (newest - timedelta(days=days) for days in DAYS if newest)
