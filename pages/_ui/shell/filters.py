"""Filters that pages of results share: the region, facets, and one group of runs; the URL has all of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.base.formats import clip_text
from aisbench_core.warehouse.values.runs import THROUGHPUT, BoardQuery, RegionFacts, RunRow
from pages._ui.shell import url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import whole_name
from pages._ui.shell.navigation import COLUMN_PARAMETERS
from pages._ui.shell.words import t

Row = TypeVar("Row")

# Parameters of the URL, and the field of a query, and of the region's facets, that each of them filters.
FACETS = {
    "model": "models",
    "workload": "workloads",
    "version": "framework_versions",
    "flavor": "flavors",
    "nodes": "node_counts",
}


# Texts of filters that are not board.<name>.
LABELS = {
    **dict.fromkeys(COLUMN_PARAMETERS, "run_rows.columns"),
    "ruleset": "validity.ruleset",
    "worth": "board.validity",
    "state": "runs.state",
    "days": "runs.age",
    "sort": "listing.sort",
}


def choose_region(regions: Sequence[RegionFacts], *, width: int = 350, **layout: Any) -> RegionFacts:
    """One region, and either its measurements or its rehearsals: they are never shown together."""
    by_key = {region_key(region): region for region in regions}

    def title(key: str) -> str:
        region = by_key[key]
        rehearsal = f" · {t('run_rows.rehearsal')}" if region.rehearsal else ""
        return t("board.kind", region=region.region, runs=f"{region.runs:,}") + rehearsal

    label = t("board.region")
    layout = {"always": True, "resets": ["page"], **layout, "width": width}
    return by_key[url.choose_option(st.selectbox, "region", label, by_key, title, **layout)]


def region_key(region: RegionFacts | RunRow | BoardQuery) -> str:
    """How the URL names a region's measurements, or its rehearsals."""
    return f"{region.region}~rehearsal" if region.rehearsal else region.region


def show_rehearsal(region: RegionFacts) -> None:
    """A warning over numbers that are not measurements."""
    if region.rehearsal:
        st.warning(t("board.rehearsal_long", region=escape_markdown(region.region)), icon=":material/theater_comedy:")


def filter_bar() -> DeltaGenerator:
    """One line in a window of 1280 pixels, so that results stand above the fold: what is chosen labels each control."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="filter-bar")


def choose_folded_facets(region: RegionFacts, *names: str, limit: int) -> BoardQuery:
    """As `choose_facets`, behind a button; `show_active_filters` says which ones filter."""
    with st.popover(t("board.filters"), icon=":material/filter_alt:"):
        return choose_facets(region, *names, limit=limit, stacked=True)


def show_active_filters(*names: str) -> None:
    """What a list is filtered by, since the filters themselves are behind a button."""
    ignored = url.read_missing()
    active = [
        (name, value) for name in names for value in st.query_params.get_all(name) if value not in ignored.get(name, ())
    ]
    if not active:
        return
    with st.container(horizontal=True, key="active-filters"):
        for name, value in active:
            label = format_filter_label(name)
            text = value[:8] if name == "benchmark" else clip_text(value)
            shown = escape_markdown(label if name == "invalid" else f"{label}: {text}")
            st.badge(shown, color="blue", help=value if name == "benchmark" else whole_name(value))


def format_filter_label(name: str) -> str:
    """What the filter of this parameter is called."""
    text_id = LABELS.get(name, f"board.{name}")
    return t(text_id) if t.knows(text_id) else t.field(name)


def choose_facets(region: RegionFacts, *names: str, limit: int = 50, stacked: bool = False) -> BoardQuery:
    """A query of the region's runs with a filter for each of these FACETS, side by side or one above the other."""
    facets = run_cached(core().warehouse.facets.fetch_values, region.region, region.rehearsal)
    values: dict[str, Any] = {}
    columns = [st.container()] * len(names) if stacked else st.columns(len(names))
    for column, name in zip(columns, names, strict=True):
        with column:
            values[FACETS[name]] = filter_by(name, getattr(facets, FACETS[name]))
    return replace(BoardQuery(region.region, rehearsal=region.rehearsal, limit=limit), **values)


def choose_ranking_metric(query: BoardQuery) -> BoardQuery:
    """The metric by which rows are ranked in place of the primary one of their workload."""
    known = list_metric_names(query)
    name = choose_metric_name(["", *([THROUGHPUT] if known else []), *known], resets=["page", "sort", "order"])
    return replace(query, metric=name)


def show_dispute(query: BoardQuery) -> None:
    """That runs disagree on which way the metric of the query is better."""
    known = run_cached(core().warehouse.facets.list_metrics, query.region, query.rehearsal) if query.metric else ()
    if any(metric.is_disputed for metric in known if metric.name == query.metric):
        st.caption(t("board.disputed", metric=escape_markdown(query.metric)))


def choose_metric_of(names: Sequence[str], **layout: Any) -> str:
    """One of these metrics, or the throughput, which is empty."""
    name = choose_metric_name([THROUGHPUT, *(name for name in names if name != THROUGHPUT)], **layout)
    return "" if name == THROUGHPUT else name


def list_metric_names(query: BoardQuery) -> list[str]:
    """The metrics that runs of the query's region have."""
    return [metric.name for metric in run_cached(core().warehouse.facets.list_metrics, query.region, query.rehearsal)]


def choose_metric_name(names: Sequence[str], **layout: Any) -> str:
    """One of these metrics, by default the first; nothing is drawn without a choice, but a link may name one."""
    if len(names) == 1 and "metric" not in st.query_params:
        return names[0]
    texts = {"": t("board.metric_primary"), THROUGHPUT: t("metric.throughput")}
    label = t("board.metric")
    return str(url.choose_option(st.selectbox, "metric", label, names, lambda name: texts.get(name, name), **layout))


def filter_by(name: str, options: Sequence[Any], help_text: str | None = None) -> tuple[Any, ...]:
    """One filter with any number of choices; none chosen filters nothing."""
    label, placeholder = t(f"board.{name}"), t("board.every")
    return tuple(url.choose_options(name, label, options, resets=["page"], placeholder=placeholder, help=help_text))


def choose_row(
    key: str,
    label: str,
    rows: Mapping[str, Row],
    title: Callable[[Row], str],
    *,
    unknown: str,
    resets: Collection[str],
    help_text: str,
) -> Row:
    """One of at least one row, by its id; `unknown` is said where the URL names a row that is not among them."""
    if st.query_params.get(key, "") not in ("", *rows):
        st.info(unknown, icon=":material/search:")
    row_id = url.choose_option(
        st.selectbox, key, label, rows, lambda row_id: title(rows[row_id]), always=True, resets=resets, help=help_text
    )
    return rows[row_id]
