"""The comparison's parts: which runs, the verdict, differences, metrics and charts."""

from typing import Any

import streamlit as st

from aisbench_core.formats import MISSING, difference, number, percent
from aisbench_core.model import Origin
from aisbench_core.warehouse.answers.compared import ComparedBy, Comparison, FieldValues, MetricComparison, MetricValue
from aisbench_core.warehouse.answers.histories import HistoryGroup
from aisbench_core.warehouse.answers.listed import ListedRun
from aisbench_core.warehouse.values import BoardQuery, RunRow
from pages._ui.compare.comparability import field_name, field_text
from pages._ui.configure.clones import show_clone_button
from pages._ui.leaderboard.board import LEAST_COMPARED, MOST_COMPARED, kind_id
from pages._ui.runs.ranks import show_ranks
from pages._ui.scaling.choice import selection_of
from pages._ui.shell import address, charts, widgets
from pages._ui.shell.core import asked, core
from pages._ui.shell.errors import plain
from pages._ui.shell.formats import when
from pages._ui.shell.navigation import HISTORY, SCALING, link
from pages._ui.shell.tables import show_side_by_side
from pages._ui.shell.words import Words, words

RECENT = 50
"""How many recorded runs of each region the picker offers."""


def choose_runs() -> list[str]:
    """The runs to compare, the baseline first; the URL holds them, so that a comparison can be sent to somebody.

    Says what is missing for one."""
    t = words()
    named = list(dict.fromkeys(st.query_params.get_all("ids")))[:MOST_COMPARED]
    known = asked(core().warehouse.known, tuple(named)) if named else frozenset()
    address.note_missing("ids", known, named)
    chosen = [each for each in named if each in known]
    recent = _recent()
    options = list(dict.fromkeys([*chosen, *recent]))
    st.multiselect(
        t("compare.runs"),
        max_selections=MOST_COMPARED,
        help=t("compare.runs_help"),
        placeholder=t("compare.pick"),
        **widgets.choices(
            "compared", options, chosen, _choose, lambda run_id: _run_title(run_id, recent.get(run_id), t)
        ),
    )
    if len(chosen) < LEAST_COMPARED:
        st.info(t("compare.too_few" if options else "board.empty"), icon=":material/balance:")
    return chosen


def choose_compared() -> ComparedBy:
    """The runs themselves, or the rows of the leaderboard that they belong to."""
    t = words()
    chosen = st.radio(
        t("compare.by"),
        horizontal=True,
        help=t("compare.by_help"),
        **address.option("by", list(ComparedBy), ComparedBy.RUNS, lambda each: t(f"compare.by_{each}")),
    )
    return ComparedBy(chosen)


def show_clones(runs: tuple[RunRow, ...]) -> None:
    """A way to a draft of each of the runs."""
    t = words()
    with st.popover(t("clone.button"), icon=":material/content_copy:"):
        for run in runs:
            show_clone_button(run.run_id, key=run.run_id, label=plain(run.run_id))


def show_differences(comparison: Comparison) -> None:
    """The configuration: what differs comes first, and alone unless the equal fields are asked for, too."""
    t = words()
    st.header(t("compare.differences"))
    every = st.toggle(
        t("compare.all_fields", count=len(comparison.same)),
        **address.flag("all"),
    )
    if not comparison.differences:
        st.markdown(t("compare.no_differences"))
    if every:
        fields = (*comparison.differences, *comparison.same)
        _fields_table(comparison, fields, t("compare.every_field"), differing=len(comparison.differences))
    elif comparison.differences:
        _fields_table(comparison, comparison.differences, t("compare.differences"))


def show_metrics(comparison: Comparison) -> None:
    """Each metric of each run, with its ratio to the baseline where one may be formed."""
    t = words()
    st.header(t("compare.metrics"))
    rows = [_metric_cells(metric, comparison.runs, t) for metric in comparison.metrics]
    show_side_by_side(rows, t("compare.metrics"))
    st.caption(t("compare.metrics_legend"))
    if comparison.by is ComparedBy.ROWS:
        counts = [peer.summary.count if peer.summary else 0 for peer in comparison.peers]
        st.caption(t("compare.of_rows", runs=", ".join(map(str, counts))))


def show_metric_charts(comparison: Comparison) -> None:
    """The throughput that decides, as bars, and the cards one by one."""
    t = words()
    st.header(t("compare.throughput"))
    _show_deciding(comparison)
    st.header(t("compare.cards"))
    if 0 < max(map(len, comparison.rank_results.values()), default=0) <= charts.DOTS:
        for unit, runs in charts.by_unit(comparison.runs).items():
            drawing = charts.ranks(runs, comparison.rank_results, unit, t)
            charts.draw(drawing, text=t("charts.per_card", unit=unit))
    show_ranks(comparison.runs)


