"""Single cards of a run by node: the heat map, what it says in words, and every straggler with its number."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.formats import number
from aisbench_core.warehouse.answers.compared import RankMap
from aisbench_core.warehouse.values import RunRow
from pages._ui.runs import rank_charts
from pages._ui.shell import address, charts
from pages._ui.shell.core import asked, core
from pages._ui.shell.errors import plain
from pages._ui.shell.formats import hundredfold, rounded
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import words

SEEN = 10
"""Stragglers that are seen at once; the table scrolls."""


def show_ranks_of(run: RunRow) -> None:
    """The cards of one run, when it has several and their numbers are known."""
    found = asked(core().warehouse.rank_map, run.run_id)
    if found is None or found.spread.ranks < 2:
        return
    st.header(words()("ranks.title"))
    _show(found, run.throughput_unit)


def show_ranks(runs: Sequence[RunRow]) -> None:
    """Several runs: how far the cards of each lie apart, and the map of the one that is chosen."""
    t = words()
    units = {run.run_id: run.throughput_unit for run in runs}
    spreads = asked(core().warehouse.rank_spreads, tuple(run.run_id for run in runs))
    spreads = {run.run_id: spreads[run.run_id] for run in runs if run.run_id in spreads}
    if not spreads:
        st.caption(t("compare.not_measured"))
        return
    for unit, some in charts.by_unit(runs).items():
        drawn = {run.run_id: spreads[run.run_id] for run in some if run.run_id in spreads}
        if drawn:
            charts.draw(rank_charts.spread_boxes(drawn, unit, t), text=t("ranks.chart_spread"))
    st.caption(t("ranks.legend_spread"))
    rows = [
        {
            t("charts.run"): run_id,
            t("ranks.cards"): each.ranks,
            t("ranks.lowest"): rounded(each.lowest),
            t("ranks.lower"): rounded(each.lower_quartile),
            t("ranks.median"): rounded(each.median),
            t("ranks.upper"): rounded(each.upper_quartile),
            t("ranks.highest"): rounded(each.highest),
            t("ranks.unit"): units[run_id],
            t("ranks.stragglers"): each.stragglers,
        }
        for run_id, each in spreads.items()
    ]
    show_table(rows, t("ranks.chart_spread"))
    chosen = st.selectbox(t("ranks.of_run"), width=420, **address.option("map", list(spreads), next(iter(spreads))))
    found = asked(core().warehouse.rank_map, chosen)
    if found and found.spread.ranks > 1:
        _show(found, units[chosen])


def _show(found: RankMap, unit: str) -> None:
    t = words()
    spread = found.spread
    st.markdown(
        t(
            "ranks.said",
            ranks=spread.ranks,
            nodes=spread.nodes,
            median=number(spread.median),
            low=number(spread.lowest),
            high=number(spread.highest),
            unit=plain(unit),
            stragglers=spread.stragglers,
            floor=number(found.floor),
        )
    )
    charts.draw(rank_charts.heat_map(found, unit, t), text=t("ranks.chart_map"))
    st.caption(t("ranks.legend_cards" if found.by_card else "ranks.legend_nodes"))
    if not found.stragglers:
        return
    rows = [
        {
            t("ranks.node"): straggler.node,
            t("ranks.card"): straggler.card,
            t("ranks.rank"): straggler.rank,
            t("charts.per_card", unit=unit): rounded(straggler.throughput),
            t("ranks.share"): hundredfold(straggler.share),
        }
        for straggler in found.stragglers
    ]
    show_table(rows, t("ranks.slow"), seen=SEEN)
    if spread.stragglers > len(rows):
        st.caption(t("ranks.more", shown=len(rows), all=spread.stragglers))
