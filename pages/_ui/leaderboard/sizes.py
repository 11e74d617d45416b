"""The tabs of the leaderboard: one number of nodes at a time, all of them by the throughput of a card, or all."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import streamlit as st

from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.shell import url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.words import t

PARAMETER = "tab"  # of the URL: a number of nodes, or one of these
PER_CARD, ALL = "card", "all"

# The buttons of a choice look like tabs: what they choose is all that stands below them.
STYLE = """<style>
    .st-key-sizes [role="radiogroup"] { gap: 0; width: 100%; border-bottom: 1px solid #80808040; }
    .st-key-sizes label[data-testid="stRadioOption"] {
        padding: 4px 14px 8px; margin-bottom: -1px; border-bottom: 2px solid transparent;
    }
    .st-key-sizes label[data-testid="stRadioOption"] > div > div:first-child { display: none; }
    .st-key-sizes label[data-selected="true"] { border-bottom-color: currentColor; }
    .st-key-sizes label[data-selected="true"] p { font-weight: 600; }
    .st-key-sizes label:has(input:focus-visible) { outline: 2px solid currentColor; outline-offset: -2px; }
</style>"""


@dataclass(frozen=True, slots=True)
class SizeTab:
    """Which sizes are shown: `nodes` is a number of them, or None for all, ranked `per_card` or by their throughput."""

    nodes: int | None = None
    per_card: bool = False

    def narrow(self, query: BoardQuery) -> BoardQuery:
        """The query of this tab's rows."""
        return replace(query, node_counts=(self.nodes,)) if self.nodes else query


def choose_tab(query: BoardQuery, filters: Collection[str]) -> SizeTab:
    """The tab that the URL names.

    Without one it is that of the newest result, unless an address names `filters`: that shows all that they match."""
    sizes = run_cached(core().warehouse.facets.list_sizes, query)
    named = st.query_params.get(PARAMETER, "")
    if len(sizes) < 2 and not named:
        return SizeTab()
    offered = [PER_CARD, *map(str, sorted({*sizes, *_list_known(query, named)})), ALL]
    is_filtered = any(name in st.query_params for name in (*filters, "q"))
    default = ALL if is_filtered or not sizes else str(sizes[0])
    with st.container(key="sizes"):
        st.html(STYLE)
        return _to_tab(
            url.choose_option(
                st.radio,
                PARAMETER,
                t("board.tab"),
                offered,
                _format_tab,
                default=default,
                always=True,
                resets=["page"],
                horizontal=True,
                width="stretch",
                label_visibility="collapsed",
            )
        )


def read_tab() -> SizeTab:
    """The tab that the URL names; without one all sizes."""
    return _to_tab(st.query_params.get(PARAMETER, ALL))


def _list_known(query: BoardQuery, named: str) -> list[int]:
    """The named size if the region has it: filters may leave no row of it."""
    known = run_cached(core().warehouse.facets.fetch_values, query.region, query.rehearsal).node_counts
    return [nodes for nodes in known if str(nodes) == named]


def _to_tab(name: str) -> SizeTab:
    return SizeTab(int(name) if url.PAGE_NUMBER.fullmatch(name) else None, per_card=name == PER_CARD)


def _format_tab(name: str) -> str:
    if name in (PER_CARD, ALL):
        return t("board.tab_card") if name == PER_CARD else t("board.tab_all")
    return t("board.tab_one") if name == "1" else t("board.tab_nodes", count=name)
