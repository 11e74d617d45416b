"""Charts of a run that are compiled once for everybody who looks at it: that takes longer than all else on the page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pyarrow as pa
import streamlit as st

from aisbench_core.running.progress.snapshots import RunSnapshot
from pages._ui.shell.charts import LOCALE, get_text_colour
from pages._ui.shell.words import t

HEIGHT = 150  # pixels; title and axis included: the chart is fitted into it

Tables = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class RunChart:
    """A chart in Vega-Lite with its tables in Arrow's format. `text` describes it to those who cannot see it."""

    spec: Mapping[str, Any]
    tables: Mapping[str, bytes]
    text: str


def compile_chart(chart: Any, tables: Tables, text: str) -> RunChart:
    """A chart over named tables, in the colours of the person's theme."""
    colour = get_text_colour()  # Streamlit's own axes are too pale to read
    axis, legend = alt.AxisConfig(labelColor=colour, titleColor=colour), alt.LegendConfig(labelColor=colour)
    # Above the chart, where there is room for all of it; beside the axis a long one is cut.
    title = alt.TitleConfig(color=colour, anchor="start", fontSize=12, fontWeight="normal", offset=4)
    chart.config = alt.Config(axis=axis, legend=legend, title=title, locale=LOCALE)
    # As in charts.draw: a check against Altair's schema takes as long as all the rest.
    return RunChart(chart.to_dict(validate=False), {name: _to_arrow(rows) for name, rows in tables.items()}, text)


def create_named_chart(table: str) -> Any:
    """A chart over one of the tables that it is compiled with."""
    return alt.Chart(alt.NamedData(table))


def draw_run_charts(
    now: RunSnapshot, name: str, draw: Callable[[RunSnapshot], Iterable[RunChart]]
) -> Sequence[RunChart]:
    """Charts under a name of their own, drawn once per state of the run's files, language and theme."""
    return now.once((name, t.language, st.context.theme.type), lambda now: tuple(draw(now)))


def show_run_chart(chart: RunChart) -> None:
    # A spec of its own each time: Streamlit takes the tables out of it.
    st.vega_lite_chart(spec={**chart.spec, "datasets": dict(chart.tables)}, alt=chart.text)


def _to_arrow(rows: Sequence[Mapping[str, Any]]) -> bytes:
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
