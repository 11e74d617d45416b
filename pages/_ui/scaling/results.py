"""The Scaling page's results: Amdahl's law and its prediction, charts, all numbers, and runs that do not count."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from aisbench_core.base.formats import MISSING, format_number, format_percent
from aisbench_core.warehouse.values.scalings import Scaling, ScalingPoint
from pages._ui.scaling import curve_charts
from pages._ui.scaling.choice import curve_names
from pages._ui.shell import charts
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import round_digits
from pages._ui.shell.tables import show_table, text_width
from pages._ui.shell.words import t

OF_IDEAL = ("speed_up", "efficiency", "residual", "by_law", "ideal")  # columns of curves that have an ideal

Names = Mapping[str, str]  # the name of each curve, by its id


def show_law(curves: Sequence[Scaling], nodes: int, names: Names) -> None:
    """For each curve the serial share and the prediction, or why there is none."""
    points = [f"**{escape_markdown(names[curve.query.id])}**" for curve in curves if len(curve.points) == 1]
    if points:
        st.info(t("scaling.one_point", curves=", ".join(points)), icon=":material/add_chart:")
    for curve in curves:
        if curve.mixed:
            st.caption(f"**{escape_markdown(names[curve.query.id])}** – *{escape_markdown(t.message(curve.mixed))}*")
    for curve in curves:
        text = f"**{escape_markdown(names[curve.query.id])}** – {' '.join(_describe_law(curve, nodes))}"
        if len(curve.points) == 1:
            continue
        if not curve.scales:
            st.caption(t("scaling.no_ideal", metric=escape_markdown(curve.query.metric)))
            continue
        if curve.fit.problem:
            st.warning(text, icon=":material/question_mark:")
        else:
            st.info(text, icon=":material/trending_up:")


def show_scaling_charts(curves: Sequence[Scaling], nodes: int, names: Names) -> None:
    """Throughput with every single run, speed-up and efficiency against ideal; one node count is no curve."""
    named = [(names[curve.query.id], curve) for curve in curves if len(curve.points) > 1]
    if not named:
        return
    height = curve_charts.find_height(named)
    text = t("scaling.chart_throughput", metric=curve_charts.name_measure(named[0][1]))
    charts.draw_chart(curve_charts.draw_throughput(named, nodes), text=text, height=height)
    if any(curve.scales for _, curve in named):
        st.caption(t("scaling.legend"))
    sampled = sum(point.runs - len(point.dots) for curve in curves for point in curve.points)
    if sampled:
        st.caption(t("scaling.sampled", hidden=sampled))
    named = [(name, curve) for name, curve in named if curve.scales]
    if not named:
        return
    left, right = st.columns(2, gap="large")
    height = curve_charts.SMALL_HEIGHT + curve_charts.AXES
    with left:
        st.header(t("charts.speed_up"))
        charts.draw_chart(curve_charts.speed_up(named, nodes), text=t("scaling.chart_speed_up"), height=height)
    with right:
        st.header(t("charts.efficiency"))
        charts.draw_chart(curve_charts.draw_efficiency(named, nodes), text=t("scaling.chart_efficiency"), height=height)
    st.caption(t("scaling.law_legend"))


def show_numbers(curves: Sequence[Scaling], names: Names) -> None:
    """Everything that the charts show, as numbers."""
    st.header(t("scaling.numbers"))
    rows = [{"curve": names[curve.query.id], **_to_row(curve, point)} for curve in curves for point in curve.points]
    units = dict.fromkeys(curve.throughput_unit for curve in curves)
    titles = {
        **_title_of_curves(rows),
        "nodes": t("charts.nodes"),
        "runs": t("board.runs"),
        **{f"median in {unit}": t("board.median", unit=unit) for unit in units},
        "speed_up": t("charts.speed_up"),
        "efficiency": t("scaling.efficiency"),
        "residual": t("scaling.beside"),
        "by_law": t("scaling.by_law"),
        "ideal": t("scaling.ideal"),
        **{f"mean in {unit}": t("scaling.mean", unit=unit) for unit in units},
        **{f"low in {unit}": t("scaling.low", unit=unit) for unit in units},
        **{f"high in {unit}": t("scaling.high", unit=unit) for unit in units},
    }
    if not any(curve.scales for curve in curves):
        titles = {name: title for name, title in titles.items() if name not in OF_IDEAL}
    show_table(rows, titles, t("scaling.numbers"), widths={"curve": _name_width(names)})


def show_predictions(curves: Sequence[Scaling], nodes: int, names: Names) -> None:
    """What the law predicts for `nodes`, and for two, four and eight times the largest measured node count."""
    rows = [{"curve": names[curve.query.id], **row} for curve in curves for row in _list_predictions(curve, nodes)]
    if rows:
        st.header(t("scaling.predicted"))
        titles = {
            **_title_of_curves(rows),
            "nodes": t("charts.nodes"),
            "about": t("scaling.about"),
            "at_least": t("scaling.at_least"),
            "at_most": t("scaling.at_most"),
            "ideal": t("scaling.ideal"),
            "efficiency": t("scaling.efficiency"),
            "basis": t("scaling.basis"),
        }
        show_table(rows, titles, t("scaling.predicted"), widths={"curve": _name_width(names)})


def _title_of_curves(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The only curve is named above: its name would push numbers out of sight."""
    return {"curve": t("scaling.curve")} if len({row["curve"] for row in rows}) > 1 else {}


