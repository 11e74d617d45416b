"""The table of a benchmark: which columns the reader chose, and how each is drawn."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from aisbench_core.base.formats import MISSING, format_change, format_number, format_percent
from aisbench_core.model import Origin
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.compared import RunDot
from aisbench_core.warehouse.values.runs import BoardQuery, TargetOutcome
from aisbench_core.warehouse.values.trend_verdicts import TrendVerdict
from pages._ui.grid.column_choice import choose_columns
from pages._ui.grid.values import Align, CellPart, GridCell, GridColumn, GridRow, PageLink, Spark, Tone
from pages._ui.leaderboard.changes import COLOURS, change_text
from pages._ui.leaderboard.columns import BLOCK_COLUMNS, COLUMNS, Cells, find_head, find_title, rank_text, read_cells
from pages._ui.runs.target import target_text
from pages._ui.shell.navigation import CONFIGURATION
from pages._ui.shell.tables import without_prefix
from pages._ui.shell.words import t

NEWEST = 30  # runs of a curve
LEAST_NEWEST = 3  # fewer show no course

# What fits into a window of 1280 pixels. `parameters` is there only where rows differ in nothing else, and `note` only
# where runs scatter.
DEFAULT_COLUMNS = (
    *("rank", "version", "flavor", "size", "throughput", "interval", "per_card", "relation", "change", "accuracy"),
    *("runs", "trend", "note", "parameters"),
)

_OF_INVALID = ("not_valid", "reason")  # what the reader asks for by including runs that are not valid

_TO_THE_RIGHT = ("throughput", "interval", "per_card", "relation", "runs")  # even in a table where none has a value
_WIDTHS = {"version": 150, "flavor": 190, "parameters": 220, "note": 220, "reason": 260}  # pixels at most


def choose_block_columns(query: BoardQuery) -> list[str]:
    """The names of the columns to show, behind a button; the URL has them where they are not the default ones."""
    chosen = {*DEFAULT_COLUMNS, *(_OF_INVALID if query.include_invalid else ())}
    default = [name for name in BLOCK_COLUMNS if name in chosen]
    return choose_columns([*BLOCK_COLUMNS], default, find_title)


def block_cells(
    rows: Sequence[BoardRow],
    dots: Mapping[str, Sequence[RunDot]],
    changes: Mapping[str, TrendVerdict],
    *,
    per_card: bool = False,
) -> list[Cells]:
    """All cells of each row; by its latest run, its newest runs and what changed."""
    shares_framework = bool(framework_of(rows))
    relations = list_relations(rows, per_card=per_card)
    names = [name for name in BLOCK_COLUMNS if name != "rank" or any(row.rank for row in rows)]
    return [
        read_cells(
            row,
            names,
            {
                **({"rank": rank_text(row) or _why_unranked(row)} if "rank" in names else {}),
                **({"version": row.framework_version} if shares_framework else {}),
                **({"relation": relation} if relation else {}),
                **({"change": [change_text(found)]} if (found := changes.get(row.latest_run_id)) else {}),
                "trend": [dot.throughput for dot in dots[row.latest_run_id]],
            },
        )
        for row, relation in zip(rows, relations, strict=True)
    ]


def _why_unranked(row: BoardRow) -> str:
    """Nobody verified imported results: whoever misses their rank sees that, without a column of origins."""
    return t("board.unranked") if row.origin is Origin.IMPORTED and row.runs else MISSING


def framework_of(rows: Iterable[BoardRow]) -> str:
    """The framework of all rows, which the benchmark's title names; empty where they differ."""
    names = {row.framework for row in rows}
    return names.pop() if len(names) == 1 else ""


def list_relations(rows: Sequence[BoardRow], *, per_card: bool) -> list[str]:
    """Each median against the best one's; empty for rows of several sizes, unless they are compared `per_card`."""
    if not per_card and len({(row.node_count, row.cards_per_node) for row in rows}) > 1:
        return [""] * len(rows)
    values = [row.per_card if per_card else row.throughput for row in rows]
    return [_format_relation(value, values[0], is_best=not index) for index, value in enumerate(values)]


def _format_relation(value: float | None, best: float | None, *, is_best: bool) -> str:
    """That it may be the fastest as well is said by its rank."""
    if value is None or not best:
        return MISSING
    return t("board.is_best") if is_best else format_change(value / best - 1, 1)


