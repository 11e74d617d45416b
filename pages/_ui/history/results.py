"""The History page's results: the verdict and its basis, the chart, the changes, and every run."""

from collections.abc import Iterator, Sequence
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
from aisbench_core.domain.statistics.difference import Unit
from aisbench_core.warehouse.values.histories import (
    BaselineReason,
    History,
    MetricHistory,
    MetricVerdict,
    Outcome,
    RegressionVerdict,
)
from pages._ui.history import trend_charts
from pages._ui.history.choice import SIGNS, name_metric
from pages._ui.shell import charts
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_interval, format_time, summary_text
from pages._ui.shell.navigation import CONFIGURATION, link_page
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

# By what is repeated: that the newest version suffices, that it takes both sides, that it takes too many.
POWER = {
    Unit.RUN: ("history.power", "history.power_each", "history.power_never"),
    Unit.DAY: ("history.power_days", "history.power_each_days", "history.power_never_days"),
}

SHARES = ("accuracy", "rank_cv")  # metrics that are shares, shown in percent


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
    tested = regression_verdict.metrics
    if not withheld and tested and all(metric.higher_is_better is None for metric in tested):
        return t("history.no_direction")
    if reason := regression_verdict.open_reason:
        return f"{t(f'outcome.{regression_verdict.outcome.name.lower()}')} – {t.message(reason)}"
    return t.message(withheld) or t(f"outcome.{regression_verdict.outcome.name.lower()}")


def link_to_configuration(history: History) -> None:
    """The page with everything else about this configuration."""
    named = next((metric.name.partition(":")[0] for metric in history.metrics if ":" in metric.name), "")
    selection = {"run": history.row.latest_run_id} | ({"metric": named} if named else {})
    link_page(CONFIGURATION, t("history.configuration"), selection, icon=":material/table_rows:")


def show_basis(history: History) -> None:
    """What the verdict compares, which change could have been detected, and what to keep in mind."""
    if history.verdict.withheld:
        st.markdown(escape_markdown(t.message(history.verdict.advice)))
    else:
        st.markdown(_describe_basis(history))
        st.markdown(_describe_power(history.verdict))
        if method := history.verdict.method:
            st.markdown(t("history.method", method=escape_markdown(t.message(method))))
    for line in _list_caveats(history):
        st.caption(line)


def show_chart(history: History, metric: MetricHistory) -> None:
    """Single runs as dots over time or by version, with the levels behind them."""
    name = name_metric(metric.name)
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
        "metric": t.with_unit(name_metric(metric.name), metric.unit),
        "outcome": t("history.no_direction")
        if metric.higher_is_better is None
        else t(f"outcome.{metric.outcome.name.lower()}"),
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
    title = t("history.changes", metric=name_metric(metric.name))
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
                "way": MISSING if change.worse is None else t("history.worse" if change.worse else "history.better"),
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
        metric=name_metric(metric.name),
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
    enough, each, never = POWER[power.unit]
    key = enough if power.runs else each if power.runs_each else never
    runs = power.runs or power.runs_each
    cv, change = format_percent(power.cv), format_percent(power.change)
    text = t(key, metric=name_metric(metric.name), cv=cv, change=change, runs=runs)
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
