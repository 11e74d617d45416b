"""The choices of the History page: which group, against which baseline, and which metric."""

from collections.abc import Mapping, Sequence
from typing import Literal

import streamlit as st

from aisbench_core.base.formats import clip_text, format_change, nodes_and_cards, shorten_hash
from aisbench_core.model import Origin
from aisbench_core.warehouse.measures.regression import TRACKED
from aisbench_core.warehouse.values.histories import (
    History,
    MetricHistory,
    Outcome,
    RegressionVerdict,
    TrendRow,
    VersionField,
)
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.warehouse.values.trend_verdicts import Regressions
from pages._ui.shell import url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.filters import choose_row
from pages._ui.shell.formats import whole_name
from pages._ui.shell.words import t

Colour = Literal["red", "green", "gray", "orange"]

MAX_GROUPS = 200  # how many groups the picker offers, the latest ones; filters reach the others
SIGNS = {Outcome.REGRESSION: "▼", Outcome.IMPROVEMENT: "▲", Outcome.NO_CHANGE: "✓"}  # in the browser's tab
BADGES: dict[Outcome, tuple[Colour, str]] = {  # a colour and a sign, beside the outcome's word
    Outcome.REGRESSION: ("red", ":material/trending_down:"),
    Outcome.IMPROVEMENT: ("green", ":material/trending_up:"),
    Outcome.NO_CHANGE: ("gray", ":material/trending_flat:"),
    Outcome.NOT_ENOUGH: ("orange", ":material/hourglass_empty:"),
}
OUTCOME = "outcome"  # parameter of the URL: verdicts
TRACKED_NAMES = tuple(metric.name for metric in TRACKED)
AXES = ("time", "version")  # along what a metric may be drawn


def choose_group(query: BoardQuery) -> TrendRow | None:
    """One group of runs: the same benchmark configuration on the same hardware."""
    page = run_cached(core().warehouse.trends.list_rows, query)
    if not page.rows:
        st.info(t("history.no_group"), icon=":material/search:")
        return None
    fingerprints = tuple(row.group.fingerprint for row in page.rows)
    parameters = run_cached(
        core().warehouse.board.find_distinctions, query.region, fingerprints, rehearsal=page.rehearsal
    )
    _follow_earlier_id(page.rows)
    row = choose_row(
        "group",
        t("history.group"),
        {row.group.id: row for row in page.rows},
        lambda row: group_title(row, parameters),
        unknown=t("history.unknown_group"),
        resets=["against", "page"],
        help_text=t("history.group_help"),
    )
    if page.total > len(page.rows):
        st.caption(t("history.more_groups", shown=len(page.rows), total=page.total))
    for whole in (whole_name(row.model), whole_name(parameters.get(row.group.fingerprint, ""), 80)):
        if whole:
            st.caption(whole)
    return row


def _follow_earlier_id(rows: Sequence[TrendRow]) -> None:
    """Links and saved views of before fingerprints covered the whole spec lead to the group of today."""
    named = st.query_params.get("group", "")
    if not named or named in {row.group.id for row in rows}:
        return
    if today := run_cached(core().warehouse.trends.find_first_ids, rows).get(named):
        st.query_params["group"] = today


def name_metric(name: str) -> str:
    """What a metric is called: `name:unit` is one that the runs named."""
    return name.partition(":")[0] if ":" in name else t(f"metric.{name}")


def read_named(known: Sequence[str]) -> str:
    """The named metric of the URL, which may leave the unit out; empty where it is none of those of the group."""
    asked = st.query_params.get("metric", "")
    found = next((name for name in known if asked and asked in (name, name.partition(":")[0])), "")
    if found and asked not in TRACKED_NAMES:
        st.query_params["metric"] = found
        return found
    return ""


