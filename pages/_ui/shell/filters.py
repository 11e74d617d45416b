"""Filters that pages of results share: the region, facets, and one group of runs; the URL has all of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st

from aisbench_core.warehouse.values import BoardQuery, RegionFacts, RunRow
from pages._ui.shell import url
from pages._ui.shell.core import cached, core
from pages._ui.shell.errors import plain
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


def choose_region(regions: Sequence[RegionFacts], *, width: int = 350, **layout: Any) -> RegionFacts:
    """One region, and either its measurements or its rehearsals: they are never shown together."""
    by_key = {region_key(region): region for region in regions}

    def title(key: str) -> str:
        region = by_key[key]
        rehearsal = f" · {t('board.rehearsal')}" if region.rehearsal else ""
        return t("board.kind", region=region.region, runs=f"{region.runs:,}") + rehearsal

    label = t("board.region")
    layout = {**layout, "always": True, "resets": ["page"], "width": width}
    return by_key[url.choice(st.selectbox, "region", label, by_key, title, **layout)]


def region_key(region: RegionFacts | RunRow | BoardQuery) -> str:
    """How the URL names a region's measurements, or its rehearsals."""
    return f"{region.region}~rehearsal" if region.rehearsal else region.region


def show_rehearsal(region: RegionFacts) -> None:
    """A warning over numbers that are not measurements."""
    if region.rehearsal:
        st.warning(t("board.rehearsal_long", region=plain(region.region)), icon=":material/theater_comedy:")


def choose_facets(region: RegionFacts, *names: str, limit: int = 50, stacked: bool = False) -> BoardQuery:
    """A query of the region's runs with a filter for each of these FACETS, side by side or one above the other."""
    facets = cached(core().warehouse.facets, region.region, region.rehearsal)
    values: dict[str, Any] = {}
    columns = [st.container()] * len(names) if stacked else st.columns(len(names))
    for column, name in zip(columns, names, strict=True):
        with column:
            values[FACETS[name]] = filter_by(name, getattr(facets, FACETS[name]))
    return replace(BoardQuery(region.region, rehearsal=region.rehearsal, limit=limit), **values)


def filter_by(name: str, options: Sequence[Any], help_text: str | None = None) -> tuple[Any, ...]:
    """One filter with any number of choices; none chosen filters nothing."""
    label, placeholder = t(f"board.{name}"), t("board.every")
    return tuple(url.choices(name, label, options, resets=["page"], placeholder=placeholder, help=help_text))


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
    row_id = url.choice(
        st.selectbox, key, label, rows, lambda row_id: title(rows[row_id]), always=True, resets=resets, help=help_text
    )
    return rows[row_id]
