"""The report's charts as SVG shapes. No chart library: the page must print without scripts, its text selectable."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from aisbench_core.base.formats import clip_text

Row = TypeVar("Row")

WIDTH = 680
# Margins: row labels on the left, values on the right.
LEFT, RIGHT, TOP = 205, 60, 8

ROW = 17
# Rows of one drawing, so that each fits on a page.
MAX_ROWS = 40

# How far an axis reaches beyond the fastest run, for intervals that end there.
MAX_STRETCH = 1.5

# Two of them stand side by side.
SCALING_WIDTH, SCALING_HEIGHT = 335, 150
SCALING_LEFT, SCALING_RIGHT = 40, 45
MAX_LABEL = 36

DARK, LIGHT, BAND, LINE = "#1f4e79", "#b9c6d3", "#f2c14e", "#9a5b00"


@dataclass(frozen=True, slots=True)
class Bar:
    """One run: its throughput (None: not measured), and of its group the mean and its interval."""

    label: str
    value: float | None
    is_valid: bool
    mean: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class GroupBar:
    """Valid runs of one row of the statistics: their throughputs, the median, and the interval of the mean."""

    label: str
    values: tuple[float, ...]
    median: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Strip:
    """The throughput of each card of one run."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """Throughput by node count, in ascending order."""

    label: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """An SVG element without children."""

    tag: str
    attributes: Mapping[str, object]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG image."""

    height: int
    shapes: tuple[Shape, ...]
    width: int = WIDTH


def draw_bars(rows: Sequence[Bar], unit: str) -> list[Drawing]:
    """A bar from 0 for each run, over the band of its group; `MAX_ROWS` to a drawing, all on the same scale."""
    maximum = max((max(row.value or 0, row.high or 0) for row in rows), default=0) or 1
    return _draw_pages(rows, _draw_bar, _Scale(0, maximum), unit)


def draw_groups(rows: Sequence[GroupBar], unit: str) -> list[Drawing]:
    """A bar to the median of each group, with the interval of the mean, and a dot for each run; all on one scale."""
    # Two runs that differ a lot have an interval so wide that all bars would be points: it ends with the axis.
    largest = max((value for row in rows for value in row.values), default=0) or 1
    maximum = min(max(largest, *(row.high or 0 for row in rows)), MAX_STRETCH * largest) if rows else 1
    return _draw_pages(rows, _draw_group, _Scale(0, maximum), unit)


def draw_strips(rows: Sequence[Strip], unit: str) -> list[Drawing]:
    """A stroke for each card; the axis covers the measured range only, since cards differ by a few percent."""
    values = [value for row in rows for value in row.values]
    if not values:
        return []
    margin = (max(values) - min(values)) * 0.05 or abs(max(values)) * 0.05 or 1
    return _draw_pages(rows, _draw_strip, _Scale(min(values) - margin, max(values) + margin), unit)


def draw_scaling(curve: Curve, x_label: str, unit: str) -> Drawing:
    """Throughput over nodes, and the line of ideal scaling from the smallest node count; half as wide as a page."""
    base_nodes, base = curve.points[0]
    last = curve.points[-1][0]
    ideal = [(base_nodes, base), (last, base * last / base_nodes)]
    top, bottom, right = TOP + 14, SCALING_HEIGHT - 36, SCALING_WIDTH - SCALING_RIGHT
    x_scale = _Scale(0, last, SCALING_LEFT, right)
    y_scale = _Scale(0, max(value for _, value in (*curve.points, *ideal)), bottom, top)
    points = [(x_scale(nodes), y_scale(value)) for nodes, value in curve.points]
    return Drawing(
        SCALING_HEIGHT,
        (
            _draw_polyline([(x_scale(nodes), y_scale(value)) for nodes, value in ideal], LINE, stroke_dasharray="5 4"),
            _draw_polyline(points, DARK, stroke_width=2),
            *(_make_shape("circle", cx=x, cy=y, r=3.5, fill=DARK) for x, y in points),
            *(
                _draw_text(x, bottom + 14, str(nodes), "middle")
                for (x, _), (nodes, _) in _iterate_spaced(points, curve.points, 14)
            ),
            *(
                _draw_text(x + 6, y + 12, _format_short(value), "start")
                for (x, y), (_, value) in _iterate_spaced(points, curve.points, 42)
            ),
            _draw_line(SCALING_LEFT, bottom, right, bottom),
            _draw_line(SCALING_LEFT, top, SCALING_LEFT, bottom),
            _draw_text((SCALING_LEFT + right) / 2, SCALING_HEIGHT - 8, x_label, "middle"),
            _draw_text(4, TOP + 4, clip_text(unit, MAX_LABEL), "start"),
        ),
        SCALING_WIDTH,
    )


def _iterate_spaced(
    points: Sequence[tuple[float, float]], values: Sequence[tuple[int, float]], gap: float
) -> Iterator[tuple[tuple[float, float], tuple[int, float]]]:
    """The points whose labels do not overlap, with their values: the last, and those that are `gap` before the next."""
    left = math.inf
    for point, value in reversed(list(zip(points, values, strict=True))):
        if left - point[0] >= gap:
            left = point[0]
            yield point, value


class _Scale:
    """Maps values linearly to coordinates."""

    def __init__(self, low: float, high: float, start: float = LEFT, end: float = WIDTH - RIGHT) -> None:
        self.low, self.high = low, high
        self._start, self._factor = start, (end - start) / ((high - low) or 1)

    def __call__(self, value: float) -> float:
        return self._start + (value - self.low) * self._factor


