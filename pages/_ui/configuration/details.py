"""The parts of the page of one benchmark configuration; the URL names it by any of its runs."""

from collections.abc import Sequence
from typing import NoReturn

import streamlit as st

from aisbench_core.base.formats import MISSING, amounts_text, format_change, format_number, nodes_and_cards
from aisbench_core.domain.passport.accelerators import count_values
from aisbench_core.model import Origin
from aisbench_core.warehouse.answers.board_row import BoardRowDetails
from aisbench_core.warehouse.answers.passports import compare_captured
from aisbench_core.warehouse.values.boards import BoardRow, describe_hardware
from aisbench_core.warehouse.values.histories import Trend, TrendRow
from aisbench_core.warehouse.values.runs import THROUGHPUT, BoardQuery, RunRow
from pages._ui import layout
from pages._ui.grid.sorting import read_sorting
from pages._ui.grid.table import show_grid
from pages._ui.history import trend_charts
from pages._ui.history.choice import BADGES, SIGNS, name_metric
from pages._ui.leaderboard.columns import system_text
from pages._ui.runs.goodput import show_goodput_of_row
from pages._ui.runs.run_actions import OUTCOME, show_actions
from pages._ui.runs.run_rows import ListedRun, build_rows, list_columns, sort_records
from pages._ui.runs.target import row_note, target_text
from pages._ui.scaling import curve_charts
from pages._ui.scaling.choice import curve_names, selection_of
from pages._ui.shell import charts, navigation
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import end_page, escape_markdown
from pages._ui.shell.evidence import show_bundle_button
from pages._ui.shell.filters import choose_metric_name, region_key
from pages._ui.shell.formats import format_time
from pages._ui.shell.outcomes import show_outcome
from pages._ui.shell.status import create_heading, title_tab
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

NUMBERS = ("median", "per_card", "rank", "relation", "valid")  # at the top of the page
RATES = ("median", "per_card")
MAX_TRENDS = 1000  # of one benchmark, flavor and node count, among which the row's is looked for
# Columns of runs that are not equal in all of a row, and their sorts.
COLUMNS = ("run", "throughput", "per_card", "change", "accuracy", "duration", "by", "launched", "status")
SORTS = ("created_at", "throughput", "per_card", "accuracy", "duration_s", "created_by", "state")
RUNS = "configuration-runs"  # the key of their table
VISIBLE = 12  # rows of the table of runs that are visible at a time


def show_configuration() -> tuple[str, ...]:
    """The page; the ids of the runs that are ticked."""
    title = create_heading()
    title.title(t("configuration.title"))  # until it is known that there is such a run
    run_id = st.query_params.get("run", "")
    run = run_cached(core().warehouse.runs.find_row, run_id) if run_id else None
    heading = st.container()
    metric = _choose_metric(run) if run else ""
    found = run_cached(core().warehouse.board.find_row, run_id, metric) if run else None
    if run is None or found is None:
        _end_unknown(run_id, metric if run else "")
    row, newest = found.row, found.runs[0]
    size = nodes_and_cards(row.node_count, row.cards_per_node)
    name = " · ".join(filter(None, (row.model or row.workload, row.framework_version, describe_hardware(row), size)))
    title.title(escape_markdown(name))
    title_tab(name)
    data = t("board.synthetic") if row.synthetic_data else row.dataset
    facts = (
        f"{row.framework} {row.framework_version}",
        data,
        row.workload,
        t(f"origin.{row.origin}"),
        system_text(row),
    )
    heading.caption(escape_markdown(" · ".join(filter(None, facts))))
    _show_numbers(found)
    _show_links(found, newest)
    trend = _trend_of(run)
    left, right = st.columns(2, gap="large")
    with left:
        st.header(t("menu.history"))
        _show_history(trend, row, newest, name)
    with right:
        st.header(t("menu.scaling"))
        _show_scaling(run, row.primary_metric)
    show_goodput_of_row(newest)
    ticked = _show_runs(found.runs)
    if found.total > len(found.runs):
        st.caption(t("configuration.newest", shown=len(found.runs), total=f"{found.total:,}"))
    st.header(t("configuration.about"))
    _show_captured(found.runs)
    _show_people(found)
    _show_system(row)
    return ticked


