"""All groups of the filters with their verdicts, the worst first; a click on one opens its history."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.base.formats import MISSING, clip_text, format_change, nodes_and_cards, shorten_hash
from aisbench_core.warehouse.values.histories import Outcome, TrendVerdict
from aisbench_core.warehouse.values.runs import BoardQuery, RegionFacts
from pages._ui.history.choice import BADGES, OUTCOME, SIGNS, change_of, find_distinctions
from pages._ui.shell import url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import HISTORY, link_page
from pages._ui.shell.row_keys import show_openable
from pages._ui.shell.status import title_tab
from pages._ui.shell.tables import Width, without_prefix
from pages._ui.shell.words import t

SIZE = 25  # rows of a page
MAX_LETTERS = 2000  # of a cell: its column cuts it earlier, and a double click shows it


def shows_all(query: BoardQuery) -> bool:
    """Whether the URL names no group, and there are several to choose from."""
    return not st.query_params.get("group") and run_cached(core().warehouse.trends.list_rows, query).total > 1


def link_to_all(region: RegionFacts) -> DeltaGenerator:
    """The way back from one group to all of them, in a line with room for more."""
    line = st.container(horizontal=True)
    with line:
        link_page(HISTORY, t("history.groups"), {"region": region_key(region)}, icon=":material/list:")
    return line


def choose_outcomes() -> Collection[Outcome]:
    """The verdicts that the URL names; all of them where it names none."""
    names = {outcome.name.lower(): outcome for outcome in Outcome}
    chosen = url.choose_options(
        OUTCOME,
        t("history.outcome"),
        [*names],
        lambda name: t(f"outcome.{name}"),
        resets=["groups"],
        width=300,
        label_visibility="collapsed",
        placeholder=t("history.every_outcome"),
    )
    return [names[name] for name in chosen or names]


def show_all_groups(query: BoardQuery, region: RegionFacts, outcomes: Collection[Outcome]) -> None:
    """One page of groups with these outcomes as a table. Verdicts are of all groups, since the worst come first."""
    with st.spinner(t("home.reading"), show_time=True):
        regressions = run_cached(core().warehouse.trends.list_verdicts, query)
    regressed = sum(group.verdict.outcome is Outcome.REGRESSION for group in regressions.groups)
    title_tab(f"{SIGNS[Outcome.REGRESSION]} {regressed:,} {t('menu.history')}" if regressed else t("menu.history"))
    found = [group for group in regressions.groups if group.verdict.outcome in outcomes]
    if not found:
        st.info(t("history.no_group"), icon=":material/search:")
        return
    pages = url.Pages("groups", len(found), SIZE)
    shown = found[pages.offset : pages.offset + SIZE]
    selections = [{"region": region_key(region), "group": each.row.group.id} for each in shown]
    rows = _build_rows(shown, find_distinctions(regressions, query.region))
    widths: dict[str, Width] = {"model": 110, "parameters": 150}
    config = {"outcome": _build_chip_column(shown)}
    show_openable(rows, _list_titles(), t("history.groups"), HISTORY, selections,
        key="history-groups", visible=SIZE, widths=widths, config=config)  # fmt: skip
    pages.show()
    st.caption(t("history.groups_legend", total=f"{regressions.total:,}", tests=regressions.tests))


def _build_chip_column(shown: Sequence[TrendVerdict]) -> Any:
    """The column of verdicts, in the colours that Home gives them."""
    outcomes = {each.verdict.outcome for each in shown}
    texts = [t(f"outcome.{outcome.name.lower()}") for outcome in outcomes]
    return st.column_config.MultiselectColumn(options=texts, color=[BADGES[outcome][0] for outcome in outcomes])


def _build_rows(shown: Sequence[TrendVerdict], parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    flavors = without_prefix([group.row.group.flavor or group.row.group.pool_id for group in shown])
    return [
        _to_row(group, flavor, parameters.get(group.row.group.fingerprint, ""))
        for group, flavor in zip(shown, flavors, strict=True)
    ]


def _list_titles() -> dict[str, str]:
    """What matters most first: a window of 1280 pixels ends after the baseline."""
    return {
        "outcome": t("history.outcome"),
        "model": t("board.model"),
        "flavor": t("board.flavor"),
        "size": t("board.block_size"),
        "change": t("history.change"),
        "interval": t("history.interval"),
        "candidate": t("history.candidate"),
        "baseline": t("history.baseline"),
        "parameters": t("board.parameters"),
        "runs_missing": t("history.runs_missing"),
        "runs": t("board.runs"),
        "at": t("history.at"),
    }


def _to_row(group: TrendVerdict, flavor: str, parameters: str) -> dict[str, Any]:
    regression_verdict, trend = group.verdict, group.row.group
    gap = regression_verdict.decisive.difference if regression_verdict.decisive else None
    return {
        "outcome": [t(f"outcome.{regression_verdict.outcome.name.lower()}")],
        "model": group.row.model,
        "flavor": flavor,
        "size": nodes_and_cards(trend.node_count, trend.cards_per_node),
        "change": t.message(regression_verdict.withheld) or change_of(regression_verdict) or MISSING,
        "interval": f"{format_change(gap.ci_low, 1)} … {format_change(gap.ci_high, 1)}" if gap else MISSING,
        "candidate": shorten_hash(regression_verdict.candidate) or MISSING,
        "baseline": shorten_hash(regression_verdict.baseline) or MISSING,
        "parameters": clip_text(parameters, MAX_LETTERS) or MISSING,
        "runs_missing": regression_verdict.runs_missing,
        "runs": group.row.valid,
        "at": format_time(group.row.latest_at, "%Y-%m-%d %H:%M"),
    }
