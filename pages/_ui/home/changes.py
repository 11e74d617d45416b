"""Which benchmarks changed against their baselines, the worst first, each as one sentence that can be sent on."""

from collections import Counter

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import change_digits, format_change, shorten_hash
from aisbench_core.model import Origin
from aisbench_core.warehouse.values.boards import mixed_or_unknown
from aisbench_core.warehouse.values.histories import (
    BaselineReason,
    MetricVerdict,
    Outcome,
    Regressions,
    RegressionVerdict,
    TrendVerdict,
)
from aisbench_core.warehouse.values.runs import RegionFacts
from pages._ui.configure import drafts
from pages._ui.history.choice import BADGES, find_distinctions, short_title
from pages._ui.shell import navigation
from pages._ui.shell.core import core, is_allowed
from pages._ui.shell.errors import escape_markdown, show_error
from pages._ui.shell.filters import region_key
from pages._ui.shell.words import t

# How many benchmarks of each outcome are shown; History has all.
LISTED = {Outcome.REGRESSION: 5, Outcome.IMPROVEMENT: 3, Outcome.NOT_ENOUGH: 3}


def show_changed(regressions: Regressions, region: RegionFacts) -> None:
    """The benchmarks that regressed, that improved, and that need more runs for an answer."""
    st.header(t("home.changed"))
    changed = [group for group in regressions.groups if _is_news(group.verdict)]
    if not changed:
        st.caption(t("home.nothing_changed", count=f"{regressions.total:,}"))
    listed = [
        group
        for outcome, most in LISTED.items()
        for group in [group for group in changed if group.verdict.outcome is outcome][:most]
    ]
    parameters = find_distinctions(regressions, region.region)
    for group in listed:
        _show_group(group, short_title(group.row, parameters), region)
    if withheld := [group.verdict.not_known for group in regressions.groups if group.verdict.withheld]:
        reasons = t.message(mixed_or_unknown(*withheld))
        st.caption(t("home.withheld", count=f"{len(withheld):,}", reasons=escape_markdown(reasons)))
    counts = Counter(group.verdict.outcome for group in regressions.groups)
    with st.container(horizontal=True):
        label = t("home.all_benchmarks", count=f"{regressions.total:,}")
        navigation.link_page(navigation.HISTORY, label, {"region": region_key(region)})
        for outcome in LISTED:
            if counts[outcome]:
                name = outcome.name.lower()
                label = f"{t(f'outcome.{name}')} ({counts[outcome]:,})"
                navigation.link_page(navigation.HISTORY, label, {"region": region_key(region), "outcome": name})


def _is_news(verdict: RegressionVerdict) -> bool:
    if verdict.outcome is Outcome.NOT_ENOUGH:
        return verdict.runs_missing is not None
    return verdict.outcome is not Outcome.NO_CHANGE


def _show_group(group: TrendVerdict, title: str, region: RegionFacts) -> None:
    verdict = group.verdict
    colour, icon = BADGES[verdict.outcome]
    with st.container(border=True, key=f"benchmark-{group.row.group.id}", gap=None):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(t(f"outcome.{verdict.outcome.name.lower()}"), color=colour, icon=icon)
            selection = {"region": region_key(region), "group": group.row.group.id}
            navigation.link_page(navigation.HISTORY, escape_markdown(title), selection)
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(describe_change(verdict))
            if verdict.runs_missing and group.row.group.origin is Origin.IMPORTED:
                # A launched run is never one of an imported row: only more imported ones help.
                navigation.link_page(navigation.IMPORT, t("home.import_missing"), {})
            elif verdict.runs_missing and is_allowed("SeriesService.launch"):
                label, run_id = t("home.launch_missing", runs=verdict.runs_missing), group.row.latest_run_id
                if st.button(label, key=f"missing-{group.row.group.id}", icon=":material/playlist_add:"):
                    _open_series(run_id, verdict.runs_missing)


def describe_change(verdict: RegressionVerdict) -> str:
    """What changed, by how much, and how many runs say so."""
    metric = verdict.decisive
    if verdict.outcome is Outcome.NOT_ENOUGH or metric is None or metric.difference is None:
        return t("home.unclear", **_format_versions(verdict), runs=verdict.runs_missing or 0)
    return _format_change(verdict, metric)


def _format_versions(verdict: RegressionVerdict) -> dict[str, str]:
    names = {"candidate": verdict.candidate, "baseline": verdict.baseline}
    return {side: escape_markdown(shorten_hash(name)) or t("history.version_unknown") for side, name in names.items()}


def _format_change(verdict: RegressionVerdict, metric: MetricVerdict) -> str:
    gap = metric.difference
    if gap is None or metric.baseline is None or metric.candidate is None:
        return ""
    values = {
        "runs": metric.candidate.count,
        "before": metric.baseline.count,
        **_format_versions(verdict),
        "metric": t(f"metric.{metric.name}"),
        "since": metric.since,
    }
    # Of one version, or within the newest one, there are no two versions to name.
    is_within = verdict.rule is BaselineReason.LEVEL_BEFORE or metric not in verdict.metrics
    is_one_sided = gap.ci_low * gap.ci_high > 0
    if metric.name == "throughput" and is_one_sided:
        key = ("home.slower" if gap.change < 0 else "home.faster") + ("_since" if is_within else "")
        low, high = sorted((abs(gap.ci_low), abs(gap.ci_high)))
        digits = change_digits(gap.change)
        interval = f"{100 * low:.{digits}f}–{100 * high:.{digits}f} %"
        return t(key, change=f"{100 * abs(gap.change):.{digits}f} %", interval=interval, **values)
    interval = f"{format_change(gap.ci_low, 1)} … {format_change(gap.ci_high, 1)}"
    key = "home.changed_since" if is_within else "home.metric_changed"
    return t(key, change=format_change(gap.change, 1), interval=interval, **values)


def _open_series(run_id: str, runs: int) -> None:
    """A form for a series of so many runs like this one."""
    try:
        original = core().clones.original(run_id)
        selection = {"new": "1", "draft": drafts.clone(original), "repeats": str(runs)}
    except AisbenchError as error:
        show_error(error)
        return
    if original.profile in core().regions.names():
        selection["profile"] = original.profile
    navigation.open_page(navigation.SERIES, selection)
