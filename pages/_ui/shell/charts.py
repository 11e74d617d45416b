"""Every chart of the console, as Altair charts; numbers come from the core and keep their units."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import altair as alt
import pyarrow as pa
import streamlit as st

from aisbench_core.formats import nodes_and_cards
from aisbench_core.model import MetricSample, Origin, RankResult
from aisbench_core.model.columns import by_field
from aisbench_core.warehouse.answers.boards import BoardRow, hardware
from aisbench_core.warehouse.answers.compared import MetricComparison
from aisbench_core.warehouse.answers.scalings import Scaling
from aisbench_core.warehouse.values import RunRow
from pages._ui.shell.words import Words

Drawing = Any
"""An Altair chart: its methods are not typed well enough to say more."""

Values = Sequence[Mapping[str, Any]]
"""The rows that a chart draws, by the names of their columns."""

Told = TypeVar("Told", BoardRow, RunRow)
"""What has a throughput in a unit of its own."""

BAR = 34
"""Height of one bar with its gap, in pixels."""

AXIS, LEGEND = 64, 72
"""Room for the axis and for the legend below the bars: Streamlit counts them as part of the height."""

DOTS = 64
"""Up to so many cards per run each card is a dot."""


def draw(chart: Drawing, *, text: str) -> None:
    """Put a chart on the page; `text` tells it to those who cannot see it. Streamlit's axes are too pale to read."""
    st.altair_chart(_finished(chart, ink()), alt=text)


def chart_of(values: Values) -> Drawing:
    """A chart of these rows, to which marks are added.

    As a table: of bare values Altair checks every cell against its schema, which takes longer than all the rest, and
    what repeats, such as a version in each of its runs, is sent once."""
    names = dict.fromkeys(name for row in values for name in row)
    return alt.Chart(pa.table({name: _column([row.get(name) for row in values]) for name in names}))


def if_any(values: Values, draw: Callable[[Drawing], Drawing]) -> list[Drawing]:
    """A layer, unless it would be empty: a screen reader would meet a picture without a name."""
    return [draw(chart_of(values))] if values else []


def ink() -> str:
    """The colour of words in charts, in the theme that the person looks at."""
    return str(st.get_option(f"theme.{st.context.theme.type or 'light'}.grayTextColor"))


def compared_bars(runs: Sequence[RunRow], metric: MetricComparison, t: Words) -> Drawing:
    """One metric, a bar for each compared run, in their order."""
    values = [
        {"name": run.run_id, "value": cell.value}
        for run, cell in zip(runs, metric.values, strict=True)
        if cell.value is not None
    ]
    return (
        chart_of(values)
        .mark_bar()
        .encode(
            y=_names(),
            x=alt.X("value:Q", title=metric_title(metric, t), axis=_bound()),
            color=alt.Color("name:N", legend=None, sort=None),
            tooltip=[_tip("name", t("charts.run")), _number_tip("value", metric_title(metric, t))],
        )
        .properties(height=len(values) * BAR + AXIS)
    )


def ranks(runs: Sequence[RunRow], results: Mapping[str, Sequence[RankResult]], unit: str, t: Words) -> Drawing:
    """Each card's throughput as a dot, by run; for at most DOTS cards each."""
    values = [
        {"run": run_id, "card": f"{each.server}/{each.rank}", "value": each.throughput}
        for run_id in (run.run_id for run in runs)
        for each in results.get(run_id, ())
    ]
    base = chart_of(values).properties(height=len(runs) * BAR + AXIS + LEGEND)
    order = [run.run_id for run in runs]
    y = alt.Y("run:N", title=None, sort=order, axis=alt.Axis(labelLimit=240))
    tips = [_tip("run", t("charts.run")), _tip("card", t("charts.card")), _number_tip("value", unit)]
    title = t("charts.per_card", unit=unit)
    x = alt.X("value:Q", title=title, scale=alt.Scale(zero=False, padding=16), axis=_bound())
    return base.mark_circle(size=90, opacity=0.75).encode(x=x, y=y, color=_by_run(order), tooltip=tips)


