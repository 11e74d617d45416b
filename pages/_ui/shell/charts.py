"""What all charts share, and the small charts of Compare and of runs; numbers keep the units of the core."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import altair as alt
import pyarrow as pa
import streamlit as st

from aisbench_core.base.formats import MINUS, nodes_and_cards
from aisbench_core.model import CardSample, MetricSample, Origin, RankResult
from aisbench_core.model.columns import by_field
from aisbench_core.warehouse.values.boards import BoardRow, describe_hardware
from aisbench_core.warehouse.values.compared import MetricComparison
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.words import t

Drawing = Any  # an Altair chart: its methods are not typed well enough to say more
Values = Sequence[Mapping[str, Any]]  # the rows that a chart draws, by the names of their columns

BAR = 34  # height of one bar with its gap, in pixels

# Room for the axis and for the legend below the bars: Streamlit counts them as part of the height.
AXIS, LEGEND = 64, 72

# Versions from the oldest on, on every page; after the last colour the first one follows. People who cannot tell red,
# green or blue apart see neighbours differ as well, and each has a contrast of 3:1 with both backgrounds: there is no
# room for more colours that do, so that longer ramps would repeat themselves without saying so.
# Where only colours tell versions apart, the second six have another shape.
RAMP = ("#0b6b98", "#7c35f9", "#c900af", "#e70067", "#8f7728", "#a19601")

SHAPES = ("circle", "square", "diamond", "cross")  # not triangles, which point out changes of level

# Numbers as everywhere else: a true minus sign, and a blank before the sign of per cent.
LOCALE = {
    "number": {
        "decimal": ".",
        "thousands": ",",
        "grouping": [3],
        "currency": ["", ""],
        "minus": MINUS,
        "percent": " %",
    }
}

DOTS = 64  # up to so many cards per run, each card is a dot


def draw_chart(chart: Drawing, *, text: str, height: int | None = None) -> None:
    """Put a chart on the page; `text` describes it to those who cannot see it.

    A `height` in pixels, with axes and legend, or else the chart's own is kept for it until the browser has drawn it:
    nothing below moves."""
    colour = get_text_colour()  # Streamlit's own axes are too pale to read
    axis = alt.AxisConfig(labelColor=colour, titleColor=colour)
    legend = alt.LegendConfig(labelColor=colour, titleColor=colour)
    chart.config = alt.Config(axis=axis, legend=legend, locale=LOCALE)
    # To check a chart against Altair's schema takes as long as all the rest. The tests check every chart.
    object.__setattr__(chart, "to_dict", partial(chart.to_dict, validate=False))
    known = height or getattr(chart, "height", None)  # Altair's own marks what is not set
    st.altair_chart(chart, alt=text, height=known if isinstance(known, int) else "content")


def chart_of(values: Values) -> Drawing:
    """A chart of these rows, to which marks are added.

    As a table: of bare values Altair checks every cell against its schema, which takes longer than all the rest, and
    what repeats, such as a version in each of its runs, is sent once."""
    names = dict.fromkeys(name for row in values for name in row)
    return alt.Chart(pa.table({name: _to_column([row.get(name) for row in values]) for name in names}))


def _to_column(cells: list[Any]) -> pa.Array:
    column = pa.array(cells)
    repeats = pa.types.is_string(column.type) and 2 * len(column.unique()) < len(column)
    return column.dictionary_encode() if repeats else column


def if_any(values: Values, draw: Callable[[Drawing], Drawing]) -> list[Drawing]:
    """A layer, unless it would be empty: a screen reader would meet a picture without a name."""
    return [draw(chart_of(values))] if values else []


def get_text_colour() -> str:
    """The colour of words in charts, in the person's theme."""
    return str(st.get_option(f"theme.{st.context.theme.type or 'light'}.grayTextColor"))


def version_scale(versions: Iterable[tuple[str, str]]) -> alt.Scale:
    """The colours of labels, each given with its framework version; the legend begins with the oldest version.

    They follow from all versions in the warehouse, so that a version looks the same on every page, and keeps its colour
    when newer ones are added."""
    labels = dict(versions)
    shown = {
        label: colour
        for version, colour in version_colours().items()
        for label, own in labels.items()
        if own == version
    }
    return colour_scale(shown)


def version_colours() -> dict[str, str]:
    """The colour of each version in the warehouse."""
    return build_colour_ramp(run_cached(core().warehouse.facets.list_versions))


def build_colour_ramp(versions: Sequence[str]) -> dict[str, str]:
    """A colour for each version of a list that begins with the oldest."""
    return {version: RAMP[index % len(RAMP)] for index, version in enumerate(versions)}


