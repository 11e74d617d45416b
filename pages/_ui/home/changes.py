"""What changed against its baseline: a line for each cause, however many configurations it slowed down."""

from collections import Counter
from datetime import datetime

import streamlit as st

from aisbench_core.base.formats import change_digits, clip_text, format_change, shorten_hash
from aisbench_core.model import Origin
from aisbench_core.warehouse.measures.shared_changes import SharedChange
from aisbench_core.warehouse.values.boards import mixed_or_unknown
from aisbench_core.warehouse.values.histories import BaselineReason, MetricVerdict, Outcome, RegressionVerdict
from aisbench_core.warehouse.values.runs import RegionFacts
from aisbench_core.warehouse.values.trend_verdicts import Regressions
from pages._ui.history.choice import find_distinctions, short_title
from pages._ui.home.drafting import open_draft
from pages._ui.home.lines import create_actions, create_line, create_lines, show_sparkline
from pages._ui.layout import LINKS
from pages._ui.shell import navigation
from pages._ui.shell.core import core, is_allowed
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

# How many lines of each outcome are shown; History has all.
LISTED = {Outcome.REGRESSION: 4, Outcome.IMPROVEMENT: 2, Outcome.NOT_ENOUGH: 1}

ICONS = {
    Outcome.REGRESSION: ":material/trending_down:",
    Outcome.IMPROVEMENT: ":material/trending_up:",
    Outcome.NOT_ENOUGH: ":material/question_mark:",
}
COLOURS = {Outcome.REGRESSION: "red", Outcome.IMPROVEMENT: "green", Outcome.NOT_ENOUGH: "gray"}
MIN_DRAWN = 3  # values of a sparkline


def show_changed(regressions: Regressions, changes: tuple[SharedChange, ...], region: RegionFacts) -> None:
    """What regressed, what improved, and what needs more runs for an answer."""
    if not changes:
        st.caption(t("home.nothing_changed"))
    parameters = find_distinctions(regressions, region.region)
    listed = [
        change for outcome, most in LISTED.items() for change in [c for c in changes if c.outcome is outcome][:most]
    ]
    with create_lines("changes"):
        for change in listed:
            _show_change(change, short_title(change.first.row, parameters), region)
    _show_links(regressions, region)


def _show_links(regressions: Regressions, region: RegionFacts) -> None:
    if withheld := [group.verdict.not_known for group in regressions.groups if group.verdict.withheld]:
        reasons = t.message(mixed_or_unknown(*withheld))
        st.caption(t("home.withheld", count=f"{len(withheld):,}", reasons=escape_markdown(reasons)))
    counts = Counter(group.verdict.outcome for group in regressions.groups)
    with st.container(horizontal=True, key=f"{LINKS}-changes"):
        label = t("home.all_benchmarks", count=f"{regressions.total:,}")
        navigation.link_page(navigation.HISTORY, label, {"region": region_key(region)})
        for outcome in LISTED:
            if counts[outcome]:
                name = outcome.name.lower()
                label = f"{t(f'outcome.{name}')} ({counts[outcome]:,})"
                navigation.link_page(navigation.HISTORY, label, {"region": region_key(region), "outcome": name})


def _show_change(change: SharedChange, title: str, region: RegionFacts) -> None:
    verdict, row = change.first.verdict, change.first.row
    key = f"{change.outcome.name.lower()}-{row.group.id}"
    name, text, picture, when, actions = create_line(key, has_picture=True)
    with name:
        history = {"region": region_key(region), "group": row.group.id}
        sentence = f"{escape_markdown(title)} \n\n{describe_change(verdict)}"
        label = f"**{escape_markdown(clip_text(row.model))}** · {_format_pair(verdict)}"
        navigation.link_page(navigation.HISTORY, label, history, icon=ICONS[change.outcome], help_text=sentence)
    text.markdown(f":{COLOURS[change.outcome]}[{_format_size(change)}]")
    metric = change.metric
    if metric and metric.name == "throughput" and len(change.first.recent) >= MIN_DRAWN:
        show_sparkline(picture, change.first.recent, t("home.sparkline", count=len(change.first.recent)))
    if not _can_launch(change):  # its button says how many runs are missing
        when.caption(_format_when(change))
    with create_actions(actions):
        _show_actions(change)


def _format_pair(verdict: RegressionVerdict) -> str:
    """`r2.0 vs r1.10`, or the version alone where something changed within it."""
    names = _format_versions(verdict)
    if verdict.candidate == verdict.baseline or verdict.rule is BaselineReason.LEVEL_BEFORE:
        return names["baseline"]
    return t("home.pair", **names)


def _format_size(change: SharedChange) -> str:
    nodes = ", ".join(str(count) for count in change.node_counts)
    where = t("home.on_nodes" if change.node_counts != (1,) else "home.on_node", nodes=nodes)
    if change.changes is None or change.metric is None:
        return f"{t('home.undecided')} {where}"
    low, high = change.changes
    digits = change_digits(low)
    ends = dict.fromkeys(format_change(end, digits) for end in (low, high))
    numbers = " … ".join(end.removesuffix(" %") if index < len(ends) - 1 else end for index, end in enumerate(ends))
    metric = "" if change.metric.name == "throughput" else f"{t(f'metric.{change.metric.name}')} "
    doubt = f" {t('home.undecided')}" if change.outcome is Outcome.NOT_ENOUGH else ""
    return f"{metric}{numbers}{doubt} {where}"


def _format_when(change: SharedChange) -> str:
    if change.runs_missing:
        low, high = change.runs_missing
        return t("home.runs_decide" if low == high == 1 else "home.more_decide", runs=_format_range(low, high))
    return t("home.since", day=_format_day(change.since)) if change.since else ""


def _format_range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _format_day(at: datetime) -> str:
    this_year = format_time(at, "%Y") == format_time(core().clock(), "%Y")
    return format_time(at, t("home.day") if this_year else "%Y-%m-%d")


def _show_actions(change: SharedChange) -> None:
    verdict, row = change.first.verdict, change.first.row
    missing = verdict.runs_missing if change.outcome is Outcome.NOT_ENOUGH else None
    if missing is None:
        compared = [*verdict.baseline_run_ids[-1:], *verdict.candidate_run_ids[-1:]]
        if len(compared) == 2:
            selection = {"ids": compared, "by": "rows"}
            navigation.link_page(navigation.COMPARE, t("home.compare"), selection)
    elif row.group.origin is Origin.IMPORTED:
        if is_allowed("ResultImport.save"):
            navigation.link_page(navigation.IMPORT, t("home.import_missing"), {})
    elif _can_launch(change):
        label = t("home.launch_missing", runs=missing)
        if st.button(label, key=f"missing-{row.group.id}", icon=":material/playlist_add:"):
            open_draft(row.latest_run_id, navigation.SERIES, {"new": "1", "repeats": str(missing)})


def _can_launch(change: SharedChange) -> bool:
    """Whether the missing runs are launched with a click; a launched run is never one of an imported row."""
    is_missing = change.outcome is Outcome.NOT_ENOUGH and change.first.verdict.runs_missing is not None
    return is_missing and change.first.row.group.origin is not Origin.IMPORTED and is_allowed("SeriesService.launch")


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
