"""All groups of the filters with their verdicts, the worst first; a click on one opens its history."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.base.formats import MISSING, clip_text, format_change, nodes_and_cards, shorten_hash
from aisbench_core.domain.statistics.difference import MeanDifference
from aisbench_core.warehouse.values.histories import Outcome, RegressionVerdict
from aisbench_core.warehouse.values.runs import BoardQuery, RegionFacts
from aisbench_core.warehouse.values.trend_verdicts import TrendVerdict
from pages._ui.grid.sorting import Sorting, read_sorting
from pages._ui.grid.table import show_grid
from pages._ui.grid.values import Align, CellPart, Dot, GridCell, GridColumn, GridRow, PageLink, Tone
from pages._ui.history.choice import OUTCOME, SIGNS, find_distinctions
from pages._ui.shell import url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import HISTORY, link_page
from pages._ui.shell.status import title_tab
from pages._ui.shell.tables import without_prefix
from pages._ui.shell.words import t

SIZE = 25  # rows of a page
MAX_LETTERS = 2000  # of a cell: its column cuts it earlier, and its tooltip shows it

TONES = {
    Outcome.REGRESSION: Tone.BAD,
    Outcome.IMPROVEMENT: Tone.GOOD,
    Outcome.NO_CHANGE: Tone.MUTED,
    Outcome.NOT_ENOUGH: Tone.WARN,
}
# What a group is sorted by, by what the URL calls it; verdicts come sorted.
SORTS: Mapping[str, Callable[[TrendVerdict], Any]] = {
    "outcome": lambda group: group.verdict.outcome,
    "model": lambda group: group.row.model.casefold(),
    "change": lambda group: gap.change if (gap := _find_gap(group.verdict)) else None,
    "runs": lambda group: group.row.valid,
    "runs_missing": lambda group: group.verdict.runs_missing,
    "at": lambda group: group.row.latest_at,
}


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
    sorting = read_sorting([*SORTS], "outcome", texts=["model"], resets=["groups"])
    pages = url.Pages("groups", len(found), SIZE)
    shown = _sort_groups(found, sorting)[pages.offset : pages.offset + SIZE]
    rows = _build_rows(shown, find_distinctions(regressions, query.region), region_key(region))
    columns = [column for column in _list_columns() if any(row.cells[column.key].text for row in rows)]
    show_grid(columns, rows, t("history.groups"), key="history-groups", sorting=sorting)
    pages.show()
    st.caption(t("history.groups_legend", total=f"{regressions.total:,}", tests=regressions.tests))


def _sort_groups(groups: Sequence[TrendVerdict], sorting: Sorting[str]) -> list[TrendVerdict]:
    """Groups without a value come last; they come with the worst verdict first."""
    if sorting.by == "outcome":
        return list(groups if sorting.is_descending else groups[::-1])
    read = SORTS[sorting.by]
    valued = [group for group in groups if read(group) is not None]
    valued.sort(key=read, reverse=sorting.is_descending)
    return [*valued, *(group for group in groups if read(group) is None)]


def _list_columns() -> list[GridColumn]:
    """What matters most first: a window of 1280 pixels ends after the baseline."""
    return [
        GridColumn("model", t("board.model"), sort="model", width=170),
        GridColumn("outcome", t("history.outcome"), sort="outcome", width=190),
        GridColumn("change", t("history.change"), Align.RIGHT, sort="change"),
        GridColumn("interval", t("history.interval"), Align.RIGHT),
        GridColumn("size", t("board.block_size")),
        GridColumn("flavor", t("board.flavor"), width=150),
        GridColumn("candidate", t("history.candidate"), width=110),
        GridColumn("baseline", t("history.baseline"), width=110),
        GridColumn("runs", t("board.runs"), Align.RIGHT, sort="runs"),
        GridColumn("runs_missing", t("history.runs_missing"), Align.RIGHT, sort="runs_missing"),
        GridColumn("at", t("history.at"), sort="at"),
        GridColumn("parameters", t("board.parameters"), width=220),
    ]


def _build_rows(shown: Sequence[TrendVerdict], parameters: Mapping[str, str], region: str) -> list[GridRow]:
    """A row for each group; it opens the group's history."""
    hardware = [group.row.group.flavor or group.row.group.pool_id for group in shown]
    rows = []
    for group, whole, flavor in zip(shown, hardware, without_prefix(hardware), strict=True):
        cells = _build_cells(group, parameters.get(group.row.group.fingerprint, ""))
        cells["flavor"] = GridCell(flavor, Tone.MUTED, title=whole)
        link = PageLink(HISTORY, {"region": region, "group": group.row.group.id})
        rows.append(GridRow(group.row.group.id, " ".join((group.row.model, flavor, cells["size"].text)), cells, link))
    return rows


def _build_cells(group: TrendVerdict, parameters: str) -> dict[str, GridCell]:
    verdict, trend = group.verdict, group.row.group
    outcome, tone = t(f"outcome.{verdict.outcome.name.lower()}"), TONES[verdict.outcome]
    withheld, missing = t.message(verdict.withheld), verdict.runs_missing
    return {
        "model": GridCell(group.row.model or MISSING, dot=Dot(tone, outcome), is_strong=True),
        "outcome": GridCell(withheld or outcome, tone),
        **_build_change_cells(verdict, tone),
        "size": GridCell(nodes_and_cards(trend.node_count, trend.cards_per_node), Tone.MUTED),
        "candidate": _build_version_cell(verdict.candidate),
        "baseline": _build_version_cell(verdict.baseline),
        "runs": GridCell(f"{group.row.valid:,}", Tone.MUTED),
        "runs_missing": GridCell(f"{missing:,}" if missing is not None else "", Tone.MUTED),
        "at": GridCell(format_time(group.row.latest_at, "%Y-%m-%d %H:%M"), Tone.MUTED),
        "parameters": GridCell(clip_text(parameters, MAX_LETTERS), Tone.MUTED),
    }


def _build_change_cells(verdict: RegressionVerdict, tone: Tone) -> dict[str, GridCell]:
    metric, gap = verdict.decisive, _find_gap(verdict)
    if metric is None or gap is None:
        return {"change": GridCell(), "interval": GridCell()}
    name = t(f"metric.{metric.name}") if metric.name != "throughput" else ""
    parts = (CellPart(name, Tone.MUTED),) if name else ()
    interval = f"{format_change(gap.ci_low, 1)} … {format_change(gap.ci_high, 1)}"
    change = GridCell(format_change(gap.change, 1), tone, parts=parts, is_strong=True)
    return {"change": change, "interval": GridCell(interval, Tone.MUTED)}


def _build_version_cell(version: str) -> GridCell:
    return GridCell(shorten_hash(version), title=version)


def _find_gap(verdict: RegressionVerdict) -> MeanDifference | None:
    """The decisive difference; None where the verdict is withheld."""
    return verdict.decisive.difference if verdict.decisive and not verdict.withheld else None