def build_table(
    rows: Sequence[BoardRow], cells: Sequence[Cells], names: Collection[str], *, per_card: bool = False
) -> tuple[list[GridColumn], list[GridRow]]:
    """The chosen columns, as far as any row has a cell of them, and the rows; `per_card`: also their curves."""
    curves = [_build_curve(row, own["trend"], per_card) for row, own in zip(rows, cells, strict=True)]
    axis = _find_axis(curves)
    cells = [_with_note(own, _find_note(row, names)) for row, own in zip(rows, cells, strict=True)]
    present = [name for name in BLOCK_COLUMNS if name in names and (name == "change" or any(name in c for c in cells))]
    flavors = without_prefix([str(row["flavor"]) for row in cells])
    columns = [_build_column(name, cells, axis) for name in present]
    strong = {"version", "per_card" if per_card else "throughput"}
    built = []
    for row, own, curve, flavor in zip(rows, cells, curves, flavors, strict=True):
        drawn = {name: _draw_cell(name, row, own[name], name in strong) for name in present if name in own}
        if "trend" in drawn:
            drawn["trend"] = GridCell(spark=_draw_curve(curve, axis) if curve else None)
        if "flavor" in drawn:
            drawn["flavor"] = GridCell(flavor, Tone.MUTED, title=str(own["flavor"]))
        built.append(_build_row(row, own, drawn))
    return columns, built


def build_list(
    rows: Sequence[BoardRow], cells: Sequence[Cells], titles: Mapping[str, str]
) -> tuple[list[GridColumn], list[GridRow]]:
    """The table of rows of several benchmarks: columns with these titles, whose heads sort."""
    columns = [
        GridColumn(
            name, title, _find_align(name, cells), COLUMNS[name].sort, _find_hint(name), width=_WIDTHS.get(name, 0)
        )
        for name, title in titles.items()
    ]
    flavors = without_prefix([str(own["flavor"]) for own in cells])
    drawn = [
        {name: _draw_list_cell(name, row, own[name]) for name in titles if name in own}
        | {"flavor": GridCell(flavor, Tone.MUTED, title=str(own["flavor"]))}
        for row, own, flavor in zip(rows, cells, flavors, strict=True)
    ]
    return columns, [_build_row(row, own, one) for row, own, one in zip(rows, cells, drawn, strict=True)]


def _draw_list_cell(name: str, row: BoardRow, value: Any) -> GridCell:
    if name in ("accuracy", "cv"):  # whether it reached the target is said by a column of its own
        return GridCell(MISSING if value is None else f"{value:.2f}")
    if name == "target":
        return GridCell(str(value), Tone.BAD if row.target_outcome.is_missed else Tone.PLAIN)
    return GridCell() if name == "change" and not value else _draw_cell(name, row, value, name == "throughput")


def _build_row(row: BoardRow, cells: Cells, drawn: Mapping[str, GridCell]) -> GridRow:
    name = " ".join((row.framework_version, str(cells["flavor"]), str(cells["size"])))
    selection = {"run": row.median_run_id or row.latest_run_id}
    if metric := st.query_params.get("metric"):
        selection["metric"] = metric
    return GridRow(row.latest_run_id, name, drawn, PageLink(CONFIGURATION, selection))


def _with_note(cells: Cells, note: str) -> Cells:
    others = {name: cell for name, cell in cells.items() if name != "note"}
    return {**others, "note": note} if note else others


def _find_note(row: BoardRow, names: Collection[str]) -> str:
    """What must not be overlooked and is said by no other column: a missed target, or scatter."""
    notes = [target_text(row)] if row.target_outcome.is_missed and "accuracy" not in names else []
    notes += [t("board.scattered", cv=format_percent(row.cv))] if row.is_scattered and "interval" not in names else []
    return "; ".join(notes)


def _build_column(name: str, cells: Sequence[Cells], axis: tuple[float, float]) -> GridColumn:
    label = t("board.trend_range", range=format_range(*axis)) if name == "trend" and axis[1] else find_head(name)
    align = Align.LEFT if name == "accuracy" else _find_align(name, cells)
    return GridColumn(name, label, align, hint=_find_hint(name), width=_WIDTHS.get(name, 0))


def _find_align(name: str, cells: Sequence[Cells]) -> Align:
    values = [row[name] for row in cells if row.get(name) is not None]
    is_number = bool(values) and all(isinstance(value, int | float) for value in values)
    return Align.RIGHT if name in _TO_THE_RIGHT or is_number else Align.LEFT


def _find_hint(name: str) -> str:
    if name == "trend":
        return t("board.trend_help", count=NEWEST)
    if name == "change":
        return t("board.change_help")
    if name == "rank":
        return t("board.rank_about")
    return find_title(name) if COLUMNS[name].short else ""


@dataclass(frozen=True, slots=True)
class _Curve:
    """The newest runs of a row, and the 95 % interval of its mean."""

    values: tuple[float, ...]
    interval: tuple[float, ...]