def version_shapes(versions: Iterable[tuple[str, str]]) -> alt.Scale | None:
    """The shapes of the same labels as in `version_scale`; None where all are circles."""
    labels = dict(versions)
    shapes = shape_of(run_cached(core().warehouse.facets.list_versions))
    # In the order of the colours: Vega joins legends of equal domains.
    return shape_scale(
        {label: shape for version, shape in shapes.items() for label, own in labels.items() if own == version}
    )


def shape_of(versions: Sequence[str]) -> dict[str, str]:
    """A shape for each version of a list that begins with the oldest: versions of one colour differ in it."""
    return {version: SHAPES[index // len(RAMP) % len(SHAPES)] for index, version in enumerate(versions)}


def shape_scale(shapes: Mapping[str, str]) -> alt.Scale | None:
    is_plain = set(shapes.values()) <= {SHAPES[0]}
    return None if is_plain else alt.Scale(domain=[*shapes], range=[*shapes.values()])


def colour_scale(colours: Mapping[str, str]) -> alt.Scale:
    return alt.Scale(domain=[*colours], range=[*colours.values()])


def run_colour(runs: Sequence[RunRow], *, has_legend: bool = True) -> alt.Color:
    """Compared runs in the colours of their versions."""
    scale = version_scale((run.framework_version, run.framework_version) for run in runs)
    legend = alt.Legend(orient="bottom", columns=4, symbolOpacity=1) if has_legend else None
    return alt.Color("version:N", title=t("charts.version"), scale=scale, legend=legend)


def draw_card_dots(runs: Sequence[RunRow], results: Mapping[str, Sequence[RankResult]], unit: str) -> Drawing:
    """Each card's throughput as a dot, by run; for at most DOTS cards each."""
    values = [
        {
            "run": run.run_id,
            "version": run.framework_version,
            "card": f"{result.server}/{result.rank}",
            "value": result.throughput,
        }
        for run in runs
        for result in results.get(run.run_id, ())
    ]
    order = [run.run_id for run in runs]
    y = alt.Y("run:N", title=None, sort=order, axis=alt.Axis(labelLimit=240))
    scale, axis = alt.Scale(zero=False, padding=16), alt.Axis(labelBound=True, format=",.6~r")
    x = alt.X("value:Q", title=t("charts.per_card", unit=unit), scale=scale, axis=axis)
    tips = [
        alt.Tooltip("run:N", title=t("charts.run")),
        alt.Tooltip("card:N", title=t("charts.card")),
        alt.Tooltip("value:Q", title=unit, format=",.4~g"),
    ]
    dots = chart_of(values).mark_circle(size=90, opacity=0.75)
    dots = dots.encode(x=x, y=y, color=run_colour(runs), tooltip=tips)
    return dots.properties(height=len(runs) * BAR + AXIS + LEGEND)


def metric_over_time(samples: Sequence[MetricSample], name: str) -> Drawing:
    """One metric, a line for each node."""
    return _over_time([(t("charts.node", node=sample.node), sample.at, sample.value) for sample in samples], name)


def cards_over_time(samples: Sequence[CardSample], name: str) -> Drawing:
    """One metric of a node's cards, a line for each card."""
    return _over_time([(t("charts.card_of", card=sample.card), sample.at, sample.value) for sample in samples], name)


def _over_time(points: Iterable[tuple[str, datetime, float]], name: str) -> Drawing:
    values = [{"at": at.isoformat(), "source": source, "value": value} for source, at, value in points]
    title = t.sample(name)
    tips = [
        alt.Tooltip("at:T", format="%H:%M:%S"),
        alt.Tooltip("source:N", title=""),
        alt.Tooltip("value:Q", title=title, format=",.4~g"),
    ]
    x = alt.X("at:T", title=None, axis=alt.Axis(format="%H:%M:%S", labelOverlap=True))
    colour = alt.Color("source:N", title=None, legend=alt.Legend(orient="bottom"))
    lines = (
        chart_of(values).mark_line(point=True).encode(x=x, y=alt.Y("value:Q", title=title), color=colour, tooltip=tips)
    )
    return lines.properties(height=280)


def row_name(row: BoardRow, distinction: str) -> str:
    """A row of the leaderboard in one line, whose end may be cut off; `distinction` is where it differs from others."""
    size = nodes_and_cards(row.node_count, row.cards_per_node)
    imported = t("origin.imported") if row.origin is Origin.IMPORTED else ""
    parts = [row.model, row.framework_version, describe_hardware(row), size, distinction, row.system, imported]
    return " · ".join(part for part in parts if part)


def metric_title(metric: MetricComparison) -> str:
    """A metric's name with its unit."""
    if metric.is_named:
        return t.with_unit(metric.name, metric.unit)
    key = f"metric.{metric.name}"
    return t.with_unit(t(key), metric.unit) if t.knows(key) else t.column(by_field()[metric.name])
