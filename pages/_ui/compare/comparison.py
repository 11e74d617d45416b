"""The comparison's parts: which runs, differences, metrics, charts and scaling."""

from dataclasses import replace
from typing import Any

import streamlit as st

from aisbench_core.base.formats import format_difference, format_number, format_percent, format_points, nodes_and_cards
from aisbench_core.model import Origin
from aisbench_core.warehouse.values.compared import (
    MAX_COMPARED,
    MIN_COMPARED,
    ComparedBy,
    Comparison,
    FieldValues,
    MetricComparison,
    MetricValue,
)
from aisbench_core.warehouse.values.histories import Trend
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from pages._ui.compare.names import names_of
from pages._ui.configure.clones import show_clone_button
from pages._ui.runs.ranks import show_ranks
from pages._ui.runs.target import peers_text, target_text
from pages._ui.scaling import curve_charts
from pages._ui.scaling.choice import curve_names, selection_of
from pages._ui.shell import charts, url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import HISTORY, SCALING, link_page
from pages._ui.shell.spec_fields import field_name, field_text
from pages._ui.shell.tables import show_side_by_side, show_table
from pages._ui.shell.words import t

RECENT = 50  # how many recorded runs of each region the picker offers


def choose_runs() -> list[str]:
    """The runs to compare, the baseline first; where there are too few, a hint."""
    named = dict.fromkeys(st.query_params.get_all("ids"))
    recorded = run_cached(core().warehouse.runs.select_recorded, tuple(named)) if named else frozenset()
    chosen = {
        run_id: run_cached(core().warehouse.runs.find_row, run_id)
        for run_id in [*named][:MAX_COMPARED]
        if run_id in recorded
    }
    rows = _list_recent_runs() | {run_id: row for run_id, row in chosen.items() if row}
    options = list(dict.fromkeys([*(run_id for run_id in named if run_id in recorded), *rows]))
    run_ids = url.choose_options(
        "ids",
        t("compare.runs"),
        options,
        lambda run_id: _run_title(rows[run_id]) if run_id in rows else run_id,
        most=MAX_COMPARED,
        help=t("compare.runs_help"),
        placeholder=t("compare.pick"),
    )
    if len(run_ids) < MIN_COMPARED:
        st.info(t("compare.too_few" if options else "board.empty"), icon=":material/balance:")
    return run_ids


def _list_recent_runs() -> dict[str, RunRow]:
    latest = BoardQuery("", include_invalid=True, sort="created_at", limit=RECENT)
    queries = [
        replace(latest, region=region.region, rehearsal=region.rehearsal)
        for region in run_cached(core().warehouse.facets.list_regions)
    ]
    return {row.run_id: row for query in queries for row in run_cached(core().warehouse.runs.list_rows, query).rows}


def _run_title(row: RunRow) -> str:
    """Two of them beside each other in a window of 1280 pixels. Ids of launched runs begin with their time."""
    size = nodes_and_cards(row.node_count, row.cards_per_node)
    is_imported = row.origin is Origin.IMPORTED
    origin = (t("origin.imported"), format_time(row.created_at, "%m-%d %H:%M")) if is_imported else ()
    return " · ".join(filter(None, (row.run_id, row.model, row.framework_version, size, *origin)))


def choose_compared() -> ComparedBy:
    """The runs themselves, or the rows of the leaderboard that they belong to."""
    label, help_text = t("compare.by"), t("compare.by_help")
    return url.choose_option(
        st.radio, "by", label, ComparedBy, lambda by: t(f"compare.by_{by}"), horizontal=True, help=help_text
    )


def show_clones(runs: tuple[RunRow, ...]) -> None:
    with st.popover(t("clone.button"), icon=":material/content_copy:"):
        for run in runs:
            show_clone_button(run.run_id, key=run.run_id, label=escape_markdown(run.run_id))


def show_differences(comparison: Comparison) -> None:
    """The fields of the configuration that differ; at a click the equal ones, too."""
    st.header(t("compare.differences"))
    every = url.input_switch("all", t("compare.all_fields", count=len(comparison.same)))
    if not comparison.differences:
        st.markdown(t("compare.no_differences"))
    if every:
        rows = [_to_row(comparison, field, "≠") for field in comparison.differences]
        rows += [_to_row(comparison, field, "=") for field in comparison.same]
        titles = {"field": t("compare.field"), "mark": "≠", **names_of(comparison)}
        show_side_by_side(rows, titles, t("compare.every_field"))
    elif comparison.differences:
        rows = [_to_row(comparison, field) for field in comparison.differences]
        show_side_by_side(rows, {"field": t("compare.field"), **names_of(comparison)}, t("compare.differences"))