def selected_history(row: TrendRow, metric: str) -> History:
    """The group's history, by the versions and against the baseline that the URL names; `metric`: a named one."""
    left, middle, right = st.columns([2, 2, 2], vertical_alignment="bottom")
    field = url.choose_option(
        left.selectbox,
        "by",
        t("history.by"),
        [None, *VersionField],
        lambda field: t.field(field) if field else t("history.by_usual"),
        resets=["against"],
        help=t("history.by_help"),
    )
    with right:
        invalid = url.input_switch("invalid", t("board.invalid"), resets=["page"], help=t("board.invalid_help"))
    history = run_cached(core().warehouse.trends.fetch_history, row, field, include_invalid=invalid, metric=metric)
    versions = dict.fromkeys(run.version(history.field) for run in history.runs if run.drawn)
    baseline = url.choose_option(
        middle.selectbox,
        "against",
        t("history.against"),
        [None, *filter(None, versions)],
        lambda version: shorten_hash(version) if version else t("history.against_usual"),
        help=t("history.against_help"),
    )
    if baseline is None:
        return history
    fetch = core().warehouse.trends.fetch_history
    return run_cached(fetch, row, history.field, (baseline,), include_invalid=invalid, metric=metric)


def choose_metric(history: History, known: Sequence[str]) -> MetricHistory | None:
    """One metric of those that any run has, or of the `known` ones that runs named, and along what it is drawn."""
    metrics = {metric.name: metric for metric in history.metrics}
    if not metrics:
        st.info(t("history.nothing_measured"), icon=":material/info:")
        return None
    left, right = st.columns(2)
    label = t("history.metric")
    own = TRACKED_NAMES if known and not metrics.keys() <= {*TRACKED_NAMES} else metrics
    name = url.choose_option(left.selectbox, "metric", label, [*own, *known], _describe_metric, always=True)
    label = t("history.along")
    url.choose_option(right.radio, "along", label, AXES, lambda axis: t(f"history.along_{axis}"), horizontal=True)
    return metrics.get(name)


def _describe_metric(name: str) -> str:
    return t.with_unit(name_metric(name), name.partition(":")[2])


def find_distinctions(regressions: Regressions, region: str) -> Mapping[str, str]:
    """What distinguishes configurations of one model, by fingerprint: from all groups, not from those shown only."""
    fingerprints = tuple(group.row.group.fingerprint for group in regressions.groups)
    return run_cached(core().warehouse.board.find_distinctions, region, fingerprints, rehearsal=regressions.rehearsal)


def short_title(row: TrendRow, parameters: Mapping[str, str]) -> str:
    """What a group measures, in few words; its link leads to the whole."""
    group = row.group
    parts = [
        clip_text(row.model),
        clip_text(parameters.get(group.fingerprint, ""), 40),
        group.flavor or group.pool_id,
        nodes_and_cards(group.node_count, group.cards_per_node),
        t("board.synthetic") if group.synthetic_data else row.dataset,
        t("origin.imported") if group.origin is Origin.IMPORTED else "",
    ]
    return " · ".join(part for part in parts if part)


def group_title(row: TrendRow, parameters: Mapping[str, str]) -> str:
    """One line that distinguishes a group from all others; `parameters`: see `Warehouse.distinctions`."""
    group = row.group
    parts = [
        clip_text(row.model),
        clip_text(parameters.get(group.fingerprint, ""), 80),
        group.flavor or group.pool_id,
        t("runs.size", nodes=group.node_count, cards=group.cards_per_node),
        t("board.synthetic") if group.synthetic_data else row.dataset,
        t(f"origin.{group.origin}"),
        t("history.group_claimed" if group.origin is Origin.IMPORTED else "history.group_runs", valid=row.valid),
        group.fingerprint[:8],
    ]
    return " · ".join(part for part in parts if part)


def change_of(regression_verdict: RegressionVerdict) -> str:
    """By how much the newest version changed; the metric, unless it is throughput."""
    metric = regression_verdict.decisive
    name = name_metric(metric.name) if metric and metric.name != "throughput" else ""
    return " ".join(
        filter(None, (format_change(metric.difference.change, 1) if metric and metric.difference else "", name))
    )
