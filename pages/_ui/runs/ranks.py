"""Single cards of a run by node: the heat map, its key figures, and a table of the stragglers."""

from collections.abc import Mapping, Sequence

import streamlit as st

from aisbench_core.base.formats import format_number
from aisbench_core.model import RankResult, Run
from aisbench_core.warehouse.answers.ranks import live_rank_map
from aisbench_core.warehouse.values.compared import RankMap
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.runs import rank_charts
from pages._ui.shell import charts, url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import round_digits, to_percent
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

VISIBLE = 10  # stragglers that are visible at a time; the table scrolls


def show_ranks_of(run: RunRow) -> None:
    """The cards of one run, when it has several and their results are recorded."""
    ranks = run_cached(core().warehouse.cards.find_map, run.run_id)
    if ranks and ranks.spread.ranks > 1:
        with st.expander(t("ranks.title"), icon=":material/grid_view:"):
            _draw_ranks(ranks, run.throughput_unit)


def show_live_ranks(run: Run) -> None:
    """The cards of a running job by their last minutes; nothing unless it reports its steps."""
    with errors_shown():
        rates = core().files.card_rates(run.run_id)
        ranks = live_rank_map(run.run_id, rates, core().slow_share()) if rates else None
        if ranks is None:
            return
        with st.expander(t("ranks.title"), icon=":material/grid_view:"):
            st.caption(t("ranks.live"))
            _draw_ranks(ranks, core().workloads.get(run.spec.workload).throughput_unit)


def show_ranks(groups: Sequence[Sequence[RunRow]], results: Mapping[str, Sequence[RankResult]]) -> None:
    """Several runs: how far the cards of each differ, and the map of one of them; each group has a chart of its own."""
    runs = [run for group in groups for run in group]
    units = {run.run_id: run.throughput_unit for run in runs}
    spreads = run_cached(core().warehouse.cards.fetch_spreads, tuple(units))
    spreads = {run_id: spreads[run_id] for run_id in units if run_id in spreads}
    if not spreads:
        st.caption(t("compare.not_measured"))
        return
    has_dots = 0 < max(map(len, results.values()), default=0) <= charts.DOTS
    for group in groups:
        drawn = {run.run_id: spreads[run.run_id] for run in group if run.run_id in spreads}
        unit = group[0].throughput_unit
        if drawn and has_dots:
            charts.draw_chart(charts.draw_card_dots(group, results, unit), text=t("charts.per_card", unit=unit))
        elif drawn:
            charts.draw_chart(rank_charts.spread_boxes(drawn, unit), text=t("ranks.chart_spread"))
    if not has_dots:
        st.caption(t("ranks.legend_spread"))
    rows = [
        {
            "run": run_id,
            "cards": spread.ranks,
            "lowest": round_digits(spread.lowest),
            "lower": round_digits(spread.lower_quartile),
            "median": round_digits(spread.median),
            "upper": round_digits(spread.upper_quartile),
            "highest": round_digits(spread.highest),
            "unit": units[run_id],
            "stragglers": spread.stragglers,
        }
        for run_id, spread in spreads.items()
    ]
    titles = {
        "run": t("charts.run"),
        "cards": t("ranks.cards"),
        "lowest": t("ranks.lowest"),
        "lower": t("ranks.lower"),
        "median": t("ranks.median"),
        "upper": t("ranks.upper"),
        "highest": t("ranks.highest"),
        "unit": t("ranks.unit"),
        "stragglers": t("ranks.stragglers"),
    }
    show_table(rows, titles, t("ranks.chart_spread"))
    run_id = url.choose_option(st.selectbox, "map", t("ranks.of_run"), spreads, width=420)
    ranks = run_cached(core().warehouse.cards.find_map, run_id)
    if ranks and ranks.spread.ranks > 1:
        _draw_ranks(ranks, units[run_id])


def _draw_ranks(ranks: RankMap, unit: str) -> None:
    spread = ranks.spread
    text = t(
        "ranks.summary",
        ranks=spread.ranks,
        nodes=spread.nodes,
        median=format_number(spread.median),
        low=format_number(spread.lowest),
        high=format_number(spread.highest),
        unit=escape_markdown(unit),
        stragglers=spread.stragglers,
        floor=format_number(ranks.floor),
    )
    st.markdown(text)
    charts.draw_chart(rank_charts.heat_map(ranks, unit), text=t("ranks.chart_map"))
    st.caption(t("ranks.legend_cards" if ranks.by_card else "ranks.legend_nodes"))
    if not ranks.stragglers:
        return
    rows = [
        {
            "node": straggler.node,
            "card": straggler.card,
            "rank": straggler.rank,
            "per_card": round_digits(straggler.throughput),
            "share": to_percent(straggler.share),
        }
        for straggler in ranks.stragglers
    ]
    titles = {
        "node": t("ranks.node"),
        "card": t("ranks.card"),
        "rank": t("ranks.rank"),
        "per_card": t("charts.per_card", unit=unit),
        "share": t("ranks.share"),
    }
    show_table(rows, titles, t("ranks.slow"), visible=VISIBLE)
    if spread.stragglers > len(rows):
        st.caption(t("ranks.more", shown=len(rows), all=spread.stragglers))
