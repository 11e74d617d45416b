"""The choices of the Scaling page: which configuration, which versions and hardware, and up to how many nodes."""

from collections.abc import Mapping, Sequence

import streamlit as st

from aisbench_core.base.formats import clip_text
from aisbench_core.domain.authoring.number_ranges import NumberRange
from aisbench_core.model import Origin
from aisbench_core.warehouse.values.boards import describe_hardware
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from aisbench_core.warehouse.values.scalings import (
    ConfigurationRow,
    Scaling,
    ScalingQuery,
    describe_systems,
    newest_curves,
)
from pages._ui.shell import url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.filters import choose_row, region_key
from pages._ui.shell.formats import whole_name
from pages._ui.shell.tables import without_prefix
from pages._ui.shell.words import t

# How many configurations the picker offers, those on most node counts; filters reach the others.
MAX_CONFIGURATIONS = 200

METRIC_WIDTH = 215

MAX_CURVES = 4  # more lines than this in one picture cannot be told apart

NODES = NumberRange(1, 100_000, is_whole=True)


def open_run() -> None:
    """Replace `?run=` by the configuration and the curve on which the first of the named runs lies that is on one.

    Says why where there is none."""
    run_ids = st.query_params.get_all("run")
    if not run_ids:
        return
    del st.query_params["run"]
    rows = [row for run_id in run_ids if (row := run_cached(core().warehouse.runs.find_row, run_id))]
    for row in rows:
        if (curve := run_cached(core().warehouse.scaling.fetch_curve, row)).points:
            for name, value in selection_of(row, curve).items():
                st.query_params[name] = value
            return
    if rows:
        st.info(t("scaling.no_curve", run=escape_markdown(rows[0].run_id)), icon=":material/info:")
    else:
        st.info(t("scaling.no_run", run=escape_markdown(run_ids[0])), icon=":material/search:")


def selection_of(row: RunRow, curve: Scaling) -> dict[str, str]:
    """The parameters of the page that shows a run's curve."""
    return {"region": region_key(row), "question": BenchmarkConfiguration.of(row).id, "curve": curve.query.id}


def choose_configuration(query: BoardQuery) -> ConfigurationRow | None:
    """One benchmark configuration that was measured in cluster mode."""
    page = run_cached(core().warehouse.scaling.list_configurations, query)
    if not page.rows:
        st.info(t("scaling.no_configuration"), icon=":material/search:")
        return None
    fingerprints = tuple(row.configuration.fingerprint for row in page.rows)
    parameters = run_cached(
        core().warehouse.board.find_distinctions, query.region, fingerprints, rehearsal=page.rehearsal
    )
    row = choose_row(
        "question",
        t("scaling.configuration"),
        {row.configuration.id: row for row in page.rows},
        lambda row: _build_title(row, parameters),
        unknown=t("scaling.unknown_configuration"),
        resets=["curve"],
        help_text=t("scaling.configuration_help"),
    )
    if page.total > len(page.rows):
        st.caption(t("scaling.more_configurations", shown=len(page.rows), total=page.total))
    distinction = parameters.get(row.configuration.fingerprint, "") if row else ""
    for whole in (whole_name(row.model), whole_name(distinction, 80), whole_name(row.workload)) if row else ():
        if whole:
            st.caption(whole)
    return row


def choose_curves(scalings: Sequence[Scaling], names: Mapping[str, str]) -> list[Scaling]:
    """Up to MAX_CURVES versions and kinds of hardware; unless chosen, the newest version of each hardware."""
    curves = {curve.query.id: curve for curve in scalings if curve.points}
    _update_old_ids(curves)
    label, help_text = t("scaling.curves", most=MAX_CURVES), t("scaling.curves_help")
    default = [curve.query.id for curve in newest_curves([*curves.values()])][:MAX_CURVES]
    chosen = url.choose_options(
        "curve", label, [*curves], names.__getitem__, default=default, most=MAX_CURVES, help=help_text
    )
    return [curves[curve_id] for curve_id in chosen]


def choose_nodes(curves: Sequence[Scaling]) -> int:
    """The node count to predict up to; twice the largest that was measured, unless a valid one is entered."""
    default = 2 * max(curve.largest for curve in curves)
    return int(url.input_number("at", t("scaling.ahead_to"), default, NODES).value)


def curve_names(curves: Sequence[Scaling]) -> Mapping[str, str]:
    """Version and hardware of each curve by its id; curves that are alike in both are named with their systems, too."""
    by_id = describe_systems(curve.query for curve in curves)
    flavors = without_prefix([describe_hardware(curve.query) for curve in curves])
    return {
        curve.query.id: _curve_name(curve.query, flavor, by_id[curve.query.id])
        for curve, flavor in zip(curves, flavors, strict=True)
    }


def _curve_name(query: ScalingQuery, flavor: str, system: str) -> str:
    parts = (
        query.framework_version,
        flavor,
        system,
        query.definition,
        t("scaling.cards", cards=query.cards_per_node),
        _label_imported(query.origin),
    )
    return " · ".join(part for part in parts if part)


def _update_old_ids(curves: Mapping[str, Scaling]) -> None:
    """Links from before curves were separated by system name one id for what are several curves now."""
    named = st.query_params.get_all("curve")
    successors = {
        old_id: [curve_id for curve_id, curve in curves.items() if curve.query.id_of_any_system == old_id]
        for old_id in named
    }
    if any(successors.values()):
        st.query_params["curve"] = [curve_id for old_id in named for curve_id in successors[old_id] or [old_id]]


def _build_title(row: ConfigurationRow, parameters: Mapping[str, str]) -> str:
    configuration = row.configuration
    key = "scaling.node_counts_claimed" if configuration.origin is Origin.IMPORTED else "scaling.node_counts"
    parts = [
        clip_text(row.model),
        clip_text(parameters.get(configuration.fingerprint, ""), 80),
        clip_text(row.workload) if row.workload != row.model else "",
        t("board.synthetic") if configuration.synthetic_data else row.dataset,
        t(key, counts=row.node_counts, runs=row.runs),
        _label_imported(configuration.origin),
        configuration.fingerprint[:8],
    ]
    return " · ".join(part for part in parts if part)


def _label_imported(origin: Origin) -> str:
    return t("origin.imported") if origin is Origin.IMPORTED else ""
