"""The History page's answers: the verdict and what it rests on, the chart, the changes, and every run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from aisbench_core.formats import MISSING, number, p_value, percent, short, signed
from aisbench_core.statistics.summary import Summary
from aisbench_core.warehouse.answers.histories import (
    BaselineReason,
    History,
    HistoryRun,
    Judgement,
    MetricHistory,
    MetricVerdict,
    Outcome,
)
from aisbench_core.warehouse.answers.sorts import HISTORY_SORTS
from aisbench_core.warehouse.values import BoardQuery
from pages._ui.history import trend_charts
from pages._ui.runs.validity import id_of, show_rules
from pages._ui.shell import charts
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain
from pages._ui.shell.formats import hundredfold, rounded, when
from pages._ui.shell.listing import choose_text, page_of, show_pages, sorted_as_asked
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import Words, words

SHOWN = {
    Outcome.REGRESSION: (st.error, ":material/trending_down:"),
    Outcome.IMPROVEMENT: (st.success, ":material/trending_up:"),
    Outcome.NO_CHANGE: (st.info, ":material/trending_flat:"),
    Outcome.NOT_ENOUGH: (st.warning, ":material/hourglass_empty:"),
}

SHARES = ("accuracy", "rank_cv")
"""Metrics that are parts of a whole, and read in percent."""

ROWS = 25
"""Rows of the table of runs that are seen at once."""


def show_regression(history: History) -> None:
    """What the newest runs say, what they were compared with and why, and what could have been seen."""
    t = words()
    judged = history.judgement
    box, icon = SHOWN[judged.outcome]
    told = "; ".join(_news(judged, t)) if judged.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT) else ""
    box(f"**{t(f'outcome.{judged.outcome.name.lower()}')}**" + (f" – {told}" if told else ""), icon=icon)
    st.markdown(_basis(history, t))
    for line in _powers(history, t):
        st.markdown(line)
    for line in _doubts(history, t):
        st.caption(line)


def show_chart(history: History, metric: MetricHistory) -> None:
    """Single runs as dots over time or by version, with the levels behind them."""
    t = words()
    name = t(f"metric.{metric.name}")
    if history.older:
        st.caption(t("history.older", shown=len(history.runs), older=f"{history.older:,}"))
    if st.query_params.get("along") == "version":
        charts.draw(
            trend_charts.over_versions(history, metric, charts.ink(), t), text=t("history.chart_versions", metric=name)
        )
        st.caption(t("history.legend_versions"))
        return
    drawing = trend_charts.over_time(history, metric, charts.ink(), t)
    charts.draw(drawing, text=t("history.chart_time", metric=name))
    st.caption(t("history.legend_time"))


def show_tests(history: History) -> None:
    """Each metric that was tested, with the numbers that led to its verdict."""
    t = words()
    judged = history.judgement
    if not judged.metrics and not judged.within:
        return
    st.header(t("history.tests"))
    if judged.metrics:
        rows = [_test_cells(metric, t) for metric in judged.metrics]
        st.dataframe(rows, hide_index=True, alt=t("history.tests"), height="content")
    if judged.within:
        within = t("history.within", version=plain(short(judged.candidate)))
        st.markdown(within)
        st.dataframe(
            [_test_cells(metric, t) for metric in judged.within], hide_index=True, alt=within, height="content"
        )
    st.caption(t("history.tests_legend", tests=judged.tests))


def show_changes(metric: MetricHistory) -> None:
    """Where the metric changed its level, and what was new there."""
    t = words()
    st.header(t("history.changes", metric=t(f"metric.{metric.name}")))
    if not metric.changes:
        st.markdown(t("history.no_changes"))
        return
    rows = [
        {
            t("history.since"): change.run_id,
            t("history.at"): when(change.at, "%Y-%m-%d %H:%M"),
            t("history.way"): t("history.worse") if change.worse else t("history.better"),
            t("history.change"): signed(change.change),
            t("history.before"): _side(metric.name, change.before),
            t("history.after"): _side(metric.name, change.after),
            "p": p_value(change.p_value),
            t("history.new_there"): ", ".join(f"{t.field(b.field)} {short(b.value)}" for b in change.boundaries)
            or MISSING,
        }
        for change in metric.changes
    ]
    st.dataframe(rows, hide_index=True, alt=t("history.changes", metric=t(f"metric.{metric.name}")), height="content")


def show_history_runs(history: History, metric: MetricHistory) -> None:
    """Every run of the group as a row, page by page, the newest first; runs that were left out with the reason."""
    t = words()
    st.header(t("history.runs"))
    measured = {metric.name for metric in history.metrics}
    sorts = [
        history_sort
        for history_sort in HISTORY_SORTS
        if history_sort in measured or not t.knows(f"metric.{history_sort}")
    ]
    query = BoardQuery(history.row.group.region, include_invalid=st.query_params.get("invalid") == "1")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        query = replace(query, text=choose_text(t("listing.search"), t("history.search_in")))
        query = sorted_as_asked(query, sorts, "moment")
    page = page_of(core().warehouse.history_runs, query, history.row)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return
    rows = [_run_cells(run, history, metric.name, t) for run in page.rows]
    show_table(rows, t("history.runs"), seen=ROWS)
    show_pages(page.total, query.limit)
    _show_rules(page.rows)


def _show_rules(runs: Sequence[HistoryRun]) -> None:
    """What the checks demand that keep these runs from counting, by the ruleset that judged most recently."""
    failed = {rule_id for run in runs for why in run.left_out.values() for rule_id in why.split(";")}
    show_rules(failed, max(runs, key=lambda run: run.at).ruleset_id)
    t = words()
    stored = ", ".join(id_of(each, t) for each in sorted({run.ruleset_id for run in runs}))
    st.caption(t("validity.stored_by", rulesets=plain(stored)))


def _news(judged: Judgement, t: Words) -> Iterator[str]:
    """What led to the outcome; a change within the newest version is not one against the baseline."""
    yield from (
        _sentence(metric, t) for metric in judged.metrics if metric.outcome is judged.outcome and metric.difference
    )
    for each in judged.within:
        if each.outcome is judged.outcome and each.difference:
            version = plain(short(judged.candidate))
            yield t("history.news_within", version=version, news=_sentence(each, t))


def _sentence(metric: MetricVerdict, t: Words) -> str:
    found = metric.difference
    if found is None:
        return ""
    return t(
        "history.news",
        metric=t(f"metric.{metric.name}"),
        change=signed(found.change),
        low=signed(found.ci_low),
        high=signed(found.ci_high),
        p=p_value(metric.adjusted_p),
    )


def _basis(history: History, t: Words) -> str:
    judged = history.judgement
    if judged.rule is BaselineReason.LEVEL_BEFORE:
        return _single_version(history, t)
    return t(
        "history.basis",
        candidate=plain(_versions(judged.candidate)),
        candidate_runs=len(judged.candidate_run_ids),
        baseline=plain(_versions(judged.baseline)),
        baseline_runs=len(judged.baseline_run_ids),
        rule=t(f"rule.{judged.rule.name.lower()}"),
        field=t.field(judged.field),
    )


def _single_version(history: History, t: Words) -> str:
    if not any(run.values for run in history.runs):
        return t("history.basis_timeless" if any(run.is_timeless for run in history.runs) else "history.basis_none")
    version = short(history.judgement.candidate)
    return t("history.basis_level", version=plain(version) if version else t("history.version_unknown"))


def _versions(names: str) -> str:
    return ", ".join(short(name) for name in names.split(", ") if name) or MISSING


def _powers(history: History, t: Words) -> Iterator[str]:
    """The power line, of the first metric whose spread is known."""
    metric = next((metric for metric in history.judgement.metrics if metric.power), None)
    if metric is None or metric.power is None:
        yield t("history.power_unknown")
        return
    found = metric.power
    values: dict[str, Any] = {
        "metric": t(f"metric.{metric.name}"),
        "cv": percent(found.cv),
        "change": percent(found.change),
        "runs": found.runs or found.runs_each,
    }
    key = "history.power" if found.runs else "history.power_each" if found.runs_each else "history.power_never"
    yield t(key, **values) + (f" {t('history.visible', change=percent(found.visible))}" if found.visible else "")


def _doubts(history: History, t: Words) -> Iterator[str]:
    if history.clock_doubts:
        yield t("history.clocks", runs=history.clock_doubts)
    timeless = sum(run.is_timeless for run in history.runs)
    if timeless:
        yield t("history.timeless", runs=timeless)
    others = sum(run.is_of_another_system for run in history.runs)
    if others:
        yield t("history.other_systems", runs=others)
    if history.judgement.other_builds:
        yield t("history.other_builds", runs=history.judgement.other_builds)
    if history.judgement.mixed:
        yield t("history.mixed", aspects=", ".join(t(f"board.aspect_{each}") for each in history.judgement.mixed))
    left_out = history.row.runs - history.row.valid
    if left_out:
        yield t("history.left_out", runs=left_out)


def _test_cells(metric: MetricVerdict, t: Words) -> dict[str, Any]:
    found = metric.difference
    interval = f"{signed(found.ci_low)} … {signed(found.ci_high)}" if found else MISSING
    name = t(f"metric.{metric.name}")
    return {
        t("compare.metric"): f"{name} ({metric.unit})" if metric.unit else name,
        t("history.outcome"): t(f"outcome.{metric.outcome.name.lower()}"),
        t("history.change"): signed(found.change) if found else MISSING,
        t("history.interval"): interval,
        t("history.adjusted"): p_value(metric.adjusted_p),
        "p": p_value(metric.p_value),
        t("history.candidate"): _side(metric.name, metric.candidate),
        t("history.baseline"): _side(metric.name, metric.baseline),
        t("history.test"): str(found.test) if found else MISSING,
        t("history.since"): metric.since or MISSING,
    }


def _side(name: str, side: Summary | None) -> str:
    """8,000 (n = 20, CV 0.4 %)."""
    if side is None:
        return MISSING
    cv = f", CV {percent(side.cv)}" if side.cv is not None else ""
    return f"{_value(name, side.mean)} (n = {side.count}{cv})"


def _value(name: str, value: float | None) -> str:
    return percent(value) if name in SHARES else number(value)


def _run_cells(run: HistoryRun, history: History, name: str, t: Words) -> dict[str, Any]:
    judged = history.judgement
    part = "baseline" if run.run_id in judged.baseline_run_ids else "candidate"
    value = run.values.get(name)
    counts = run.run_id in (*judged.baseline_run_ids, *judged.candidate_run_ids)
    return {
        t("board.run"): run.run_id,
        t("history.at"): when(run.at, "%Y-%m-%d %H:%M"),
        t.field("framework_version"): run.framework_version,
        _head(name, t): hundredfold(value) if name in SHARES else rounded(value),
        t("history.part"): t(f"history.{part}") if counts else MISSING,
        t("board.validity"): t(f"validity.{run.validity}"),
        t("board.reason"): _reason(run.left_out.get(name, ""), t),
        t("board.by"): run.created_by,
        t.field("engine_version"): run.engine_version,
        t.field("code_sha256"): short(run.code_sha256),
    }


def _head(name: str, t: Words) -> str:
    return f"{t(f'metric.{name}')} (%)" if name in SHARES else t(f"metric.{name}")


def _reason(reason: str, t: Words) -> str:
    """Why a number does not count: a sentence of ours, or the ids of the checks that failed."""
    key = f"history.{reason.replace(' ', '_')}"
    return t(key) if t.knows(key) else reason