def _draw_pages(
    rows: Sequence[Row], draw: Callable[[Row, float, _Scale], Iterable[Shape]], scale: _Scale, unit: str
) -> list[Drawing]:
    drawings = []
    for start in range(0, len(rows), MAX_ROWS):
        page = rows[start : start + MAX_ROWS]
        shapes = [shape for index, row in enumerate(page) for shape in draw(row, TOP + ROW * index, scale)]
        axis = _draw_axis(scale, TOP + ROW * len(page), unit)
        drawings.append(Drawing(ROW * len(page) + 36, (*shapes, *axis)))
    return drawings


def _draw_bar(row: Bar, y: float, scale: _Scale) -> Iterator[Shape]:
    yield _draw_text(LEFT - 6, y + 12, clip_text(row.label, MAX_LABEL), "end")
    if row.value is not None:
        width = max(0.5, scale(row.value) - LEFT)
        yield _make_shape("rect", x=LEFT, y=y + 3, width=width, height=ROW - 6, fill=DARK if row.is_valid else LIGHT)
    yield _draw_text(WIDTH - RIGHT + 6, y + 12, "–" if row.value is None else _format_short(row.value), "start")
    if row.mean is not None:
        low, high = scale(row.mean if row.low is None else row.low), scale(row.mean if row.high is None else row.high)
        yield _make_shape("rect", x=low, y=y, width=high - low, height=ROW, fill=BAND, opacity="0.55")
        yield _draw_line(scale(row.mean), y, scale(row.mean), y + ROW, LINE)


def _draw_group(row: GroupBar, y: float, scale: _Scale) -> Iterator[Shape]:
    yield _draw_text(LEFT - 6, y + 12, row.label, "end")
    middle = y + ROW / 2
    if row.median is not None:
        yield _make_shape("rect", x=LEFT, y=y + 4, width=max(0.5, scale(row.median) - LEFT), height=ROW - 8, fill=LIGHT)
        low, high = (row.median if end is None else end for end in (row.low, row.high))
        # An interval of two runs can end far beyond the axis.
        ends = [max(LEFT, min(scale(end), WIDTH - RIGHT)) for end in (low, high)]
        yield _make_shape("rect", x=ends[0], y=y + 1, width=max(1.0, ends[1] - ends[0]), height=ROW - 2, fill=BAND)
    for value in row.values:
        yield _make_shape("circle", cx=scale(value), cy=middle, r=2.2, fill=DARK, fill_opacity="0.8")
    yield _draw_text(WIDTH - RIGHT + 6, y + 12, "–" if row.median is None else _format_short(row.median), "start")


def _draw_strip(row: Strip, y: float, scale: _Scale) -> Iterator[Shape]:
    yield _draw_text(LEFT - 6, y + 12, clip_text(row.label, MAX_LABEL), "end")
    for value in row.values:
        yield _draw_line(scale(value), y + 4, scale(value), y + ROW - 4, DARK)
    middle = scale(median(row.values))
    yield _draw_line(middle, y + 1, middle, y + ROW - 1, LINE)
    yield _draw_text(WIDTH - RIGHT + 6, y + 12, f"n = {len(row.values)}", "start")


def _draw_axis(scale: _Scale, y: float, unit: str) -> Iterator[Shape]:
    yield _draw_line(LEFT, y, WIDTH - RIGHT, y)
    for value in _compute_ticks(scale.low, scale.high):
        yield _draw_line(scale(value), y, scale(value), y + 4)
        yield _draw_text(scale(value), y + 16, _format_short(value), "middle")
    yield _draw_text(LEFT - 26, y + 16, clip_text(unit, MAX_LABEL), "end")


def _compute_ticks(low: float, high: float) -> list[float]:
    """Up to six round numbers: multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / 5
    if not rough > 0 or math.isinf(rough):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((factor * power for factor in (1, 2, 5) if factor * power >= rough), 10 * power)
    if not step > 0:  # of numbers at the edge of what floats hold
        return [low]
    first = math.ceil(low / step)
    return [step * count for count in range(first, first + 7) if step * count <= high]


def _draw_line(x1: float, y1: float, x2: float, y2: float, stroke: str = "#666") -> Shape:
    return _make_shape("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke)


def _draw_polyline(points: Iterable[tuple[float, float]], stroke: str, **style: object) -> Shape:
    return _make_shape(
        "polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), fill="none", stroke=stroke, **style
    )


def _draw_text(x: float, y: float, text: str, anchor: str) -> Shape:
    # Said of each, because printers apply no style sheet of the page to the inside of a drawing.
    font = {"font_size": 9.5, "font_family": "AISBench Report, sans-serif", "fill": "#222"}
    return _make_shape("text", text, x=x, y=y, text_anchor=anchor, **font)


def _make_shape(tag: str, text: str = "", /, **attributes: object) -> Shape:
    """Coordinates with one decimal: finer than print, and a page of 200 runs stays small."""
    return Shape(
        tag,
        {
            name.replace("_", "-"): f"{value:.1f}" if isinstance(value, float) else value
            for name, value in attributes.items()
        },
        text,
    )


def _format_short(value: float) -> str:
    if not value:
        return "0"
    if not 0.01 <= abs(value) < 1e8:
        return f"{value:.3g}"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    return f"{value:,.{digits}f}"