def show_scaling(run: RunRow) -> None:
    """How a run's configuration scales over node counts, when it was run on several."""
    t = words()
    curve = asked(core().warehouse.curve, run)
    if len(curve.points) < 2:
        return
    st.header(t("compare.scaling"))
    charts.draw(charts.scaling(curve, t), text=t("compare.scaling"))
    st.caption(t("compare.scaling_legend"))
    link(SCALING, t("scaling.open"), selection_of(run, curve))
    if run.origin is Origin.IMPORTED:
        st.caption(t("compare.unknown", fields=t.field("parameters")))
    rows = [
        {
            t("charts.nodes"): point.node_count,
            t("board.runs"): point.runs,
            t("board.median", unit=curve.throughput_unit): number(point.throughput),
            t("charts.speed_up"): number(point.speed_up),
            t("charts.efficiency"): percent(point.efficiency),
        }
        for point in curve.points
    ]
    st.dataframe(rows, hide_index=True, alt=t("compare.scaling"), height="content")


def link_history(run: RunRow) -> None:
    """The way to everything that the first run can be compared with over time."""
    group = HistoryGroup.of(run).id
    link(HISTORY, words()("compare.history"), {"region": kind_id(run), "group": group})


def _show_deciding(comparison: Comparison) -> None:
    """The metric that the verdict says to look at; or why there are no bars."""
    t = words()
    deciding = next((metric for metric in comparison.metrics if metric.decides), None)
    if deciding is None:
        st.caption(t("compare.no_bars"))
    elif all(cell.value is None for cell in deciding.values):
        st.caption(t("compare.not_measured"))
    else:
        title = charts.metric_title(deciding, t)
        charts.draw(charts.compared_bars(comparison.runs, deciding, t), text=title)


def _choose(run_ids: list[str]) -> None:
    st.query_params["ids"] = run_ids


def _recent() -> dict[str, ListedRun]:
    warehouse = core().warehouse
    pages = [
        asked(
            warehouse.search,
            BoardQuery(
                region=kind.region,
                rehearsal=kind.rehearsal,
                include_invalid=True,
                sort="created_at",
                limit=RECENT,
            ),
        )
        for kind in asked(warehouse.regions)
    ]
    return {row.run_id: row for page in pages for row in page.rows}


def _run_title(run_id: str, row: ListedRun | None, t: Words) -> str:
    if row is None:
        return run_id
    size = t("runs.size", nodes=row.node_count or MISSING, cards=row.cards_per_node or MISSING)
    origin = f" · {t('origin.imported')}" if row.origin is Origin.IMPORTED else ""
    at = when(row.created_at, "%m-%d %H:%M")
    return f"{run_id} · {row.model} · {row.framework_version} · {size} · {at}{origin}"


def _fields_table(
    comparison: Comparison, fields: tuple[FieldValues, ...], alt: str, differing: int | None = None
) -> None:
    """`differing`: so many of the fields, which come first, are marked as different."""
    t = words()
    rows = [
        {t("compare.field"): field_name(each.field, t)}
        | ({} if differing is None else {"≠": "≠" if index < differing else "="})
        | {run.run_id: field_text(value, t) for run, value in zip(comparison.runs, each.values, strict=True)}
        for index, each in enumerate(fields)
    ]
    show_side_by_side(rows, alt)


def _metric_cells(metric: MetricComparison, runs: tuple[RunRow, ...], t: Words) -> dict[str, Any]:
    mark = "→ " if metric.decides else ""
    return {t("compare.metric"): mark + charts.metric_title(metric, t)} | {
        run.run_id: _metric_text(metric, value, run, t) for run, value in zip(runs, metric.values, strict=True)
    }


def _metric_text(metric: MetricComparison, value: MetricValue, run: RunRow, t: Words) -> str:
    """The value; of all but the baseline with its ratio to the baseline's and the difference, where these say anything.

    With its unit where the runs' units are not the same."""
    is_share = metric.is_share
    unit = run.throughput_unit if metric.is_rate and not metric.unit else ""
    text = percent(value.value) if is_share else number(value.value, unit)
    if value is metric.values[0] or value.difference is None:
        return text
    apart = t("compare.points", points=f"{value.difference * 100:+.2f}") if is_share else difference(value.difference)
    return f"{text} ({apart})" if value.ratio is None else f"{text} (×{number(value.ratio)}, {apart})"
