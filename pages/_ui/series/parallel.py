"""A series that varies several hyperparameters as parallel coordinates: an axis for each, a line for each row."""

from typing import Any

import altair as alt

from aisbench_core.formats import number
from aisbench_core.series.matrix import Matrix, MatrixRow
from pages._ui.series.matrix import row_title
from pages._ui.shell import charts
from pages._ui.shell.words import t

HEIGHT = 320  # pixels
BEST, OTHERS = "#d9730d", "#8a8f98"  # 3:1 and more on both backgrounds
LEAST = 2  # hyperparameters: the values of a single one stand beside each other in the chart of medians


def show_parallel(matrix: Matrix) -> None:
    """Nothing for a series that varies fewer than two hyperparameters, or before two rows have values in one unit."""
    best = matrix.best
    if best is None or len(matrix.series.plan.values) < LEAST:
        return
    median = f"{t('series.median')} ({t.unit(best.row.unit)})"
    dots = [dot for row in matrix.rows if row.median is not None for dot in _dots(matrix, row, median)]
    axes = [*matrix.series.plan.values, median]
    base = charts.chart_of(dots).encode(
        x=alt.X("axis:N", title=None, sort=axes, axis=alt.Axis(labelAngle=0, orient="top", grid=True)),
        y=alt.Y("at:Q", axis=None, scale=alt.Scale(domain=[-0.05, 1.05])),
    )
    # Only the fastest row has a colour: how fast the others are is where they end on the last axis.
    colour = alt.condition(alt.datum.row == row_title(best.row.planned), alt.value(BEST), alt.value(OTHERS))
    tips = [alt.Tooltip("row:N", title=t("series.row")), alt.Tooltip("median:Q", title=median, format=",.5~g")]
    lines = base.mark_line(point=True, strokeWidth=2).encode(color=colour, detail=alt.Detail("row:N"), tooltip=tips)
    labels = base.mark_text(align="left", dx=6, dy=-9, fontSize=12, color=charts.ink()).encode(text=alt.Text("label:N"))
    charts.draw((lines + labels).properties(height=HEIGHT), text=t("series.parallel_chart"))


def _dots(matrix: Matrix, row: MatrixRow, median: str) -> list[dict[str, Any]]:
    """One row's value on each axis, from 0 at the bottom to 1 at the top."""
    medians = [each.median for each in matrix.rows if each.median is not None]
    least, most, own = min(medians), max(medians), row.median or 0.0
    dots = [
        (name, values.index(row.planned.parameters[name]) / max(1, len(values) - 1), str(row.planned.parameters[name]))
        for name, values in matrix.series.plan.values.items()
    ]
    dots.append((median, (own - least) / (most - least) if most > least else 0.5, _label(own, (least, most))))
    title = row_title(row.planned)
    return [{"row": title, "median": own, "axis": name, "at": at, "label": label} for name, at, label in dots]


def _label(value: float, ends: tuple[float, float]) -> str:
    """The number of the slowest and the fastest row; those between them would cover each other."""
    return number(value) if value in ends else ""
