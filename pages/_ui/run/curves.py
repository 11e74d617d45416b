"""How fast a run is: throughput and loss over its training, each with the band that its configuration usually has."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import altair as alt
import streamlit as st

from aisbench_core.base.formats import format_number
from aisbench_core.domain.progress.points import thin_points
from aisbench_core.model import RunState, TrainingPoint
from aisbench_core.running.progress.overview import RunOverview
from aisbench_core.running.progress.snapshots import RunSnapshot
from aisbench_core.warehouse.values.compared import Usual
from pages._ui.run.health import describe_use, draw_use
from pages._ui.run.run_charts import (
    HEIGHT,
    RunChart,
    compile_chart,
    create_named_chart,
    draw_run_charts,
    show_run_chart,
)
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

MAX_DRAWN = 240  # points of a curve: more are no longer apart in its width

CHART_PX = HEIGHT + 6

MIN_RUNS = 3  # earlier ones, from which on their quartiles are a band


def show_speed(now: RunSnapshot) -> None:
    """The last figures of the log."""
    st.markdown(f"**{t('run.how_fast')}**")
    if figures := [*list_estimates(now)]:
        st.markdown(" · ".join(figures))
    else:
        st.caption(t("run.no_speed"))


def show_curves(now: RunSnapshot) -> None:
    """A curve of each figure that the log said, and the use of the nodes, side by side."""
    charts = (*draw_run_charts(now, "speed", _draw_curves), *draw_run_charts(now, "use of nodes", draw_use))
    for place, chart in zip(st.columns(3), charts, strict=False):
        # Of the chart's height before it is there: nothing below it moves.
        with place.container(height=CHART_PX, border=False):
            show_run_chart(chart)
    overview, last = now.overview, now.overview.last
    bands = (_throughput_band(overview, last), _loss_band(overview, last)) if last else ()
    if captions := [*filter(None, (*bands, describe_use(now)))]:
        st.caption(" ".join(captions))


def _has_speed(point: TrainingPoint | None) -> bool:
    """Whether the log said how fast the training was at that point, or how well it went."""
    said = (point.throughput, point.tokens_per_s, point.step_s, point.loss) if point else ()
    return any(value is not None for value in said)


def list_estimates(now: RunSnapshot) -> Iterator[str]:
    """What the log said last: an estimate, which stays one for want of a result when the job has ended."""
    overview, last, state = now.overview, now.overview.last, now.run.state
    if last is None or not _has_speed(last):
        return
    if last.throughput is not None:
        throughput = format_number(last.throughput, escape_markdown(overview.unit))
        yield f"**{throughput}**" if state is RunState.RUNNING else throughput
    elif last.tokens_per_s is not None:
        yield format_number(last.tokens_per_s, "tokens/s")
    if last.throughput is None and last.step_s is not None:
        yield t("run.step_time", seconds=format_number(last.step_s, digits=3))
    if last.loss is not None:
        yield t("run.loss", loss=format_number(last.loss))
    if last.throughput is not None and last.cards and last.cards < now.run.spec.card_count:
        yield f":small[{t('run.from_cards', cards=last.cards, all=now.run.spec.card_count)}]"
    if state is not RunState.RUNNING:
        yield f":small[{t('run.last_estimate' if state.is_terminal else 'run.estimate_until_result')}]"


def _choose_band(usual: Usual | None) -> Usual | None:
    return usual if usual and usual.runs >= MIN_RUNS else None


def _draw_curves(now: RunSnapshot) -> Iterator[RunChart]:
    """Of throughput, or of the time of a step where that is unknown; and of loss."""
    points, overview = thin_points(now.overview.points, MAX_DRAWN), now.overview
    if sum(point.throughput is not None for point in points) > 1:
        title = t("charts.throughput", unit=overview.unit) if overview.unit else t("metric.throughput")
        band = _choose_band(overview.earlier.usual)
        bounds = (band.lower, band.upper) if band else None
        yield _draw_curve(points, lambda point: point.throughput, title, lambda _: bounds)
    elif sum(point.step_s is not None for point in points) > 1:
        yield _draw_curve(points, lambda point: point.step_s, t("run.step_time_axis"))
    if sum(point.loss is not None for point in points) > 1:
        loss = overview.earlier.loss
        yield _draw_curve(points, lambda point: point.loss, t("run.loss_axis"), loss.at if loss else _no_bounds)


def _throughput_band(overview: RunOverview, last: TrainingPoint) -> str:
    usual = _choose_band(overview.earlier.usual)
    if usual is None or last.throughput is None:
        return ""
    low, high = format_number(usual.lower), format_number(usual.upper)
    return t("run.band", low=low, high=high, unit=escape_markdown(overview.unit), count=usual.runs)


def _loss_band(overview: RunOverview, last: TrainingPoint) -> str:
    band = overview.earlier.loss
    bounds = band.at(last) if band and last.loss is not None else None
    if band is None or bounds is None:
        return ""
    return t("run.loss_band", low=format_number(bounds[0]), high=format_number(bounds[1]), count=band.runs)


def _no_bounds(_: TrainingPoint) -> None:
    return None


def _draw_curve(
    points: Sequence[TrainingPoint],
    value: Callable[[TrainingPoint], float | None],
    title: str,
    bounds_at: Callable[[TrainingPoint], tuple[float, float] | None] = _no_bounds,
) -> RunChart:
    """A line, over the band that `bounds_at` gives for its points."""
    said = [(point, measured) for point in points if (measured := value(point)) is not None]
    rows = [{"at": _format_time(point.at), "value": measured, "step": point.step} for point, measured in said]
    bounds = [(point, both) for point, _ in said if (both := bounds_at(point))]
    x = alt.X("at:T", title=None, axis=alt.Axis(format="%H:%M:%S", labelOverlap=True, tickCount=4))
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
    tips = [
        alt.Tooltip("at:T", format="%H:%M:%S", title=t("live.at")),
        alt.Tooltip("value:Q", title=title, format=",.4~g"),
        alt.Tooltip("step:Q", title=t("run.step_axis"), format=","),
    ]
    line = create_named_chart("points").mark_line(point=len(rows) < 40).encode(x=x, y=y, tooltip=tips)
    if not bounds:
        return compile_chart(line.properties(height=HEIGHT, title=title), {"points": rows}, title)
    y_low = alt.Y("low:Q", title=None, scale=alt.Scale(zero=False))
    area = create_named_chart("band").mark_area(opacity=0.18).encode(x=x, y=y_low, y2=alt.Y2("high:Q"))
    band = [{"at": _format_time(point.at), "low": low, "high": high} for point, (low, high) in bounds]
    return compile_chart(
        alt.layer(area, line).properties(height=HEIGHT, title=title), {"points": rows, "band": band}, title
    )


def _format_time(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")
