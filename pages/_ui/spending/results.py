"""What was spent: sums, a chart by month, a table, and the same as a file."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import altair as alt
import streamlit as st

from aisbench_core.base.formats import MISSING, format_hours
from aisbench_core.warehouse.answers.spending import csv_text
from aisbench_core.warehouse.values.spending import Spending, SpendingBy, SpendingQuery, Spent
from pages._ui.layout import TILES
from pages._ui.shell import url
from pages._ui.shell.charts import Values, chart_of, draw_chart
from pages._ui.shell.core import at_click, core, is_allowed
from pages._ui.shell.errors import end_page
from pages._ui.shell.formats import round_digits
from pages._ui.shell.navigation import CONFIGURE, link_main_page
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

HEIGHT = 220
PRICED, NOT_PRICED = "#0b6b98", "#8f7728"
ROWS = 12  # of the table without scrolling
LEGEND = 60  # Streamlit counts the legend as part of the height
COST_TILE = 1.6  # times the width of others
NO_CENTS = 100_000

HOURS = "hours"  # of the URL; else a currency


def end_without_runs() -> NoReturn:
    """No launched run has ended, or only rehearsals have."""
    st.info(t("spending.empty"), icon=":material/info:")
    if is_allowed("Runs.launch"):
        link_main_page(CONFIGURE, t("menu.configure"), {})
    end_page()


def show_totals(spending: Spending) -> None:
    """One tile for each currency, then node hours and runs."""
    total = spending.total
    tiles: list[tuple[str, str, str | None]] = [
        (t.with_unit(t("spending.spent"), currency), _format_amount(value), None)
        for currency, value in total.amounts.items()
    ]
    widths = [COST_TILE] * len(tiles)
    tiles.append((t("spending.node_hours"), format_hours(total.node_hours), None))
    if total.unpriced_hours:
        hours = format_hours(total.unpriced_hours)
        tiles.append((t("spending.not_priced_hours"), hours, t("spending.not_priced_help")))
    tiles.append((t("spending.runs"), f"{total.runs:,}", None))
    widths += [1.0] * (len(tiles) - len(widths))
    with st.container(key=TILES):
        columns = st.columns(widths)
    for column, (label, value, help_text) in zip(columns, tiles, strict=True):
        column.metric(label, value, border=True, help=help_text)
    st.caption(t("spending.counted", count=f"{total.not_completed:,}"))


def _format_amount(value: float) -> str:
    """Cents as far as there is room for them; the table has them all."""
    return f"{value:,.2f}" if value < NO_CENTS else f"{value:,.0f}"


def show_months(spending: Spending) -> None:
    """Bars by month, of one currency or of node hours: amounts of two currencies are never one bar."""
    if not spending.months:
        return
    shown = [*spending.currencies, HOURS]
    name = url.choose_option(
        st.radio, "show", t("spending.show"), shown, lambda each: t("spending.node_hours") if each == HOURS else each,
        horizontal=True,
    )  # fmt: skip
    title = t("spending.node_hours") if name == HOURS else t.with_unit(t("spending.spent"), name)
    values = [*(_list_hours(spending) if name == HOURS else _list_amounts(spending, name))]
    draw_chart(_draw_bars(values, title), text=t("spending.chart", what=title))


def _list_amounts(spending: Spending, currency: str) -> Iterator[dict[str, Any]]:
    for month in spending.months:
        yield {"month": month.name, "value": month.amounts.get(currency, 0.0), "kind": t("spending.priced")}


def _list_hours(spending: Spending) -> Iterator[dict[str, Any]]:
    for month in spending.months:
        priced = month.node_hours - month.unpriced_hours
        yield {"month": month.name, "value": priced, "kind": t("spending.priced")}
        if month.unpriced_hours:
            yield {"month": month.name, "value": month.unpriced_hours, "kind": t("spending.not_priced")}


def _draw_bars(values: Values, title: str) -> Any:
    kinds = dict.fromkeys(value["kind"] for value in values)
    scale = alt.Scale(domain=[t("spending.priced"), t("spending.not_priced")], range=[PRICED, NOT_PRICED])
    legend = alt.Legend(orient="top", title=None) if len(kinds) > 1 else None
    x = alt.X("month:O", title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True))
    y = alt.Y("value:Q", title=title)
    tips = [alt.Tooltip("month:O", title=t("spending.by_month")), alt.Tooltip("value:Q", title=title, format=",.2f")]
    bars = chart_of(values).mark_bar(size=28)
    colour = alt.Color("kind:N", scale=scale, legend=legend)
    return bars.encode(x=x, y=y, color=colour, tooltip=tips).properties(height=HEIGHT + (LEGEND if legend else 0))


def show_spending(spending: Spending) -> None:
    """The table, the most expensive first; of very many rows the file has all."""
    if not spending.rows:
        st.info(t("spending.no_match"), icon=":material/filter_alt_off:")
        return
    titles = {
        "name": t(f"spending.by_{spending.by}"),
        **{_currency_field(currency): currency for currency in spending.currencies},
        "node_hours": t("spending.node_hours"),
        **({} if spending.is_priced_throughout else {"not_priced": t("spending.not_priced_hours")}),
        "runs": t("spending.runs"),
        "not_completed": t("spending.not_completed"),
    }
    show_table([_to_row(row, spending) for row in spending.rows], titles, t("spending.table"), visible=ROWS)
    if spending.count > len(spending.rows):
        st.caption(t("spending.more", shown=f"{len(spending.rows):,}", count=f"{spending.count:,}"))


def _to_row(row: Spent, spending: Spending) -> dict[str, Any]:
    outside = t("spending.no_series") if spending.by is SpendingBy.SERIES else MISSING
    return {
        "name": row.name or outside,
        **{_currency_field(currency): _round_cents(row.amounts.get(currency)) for currency in spending.currencies},
        "node_hours": round_digits(row.node_hours),
        "not_priced": round_digits(row.unpriced_hours),
        "runs": row.runs,
        "not_completed": row.not_completed,
    }


def _currency_field(currency: str) -> str:
    return f"amounts.{currency}"


def _round_cents(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 2)


def show_download(query: SpendingQuery) -> None:
    """All rows as CSV, a line for each currency."""
    st.download_button(
        t("spending.download"),
        at_click(_write_csv, query),
        f"spending-by-{query.by}.csv",
        "text/csv",
        key="spending-file",
        on_click="ignore",
        icon=":material/download:",
    )


def _write_csv(query: SpendingQuery) -> bytes:
    text = csv_text(core().warehouse.spending.of(replace(query, limit=None)))
    return text.encode("utf-8-sig")  # Excel takes the mark for UTF-8
