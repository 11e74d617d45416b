"""Lists that are longer than a page: searched, sorted and cut into pages in SQL, as the URL says."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import streamlit as st

from aisbench_core.model.columns import by_field
from aisbench_core.warehouse.values.boards import BenchmarkPage, BoardPage
from aisbench_core.warehouse.values.histories import HistoryPage
from aisbench_core.warehouse.values.runs import BoardQuery, RunPage
from pages._ui.shell import url
from pages._ui.shell.core import run_cached
from pages._ui.shell.words import t

P = ParamSpec("P")
Page = TypeVar("Page", BenchmarkPage, BoardPage, HistoryPage, RunPage)
Sort = TypeVar("Sort", bound=str)

SIZES = (25, 50, 100)  # how many rows a page may have

MAX_PAGES = 100_000


def choose_text(label: str, placeholder: str, *, width: int | Literal["stretch"] = 260, **layout: Any) -> str:
    layout = {**layout, "placeholder": placeholder, "live": True, "type": "search", "width": width}
    return url.input_text("q", label, resets=["page"], **layout)


def choose_sort(sorts: Sequence[Sort], default: Sort) -> tuple[Sort, bool]:
    """By what a list is sorted, and whether the largest come first."""

    def title(sort: str) -> str:
        return t(f"sort.{sort}") if t.knows(f"sort.{sort}") else t.column(by_field()[sort])

    layout: dict[str, Any] = {"resets": ["page"], "width": 230}
    sort = url.choose_option(st.selectbox, "sort", t("listing.sort"), sorts, title, default=default, **layout)
    directions = {"down": t("listing.down"), "up": t("listing.up")}
    layout["width"] = 170
    order = url.choose_option(st.selectbox, "order", t("listing.order"), directions, directions.__getitem__, **layout)
    return sort, order == "down"


def choose_sorting(query: BoardQuery, sorts: Sequence[str], default: str) -> BoardQuery:
    """The query with the sort and the page size that the URL names."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sort, descending = choose_sort(sorts, default)
        return replace(query, sort=sort, descending=descending, limit=choose_size())


def choose_size() -> int:
    """How many rows a page has."""
    return url.choose_option(st.selectbox, "size", t("listing.size"), SIZES, resets=["page"], width=110)


def page_of(
    read: Callable[Concatenate[BoardQuery, P], Page], query: BoardQuery, *args: P.args, **kwargs: P.kwargs
) -> Page:
    """The page that the URL names, or the last one where there are fewer. `args` go to `read` after the query."""
    offset = query.limit * (min(url.page_number("page"), MAX_PAGES) - 1)
    page = run_cached(read, replace(query, offset=offset), *args, **kwargs)
    if page.rows or not page.total:
        return page
    # Only beyond the last page is a second query needed: the total comes with the rows.
    last = url.Pages("page", page.total, query.limit).offset
    return run_cached(read, replace(query, offset=last), *args, **kwargs)


def show_pages(total: int, size: int, text: str = "board.total") -> None:
    """How many rows there are (`text`: the sentence), and the way to the other pages."""
    url.Pages("page", total, size).show()
    st.caption(t(text, total=f"{total:,}"))
