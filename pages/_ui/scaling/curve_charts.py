"""The charts of the Scaling page: single runs as dots, medians, intervals, the ideal line, and Amdahl's law."""

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from aisbench_core.warehouse.answers.scalings import Scaling
from pages._ui.shell.charts import Drawing, chart_of, if_any
from pages._ui.shell.words import Words

IDEAL = "#7a8699"
HEIGHT, SMALL_HEIGHT = 400, 320
PLACES = 40
"""So many points make a line of the law look like a curve."""

WIDE = 16
"""From so many times the smallest node count on, axes count in powers: the small ones would lie on one spot."""

Named = Sequence[tuple[str, Scaling]]


def throughput(curves: Named, nodes: int, t: Words) -> Drawing:
    """Every single run, medians, the 95 % interval of the mean, the ideal line, and the law as far as `nodes`."""
    unit = curves[0][1].throughput_unit
    y = alt.Y("value:Q", title=t("charts.throughput", unit=unit), scale=_scale(curves, zero=True))
    dots = [
        {"curve": name, "nodes": point.node_count, "value": dot.throughput, "run": dot.run_id}
        for name, curve in curves
        for point in curve.points
        for dot in point.dots
    ]
    spans = [
        {"curve": name, "nodes": point.node_count, "low": point.ci_low, "high": point.ci_high}
        for name, curve in curves
        for point in curve.points
        if point.ci_low is not None
    ]
    x, colour = _nodes(curves, t), _colour(curves, t)
    layers = [
        _ideal(curves, lambda curve: curve.points[0].throughput, t).encode(
            x=x, y=alt.Y("value:Q"), detail=alt.Detail("curve:N")
        ),
        *_law(curves, nodes, _by_law, lambda each: each.encode(x=x, y=y, color=colour)),
        *if_any(
            spans,
            lambda each: each.mark_rule(strokeWidth=3).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        ),
        chart_of(dots).mark_circle(size=45, opacity=0.55).encode(x=x, y=y, color=colour, tooltip=_run_tips(unit, t)),
        _medians(curves, lambda point: point.throughput).encode(x=x, y=y, color=colour, tooltip=_tips(unit, t)),
    ]
    return alt.layer(*layers, height=HEIGHT)


def speed_up(curves: Named, nodes: int, t: Words) -> Drawing:
    """Speed-up of medians against the ideal line, with the law and its 95 % band."""
    y = alt.Y("value:Q", title=t("charts.speed_up"), scale=_scale(curves, zero=True))
    tip = alt.Tooltip("value:Q", title=t("charts.speed_up"), format=".3~f")
    return _against_ideal(curves, nodes, t, y, tip, lambda _, __: 1.0)


def efficiency(curves: Named, nodes: int, t: Words) -> Drawing:
    """Efficiency of medians against 100 %, with the law and its 95 % band."""
    axis = alt.Axis(format=".1~%")
    y = alt.Y("value:Q", title=t("charts.efficiency"), axis=axis, scale=alt.Scale(zero=False, nice=True))
    tip = alt.Tooltip("value:Q", title=t("charts.efficiency"), format=".1%")
    return _against_ideal(curves, nodes, t, y, tip, lambda size, base: base / size)


def _against_ideal(
    curves: Named, nodes: int, t: Words, y: alt.Y, tip: alt.Tooltip, per_ideal: Callable[[int, int], float]
) -> Drawing:
    """Speed-up times `per_ideal`: of 1 it stays the speed-up, of n0/n it becomes the efficiency."""
    x, colour = _nodes(curves, t), _colour(curves, t)

    def law(curve: Scaling, size: int) -> dict[str, float] | None:
        base = curve.base_nodes or 1
        found = curve.fit.speed_up(size, base)
        if found is None or found.high is None:
            return None
        by = per_ideal(size, base)
        return {"value": found.value * by, "low": found.low * by, "high": found.high * by}

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
    ]
    tips = [
        alt.Tooltip("curve:N", title=t("scaling.curve")),
        alt.Tooltip("nodes:Q", title=t("charts.nodes")),
        tip,
    ]
    bands = [
        {"curve": name, "nodes": size, **found}
        for name, curve in curves
        for size in _sizes(curve, nodes)
        if (found := law(curve, size))
    ]
    layers = [
        chart_of(ideal).mark_line(strokeDash=[6, 4], color=IDEAL).encode(x=x, y=y, detail=alt.Detail("curve:N")),
        *if_any(
            bands,
            lambda each: each.mark_area(opacity=0.2).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        ),
        *_law(curves, nodes, law, lambda each: each.encode(x=x, y=y, color=colour)),
        chart_of(medians).mark_point(filled=True, size=90).encode(x=x, y=y, color=colour, tooltip=tips),
    ]
    return alt.layer(*layers, height=SMALL_HEIGHT)


