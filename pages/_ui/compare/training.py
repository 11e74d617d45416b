"""The trainings of the compared runs in one chart: loss, throughput or any tag, by step or time."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import altair as alt
import streamlit as st

from aisbench_core.base.errors import DamagedLedger, RunNotFound
from aisbench_core.running.progress.overlaid_curves import (
    MOST_SMOOTH,
    CurveAxis,
    LoggedQuantity,
    OverlaidCurve,
    RunTraining,
    list_quantities,
    overlay_curves,
)
from aisbench_core.warehouse.values.compared import Comparison
from pages._ui.compare.names import names_of
from pages._ui.shell import charts, url
from pages._ui.shell.core import core
from pages._ui.shell.words import t

CURVE, AXIS, LOG, SMOOTH = "curve", "x", "log", "smooth"  # names of the URL's parameters
MAX_DRAWN = 8  # runs: more lines cannot be told apart
HEIGHT = 400  # pixels, with the axis and the legend
SMOOTHINGS = (0.0, 0.3, 0.6, 0.9, MOST_SMOOTH)


def show_trainings(comparison: Comparison) -> None:
    """The curves of the runs that have any, read when they are unfolded; nothing where no run has."""
    found = [run.run_id for run in comparison.runs[:MAX_DRAWN] if _has_training(run.run_id)]
    if not found:
        return
    folded = st.expander(
        t("trainings.title"),
        icon=":material/show_chart:",
        expanded=CURVE in st.query_params,
        key="trainings",
        on_change="rerun",  # event files can have millions of points
    )
    if folded.open:
        with folded:
            _show_curves(comparison, found)


def _has_training(run_id: str) -> bool:
    """Nothing is known of the training of other consoles' runs, nor while the ledger is damaged, as the menu says."""
    with suppress(RunNotFound, DamagedLedger):
        return core().files.has_training(run_id)
    return False


def _show_curves(comparison: Comparison, found: Sequence[str]) -> None:
    trainings = {run_id: _read_training(run_id) for run_id in found}
    if quantities := list_quantities(trainings):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            quantity = url.choose_option(
                st.selectbox, CURVE, t("trainings.quantity"), quantities, _name_quantity, always=True, width=260
            )
            axis = url.choose_option(
                st.selectbox, AXIS, t("trainings.axis"), CurveAxis, lambda one: t(f"trainings.by_{one}"), width=200
            )
            smoothing = url.choose_option(
                st.selectbox, SMOOTH, t("trainings.smoothing"), SMOOTHINGS, _name_smoothing, width=150
            )
            is_log = url.input_switch(LOG, t("trainings.log"))
        curves = overlay_curves(trainings, quantity, axis, smoothing)
        names = names_of(comparison)
        title = _name_axis(quantity, comparison)
        charts.draw_chart(_draw_curves(curves, names, axis, title, is_log), text=t("trainings.chart", quantity=title))
        if len(names) > MAX_DRAWN:
            st.caption(t("trainings.first", count=MAX_DRAWN))
        elif without := [name for run_id, name in names.items() if run_id not in {curve.run_id for curve in curves}]:
            st.caption(t("trainings.without", runs=", ".join(without)))
    else:
        st.caption(t("trainings.none"))


def _read_training(run_id: str) -> RunTraining:
    files = core().files
    return RunTraining(files.training_points(run_id), files.curves(run_id))


def _name_quantity(quantity: str) -> str:
    return t(f"trainings.{quantity}") if quantity in list(LoggedQuantity) else quantity


def _name_axis(quantity: str, comparison: Comparison) -> str:
    if quantity == LoggedQuantity.THROUGHPUT:
        units = dict.fromkeys(run.throughput_unit for run in comparison.runs)
        return t("charts.throughput", unit=", ".join(units))
    return _name_quantity(quantity)


def _name_smoothing(weight: float) -> str:
    return f"{weight:g}" if weight else t("trainings.not_smoothed")


def _draw_curves(
    curves: Sequence[OverlaidCurve], names: Mapping[str, str], axis: CurveAxis, title: str, is_log: bool
) -> charts.Drawing:
    rows = [
        {"run": names[curve.run_id], "place": place, "value": value}
        for curve in curves
        for place, value in zip(curve.places, curve.values, strict=True)
        if not is_log or value > 0
    ]
    label = t(f"trainings.by_{axis}")
    form: dict[str, Any] = {"format": "~s", "tickMinStep": 1} if axis is CurveAxis.STEP else {"format": ",.0f"}
    scale = alt.Scale(type="log") if is_log else alt.Scale(zero=False)
    shown = charts.build_colour_ramp([names[curve.run_id] for curve in curves])
    return (
        charts.chart_of(rows)
        .mark_line()
        .encode(
            x=alt.X("place:Q", title=label, axis=alt.Axis(labelOverlap=True, **form)),
            y=alt.Y("value:Q", title=title, scale=scale),
            color=alt.Color(
                "run:N", title=None, scale=charts.colour_scale(shown), legend=alt.Legend(orient="bottom", columns=2)
            ),
            strokeDash=alt.StrokeDash("run:N", title=None, legend=None),
            tooltip=[
                alt.Tooltip("run:N", title=t("trainings.run")),
                alt.Tooltip("place:Q", title=label, format=",.6~g"),
                alt.Tooltip("value:Q", title=title, format=",.4~g"),
            ],
        )
        .properties(height=HEIGHT)
    )