def scaling(curve: Scaling, t: Words) -> Drawing:
    """Throughput against node count, with the line that perfect scaling would follow."""
    first = curve.points[0]
    values = [
        {
            "nodes": point.node_count,
            "value": point.throughput,
            "ideal": first.throughput * point.ideal,
            "efficiency": point.efficiency,
            "speed_up": point.speed_up,
        }
        for point in curve.points
    ]
    base = chart_of(values).encode(
        x=alt.X(
            "nodes:Q", title=t("charts.nodes"), axis=alt.Axis(values=[value["nodes"] for value in values], format="d")
        )
    )
    measured = base.mark_line(point=alt.OverlayMarkDef(size=90, filled=True)).encode(
        y=alt.Y("value:Q", title=t("charts.throughput", unit=curve.throughput_unit), scale=alt.Scale(zero=True)),
        tooltip=[
            _tip("nodes", t("charts.nodes")),
            _number_tip("value", t("charts.median")),
            alt.Tooltip("efficiency:Q", title=t("charts.efficiency"), format=".1%"),
            alt.Tooltip("speed_up:Q", title=t("charts.speed_up"), format=".2f"),
        ],
    )
    ideal = base.mark_line(strokeDash=[6, 4], color="#8a8f98").encode(y=alt.Y("ideal:Q"))
    return alt.layer(ideal, measured, height=320)


def metric_over_time(samples: Sequence[MetricSample], name: str, t: Words) -> Drawing:
    """One metric, a line for each node."""
    values = [
        {"at": sample.at.isoformat(), "node": t("charts.node", node=sample.node), "value": sample.value}
        for sample in samples
    ]
    return (
        chart_of(values)
        .mark_line(point=True)
        .encode(
            x=alt.X("at:T", title=None, axis=alt.Axis(format="%H:%M:%S", labelOverlap=True)),
            y=alt.Y("value:Q", title=t.sample(name)),
            color=alt.Color("node:N", title=None, legend=alt.Legend(orient="bottom")),
            tooltip=[alt.Tooltip("at:T", format="%H:%M:%S"), _tip("node", ""), _number_tip("value", t.sample(name))],
        )
        .properties(height=280)
    )


def by_unit(runs: Iterable[Told]) -> Mapping[str, list[Told]]:
    """The runs or rows of each unit of throughput, in their order: no axis and no column holds two units."""
    found: dict[str, list[Told]] = {}
    for run in runs:
        found.setdefault(run.throughput_unit, []).append(run)
    return found


def row_name(row: BoardRow, apart: str, t: Words) -> str:
    """What a row of the leaderboard is about, in one line whose end may be cut off; imported results say that they are.

    `apart` tells it from rows that look alike."""
    size = nodes_and_cards(row.node_count, row.cards_per_node)
    parts = [row.model, row.framework_version, hardware(row), size, apart, row.system]
    origin = [t("origin.imported")] if row.origin is Origin.IMPORTED else []
    return " · ".join([*(part for part in parts if part), *origin])


def metric_title(metric: MetricComparison, t: Words) -> str:
    """A metric's name in the person's language with its unit."""
    key = f"metric.{metric.name}"
    if not t.knows(key):
        return t.column(by_field()[metric.name])
    name = t(key)
    return f"{name} ({metric.unit})" if metric.unit else name


def _finished(chart: Drawing, colour: str) -> Drawing:
    """The drawing with the colour of its words.

    It is not checked against Altair's schema, which takes as long as all the rest: the tests check every chart."""
    axis = alt.AxisConfig(labelColor=colour, titleColor=colour)
    legend = alt.LegendConfig(labelColor=colour, titleColor=colour)
    chart.config = alt.Config(axis=axis, legend=legend)
    object.__setattr__(chart, "to_dict", partial(chart.to_dict, validate=False))
    return chart


def _column(cells: list[Any]) -> pa.Array:
    column = pa.array(cells)
    repeats = pa.types.is_string(column.type) and 2 * len(column.unique()) < len(column)
    return column.dictionary_encode() if repeats else column


def _names() -> alt.Y:
    return alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=420))


def _bound() -> alt.Axis:
    """An axis without a number that would be cut off at its end."""
    return alt.Axis(labelBound=True)


def _by_run(order: list[str]) -> alt.Color:
    return alt.Color("run:N", legend=None, sort=order)


def _tip(field: str, title: str) -> Any:
    return alt.Tooltip(f"{field}:N", title=title)


def _number_tip(field: str, title: str) -> Any:
    return alt.Tooltip(f"{field}:Q", title=title, format=",.4~g")
