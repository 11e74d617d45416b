"""History's table of runs: what each measured, its part in the verdict, and why it does not count."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from aisbench_core.base.formats import PERCENT_DIGITS, format_number, shorten_hash
from aisbench_core.warehouse.measures.sorts import HISTORY_SORTS
from aisbench_core.warehouse.values.histories import History, HistoryRun, MetricHistory, RegressionVerdict
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.grid.column_choice import narrow_columns
from pages._ui.grid.sorting import read_sorting
from pages._ui.grid.table import show_grid
from pages._ui.grid.values import Align, GridCell, GridColumn, GridRow, PageLink, Tone
from pages._ui.history import trend_charts
from pages._ui.history.choice import name_metric
from pages._ui.history.results import SHARES
from pages._ui.runs.run_actions import OUTCOME, show_actions
from pages._ui.runs.validity import id_of, show_rules
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.listing import choose_size, choose_text, page_of, show_pages
from pages._ui.shell.navigation import LIVE
from pages._ui.shell.outcomes import show_outcome
from pages._ui.shell.words import t

KEY = "history-runs"
VISIBLE = 25  # rows that are visible at a time
TEXT_SORTS = ("framework_version", "engine_version", "validity", "created_by", "run_id")


def show_history_runs(history: History, metric: MetricHistory) -> tuple[str, ...]:
    """Every run of the group as a row, page by page, the newest first; the ids of those that are ticked."""
    st.header(t("history.runs"))
    names = [measured.name for measured in history.metrics]
    keys = [_sort_of(name) for name in names]
    sorts = [sort for sort in HISTORY_SORTS if sort in keys or not t.knows(f"metric.{sort}")]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = choose_text(t("listing.search"), t("history.search_in"))
        size = choose_size()
        columns = narrow_columns(_list_columns(names))
    sorting = read_sorting(sorts, "moment", texts=TEXT_SORTS)
    query = BoardQuery(history.row.group.region, include_invalid=st.query_params.get("invalid") == "1")
    query = replace(
        query,
        metric=metric.name.partition(":")[0] if ":" in metric.name else "",
        text=text,
        limit=size,
        sort=sorting.by,
        descending=sorting.is_descending,
    )
    page = page_of(core().warehouse.trends.list_runs, query, history.row.group)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return ()
    rows = [_build_row(run, history.verdict, metric.name, names) for run in page.rows]
    ticked = show_grid(columns, rows, t("history.runs"), key=KEY, is_tickable=True, sorting=sorting, visible=VISIBLE)
    show_pages(page.total, query.limit)
    show_outcome(OUTCOME)
    show_actions(KEY, ticked)
    _show_rules(page.rows)
    return ticked


def _list_columns(metrics: Sequence[str]) -> list[GridColumn]:
    labels = {
        name: t.with_unit(name_metric(name), "%" if name in SHARES else name.partition(":")[2]) for name in metrics
    }
    return [
        GridColumn("run", t("board.run"), sort="run_id", width=220),
        GridColumn("at", t("history.at"), sort="moment"),
        GridColumn("framework_version", t.field("framework_version"), sort="framework_version", width=140),
        *(GridColumn(name, label, Align.RIGHT, sort=_sort_of(name)) for name, label in labels.items()),
        GridColumn("part", t("history.part")),
        GridColumn("validity", t("board.validity"), sort="validity"),
        GridColumn("reason", t("board.reason"), width=260),
        GridColumn("by", t("board.by"), sort="created_by", width=120),
        GridColumn("engine_version", t.field("engine_version"), sort="engine_version", width=160),
        GridColumn("code_sha256", t.field("code_sha256")),
    ]


def _sort_of(name: str) -> str:
    """By what rows have a metric: a named one takes the place of the throughput."""
    return "throughput" if ":" in name else name


def _build_row(run: HistoryRun, verdict: RegressionVerdict, metric: str, names: Sequence[str]) -> GridRow:
    cells = {
        "run": GridCell(run.run_id, is_strong=True),
        "at": GridCell(format_time(run.at, "%Y-%m-%d %H:%M"), Tone.MUTED),
        "framework_version": GridCell(run.framework_version),
        **{name: GridCell(_format_value(run.drawn.get(_sort_of(name)), name)) for name in names},
        "part": _part_cell(run, verdict),
        "validity": GridCell(t(f"validity.{run.validity}"), Tone.MUTED if run.validity.counts else Tone.BAD),
        "reason": GridCell(trend_charts.reason_text(run, _sort_of(metric)), Tone.WARN),
        "by": GridCell(run.created_by, Tone.MUTED),
        "engine_version": GridCell(run.engine_version, Tone.MUTED),
        "code_sha256": GridCell(shorten_hash(run.code_sha256), Tone.MUTED, title=run.code_sha256),
    }
    return GridRow(run.run_id, run.run_id, cells, PageLink(LIVE, {"run": run.run_id}))


def _format_value(value: float | None, metric: str) -> str:
    if value is None:
        return ""
    return format_number(100 * value, digits=PERCENT_DIGITS) if metric in SHARES else format_number(value)


def _part_cell(run: HistoryRun, verdict: RegressionVerdict) -> GridCell:
    if run.run_id in verdict.baseline_run_ids:
        return GridCell(t("history.baseline"), Tone.MUTED)
    return GridCell(t("history.candidate"), Tone.INFO) if run.run_id in verdict.candidate_run_ids else GridCell()


def _show_rules(runs: Sequence[HistoryRun]) -> None:
    """The rules that keep these runs from counting, as the ruleset of the newest run words them."""
    failed = {rule_id for run in runs for reason in run.left_out.values() for rule_id in reason.split(";")}
    show_rules(failed, max(runs, key=lambda run: run.at).ruleset_id)
    stored = ", ".join(map(id_of, sorted({run.ruleset_id for run in runs})))
    st.caption(t("validity.stored_by", rulesets=escape_markdown(stored)))
