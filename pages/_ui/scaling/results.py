"""The Scaling page's answers: the law and what it foretells, the charts, every number, and what does not count."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from aisbench_core.formats import MISSING, percent
from aisbench_core.warehouse.answers.scalings import Scaling, ScalingPoint
from pages._ui.scaling import curve_charts
from pages._ui.scaling.choice import curve_names
from pages._ui.shell import charts
from pages._ui.shell.errors import plain
from pages._ui.shell.formats import rounded
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import Words, words

Names = Mapping[str, str]
"""What each curve is called, by its id."""


def show_law(curves: Sequence[Scaling], nodes: int, names: Names) -> None:
    """For each curve the serial share and what it foretells, or why nothing can be said."""
    t = words()
    for curve in curves:
        said = " ".join(_law(curve, nodes, t))
        text = f"**{plain(names[curve.query.id])}** – {said}"
        if curve.fit.misfit:
            st.warning(text, icon=":material/question_mark:")
        else:
            st.info(text, icon=":material/trending_up:")
    st.caption(t("scaling.law_legend"))


def show_scaling_charts(curves: Sequence[Scaling], nodes: int, names: Names) -> None:
    """Throughput with every single run; then speed-up and efficiency, each against ideal."""
    t = words()
    named = [(names[curve.query.id], curve) for curve in curves]
    charts.draw(curve_charts.throughput(named, nodes, t), text=t("scaling.chart_throughput"))
    st.caption(t("scaling.legend"))
    sampled = sum(point.runs - len(point.dots) for curve in curves for point in curve.points)
    if sampled:
        st.caption(t("scaling.sampled", hidden=sampled))
    left, right = st.columns(2, gap="large")
    with left:
        st.header(t("charts.speed_up"))
        charts.draw(curve_charts.speed_up(named, nodes, t), text=t("scaling.chart_speed_up"))
    with right:
        st.header(t("charts.efficiency"))
        charts.draw(curve_charts.efficiency(named, nodes, t), text=t("scaling.chart_efficiency"))


def show_numbers(curves: Sequence[Scaling], names: Names) -> None:
    """Everything that the charts show, as numbers."""
    t = words()
    st.header(t("scaling.numbers"))
    rows = [
        {t("scaling.curve"): names[curve.query.id], **_cells(curve, point, t)}
        for curve in curves
        for point in curve.points
    ]
    if len({row[t("scaling.curve")] for row in rows}) == 1:  # it is named above, and would push numbers out of sight
        rows = [{title: cell for title, cell in row.items() if title != t("scaling.curve")} for row in rows]
    show_table(rows, t("scaling.numbers"), widths={t("scaling.curve"): "medium"})


def show_predictions(curves: Sequence[Scaling], nodes: int, names: Names) -> None:
    """What the law says of the asked number of nodes, and of double steps on the way there and beyond."""
    t = words()
    rows = [
        {t("scaling.curve"): names[curve.query.id], **row} for curve in curves for row in _foretold(curve, nodes, t)
    ]
    if rows:
        st.header(t("scaling.predicted"))
        show_table(rows, t("scaling.predicted"), widths={t("scaling.curve"): "medium"})


def show_left_out(every: Sequence[Scaling]) -> None:
    """Which runs of the question do not count, and why."""
    t = words()
    names = curve_names(every, t)
    rows = [
        {
            t("scaling.curve"): names[curve.query.id],
            t("charts.nodes"): each.node_count,
            t("scaling.left_out_runs"): each.runs,
            t("board.reason"): t(f"scaling.why_{each.why.replace(' ', '_')}"),
        }
        for curve in every
        for each in curve.left_out
    ]
    st.caption(t("scaling.only"))
    if rows:
        with st.expander(t("scaling.left_out", runs=sum(each.runs for curve in every for each in curve.left_out))):
            show_table(rows, t("scaling.why"))


def _law(curve: Scaling, nodes: int, t: Words) -> Iterator[str]:
    fit, base = curve.fit, curve.base_nodes or 1
    if fit.misfit:
        worst = max((abs(beside) for _, beside in fit.residuals), default=None)
        yield t(f"scaling.misfit_{fit.misfit.name.lower()}", worst=percent(worst))
        return
    share = fit.serial
    if share is None or share.high is None:
        return
    values = {"share": percent(share.value), "low": percent(share.low), "high": percent(share.high)}
    yield t("scaling.share", parallel=percent(1 - share.value), **values)
    ahead = fit.speed_up(nodes, base)
    if ahead:
        found = {"low": f"{ahead.low:.3g}", "high": f"{ahead.high:.3g}", "nodes": nodes, "base": base}
        key = "scaling.extrapolated" if nodes > curve.largest else "scaling.interpolated"
        yield t(key, largest=curve.largest, **found)
    limit = fit.limit(base)
    if limit and limit.high:
        yield t("scaling.limit", low=f"{limit.low:.3g}", high=f"{limit.high:.3g}", base=base)


def _cells(curve: Scaling, point: ScalingPoint, t: Words) -> dict[str, Any]:
    law = curve.fit.speed_up(point.node_count, curve.base_nodes or 1)
    beside = dict(curve.fit.residuals).get(point.node_count)
    unit = curve.throughput_unit
    return {
        t("charts.nodes"): point.node_count,
        t("board.runs"): point.runs,
        t("board.median", unit=unit): rounded(point.throughput),
        t("charts.speed_up"): rounded(point.speed_up),
        t("scaling.efficiency"): rounded(point.efficiency * 100),
        t("scaling.beside"): rounded(beside * 100, 3) if beside is not None else None,
        t("scaling.by_law"): rounded(law.value if law else None),
        t("scaling.ideal"): rounded(point.ideal),
        t("scaling.mean", unit=unit): rounded(point.mean),
        t("scaling.low", unit=unit): rounded(point.ci_low),
        t("scaling.high", unit=unit): rounded(point.ci_high),
    }


def _foretold(curve: Scaling, nodes: int, t: Words) -> Iterator[dict[str, Any]]:
    base = curve.base_nodes or 1
    sizes = sorted({nodes, *(curve.largest * factor for factor in (2, 4, 8))})
    for size in sizes:
        found = curve.fit.speed_up(size, base)
        if found:
            ideal = size / base
            yield {
                t("charts.nodes"): size,
                t("scaling.about"): rounded(found.value),
                t("scaling.at_least"): rounded(found.low),
                t("scaling.at_most"): rounded(found.high),
                t("scaling.ideal"): rounded(ideal),
                t("scaling.efficiency"): rounded(found.value / ideal * 100),
                t("scaling.basis"): t("scaling.beyond") if size > curve.largest else MISSING,
            }