def _build_curve(row: BoardRow, values: Sequence[float], per_card: bool) -> _Curve | None:
    if len(values) < LEAST_NEWEST or not row.throughput:
        return None
    share = (row.per_card or 0.0) / row.throughput if per_card else 1.0
    ends = [end for end in (row.ci_low, row.ci_high) if end is not None]
    return _Curve(tuple(value * share for value in values), tuple(end * share for end in ends))


def _find_axis(curves: Iterable[_Curve | None]) -> tuple[float, float]:
    """From the least to the largest value of all curves and intervals: rows are compared by where their curve lies."""
    values = [value for curve in curves if curve for value in (*curve.values, *curve.interval)]
    return (min(values), max(values)) if values else (0.0, 0.0)


def format_range(low: float, high: float) -> str:
    """An axis in few letters: 119–131 k."""
    scale, prefix = next((each for each in ((1e6, " M"), (1e3, " k")) if high >= 10 * each[0]), (1.0, ""))
    for decimals in range(4):
        ends = [f"{end / scale:,.{decimals}f}" for end in (low, high)]
        if ends[0] != ends[1]:
            break
    return f"{'–'.join(dict.fromkeys(ends))}{prefix}"


def _draw_cell(name: str, row: BoardRow, value: Any, is_strong: bool) -> GridCell:
    if name in _DRAWN:
        return _DRAWN[name](row, value)
    if isinstance(value, int | float):
        return GridCell(format_number(value), is_strong=is_strong)
    text = str(value or MISSING)
    return GridCell(text, Tone.MUTED if text == MISSING else Tone.PLAIN, is_strong=is_strong)


def _draw_curve(curve: _Curve, axis: tuple[float, float]) -> Spark:
    low, high = format_number(min(curve.values)), format_number(max(curve.values))
    name = t("board.trend_name", count=len(curve.values), low=low, high=high)
    band = (curve.interval[0], curve.interval[1]) if curve.interval else None
    return Spark(curve.values, axis, name, band)


def _draw_rank(row: BoardRow, value: str) -> GridCell:
    if row.rank and not row.is_confirmed:
        return GridCell(row.rank, parts=(CellPart("?", Tone.MUTED, name=value),))
    return GridCell(value, Tone.PLAIN if row.rank else Tone.MUTED)


def _draw_interval(row: BoardRow, value: str) -> GridCell:
    if row.is_scattered and row.cv:
        said = t("board.scattered", cv=format_percent(row.cv))
        return GridCell(value, Tone.WARN, title=said, parts=(CellPart(f"CV {100 * row.cv:.0f} %", Tone.WARN),))
    return GridCell(t("board.single_run") if row.runs == 1 else value, Tone.MUTED)


def _draw_change(_row: BoardRow, value: Sequence[str]) -> GridCell:
    text = value[0]
    return GridCell(text, Tone.BAD if COLOURS[text[0]] == "red" else Tone.GOOD)


def _draw_note(_row: BoardRow, value: str) -> GridCell:
    return GridCell(value, Tone.WARN)


def _draw_accuracy(row: BoardRow, _value: float | None) -> GridCell:
    """The accuracy of the run in the middle, with ✓ or ✗ against the target of the workload."""
    outcome = row.target_outcome
    if outcome.is_missed:
        missed = t("target.of", target=format_number(100 * row.accuracy_target)) if row.accuracy_target else ""
        said = missed if outcome is TargetOutcome.MISSED and missed else target_text(row)
        cross = CellPart("✗", Tone.BAD, name=t("target.missed") if outcome is TargetOutcome.MISSED else "")
        return GridCell(_format_accuracy(row), Tone.BAD, parts=(cross, CellPart(said, Tone.BAD)))
    if outcome is TargetOutcome.REACHED and row.accuracy is not None:
        return GridCell(_format_accuracy(row), Tone.GOOD, parts=(CellPart("✓", Tone.GOOD, target_text(row)),))
    return GridCell(_format_accuracy(row), Tone.MUTED, title=target_text(row))


def _format_accuracy(row: BoardRow) -> str:
    """With two decimals, so that digits stand under digits, and more where it is that small."""
    if row.accuracy is None:
        return MISSING
    return f"{100 * row.accuracy:.2f} %" if row.accuracy >= 0.01 else format_percent(row.accuracy)


_DRAWN: Mapping[str, Callable[[BoardRow, Any], GridCell]] = {
    "rank": _draw_rank,
    "interval": _draw_interval,
    "change": _draw_change,
    "note": _draw_note,
    "accuracy": _draw_accuracy,
}