def _to_row(comparison: Comparison, field: FieldValues, mark: str = "") -> dict[str, str]:
    """The field, and its value of each run by the run's id."""
    values = zip(comparison.runs, field.values, strict=True)
    return {"field": field_name(field.field), "mark": mark} | {run.run_id: field_text(value) for run, value in values}


def show_metrics(comparison: Comparison) -> None:
    """Each metric of each run, with its ratio to the baseline where there is one."""
    st.header(t("compare.metrics"))
    measured = filter(_is_measured, comparison.metrics)
    rows = [_metric_cells(metric, comparison.runs) for metric in measured]
    rows.append(_target_cells(comparison))
    show_side_by_side(rows, {"metric": t("compare.metric"), **names_of(comparison)}, t("compare.metrics"))
    st.caption(t("compare.metrics_legend"))
    if comparison.by is ComparedBy.ROWS:
        counts = [peer.summary.count if peer.summary else 0 for peer in comparison.peers]
        st.caption(t("compare.of_rows", runs=", ".join(map(str, counts))))


def _target_cells(comparison: Comparison) -> dict[str, Any]:
    pairs = zip(comparison.runs, comparison.peers, strict=True)
    by_row = comparison.by is ComparedBy.ROWS
    texts = {run.run_id: peers_text(run, peers) if by_row else target_text(run) for run, peers in pairs}
    return {"metric": t("board.target")} | texts


def _is_measured(metric: MetricComparison) -> bool:
    return metric.decides or any(cell.value is not None for cell in metric.values)


def _metric_cells(metric: MetricComparison, runs: tuple[RunRow, ...]) -> dict[str, Any]:
    mark = "→ " if metric.decides else ""
    return {"metric": mark + charts.metric_title(metric)} | {
        run.run_id: _metric_text(metric, value, run) for run, value in zip(runs, metric.values, strict=True)
    }


def _metric_text(metric: MetricComparison, value: MetricValue, run: RunRow) -> str:
    """The value, with its unit where the runs' units differ; beside the baseline's also their ratio and difference."""
    is_share = metric.is_share
    unit = run.throughput_unit if metric.is_rate and not metric.unit else ""
    text = format_percent(value.value) if is_share else format_number(value.value, unit)
    if value is metric.values[0] or value.difference is None:
        return text
    change = (
        t("compare.points", points=format_points(value.difference))
        if is_share
        else format_difference(value.difference, 3)
    )
    return (
        f"{text} ({change})" if value.ratio is None else f"{text} (×{format_number(value.ratio, digits=4)}, {change})"
    )


def show_metric_charts(comparison: Comparison) -> None:
    """The metric that decides, as bars, or why there are none; and the throughput of single cards."""
    st.header(t("compare.throughput"))
    deciding = next((metric for metric in comparison.metrics if metric.decides), None)
    if deciding is None:
        st.caption(t("compare.no_bars"))
    elif all(cell.value is None for cell in deciding.values):
        st.caption(t("compare.not_measured"))
    else:
        charts.draw_chart(
            charts.compared_bars(comparison.runs, deciding, names_of(comparison)), text=charts.metric_title(deciding)
        )
    st.header(t("compare.cards"))
    if 0 < max(map(len, comparison.rank_results.values()), default=0) <= charts.DOTS:
        for unit, runs in charts.by_unit(comparison.runs).items():
            drawing = charts.draw_card_dots(runs, comparison.rank_results, unit)
            charts.draw_chart(drawing, text=t("charts.per_card", unit=unit))
    show_ranks(comparison.runs)


def show_scaling(run: RunRow) -> None:
    """How a run's configuration scales over node counts, where it was measured on several."""
    curve = run_cached(core().warehouse.scaling.fetch_curve, run)
    if len(curve.points) < 2:
        return
    st.header(t("compare.scaling"))
    named = [(curve_names([curve])[curve.query.id], curve)]
    charts.draw_chart(curve_charts.draw_throughput(named, curve.largest), text=t("scaling.chart_throughput"))
    st.caption(t("scaling.legend"))
    link_page(SCALING, t("scaling.open"), selection_of(run, curve))
    if run.origin is Origin.IMPORTED:
        st.caption(t("compare.unknown", fields=t.field("parameters")))
    rows = [
        {
            "nodes": point.node_count,
            "runs": point.runs,
            "median": format_number(point.throughput),
            "speed_up": format_number(point.speed_up),
            "efficiency": format_percent(point.efficiency),
        }
        for point in curve.points
    ]
    titles = {
        "nodes": t("charts.nodes"),
        "runs": t("board.runs"),
        "median": t("board.median", unit=curve.throughput_unit),
        "speed_up": t("charts.speed_up"),
        "efficiency": t("charts.efficiency"),
    }
    show_table(rows, titles, t("compare.scaling"))


def link_history(run: RunRow) -> None:
    selection = {"region": region_key(run), "group": Trend.of(run).id}
    link_page(HISTORY, t("compare.history"), selection)