def _by_law(curve: Scaling, size: int) -> dict[str, float] | None:
    base = curve.base_nodes or 1
    found, one = curve.fit.speed_up(size, base), curve.fit.speed_up(1, base)
    if found is None or one is None or curve.fit.one_node is None:
        return None
    return {"value": curve.fit.one_node * found.value / one.value}


def _law(
    curves: Named,
    nodes: int,
    law: Callable[[Scaling, int], dict[str, float] | None],
    draw: Callable[[Drawing], Drawing],
) -> list[Drawing]:
    """The law as a line: whole as far as was measured, dotted beyond."""
    values = [
        {"curve": name, "nodes": size, "beyond": size > curve.largest, **found}
        for name, curve in curves
        for size in _sizes(curve, nodes)
        if (found := law(curve, size))
    ]
    # The dotted part begins where the whole one ends.
    within = [value for value in values if not value["beyond"]]
    ends = {each["curve"]: each for each in within}
    beyond = [*ends.values(), *(value for value in values if value["beyond"])]
    return [
        *if_any(within, lambda each: draw(each.mark_line(strokeWidth=2))),
        *if_any(beyond, lambda each: draw(each.mark_line(strokeWidth=2, strokeDash=[2, 4]))),
    ]


def _sizes(curve: Scaling, nodes: int) -> list[int]:
    """Node counts at which the law is drawn, from the smallest measured one to the one that is looked ahead to."""
    first, last = curve.base_nodes or 1, max(nodes, curve.largest)
    steps = {round(first * (last / first) ** (place / PLACES)) for place in range(PLACES + 1)}
    return sorted({*steps, curve.largest})


def _ideal(curves: Named, base_value: Callable[[Scaling], float], t: Words) -> Drawing:
    values = [
        {"curve": name, "nodes": point.node_count, "value": base_value(curve) * point.ideal, "what": t("scaling.ideal")}
        for name, curve in curves
        for point in curve.points
    ]
    return chart_of(values).mark_line(strokeDash=[6, 4], color=IDEAL)


def _medians(curves: Named, value: Callable[[Any], float]) -> Drawing:
    values = [
        {
            "curve": name,
            "nodes": point.node_count,
            "value": value(point),
            "runs": point.runs,
            "efficiency": point.efficiency,
        }
        for name, curve in curves
        for point in curve.points
    ]
    return chart_of(values).mark_point(filled=True, shape="diamond", size=110, opacity=1)


def _nodes(curves: Named, t: Words) -> alt.X:
    sizes = sorted({point.node_count for _, curve in curves for point in curve.points})
    axis = alt.Axis(values=sizes, format="d", labelOverlap=True)
    return alt.X("nodes:Q", title=t("charts.nodes"), axis=axis, scale=_scale(curves, zero=False))


def _scale(curves: Named, *, zero: bool) -> alt.Scale:
    largest = max(curve.largest for _, curve in curves)
    smallest = min(curve.base_nodes or 1 for _, curve in curves)
    return alt.Scale(type="log", base=2) if largest > WIDE * smallest else alt.Scale(zero=zero)


def _colour(curves: Named, t: Words) -> alt.Color:
    legend = alt.Legend(orient="bottom", columns=1, labelLimit=340, symbolType="circle")
    return alt.Color("curve:N", title=t("scaling.curve"), sort=[name for name, _ in curves], legend=legend)


def _tips(unit: str, t: Words) -> list[Any]:
    return [
        alt.Tooltip("curve:N", title=t("scaling.curve")),
        alt.Tooltip("nodes:Q", title=t("charts.nodes")),
        alt.Tooltip("value:Q", title=t("board.median", unit=unit), format=",.5~g"),
        alt.Tooltip("runs:Q", title=t("board.runs")),
        alt.Tooltip("efficiency:Q", title=t("charts.efficiency"), format=".1%"),
    ]


def _run_tips(unit: str, t: Words) -> list[Any]:
    return [
        alt.Tooltip("run:N", title=t("charts.run")),
        alt.Tooltip("nodes:Q", title=t("charts.nodes")),
        alt.Tooltip("value:Q", title=t("charts.throughput", unit=unit), format=",.5~g"),
    ]
