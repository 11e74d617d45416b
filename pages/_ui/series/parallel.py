"""A series that varies hyperparameters as parallel coordinates: an axis for each, a line for each row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from aisbench_core.base.formats import format_number
from aisbench_core.model import Range, Scalar
from aisbench_core.running.series.matrix import Matrix, MatrixRow
from pages._ui.series.matrix import row_title
from pages._ui.series.trials import objective_head
from pages._ui.shell import charts
from pages._ui.shell.words import t

HEIGHT, LABEL = 320, 240  # pixels
BEST, OTHERS = "#d9730d", "#8a8f98"  # 3:1 and more on both backgrounds
# Hyperparameters of a grid: the values of a single one stand beside each other in the chart of medians.
LEAST = 2


@dataclass(frozen=True, slots=True)
class Axis:
    """A vertical axis. `values`: those of a list in its order; of numbers the smallest and the largest."""

    title: str
    values: Sequence[Scalar]
    is_list: bool
    log: bool = False

    def at(self, value: Scalar) -> float:
        """From 0 at the bottom to 1 at the top."""
        if self.is_list:
            return list(self.values).index(value) / max(1, len(self.values) - 1)
        low, high, own = (self._scale_value(number) for number in (*self.values, value))
        return (own - low) / (high - low) if high > low else 0.5

    def label(self, value: Scalar) -> str:
        """Every value of a list; only the ends of numbers, because those between them would cover each other."""
        if self.is_list:
            return str(value)
        return format_number(float(value)) if value in self.values else ""

    def _scale_value(self, value: Scalar) -> float:
        return math.log(float(value)) if self.log else float(value)


def show_parallel(matrix: Matrix) -> None:
    """Nothing for a grid of fewer than two hyperparameters, or before two rows have values in one unit."""
    best, search = matrix.best, matrix.series.plan.search
    if not matrix.rivals or (search is None and len(matrix.series.plan.values) < LEAST):
        return
    last = objective_head(search) if search else t.statistic("throughput")
    last = last if search and search.unit else f"{last} ({t.unit(matrix.rivals[0][1].unit)})"
    dots = [dot for row in _list_measured_rows(matrix) for dot in _build_dots(matrix, row, last)]
    base = charts.chart_of(dots).encode(
        x=alt.X(
            "axis:N", title=None, sort=None, axis=alt.Axis(labelAngle=0, orient="top", grid=True, labelLimit=LABEL)
        ),
        y=alt.Y("at:Q", axis=None, scale=alt.Scale(domain=[-0.05, 1.05])),
    )
    # Only the best row has a colour: how good the others are is where they end on the last axis.
    best_title = row_title(best.row.planned) if best else ""
    colour = alt.condition(alt.datum.row == best_title, alt.value(BEST), alt.value(OTHERS))
    tips = [alt.Tooltip("row:N", title=t("series.row")), alt.Tooltip("value:Q", title=last, format=",.5~g")]
    lines = base.mark_line(point=True, strokeWidth=2).encode(color=colour, detail=alt.Detail("row:N"), tooltip=tips)
    labels = base.mark_text(align="left", dx=6, dy=-9, fontSize=12, color=charts.get_text_colour()).encode(
        text=alt.Text("label:N")
    )
    text = t("series.parallel_search" if search else "series.parallel_chart")
    charts.draw_chart((lines + labels).properties(height=HEIGHT), text=text)


def _list_measured_rows(matrix: Matrix) -> list[MatrixRow]:
    return [row for row in matrix.rows if _get_value(matrix, row) is not None]


def _get_value(matrix: Matrix, row: MatrixRow) -> float | None:
    return row.objective if matrix.series.plan.search else row.median


def _build_dots(matrix: Matrix, row: MatrixRow, last: str) -> list[dict[str, Any]]:
    """One row's value on each axis."""
    own = _get_value(matrix, row) or 0.0
    every = [value for each in _list_measured_rows(matrix) if (value := _get_value(matrix, each)) is not None]
    axes = [*_build_axes(matrix), Axis(last, (min(every), max(every)), is_list=False)]
    values = [*(row.planned.parameters[axis.title] for axis in axes[:-1]), own]
    return [
        {
            "row": row_title(row.planned),
            "value": own,
            "axis": axis.title,
            "at": axis.at(value),
            "label": axis.label(value),
        }
        for axis, value in zip(axes, values, strict=True)
    ]


def _build_axes(matrix: Matrix) -> list[Axis]:
    """Of each hyperparameter; a range reaches as far as trials did."""
    plan, axes = matrix.series.plan, list[Axis]()
    for name, values in (plan.search.space if plan.search else plan.values).items():
        if isinstance(values, Range):
            tried = [float(row.planned.parameters[name]) for row in _list_measured_rows(matrix)]
            axes.append(Axis(name, (min(tried), max(tried)), is_list=False, log=values.log))
        else:
            axes.append(Axis(name, values, is_list=True))
    return axes
