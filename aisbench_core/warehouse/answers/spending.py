"""Queries for what was spent."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import astuple, fields
from datetime import date, timedelta
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.base.formats import csv_cell
from aisbench_core.warehouse.queries.stored_spending import build_current_sql
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.values.spending import (
    CurrencySum,
    Spending,
    SpendingBy,
    SpendingFacets,
    SpendingQuery,
    Spent,
)

_CHOSEN = """
    ($first::DATE is null or month >= date_trunc('month', $first::DATE))
    and ($last::DATE is null or month <= $last::DATE)
    and (len($people::VARCHAR[]) = 0 or list_contains($people::VARCHAR[], person))
    and (len($workloads::VARCHAR[]) = 0 or list_contains($workloads::VARCHAR[], workload))
    and (len($profiles::VARCHAR[]) = 0 or list_contains($profiles::VARCHAR[], profile))"""

_NAMES = {by: str(by) for by in SpendingBy} | {SpendingBy.MONTH: "strftime(month, '%Y-%m')"}

# With one currency the most expensive comes first; amounts of several have no order, but node hours do.
_MOST = "case when (select count(distinct currency) from spent where currency <> '') = 1 then sum(amount) end"


def _build_sum_query(name: str, order: str) -> str:
    return f"""
        with spent as (from {{spending}} where {_CHOSEN}),
        named as (
            select {name} as name, currency, sum(runs)::BIGINT as runs, sum(completed)::BIGINT as completed,
                sum(node_hours) as node_hours, sum(amount) as amount
            from spent group by all)
        select name, list(row(currency, runs, completed, node_hours, amount) order by currency = '', currency),
            count(*) over ()
        from named group by name order by {order}"""


class StoredSpending:
    """What the launched runs of one warehouse cost. Every method raises WarehouseError, as the warehouse's own do."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, query: SpendingQuery) -> Spending:
        """Rows, sums and months of one moment."""
        order = "name desc" if query.by is SpendingBy.MONTH else f"{_MOST} desc nulls last, sum(node_hours) desc, name"
        with self._store.moment() as cur:
            rows = _fetch_rows(cur, query, _build_sum_query(_NAMES[query.by], order) + " limit $limit", paged=True)
            totals = _fetch_rows(cur, query, _build_sum_query("''", "name"))
            months = _fetch_rows(cur, query, _build_sum_query(_NAMES[SpendingBy.MONTH], "name"))
        total = _to_spent(totals[0]) if totals else Spent("", ())
        count = rows[0][-1] if rows else 0
        by_month = tuple(_without_gaps([_to_spent(row) for row in months]))
        return Spending(query.by, tuple(map(_to_spent, rows)), count, total, by_month)

    def facets(self) -> SpendingFacets:
        """What there is to filter by."""
        with self._store.moment() as cur:
            cur.execute(
                f"""select list_sort(list(distinct person)), list_sort(list(distinct workload)),
                list_sort(list(distinct profile)), list_reverse_sort(list(distinct month))
                from {build_current_sql(cur)}"""
            )
            [found] = cur.fetchall()
        return SpendingFacets(*(tuple(values or ()) for values in found))


def _fetch_rows(
    cur: DuckDBPyConnection, query: SpendingQuery, sql: str, *, paged: bool = False
) -> Sequence[Sequence[Any]]:
    values: dict[str, object] = {name: list(getattr(query, name)) for name in ("people", "workloads", "profiles")}
    values |= {"first": query.first, "last": query.last}
    values |= {"limit": query.limit} if paged else {}
    return cur.execute(sql.format(spending=build_current_sql(cur)), values).fetchall()


def _without_gaps(months: Sequence[Spent]) -> Iterator[Spent]:
    """With the months in between in which nothing was launched."""
    by_name = {month.name: month for month in months}
    day = date.fromisoformat(f"{months[0].name}-01") if months else date.max
    while months and (name := f"{day:%Y-%m}") <= months[-1].name:
        yield by_name.get(name, Spent(name, ()))
        day = (day.replace(day=28) + timedelta(days=4)).replace(day=1)


def _to_spent(row: Sequence[Any]) -> Spent:
    return Spent(row[0], tuple(CurrencySum(*each) for each in row[1]))


def csv_text(spending: Spending) -> str:
    """The head and the rows as CSV, a line for each name and currency; what has no price has no amount either."""
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow([str(spending.by), *(field.name for field in fields(CurrencySum))])
    lines.writerows(
        [csv_cell(row.name), *map(_format_cell, astuple(each))] for row in spending.rows for each in row.sums
    )
    return text.getvalue()


def _format_cell(value: object) -> str:
    return repr(value) if isinstance(value, float) else csv_cell(value)
