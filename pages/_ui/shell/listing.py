"""Lists that are longer than a page: searched, sorted and cut into pages in SQL; all of it stands in the URL.

Streamlit sorts a table at a click on a column's head, but only the rows that it was given; pages say so."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Concatenate, ParamSpec, TypeVar

import streamlit as st

from aisbench_core.model.columns import by_field
from aisbench_core.warehouse.answers.boards import BoardPage
from aisbench_core.warehouse.answers.histories import HistoryPage
from aisbench_core.warehouse.values import BoardQuery, RunPage
from pages._ui.shell import address
from pages._ui.shell.core import asked
from pages._ui.shell.words import Words, words

P = ParamSpec("P")
Page = TypeVar("Page", BoardPage, HistoryPage, RunPage)

SIZES = (25, 50, 100)
"""How many rows a page may have."""

MOST_PAGES = 100_000


def choose_text(label: str, placeholder: str) -> str:
    """What is looked for in names, ids and people."""
    entered: str = st.text_input(
        label,
        placeholder=placeholder,
        live=True,
        type="search",
        width=260,
        **address.text_in_url("q", forgets=["page"]),
    )
    return entered


def choose_sort(sorts: Sequence[str], usual: str) -> tuple[str, bool]:
    """By what a list is sorted, and whether the largest come first."""
    t = words()
    sort = st.selectbox(
        t("listing.sort"),
        width=230,
        **address.option("sort", sorts, usual, lambda each: _sort_name(each, t), forgets=["page"]),
    )
    order = st.selectbox(
        t("listing.order"),
        width=170,
        **address.option("order", ["down", "up"], "down", lambda each: t(f"listing.{each}"), forgets=["page"]),
    )
    return sort, order == "down"


def _sort_name(sort: str, t: Words) -> str:
    return t(f"sort.{sort}") if t.knows(f"sort.{sort}") else t.column(by_field()[sort])


def choose_size() -> int:
    """How many rows a page has."""
    t = words()
    size: int = st.selectbox(t("listing.size"), width=110, **address.option("size", SIZES, SIZES[0], forgets=["page"]))
    return size


def sorted_as_asked(query: BoardQuery, sorts: Sequence[str], usual: str) -> BoardQuery:
    """The query with the sort and the page size that the URL names."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sort, descending = choose_sort(sorts, usual)
        return replace(query, sort=sort, descending=descending, limit=choose_size())


def page_of(
    ask: Callable[Concatenate[BoardQuery, P], Page], query: BoardQuery, *values: P.args, **named: P.kwargs
) -> Page:
    """The page that the URL asks for, or the last one when there are fewer. `values`: what is asked with the query."""
    here = replace(query, offset=query.limit * (address.page_number("page", MOST_PAGES) - 1))
    answer = asked(ask, here, *values, **named)
    if answer.rows or not answer.total:
        return answer
    last = address.page_number("page", pages_for(answer.total, query.limit))
    return asked(ask, replace(query, offset=query.limit * (last - 1)), *values, **named)


def show_pages(total: int, size: int) -> None:
    """How many rows there are, and the way to the other pages; that a column's head sorts only this one."""
    t = words()
    pages = pages_for(total, size)
    if pages > 1:
        st.pagination(**address.pagination("page", pages))
    told = [t("board.total", total=f"{total:,}"), *([t("listing.only_this_page")] if pages > 1 else [])]
    st.caption(" · ".join(told))


def pages_for(total: int, size: int) -> int:
    """How many pages so many rows fill."""
    return -(-total // size)
