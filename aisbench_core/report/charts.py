"""The report's charts as SVG, drawn here: three plain charts need no browser engine, and text stays text in print."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from aisbench_core.report.markup import Markup, element, joined

Row = TypeVar("Row")

WIDTH = 680
LEFT, RIGHT = 190, 70
ROW = 17
TOP = 8
MOST_ROWS = 40
"""Rows of one chart, so that each fits on a page."""

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
class Strip:
    """The cards of one run."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """Throughput by node count."""

    label: str
    points: tuple[tuple[int, float], ...]


def bars(rows: Sequence[Bar], title: str, unit: str) -> list[Markup]:
    """A bar for each run, over the band of its group; from 0 on."""
    most = max((max(row.value or 0, row.high or 0) for row in rows), default=0) or 1
    scale = _Scale(0, most)
    return [
        _svg(title, ROW * len(part) + 36, *(_bar(row, place, scale) for place, row in enumerate(part)),
             *_axis(scale, ROW * len(part) + TOP, unit))
        for part in _parts(rows)
    ]  # fmt: skip


def strips(rows: Sequence[Strip], title: str, unit: str) -> list[Markup]:
    """A stroke for each card; the axis shows what there is, not 0."""
    values = [value for row in rows for value in row.values]
    if not values:
        return []
    room = (max(values) - min(values)) * 0.05 or abs(max(values)) * 0.05 or 1
    scale = _Scale(min(values) - room, max(values) + room)
    return [
        _svg(title, ROW * len(part) + 36, *(_strip(row, place, scale) for place, row in enumerate(part)),
             *_axis(scale, ROW * len(part) + TOP, unit))
        for part in _parts(rows)
    ]  # fmt: skip


def growth(curve: Curve, title: str, nodes: str, unit: str) -> Markup:
    """Throughput over nodes, with the ideal line."""
    height = 230
    base_nodes, base = curve.points[0]
    last = curve.points[-1][0]
    most = max(*(value for _, value in curve.points), base * last / base_nodes)
    across, up = _Scale(0, last), _Scale(0, most, height - 40, TOP)

    def line(points: Sequence[tuple[int, float]], **style: object) -> Markup:
        return element(
            "polyline", points=" ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points), fill="none", **style
        )

    dots = [element("circle", cx=f"{across(x):.1f}", cy=f"{up(y):.1f}", r=4, fill=DARK) for x, y in curve.points]
    ticks = [_text(across(x), height - 24, str(x), "middle") for x, _ in curve.points]
    values = [_text(across(x) + 7, up(y) + 12, _short(y), "start") for x, y in curve.points]
    ideal = [(base_nodes, base), (last, base * last / base_nodes)]
    return _svg(
        f"{title}: {curve.label}",
        height,
        line(ideal, stroke=LINE, stroke_dasharray="5 4"),
        line(curve.points, stroke=DARK, stroke_width=2),
        *dots, *ticks, *values,
        _rule(LEFT, height - 40, WIDTH - RIGHT, height - 40), _rule(LEFT, TOP, LEFT, height - 40),
        _text((LEFT + WIDTH - RIGHT) / 2, height - 8, nodes, "middle"), _text(LEFT - 8, TOP + 8, unit, "end"),
    )  # fmt: skip


class _Scale:
    """From values to places on the page."""

    def __init__(self, low: float, high: float, begin: float = LEFT, end: float = WIDTH - RIGHT) -> None:
        self.low, self.high = low, high
        self._begin, self._factor = begin, (end - begin) / ((high - low) or 1)

    def __call__(self, value: float) -> float:
        return self._begin + (value - self.low) * self._factor


def _bar(row: Bar, place: int, scale: _Scale) -> Markup:
    y = TOP + ROW * place
    parts = [_text(LEFT - 6, y + 12, _cut(row.label), "end")]
    if row.value is not None:
        width = max(0.5, scale(row.value) - LEFT)
        parts.append(element("rect", x=LEFT, y=y + 3, width=f"{width:.1f}", height=ROW - 6,
                             fill=DARK if row.is_valid else LIGHT))  # fmt: skip
    parts.append(_text(WIDTH - RIGHT + 6, y + 12, "–" if row.value is None else _short(row.value), "start"))
    if row.mean is not None:
        low, high = scale(row.mean if row.low is None else row.low), scale(row.mean if row.high is None else row.high)
        parts.append(
            element("rect", x=f"{low:.1f}", y=y, width=f"{high - low:.1f}", height=ROW, fill=BAND, opacity=0.55)
        )
        parts.append(_rule(scale(row.mean), y, scale(row.mean), y + ROW, LINE))
    return joined(*parts)


def _strip(row: Strip, place: int, scale: _Scale) -> Markup:
    y = TOP + ROW * place
    strokes = [_rule(scale(value), y + 4, scale(value), y + ROW - 4, DARK) for value in row.values]
    middle = scale(median(row.values))
    return joined(
        _text(LEFT - 6, y + 12, _cut(row.label), "end"), *strokes, _rule(middle, y + 1, middle, y + ROW - 1, LINE),
        _text(WIDTH - RIGHT + 6, y + 12, f"n = {len(row.values)}", "start"),
    )  # fmt: skip


def _axis(scale: _Scale, y: float, unit: str) -> Iterator[Markup]:
    yield _rule(LEFT, y, WIDTH - RIGHT, y)
    for share in (0, 0.25, 0.5, 0.75, 1):
        value = scale.low + (scale.high - scale.low) * share
        yield _rule(scale(value), y, scale(value), y + 4)
        yield _text(scale(value), y + 16, _short(value), "middle")
    yield _text(LEFT - 26, y + 16, _cut(unit), "end")


def _parts(rows: Sequence[Row]) -> list[Sequence[Row]]:
    return [rows[start : start + MOST_ROWS] for start in range(0, len(rows), MOST_ROWS)]


def _svg(title: str, height: float, *inside: Markup) -> Markup:
    return element("svg", element("title", title), *inside, viewBox=f"0 0 {WIDTH} {height:.0f}", role="img")


def _rule(x1: float, y1: float, x2: float, y2: float, stroke: str = "#666") -> Markup:
    return element("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", stroke=stroke)


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _cut(label: str) -> str:
    return label if len(label) <= 30 else f"{label[:29]}…"


def _short(value: float) -> str:
    if value and not 0.01 <= abs(value) < 1e8:
        return f"{value:.3g}"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    return f"{value:,.{digits}f}"