def _choose_metric(run: RunRow) -> str:
    named = run_cached(core().warehouse.trends.list_named, Trend.of(run))
    names = list(dict.fromkeys(name.partition(":")[0] for name in named))
    return choose_metric_name(["", *([THROUGHPUT] if names else []), *names], width=350)


def _end_unknown(run_id: str, metric: str) -> NoReturn:
    unknown = t("configuration.unknown", run=escape_markdown(run_id)) if run_id else t("configuration.none")
    if metric:
        unknown = t("configuration.without_metric", metric=escape_markdown(metric))
    st.info(unknown, icon=":material/search:")
    navigation.link_page(navigation.LEADERBOARD, t("menu.leaderboard"), {})
    end_page()


def _show_runs(runs: Sequence[RunRow]) -> tuple[str, ...]:
    """What runs of one configuration have in common stands above."""
    st.header(t("configuration.runs"))
    sorting = read_sorting(SORTS, "created_at", texts=["created_by", "state"])
    listed = [ListedRun(run, run.run_id, run, run.tags) for run in sort_records(runs, sorting)]
    columns, rows = list_columns(listed, COLUMNS), build_rows(listed, COLUMNS)
    ticked = show_grid(
        columns, rows, t("configuration.runs"), key=RUNS, is_tickable=True, sorting=sorting, visible=VISIBLE
    )
    show_outcome(OUTCOME)
    show_actions(RUNS, ticked)
    return ticked


def _show_captured(runs: Sequence[RunRow]) -> None:
    """What differs between the nodes of runs that are one configuration."""
    found = run_cached(core().warehouse.runs.find_passports, tuple(run.run_id for run in runs))
    if differences := compare_captured(list(found.values())):
        rows = [
            {"fact": one.field, "values": count_values(str(value or MISSING) for value in one.values)}
            for one in differences
        ]
        label = t("passport.of_runs", count=len(rows))
        with st.expander(label, icon=":material/badge:"):
            titles = {"fact": t("passport.fact"), "values": t("passport.values")}
            show_table(rows, titles, label, widths={"values": "large"}, visible=VISIBLE)


def _show_numbers(found: BoardRowDetails) -> None:
    row, unit = found.row, t.unit(found.row.throughput_unit)
    values = (
        (format_number(row.throughput), None),
        (format_number(row.per_card), None),
        (row.rank or MISSING, t("board.rank_about")),
        (_format_relation(row, found.best), t("configuration.relation_help")),
        (f"{row.runs} / {found.total}", t("configuration.valid_help")),
    )
    for (name, column), (value, help_text) in zip(layout.create_tiles(NUMBERS).items(), values, strict=True):
        is_ranked = name != "rank" or row.rank
        label = t(f"configuration.{name}", ranked=f"{found.ranked:,}") if is_ranked else t("board.rank")
        if name == "rank" and row.rank and not row.is_confirmed:
            label = t("board.unconfirmed", rank=label)
        column.metric(t.with_unit(label, unit) if name in RATES else label, value, border=True, help=help_text)
    if row.primary_metric:
        ranked_by = " · ".join(filter(None, (row.primary_metric, row.throughput_definition)))
        text = t("board.lower_is_better", metric=ranked_by) if row.is_lower_better else ranked_by
        st.caption(escape_markdown(text))
    if row.ci_low is not None and row.ci_high is not None:
        low, high = format_number(row.ci_low), format_number(row.ci_high, unit)
        st.caption(t("configuration.interval", low=low, high=high))
    if note := row_note(row):
        st.error(note, icon=":material/trending_down:")
    if row.runs and not row.target_outcome.is_missed:
        st.caption(target_text(row))


def _format_relation(row: BoardRow, best: BoardRow) -> str:
    if row.throughput is None or best.throughput is None or best.throughput <= 0:
        return MISSING
    return t("board.is_best") if row is best or row == best else format_change(row.throughput / best.throughput - 1, 1)


