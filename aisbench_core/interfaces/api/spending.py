"""What runs cost, at the prices of their launches: sums by currency, which are never added."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from aisbench_core.interfaces.api.cursors import PageQuery, page_of
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import Frozen
from aisbench_core.warehouse.answers.spending import csv_text
from aisbench_core.warehouse.values.spending import CurrencySum, Spending, SpendingBy, SpendingQuery, Spent, month_of

CSV = "text/csv"
Month = Annotated[str, Field(max_length=40, description="A month such as 2026-03, of the launch in UTC; empty: all.")]
Names = tuple[Annotated[str, Field(max_length=200)], ...]


class SpendingFilters(Frozen):
    """Which runs count, and what a row is."""

    by: Annotated[SpendingBy, Field(description="What a row is about.")] = SpendingBy.PERSON
    first: Annotated[Month, Field(alias="from")] = ""
    last: Annotated[Month, Field(alias="to")] = ""
    person: Annotated[Names, Field(description="Only runs of these people.")] = ()
    workload: Annotated[Names, Field(description="Only these workloads.")] = ()
    profile: Annotated[Names, Field(description="Only these profiles.")] = ()


class SpendingParameters(PageQuery, SpendingFilters):
    """The same, and which page of the rows."""


@dataclass(frozen=True, slots=True)
class SpendingRow:
    """What some runs cost. `name`: what `by` says; a month as 2026-03; empty for runs outside of series."""

    name: str
    runs: int
    """Number of runs."""
    not_completed: Annotated[int, Field(description="Runs among them that failed or were stopped; they cost, too.")]
    node_hours: Annotated[float, Field(description="Hours times nodes, with a price or without.")]
    unpriced_hours: Annotated[float, Field(description="Node hours without a known price: they are in no amount.")]
    sums: Annotated[
        Sequence[CurrencySum], Field(description="By currency; of the empty one no price is known, and `amount` null.")
    ]


@dataclass(frozen=True, slots=True)
class SpendingPage:
    """Rows, the most expensive first, months the newest first; `count` is that of all pages. `next`: null on the last.

    `total` and `months` (the oldest first, without gaps) are of all runs of the query."""

    by: SpendingBy
    count: int
    """Number of rows, on all pages."""
    items: Sequence[SpendingRow]
    total: SpendingRow
    months: Sequence[SpendingRow]
    next: str | None


def show_spending(call: ApiCall) -> SpendingPage:
    """What launched runs that have ended cost; rehearsals and imported results do not count."""
    found = _query_spending(call)
    page, following = page_of(found.rows, call.query)
    rows, months = [*map(_to_row, page)], [*map(_to_row, found.months)]
    return SpendingPage(found.by, found.count, rows, _to_row(found.total), months, following)


def spending_csv(call: ApiCall) -> Response:
    """All rows, as the page *Spending* downloads them: a line for each currency."""
    found = _query_spending(call)
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="spending-by-{found.by}.csv"'}
    return Response(csv_text(found), HTTPStatus.OK, headers, CSV)


def _query_spending(call: ApiCall) -> Spending:
    query: SpendingFilters = call.query
    first, last = (month_of(text, name) if text else None for name, text in (("from", query.first), ("to", query.last)))
    return call.core.warehouse.spending.of(
        SpendingQuery(query.by, first, last, query.person, query.workload, query.profile)
    )


def _to_row(spent: Spent) -> SpendingRow:
    return SpendingRow(spent.name, spent.runs, spent.not_completed, spent.node_hours, spent.unpriced_hours, spent.sums)
