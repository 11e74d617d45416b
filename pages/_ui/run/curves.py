"""How fast a run is: throughput and loss while it trains, with the band that its configuration usually reaches."""

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
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.run.run_charts import RunChart, compile_chart, create_named_chart, show_run_charts
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

MAX_DRAWN = 240  # points of a curve: more are no longer apart in its width

MIN_RUNS = 3  # earlier ones, from which on their quartiles are a band

# Title and axis included: the chart is fitted into it.
HEIGHT, SMALL = 148, 108


def show_speed(now: RunSnapshot, recorded: RunRow | None) -> None:
    """The result, or the last figures of the log until there is one; then a curve of each that was said."""
    overview, last = now.overview, now.overview.last
    st.markdown(f"**{t('run.how_fast')}**")
    if recorded and recorded.throughput is not None:
        throughput = format_number(recorded.throughput, escape_markdown(t.unit(recorded.throughput_unit)))
        st.markdown(t("run.result", throughput=throughput))
    elif now.run.state is RunState.COMPLETED:
        st.markdown(t("run.no_result" if recorded else "live.not_recorded"))
    elif _has_speed(last):
        st.markdown(" · ".join(_last_figures(now)))
    if last is None or not _has_speed(last):
        st.caption(t("run.no_speed"))
        return
    show_run_charts(now, "speed", _draw_curves)
    captions = (_throughput_band(overview, last), _loss_band(overview, last))
    if any(captions):
        st.caption(" ".join(filter(None, captions)))


def _has_speed(point: TrainingPoint | None) -> bool:
    """Whether the log said how fast the training was at that point, or how well it went."""
    return point is not None and not (point.throughput is None and point.step_s is None and point.loss is None)


def _last_figures(now: RunSnapshot) -> Iterator[str]:
    """What the log said last: an estimate, which stays one for want of a result when the job has ended."""
    overview, last, state = now.overview, now.overview.last, now.run.state
    if last is None:
        return
    if last.throughput is not None:
        throughput = format_number(last.throughput, escape_markdown(overview.unit))
        yield f"**{throughput}**" if state is RunState.RUNNING else throughput
    elif last.step_s is not None:
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
        title = t("charts.throughput", unit=overview.unit)
        band = _choose_band(overview.earlier.usual)
        bounds = (band.lower, band.upper) if band else None
        yield _draw_curve(points, lambda point: point.throughput, title, HEIGHT, lambda _: bounds)
    elif sum(point.step_s is not None for point in points) > 1:
        yield _draw_curve(points, lambda point: point.step_s, t("run.step_time_axis"), HEIGHT)
    if sum(point.loss is not None for point in points) > 1:
        loss = overview.earlier.loss
        yield _draw_curve(points, lambda point: point.loss, t("run.loss_axis"), SMALL, loss.at if loss else _no_bounds)


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
    height: int,
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
        return compile_chart(line.properties(height=height, title=title), {"points": rows}, title)
    y_low = alt.Y("low:Q", title=None, scale=alt.Scale(zero=False))
    area = create_named_chart("band").mark_area(opacity=0.18).encode(x=x, y=y_low, y2=alt.Y2("high:Q"))
    band = [{"at": _format_time(point.at), "low": low, "high": high} for point, (low, high) in bounds]
    return compile_chart(
        alt.layer(area, line).properties(height=height, title=title), {"points": rows, "band": band}, title
    )


def _format_time(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")
