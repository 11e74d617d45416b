"""The charts of the Scaling page: single runs as dots, medians, intervals, the ideal line, and Amdahl's law."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from aisbench_core.warehouse.values.scalings import Scaling
from pages._ui.shell.charts import Drawing, chart_of, if_any, version_colours, version_scale
from pages._ui.shell.words import t

IDEAL = "#7a8699"
HEIGHT, SMALL_HEIGHT = 340, 280
AXES, LEGEND, ENTRY = 50, 40, 20  # pixels below a chart: its axis, the title of its legend, and each curve in it
SHAPES = ("diamond", "square", "triangle-up", "cross")
STEPS = 40  # so many points make the law's line look like a curve
WIDE = 16  # from so many times the smallest node count on, axes are logarithmic: small counts would overlap

Named = Sequence[tuple[str, Scaling]]


def draw_throughput(curves: Named, nodes: int) -> Drawing:
    """Every single run, medians, the 95 % interval of the mean, the ideal line, and the law as far as `nodes`."""
    unit = curves[0][1].throughput_unit
    label = name_measure(curves[0][1])
    axis = alt.Axis(tickCount=6)
    scales = all(curve.scales for _, curve in curves)  # otherwise a value may be 0 or less, which no logarithm has
    scale = _build_scale(curves, zero=True) if scales else alt.Scale(zero=False)
    y = alt.Y("value:Q", title=label, scale=scale, axis=axis)
    dots = [
        {"curve": name, "nodes": point.node_count, "value": dot.throughput, "run": dot.run_id}
        for name, curve in curves
        for point in curve.points
        for dot in point.dots
    ]
    points = [(name, curve, point) for name, curve in curves for point in curve.points]
    intervals = [
        {"curve": name, "nodes": point.node_count, "low": point.ci_low, "high": point.ci_high}
        for name, _, point in points
        if point.ci_low is not None
    ]
    ideal = [
        {"curve": name, "nodes": point.node_count, "value": curve.points[0].throughput * point.ideal}
        for name, curve, point in points
        if point.ideal is not None
    ]
    medians = [
        {
            "curve": name,
            "nodes": point.node_count,
            "value": point.throughput,
            "runs": point.runs,
            "efficiency": point.efficiency,
        }
        for name, _, point in points
    ]
    x, colour = _build_node_axis(curves, nodes), _build_colour(curves, _build_legend(curves))
    low, high = alt.Y("low:Q"), alt.Y2("high:Q")
    layers = [
        *if_any(ideal, lambda base: _draw_ideal(base).encode(x=x, y=alt.Y("value:Q"), detail=alt.Detail("curve:N"))),
        *_draw_law(curves, nodes, _by_law, lambda base: base.encode(x=x, y=y, color=colour)),
        *if_any(intervals, lambda base: base.mark_rule(strokeWidth=3).encode(x=x, y=low, y2=high, color=colour)),
        chart_of(dots).mark_circle(size=45, opacity=0.55).encode(x=x, y=y, color=colour, tooltip=_run_tips(label)),
        chart_of(medians)
        .mark_point(filled=True, size=110, opacity=1)
        .encode(x=x, y=y, color=colour, shape=_build_shape(curves, _build_legend(curves)), tooltip=_build_tips(unit)),
    ]
    return alt.layer(*layers, height=HEIGHT)


def find_height(curves: Named) -> int:
    """Pixels of the chart of throughput with its axis and its legend."""
    return HEIGHT + AXES + (LEGEND + ENTRY * len(curves) if len(curves) > 1 else 0)


def speed_up(curves: Named, nodes: int) -> Drawing:
    """Speed-up of medians against the ideal line, with the law and its 95 % band."""
    y = alt.Y("value:Q", title=t("charts.speed_up"), scale=_build_scale(curves, zero=True))
    tip = alt.Tooltip("value:Q", title=t("charts.speed_up"), format=".3~f")
    return _against_ideal(curves, nodes, y, tip, lambda _, __: 1.0)


def draw_efficiency(curves: Named, nodes: int) -> Drawing:
    """Efficiency of medians against 100 %, with the law and its 95 % band."""
    axis = alt.Axis(format=".1~%")
    y = alt.Y("value:Q", title=t("charts.efficiency"), axis=axis, scale=alt.Scale(zero=False, nice=True))
    tip = alt.Tooltip("value:Q", title=t("charts.efficiency"), format=".1%")
    return _against_ideal(curves, nodes, y, tip, lambda size, base: base / size)


def _against_ideal(
    curves: Named, nodes: int, y: alt.Y, tip: alt.Tooltip, per_ideal: Callable[[int, int], float]
) -> Drawing:
    """Speed-up times `per_ideal`: of 1 it stays the speed-up, of n0/n it becomes the efficiency."""
    x, colour = _build_node_axis(curves, nodes), _build_colour(curves)

    def law(curve: Scaling, size: int) -> dict[str, float] | None:
        base = curve.base_nodes or 1
        speed_up = curve.fit.speed_up(size, base)
        if speed_up is None or speed_up.high is None:
            return None
        by = per_ideal(size, base)
        return {"value": speed_up.value * by, "low": speed_up.low * by, "high": speed_up.high * by}

    ideal = [
        {"curve": name, "nodes": size, "value": size / base * per_ideal(size, base)}
        for name, curve in curves
        for base in [curve.base_nodes or 1]
        for size in (base, max(nodes, curve.largest))
    ]
    medians = [
        {
            "curve": name,
            "nodes": point.node_count,
            "value": point.speed_up * per_ideal(point.node_count, curve.base_nodes or 1),
        }
        for name, curve in curves
        for point in curve.points
        if point.speed_up is not None
    ]
    tips = [alt.Tooltip("curve:N", title=t("scaling.curve")), alt.Tooltip("nodes:Q", title=t("charts.nodes")), tip]
    bands = [
        {"curve": name, "nodes": size, **speed_up}
        for name, curve in curves
        for size in _list_sizes(curve, nodes)
        if (speed_up := law(curve, size))
    ]
    low, high = alt.Y("low:Q"), alt.Y2("high:Q")
    layers = [
        _draw_ideal(chart_of(ideal)).encode(x=x, y=y, detail=alt.Detail("curve:N")),
        *if_any(bands, lambda base: base.mark_area(opacity=0.2).encode(x=x, y=low, y2=high, color=colour)),
        *_draw_law(curves, nodes, law, lambda base: base.encode(x=x, y=y, color=colour)),
        chart_of(medians)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(x=x, y=y, color=colour, shape=_build_shape(curves), tooltip=tips),
    ]
    return alt.layer(*layers, height=SMALL_HEIGHT)


def _by_law(curve: Scaling, size: int) -> dict[str, float] | None:
    base = curve.base_nodes or 1
    speed_up, one = curve.fit.speed_up(size, base), curve.fit.speed_up(1, base)
    if speed_up is None or one is None or curve.fit.one_node is None:
        return None
    return {"value": curve.fit.one_node * speed_up.value / one.value}


def _draw_law(
    curves: Named,
    nodes: int,
    law: Callable[[Scaling, int], dict[str, float] | None],
    draw: Callable[[Drawing], Drawing],
) -> list[Drawing]:
    """The law as a line: solid as far as was measured, dotted beyond."""
    values = [
        {"curve": name, "nodes": size, "beyond": size > curve.largest, **point}
        for name, curve in curves
        for size in _list_sizes(curve, nodes)
        if (point := law(curve, size))
    ]
    # The dotted part begins where the solid one ends, or there would be a gap.
    within = [value for value in values if not value["beyond"]]
    ends = {value["curve"]: value for value in within}
    beyond = [*ends.values(), *(value for value in values if value["beyond"])]
    return [
        *if_any(within, lambda base: draw(base.mark_line(strokeWidth=2))),
        *if_any(beyond, lambda base: draw(base.mark_line(strokeWidth=2, strokeDash=[2, 4]))),
    ]


def _list_sizes(curve: Scaling, nodes: int) -> list[int]:
    """Node counts at which the law is drawn, from the smallest measured one to the one to predict up to."""
    first, last = curve.base_nodes or 1, max(nodes, curve.largest)
    steps = {round(first * (last / first) ** (step / STEPS)) for step in range(STEPS + 1)}
    return sorted({*steps, curve.largest})


def _draw_ideal(base: Drawing) -> Drawing:
    return base.mark_line(strokeDash=[6, 4], color=IDEAL)


def _build_node_axis(curves: Named, nodes: int) -> alt.X:
    """A tick at each size that was measured, and at that of the prediction."""
    sizes = {point.node_count for _, curve in curves for point in curve.points} | {nodes}
    axis = alt.Axis(values=sorted(sizes), format="d", labelOverlap=True)
    return alt.X("nodes:Q", title=t("charts.nodes"), axis=axis, scale=_build_scale(curves, zero=False))


def _build_scale(curves: Named, *, zero: bool) -> alt.Scale:
    largest = max(curve.largest for _, curve in curves)
    smallest = min(curve.base_nodes or 1 for _, curve in curves)
    return alt.Scale(type="log", base=2) if largest > WIDE * smallest else alt.Scale(zero=zero)


def _build_colour(curves: Named, legend: alt.Legend | None = None) -> alt.Color:
    scale = version_scale((name, curve.query.framework_version) for name, curve in curves)
    return alt.Color("curve:N", title=t("scaling.curve"), sort=_list_names(curves), scale=scale, legend=legend)


def _build_shape(curves: Named, legend: alt.Legend | None = None) -> alt.Shape:
    """Curves of one version have one colour, and so may two of seven versions: their medians differ in shape."""
    earlier: defaultdict[str, int] = defaultdict(int)
    colours = version_colours()
    shapes = []
    for _, curve in curves:
        colour = colours.get(curve.query.framework_version, "")
        shapes.append(SHAPES[earlier[colour] % len(SHAPES)])
        earlier[colour] += 1
    scale = alt.Scale(domain=_list_names(curves), range=shapes)
    return alt.Shape("curve:N", title=t("scaling.curve"), sort=_list_names(curves), scale=scale, legend=legend)


def _list_names(curves: Named) -> list[str]:
    return [name for name, _ in curves]


def _build_legend(curves: Named) -> alt.Legend | None:
    """One for colours and shapes: Vega joins legends that are equal. The only curve is named above the chart."""
    if len(curves) == 1:
        return None
    return alt.Legend(orient="bottom", columns=1, labelLimit=340, symbolOpacity=1)


def _build_tips(unit: str) -> list[Any]:
    return [
        alt.Tooltip("curve:N", title=t("scaling.curve")),
        alt.Tooltip("nodes:Q", title=t("charts.nodes")),
        alt.Tooltip("value:Q", title=t("board.median", unit=unit), format=",.6~r"),
        alt.Tooltip("runs:Q", title=t("board.runs")),
        alt.Tooltip("efficiency:Q", title=t("charts.efficiency"), format=".1%"),
    ]


def name_measure(curve: Scaling) -> str:
    """What the curve's numbers are, with their unit."""
    metric, unit = curve.query.metric, curve.throughput_unit
    return t.with_unit(metric, unit) if metric else t("charts.throughput", unit=unit)


def _run_tips(label: str) -> list[Any]:
    return [
        alt.Tooltip("run:N", title=t("charts.run")),
        alt.Tooltip("nodes:Q", title=t("charts.nodes")),
        alt.Tooltip("value:Q", title=label, format=",.6~r"),
    ]