def _show_links(found: BoardRowDetails, newest: RunRow) -> None:
    row = found.row
    with st.container(horizontal=True, vertical_alignment="center"):
        board = {"region": region_key(newest), "show": "groups", "benchmark": row.fingerprint, **_select_metric(row)}
        navigation.link_page(navigation.LEADERBOARD, t("configuration.board"), board)
        typical = row.median_run_id
        if typical:
            navigation.link_page(navigation.LIVE, t("configuration.typical"), {"run": typical})
        if typical and found.best.median_run_id and found.best != row:
            selection = {"ids": [found.best.median_run_id, typical], "by": "rows"}
            navigation.link_page(navigation.COMPARE, t("configuration.with_best"), selection)
        show_bundle_button(lambda: [run.run_id for run in found.runs], "configuration")


def _trend_of(newest: RunRow) -> TrendRow | None:
    trend = Trend.of(newest)
    query = BoardQuery(
        newest.region,
        rehearsal=newest.rehearsal,
        fingerprint=newest.fingerprint,
        flavors=(newest.flavor,) if newest.flavor else (),
        node_counts=(newest.node_count,) if newest.node_count else (),
        limit=MAX_TRENDS,
    )
    return next((row for row in run_cached(core().warehouse.trends.list_rows, query).rows if row.group == trend), None)


def _select_metric(row: BoardRow) -> dict[str, str]:
    """The parameter of pages that show what the row is ranked by; none for throughputs."""
    return {"metric": row.primary_metric} if row.primary_metric else {}


def _show_history(trend: TrendRow | None, row: BoardRow, newest: RunRow, name: str) -> None:
    named = f"{row.primary_metric}:{row.throughput_unit}" if row.primary_metric else ""
    history = run_cached(core().warehouse.trends.fetch_history, trend, metric=named) if trend else None
    tracked = named or THROUGHPUT
    metric = next((metric for metric in history.metrics if metric.name == tracked), None) if history else None
    if trend is None or history is None or metric is None:
        st.caption(t("history.nothing_measured"))
        return
    outcome = history.verdict.outcome
    colour, icon = BADGES[outcome]
    title_tab(" ".join(filter(None, (SIGNS.get(outcome, ""), name))))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(t(f"outcome.{outcome.name.lower()}"), color=colour, icon=icon)
        selection = {"region": region_key(newest), "group": trend.group.id, **_select_metric(row)}
        navigation.link_page(navigation.HISTORY, t("configuration.open_history"), selection)
    drawing = trend_charts.over_time(history, metric, charts.get_text_colour())
    charts.draw_chart(drawing, text=t("history.chart_time", metric=name_metric(tracked)))


def _show_scaling(run: RunRow, metric: str) -> None:
    curve = run_cached(core().warehouse.scaling.fetch_curve, run, metric)
    if len(curve.points) < 2:  # one node count is no curve
        st.caption(t("configuration.no_curve"))
        return
    selection = selection_of(run, curve) | ({"metric": metric} if metric else {})
    navigation.link_page(navigation.SCALING, t("configuration.open_scaling"), selection)
    names = curve_names([curve])
    drawing = curve_charts.draw_throughput([(names[curve.query.id], curve)], curve.largest)
    charts.draw_chart(drawing, text=t("configuration.chart_scaling", metric=curve_charts.name_measure(curve)))


def _show_system(row: BoardRow) -> None:
    """What all its runs have in common; the description that people wrote is on the page of each run."""
    facts = {
        "accelerator": row.accelerator,
        "pool_id": row.pool_id,
        "mode": t(f"mode.{row.mode}"),
        "image": row.image,
        "code_sha256": row.code_sha256,
        "dataset_sha256": row.dataset_sha256,
        "fingerprint": row.fingerprint,
    }
    rows = [{"field": t.field(name), "value": value} for name, value in facts.items() if value]
    titles = {"field": t("configuration.field"), "value": t("configuration.value")}
    show_table(rows, titles, t("configuration.about"))


def _show_people(found: BoardRowDetails) -> None:
    """Who measured it, when, and what it took."""
    when_measured = {"first": format_time(found.first_at, "%Y-%m-%d"), "last": format_time(found.last_at, "%Y-%m-%d")}
    st.markdown(t("configuration.who", people=escape_markdown(", ".join(found.people) or MISSING), **when_measured))
    if found.row.origin is Origin.LAUNCHED:
        hours = format_number(found.node_hours, digits=3)
        amounts = amounts_text(found.costs)
        st.markdown(t("configuration.cost", hours=hours) + (t("configuration.spent", money=amounts) if amounts else ""))
