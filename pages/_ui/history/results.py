"""The History page's results: the verdict and its basis, the chart, the changes, and every run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from aisbench_core.base.formats import (
    MISSING,
    format_change,
    format_number,
    format_percent,
    nodes_and_cards,
    p_value,
    shorten_hash,
)
from aisbench_core.warehouse.measures.sorts import HISTORY_SORTS
from aisbench_core.warehouse.values.histories import (
    BaselineReason,
    History,
    HistoryRun,
    MetricHistory,
    MetricVerdict,
    Outcome,
    RegressionVerdict,
)
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.history import trend_charts
from pages._ui.history.choice import SIGNS
from pages._ui.runs.validity import id_of, show_rules
from pages._ui.shell import charts
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_interval, format_time, round_digits, summary_text, to_percent
from pages._ui.shell.listing import choose_sorting, choose_text, page_of, show_pages
from pages._ui.shell.navigation import CONFIGURATION, LIVE, link_page
from pages._ui.shell.row_keys import show_openable
from pages._ui.shell.status import title_tab
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

# The box and the icon of each outcome.
OUTCOMES = {
    Outcome.REGRESSION: (st.error, ":material/trending_down:"),
    Outcome.IMPROVEMENT: (st.success, ":material/trending_up:"),
    Outcome.NO_CHANGE: (st.info, ":material/trending_flat:"),
    Outcome.NOT_ENOUGH: (st.warning, ":material/hourglass_empty:"),
}

SHARES = ("accuracy", "rank_cv")  # metrics that are shares, shown in percent
VISIBLE = 25  # rows of the table of runs that are visible at a time


def show_regression(history: History) -> None:
    """Whether the newest runs regressed, and in which metrics."""
    regression_verdict = history.verdict
    box, icon = OUTCOMES[regression_verdict.outcome]
    group = history.row.group
    where = (group.flavor or group.pool_id, nodes_and_cards(group.node_count, group.cards_per_node))
    name = " · ".join(filter(None, (history.row.model or history.row.workload, *where)))
    title_tab(f"{SIGNS.get(regression_verdict.outcome, '')} {name}".strip())
    text = f"**{escape_markdown(outcome_or_reason(regression_verdict))}**"
    if regression_verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT):
        text = " – ".join(filter(None, (text, "; ".join(_list_news(regression_verdict)))))
    box(text, icon=icon)


def outcome_or_reason(regression_verdict: RegressionVerdict) -> str:
    """The outcome, or why there is none."""
    withheld = regression_verdict.withheld
    return t.message(withheld) or t(f"outcome.{regression_verdict.outcome.name.lower()}")


def link_to_configuration(history: History) -> None:
    """The page with everything else about this configuration."""
    link_page(
        CONFIGURATION, t("history.configuration"), {"run": history.row.latest_run_id}, icon=":material/table_rows:"
    )


def show_basis(history: History) -> None:
    """What the verdict compares, which change could have been detected, and what to keep in mind."""
    if history.verdict.withheld:
        st.markdown(escape_markdown(t.message(history.verdict.advice)))
    else:
        st.markdown(_describe_basis(history))
        st.markdown(_describe_power(history.verdict))
    for line in _list_caveats(history):
        st.caption(line)


def show_chart(history: History, metric: MetricHistory) -> None:
    """Single runs as dots over time or by version, with the levels behind them."""
    name = t(f"metric.{metric.name}")
    if history.older:
        st.caption(t("history.older", shown=len(history.runs), older=f"{history.older:,}"))
    if st.query_params.get("along") == "version":
        drawing = trend_charts.over_versions(history, metric, charts.get_text_colour())
        charts.draw_chart(drawing, text=t("history.chart_versions", metric=name))
        st.caption(t("history.legend_versions"))
    else:
        drawing = trend_charts.over_time(history, metric, charts.get_text_colour())
        charts.draw_chart(drawing, text=t("history.chart_time", metric=name))
        st.caption(t("history.legend_time"))


def show_tests(history: History) -> None:
    """Each metric that was tested, with the numbers behind its verdict."""
    regression_verdict = history.verdict
    if not regression_verdict.metrics and not regression_verdict.within:
        return
    st.header(t("history.tests"))
    if regression_verdict.metrics:
        _show_metrics(regression_verdict.metrics, t("history.tests"))
    if regression_verdict.within:
        within = t("history.within", version=escape_markdown(shorten_hash(regression_verdict.candidate)))
        st.markdown(within)
        _show_metrics(regression_verdict.within, within)
    st.caption(t("history.tests_legend", tests=regression_verdict.tests))


def _show_metrics(metrics: Sequence[MetricVerdict], title: str) -> None:
    titles = {
        "metric": t("compare.metric"),
        "outcome": t("history.outcome"),
        "change": t("history.change"),
        "interval": t("history.interval"),
        "adjusted_p": t("history.adjusted"),
        "p": "p",
        "candidate": t("history.candidate"),
        "baseline": t("history.baseline"),
        "test": t("history.test"),
        "since": t("history.since"),
    }
    show_table([_test_cells(metric) for metric in metrics], titles, title)


def _test_cells(metric: MetricVerdict) -> dict[str, Any]:
    difference = metric.difference
    text = format_percent if metric.name in SHARES else format_number
    return {
        "metric": t.with_unit(t(f"metric.{metric.name}"), metric.unit),
        "outcome": t(f"outcome.{metric.outcome.name.lower()}"),
        "change": format_change(difference.change) if difference else MISSING,
        "interval": format_interval(difference),
        "adjusted_p": p_value(metric.adjusted_p),
        "p": p_value(metric.p_value),
        "candidate": summary_text(metric.candidate, text),
        "baseline": summary_text(metric.baseline, text),
        "test": str(difference.test) if difference else MISSING,
        "since": metric.since or MISSING,
    }


def show_changes(metric: MetricHistory) -> None:
    """Where the metric changed its level, and what was new there; nothing where it has no level."""
    if not metric.levels:
        return
    title = t("history.changes", metric=t(f"metric.{metric.name}"))
    st.header(title)
    if not metric.changes:
        st.markdown(t("history.no_changes"))
        return
    text = format_percent if metric.name in SHARES else format_number
    rows = []
    for change in metric.changes:
        news = [f"{t.field(boundary.field)} {shorten_hash(boundary.value)}" for boundary in change.boundaries]
        rows.append(
            {
                "since": change.run_id,
                "at": format_time(change.at, "%Y-%m-%d %H:%M"),
                "way": t("history.worse") if change.worse else t("history.better"),
                "change": format_change(change.change),
                "before": summary_text(change.before, text),
                "after": summary_text(change.after, text),
                "p": p_value(change.p_value),
                "news": ", ".join(news) or MISSING,
            }
        )
    titles = {
        "since": t("history.since"),
        "at": t("history.at"),
        "way": t("history.way"),
        "change": t("history.change"),
        "before": t("history.before"),
        "after": t("history.after"),
        "p": "p",
        "news": t("history.new_there"),
    }
    show_table(rows, titles, title)


def show_history_runs(history: History, metric: MetricHistory) -> None:
    """Every run of the group as a row, page by page, the newest first, with the reason where it does not count."""
    st.header(t("history.runs"))
    measured = {metric_history.name for metric_history in history.metrics}
    sorts = [sort for sort in HISTORY_SORTS if sort in measured or not t.knows(f"metric.{sort}")]
    query = BoardQuery(history.row.group.region, include_invalid=st.query_params.get("invalid") == "1")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        query = replace(query, text=choose_text(t("listing.search"), t("history.search_in")))
        query = choose_sorting(query, sorts, "moment")
    page = page_of(core().warehouse.trends.list_runs, query, history.row.group)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return
    rows = [_run_cells(run, history.verdict, metric.name) for run in page.rows]
    selections = [{"run": run.run_id} for run in page.rows]
    titles = {
        "run": t("board.run"),
        "at": t("history.at"),
        "framework_version": t.field("framework_version"),
        "value": t.with_unit(t(f"metric.{metric.name}"), "%" if metric.name in SHARES else ""),
        "part": t("history.part"),
        "validity": t("board.validity"),
        "reason": t("board.reason"),
        "by": t("board.by"),
        "engine_version": t.field("engine_version"),
        "code_sha256": t.field("code_sha256"),
    }
    show_openable(rows, titles, t("history.runs"), LIVE, selections, key="history-runs", visible=VISIBLE)
    show_pages(page.total, query.limit)
    _show_rules(page.rows)


def _show_rules(runs: Sequence[HistoryRun]) -> None:
    """The rules that keep these runs from counting, as the ruleset of the newest run words them."""
    failed = {rule_id for run in runs for reason in run.left_out.values() for rule_id in reason.split(";")}
    show_rules(failed, max(runs, key=lambda run: run.at).ruleset_id)
    stored = ", ".join(map(id_of, sorted({run.ruleset_id for run in runs})))
    st.caption(t("validity.stored_by", rulesets=escape_markdown(stored)))


def _run_cells(run: HistoryRun, regression_verdict: RegressionVerdict, metric: str) -> dict[str, Any]:
    value = run.drawn.get(metric)
    part = MISSING
    if run.run_id in regression_verdict.baseline_run_ids:
        part = t("history.baseline")
    elif run.run_id in regression_verdict.candidate_run_ids:
        part = t("history.candidate")
    return {
        "run": run.run_id,
        "at": format_time(run.at, "%Y-%m-%d %H:%M"),
        "framework_version": run.framework_version,
        "value": to_percent(value) if metric in SHARES else round_digits(value),
        "part": part,
        "validity": t(f"validity.{run.validity}"),
        "reason": trend_charts.reason_text(run, metric),
        "by": run.created_by,
        "engine_version": run.engine_version,
        "code_sha256": shorten_hash(run.code_sha256),
    }


def _list_news(regression_verdict: RegressionVerdict) -> Iterator[str]:
    """The metrics behind the outcome; a change within the newest version is not one against the baseline."""
    for metric in regression_verdict.metrics:
        if metric.outcome is regression_verdict.outcome and metric.difference:
            yield _change_text(metric)
    for metric in regression_verdict.within:
        if metric.outcome is regression_verdict.outcome and metric.difference:
            version = escape_markdown(shorten_hash(regression_verdict.candidate))
            yield t("history.news_within", version=version, news=_change_text(metric))


def _change_text(metric: MetricVerdict) -> str:
    difference = metric.difference
    if difference is None:
        return ""
    return t(
        "history.news",
        metric=t(f"metric.{metric.name}"),
        change=format_change(difference.change),
        low=format_change(difference.ci_low),
        high=format_change(difference.ci_high),
        p=p_value(metric.adjusted_p),
    )


def _describe_basis(history: History) -> str:
    """What was compared with what, and by which rule the baseline was chosen."""
    regression_verdict = history.verdict
    if regression_verdict.rule is not BaselineReason.LEVEL_BEFORE:
        return t(
            "history.basis",
            candidate=escape_markdown(_shorten_versions(regression_verdict.candidate)),
            candidate_runs=len(regression_verdict.candidate_run_ids),
            baseline=escape_markdown(_shorten_versions(regression_verdict.baseline)),
            baseline_runs=len(regression_verdict.baseline_run_ids),
            rule=t(f"rule.{regression_verdict.rule.name.lower()}"),
            field=t.field(regression_verdict.field),
        )
    if not any(run.values for run in history.runs):
        return t("history.basis_timeless" if any(run.is_timeless for run in history.runs) else "history.basis_none")
    version = shorten_hash(regression_verdict.candidate)
    return t("history.basis_level", version=escape_markdown(version) if version else t("history.version_unknown"))


def _shorten_versions(names: str) -> str:
    return ", ".join(shorten_hash(name) for name in names.split(", ") if name) or MISSING


def _describe_power(regression_verdict: RegressionVerdict) -> str:
    """How many runs detect which change, by the first metric whose spread is known."""
    is_searched = regression_verdict.rule is BaselineReason.LEVEL_BEFORE
    if is_searched and any(metric.p_value is not None for metric in regression_verdict.metrics):
        return t("history.power_searched")
    metric = next((metric for metric in regression_verdict.metrics if metric.power), None)
    if metric is None or metric.power is None:
        return t("history.power_unknown")
    power = metric.power
    key = "history.power" if power.runs else "history.power_each" if power.runs_each else "history.power_never"
    runs = power.runs or power.runs_each
    cv, change = format_percent(power.cv), format_percent(power.change)
    text = t(key, metric=t(f"metric.{metric.name}"), cv=cv, change=change, runs=runs)
    return f"{text} {t('history.visible', change=format_percent(power.visible))}" if power.visible else text


def _list_caveats(history: History) -> Iterator[str]:
    regression_verdict = history.verdict
    if history.clock_doubts:
        yield t("history.clocks", runs=history.clock_doubts)
    if timeless := sum(run.is_timeless for run in history.runs):
        yield t("history.timeless", runs=timeless)
    if other_systems := sum(run.is_of_another_system for run in history.runs):
        yield t("history.other_systems", runs=other_systems)
    if missed := sum(run.has_missed for run in history.runs):
        yield t("history.missed", runs=missed)
    if not regression_verdict.withheld and (unknown := sum(bool(run.not_known) for run in history.runs)):
        yield t("history.unknown_runs", runs=unknown)
    if regression_verdict.other_builds:
        yield t("history.other_builds", runs=regression_verdict.other_builds)
    if regression_verdict.mixed:
        yield t("history.mixed", aspects=", ".join(t(f"board.aspect_{aspect}") for aspect in regression_verdict.mixed))
    if excluded_runs := history.row.runs - history.row.valid:
        yield t("history.left_out", runs=excluded_runs)
