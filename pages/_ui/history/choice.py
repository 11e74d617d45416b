"""What the History page is asked for: which group, against what, and which metric; all of it in the URL."""

from collections.abc import Mapping

import streamlit as st

from aisbench_core.formats import clipped, short
from aisbench_core.model import Origin
from aisbench_core.warehouse.answers.histories import GroupRow, History, MetricHistory, VersionField
from aisbench_core.warehouse.values import BoardQuery, RegionFacts
from pages._ui.leaderboard.board import filter_by
from pages._ui.shell import address
from pages._ui.shell.core import asked, core
from pages._ui.shell.errors import plain
from pages._ui.shell.words import Words, words

MOST_GROUPS = 200
"""How many groups the picker offers, the latest ones; filters reach the others."""

ALONG = ("time", "version")
"""Along what a metric may be drawn."""

USUAL = "usual"
"""The choice of those who do not choose."""


def choose_history_query(kind: RegionFacts) -> BoardQuery:
    """The filters for groups, each of them kept in the URL."""
    known = asked(core().warehouse.facets, kind.region, kind.rehearsal)
    model, workload, flavor, nodes = st.columns(4)
    with model:
        models = filter_by("model", known.models)
    with workload:
        workloads = filter_by("workload", known.workloads)
    with flavor:
        flavors = filter_by("flavor", known.flavors)
    with nodes:
        node_counts = filter_by("nodes", known.node_counts)
    return BoardQuery(
        kind.region,
        rehearsal=kind.rehearsal,
        models=models,
        workloads=workloads,
        flavors=flavors,
        node_counts=node_counts,
        limit=MOST_GROUPS,
    )


def choose_group(query: BoardQuery) -> GroupRow | None:
    """One group of runs that answer the same question on the same hardware."""
    t = words()
    page = asked(core().warehouse.groups, query)
    if not page.rows:
        st.info(t("history.no_group"), icon=":material/search:")
        return None
    rows = {row.group.id: row for row in page.rows}
    prints = tuple(row.group.fingerprint for row in page.rows)
    apart = asked(core().warehouse.apart.parameters, query.region, prints, rehearsal=page.rehearsal)
    wanted = st.query_params.get("group", "")
    if wanted and wanted not in rows:
        st.info(t("history.unknown_group"), icon=":material/search:")
    chosen = st.selectbox(
        t("history.group"),
        help=t("history.group_help"),
        **address.option(
            "group",
            list(rows),
            next(iter(rows)),
            lambda each: _group_title(rows[each], apart, t),
            always=True,
            forgets=["against", "page"],
        ),
    )
    if page.total > len(rows):
        st.caption(t("history.more_groups", shown=len(rows), total=page.total))
    if clipped(rows[chosen].model) != rows[chosen].model:
        st.caption(plain(rows[chosen].model))
    return rows[chosen]


def selected_history(row: GroupRow) -> History:
    """The group's history, by the versions and against the baseline that the URL names."""
    t = words()
    left, middle, right = st.columns([2, 2, 2], vertical_alignment="bottom")
    with left:
        by = _choose_field(t)
    invalid = right.toggle(
        t("board.invalid"),
        help=t("board.invalid_help"),
        **address.flag("invalid", forgets=["page"]),
    )
    history = asked(core().warehouse.history, row, by, include_invalid=invalid)
    with middle:
        against = _choose_baseline(history, t)
    if against == USUAL:
        return history
    return asked(core().warehouse.history, row, history.field, (against,), include_invalid=invalid)


def choose_metric(history: History) -> MetricHistory | None:
    """One metric of those that any run has, and along what it is drawn."""
    t = words()
    metrics = {metric.name: metric for metric in history.metrics}
    if not metrics:
        st.info(t("history.nothing_measured"), icon=":material/info:")
        return None
    left, right = st.columns(2)
    chosen = left.selectbox(
        t("history.metric"),
        **address.option("metric", list(metrics), next(iter(metrics)), lambda each: t(f"metric.{each}"), always=True),
    )
    right.radio(
        t("history.along"),
        horizontal=True,
        **address.option("along", ALONG, ALONG[0], lambda each: t(f"history.along_{each}")),
    )
    return metrics[chosen]


def _choose_field(t: Words) -> VersionField | None:
    options = [USUAL, *VersionField]
    chosen = st.selectbox(
        t("history.by"),
        help=t("history.by_help"),
        **address.option(
            "by",
            options,
            USUAL,
            lambda each: t("history.by_usual") if each == USUAL else t.field(each),
            forgets=["against"],
        ),
    )
    return None if chosen == USUAL else VersionField(chosen)


def _choose_baseline(history: History, t: Words) -> str:
    versions = list(dict.fromkeys(run.version(history.field) for run in history.runs if run.values))
    options = [USUAL, *(version for version in versions if version)]
    chosen: str = st.selectbox(
        t("history.against"),
        help=t("history.against_help"),
        **address.option(
            "against", options, USUAL, lambda each: t("history.against_usual") if each == USUAL else short(each)
        ),
    )
    return chosen


def _group_title(row: GroupRow, apart: Mapping[str, str], t: Words) -> str:
    group = row.group
    parts = [
        clipped(row.model),
        clipped(apart.get(group.fingerprint, ""), 80),
        group.flavor or group.pool_id,
        t("runs.size", nodes=group.node_count, cards=group.cards_per_node),
        t("board.synthetic") if group.synthetic_data else row.dataset,
        t(f"origin.{group.origin}"),
        t("history.group_claimed" if group.origin is Origin.IMPORTED else "history.group_runs", valid=row.valid),
        group.fingerprint[:8],
    ]
    return " · ".join(part for part in parts if part)