def _name_width(names: Names) -> int:
    """Wide enough for the ends by which names differ, up to a third of a wide window."""
    return min(420, max(map(text_width, names.values())))


def show_excluded(scalings: Sequence[Scaling]) -> None:
    """Which runs of the configuration do not count, and why."""
    names = curve_names(scalings)
    rows = [
        {
            "curve": names[scaling.query.id],
            "nodes": excluded.node_count,
            "runs": excluded.runs,
            "reason": t(f"scaling.why_{excluded.why.replace(' ', '_')}"),
        }
        for scaling in scalings
        for excluded in scaling.left_out
    ]
    st.caption(t("scaling.only"))
    if rows:
        runs = sum(excluded.runs for scaling in scalings for excluded in scaling.left_out)
        has_curve = any(scaling.points for scaling in scalings)
        with st.expander(t("scaling.left_out", runs=runs), expanded=not has_curve):
            titles = {
                "curve": t("scaling.curve"),
                "nodes": t("charts.nodes"),
                "runs": t("scaling.left_out_runs"),
                "reason": t("board.reason"),
            }
            show_table(rows, titles, t("scaling.why"))


def _describe_law(curve: Scaling, nodes: int) -> Iterator[str]:
    fit, base = curve.fit, curve.base_nodes or 1
    if fit.problem:
        worst = max((abs(residual) for _, residual in fit.residuals), default=None)
        yield t(f"scaling.misfit_{fit.problem.name.lower()}", worst=format_percent(worst))
        return
    share = fit.serial
    if share is None or share.high is None:
        return
    low, high = 100 * share.low, 100 * share.high
    digits = count_decimals(low, high)
    values = {
        name: f"{value:.{digits}f}" for name, value in (("share", 100 * share.value), ("low", low), ("high", high))
    }
    yield t("scaling.share", **values)
    speed_up = fit.speed_up(nodes, base)
    if speed_up:
        key = "scaling.extrapolated" if nodes > curve.largest else "scaling.interpolated"
        ends = _format_ends(speed_up.low, speed_up.high)
        yield t(key, largest=curve.largest, low=ends[0], high=ends[1], nodes=nodes, base=base)
    limit = fit.limit(base)
    if limit and limit.high:
        ends = _format_ends(limit.low, limit.high)
        yield t("scaling.limit", low=ends[0], high=ends[1], base=base)


def _format_ends(low: float, high: float | None) -> tuple[str, str]:
    """Both ends of an interval in a sentence, with the digits that it makes sure: 13.7 and 15.8, 90 and 1,100."""
    if high is None or high > 2 * low:
        return _format_short(low), _format_short(high)
    digits = count_decimals(low, high)
    return f"{low:,.{digits}f}", f"{high:,.{digits}f}"


def _format_short(value: float | None) -> str:
    return MISSING if value is None else format_number(float(f"{value:.2g}"))


def count_decimals(low: float, high: float | None) -> int:
    """How many decimals a value in this interval has: the interval is then 5 to 50 units of the last one wide."""
    width = (high or low) - low
    return min(6, max(0, math.ceil(math.log10(5 / width)))) if width > 0 else 2


def _to_row(curve: Scaling, point: ScalingPoint) -> dict[str, Any]:
    law = curve.fit.speed_up(point.node_count, curve.base_nodes or 1)
    residual = dict(curve.fit.residuals).get(point.node_count)
    unit = curve.throughput_unit
    return {
        "nodes": point.node_count,
        "runs": point.runs,
        f"median in {unit}": round_digits(point.throughput),
        "speed_up": _round_or_none(point.speed_up, 2),
        "efficiency": _round_or_none(point.efficiency and point.efficiency * 100, 1),
        "residual": None if residual is None else round(residual * 100, 2),
        "by_law": round(law.value, 2) if law and law.value is not None else None,
        "ideal": round_digits(point.ideal),
        f"mean in {unit}": round_digits(point.mean),
        f"low in {unit}": round_digits(point.ci_low),
        f"high in {unit}": round_digits(point.ci_high),
    }


def _round_or_none(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _list_predictions(curve: Scaling, nodes: int) -> Iterator[dict[str, Any]]:
    base = curve.base_nodes or 1
    sizes = sorted({nodes, *(curve.largest * factor for factor in (2, 4, 8))})
    for size in sizes:
        speed_up = curve.fit.speed_up(size, base)
        if speed_up:
            ideal = size / base
            digits = count_decimals(speed_up.low, speed_up.high)
            yield {
                "nodes": size,
                "about": round(speed_up.value, digits),
                "at_least": round(speed_up.low, digits),
                "at_most": None if speed_up.high is None else round(speed_up.high, digits),
                "ideal": round_digits(ideal),
                "efficiency": round(speed_up.value / ideal * 100, 1),
                "basis": t("scaling.beyond") if size > curve.largest else MISSING,
            }
