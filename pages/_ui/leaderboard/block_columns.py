"""The columns of a benchmark's table: which ones the reader chose, and how wide each is drawn."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import Any

import streamlit as st

from aisbench_core.base.formats import MISSING, format_change
from aisbench_core.model import Origin
from aisbench_core.warehouse.values.boards import BoardRow, find_ties
from aisbench_core.warehouse.values.compared import RunDot
from aisbench_core.warehouse.values.histories import TrendVerdict
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.leaderboard.changes import badge_colours, change_text
from pages._ui.leaderboard.columns import (
    BLOCK_COLUMNS,
    COLUMNS,
    Cells,
    find_head,
    find_present,
    find_title,
    rank_text,
    read_cells,
)
from pages._ui.shell import url
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.tables import NARROW, configure_columns, number_format, shared_prefix, text_width, title_cells
from pages._ui.shell.words import t

NEWEST = 30  # runs of a sparkline

PARAMETER = "columns"  # of the URL

# What fits into a window of 1280 pixels. `parameters` is there only where rows differ in nothing else, `change` only
# where a row regressed or improved, `note` only where a row missed its target or its runs scatter.
DEFAULT_COLUMNS = (
    *("rank", "flavor", "size", "version", "throughput", "per_card"),
    *("relation", "change", "interval", "runs", "trend", "note", "parameters"),
)
# Ranks that tie are a band of one colour, whose letter says the same; a row of two bands has the first one's colour.
BANDS = ("blue", "violet", "orange")
NO_BAND = "gray"

_OF_INVALID = ("not_valid", "reason")  # what the reader asks for by including runs that are not valid

_TICKS = 34  # the column of boxes to tick, with the table's edges
_MAX_WIDTH = {"flavor": 200, "reason": 260}
_LONGEST = 150  # of other texts
_GRAPHS = {"throughput": (92, 150), "trend": (50, 110)}  # drawn columns: they share what the others leave
_LEAST = 46  # of texts: "Rank" and "Runs" need it
_LEAST_FLAVOR = 120  # long names give way to other columns; a double click on the cell shows them whole
_CHIP = 14  # what a coloured chip adds to its text on both sides, in pixels
_SCALE = 0.97  # cells hold digits, dots and blanks, which are narrower than the letter that `text_width` reckons with


def choose_columns(query: BoardQuery) -> list[str]:
    """The names of the columns to show, behind a button; the URL has them where they are not the default ones."""
    chosen = {*DEFAULT_COLUMNS, *(_OF_INVALID if query.include_invalid else ())}
    default = [name for name in BLOCK_COLUMNS if name in chosen]
    with st.popover(t("board.columns"), icon=":material/view_column:"):
        return url.choose_options(
            PARAMETER, t("board.columns"), [*BLOCK_COLUMNS], find_title, default=default, help=t("board.columns_help")
        )


def block_cells(
    rows: Sequence[BoardRow], dots: Mapping[str, Sequence[RunDot]], changes: Mapping[str, TrendVerdict]
) -> list[Cells]:
    """All cells of each row; by its latest run, its newest runs and what changed."""
    shares_framework = bool(framework_of(rows))
    return [
        read_cells(
            row,
            BLOCK_COLUMNS,
            {
                "rank": rank,
                **({"version": row.framework_version} if shares_framework else {}),
                "relation": format_relation(row, rows[0]),
                **({"change": [change_text(found)]} if (found := changes.get(row.latest_run_id)) else {}),
                "trend": [dot.throughput for dot in dots[row.latest_run_id]],
            },
        )
        for row, rank in zip(rows, rank_cells(rows), strict=True)
    ]


def rank_cells(rows: Sequence[BoardRow]) -> list[str]:
    """Each row's rank, and the letters of the ties that it is in, as ab or a–d: rows that share one tie."""
    letters = dict(zip(find_ties(rows), ascii_lowercase, strict=False))
    tied = ["".join(letters[tie] for tie in letters if index in tie) for index in range(len(rows))]
    return [
        " ".join(filter(None, (rank_text(row) or _why_unranked(row), _shorten_letters(own))))
        for row, own in zip(rows, tied, strict=True)
    ]


def _shorten_letters(letters: str) -> str:
    """Ties follow each other, so that of many the first and the last letter say it."""
    return letters if len(letters) < 3 else f"{letters[0]}–{letters[-1]}"


def band_of(rank: str) -> str:
    """The colour of a cell of `rank_cells`."""
    letter = rank.rpartition(" ")[2][:1]
    is_tied = " " in rank and letter in ascii_lowercase
    return BANDS[ascii_lowercase.index(letter) % len(BANDS)] if is_tied else NO_BAND


def _why_unranked(row: BoardRow) -> str:
    """Nobody verified imported results: whoever misses their rank sees that, without a column of origins."""
    return t("board.unranked") if row.origin is Origin.IMPORTED and row.runs else MISSING


def framework_of(rows: Iterable[BoardRow]) -> str:
    """The framework of all rows, which the benchmark's title names; empty where they differ."""
    names = {row.framework for row in rows}
    return names.pop() if len(names) == 1 else ""


def format_relation(row: BoardRow, best: BoardRow) -> str:
    """Its median against the best one's. That it may be the fastest as well is said by its rank."""
    if row is best or row.throughput is None or not best.throughput:
        return MISSING if row.throughput is None else t("board.is_best")
    return format_change(row.throughput / best.throughput - 1, 1)


def build_titled_cells(cells: Sequence[Cells], names: Collection[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The chosen cells by the whole titles of their columns, and how Streamlit draws each column."""
    present = [name for name in find_present(cells, BLOCK_COLUMNS) if name in names]
    chips = _chip_colours(cells)
    widths = _compute_widths(cells, present, chips)
    prefix = shared_prefix(row["flavor"] for row in cells) if _lacks_room(cells, widths) else ""
    if prefix:  # without it, the ends by which names differ are seen
        cells = [{**row, "flavor": row["flavor"].removeprefix(prefix)} for row in cells]
        widths = _compute_widths(cells, present, chips)
    if "rank" in chips:  # chips are wider than texts
        cells = [{**row, "rank": [row["rank"]]} for row in cells]
    titles = {name: find_title(name) for name in present}
    config = configure_columns(cells, titles, widths)
    for name in present:
        if drawn := _draw_column(name, cells, chips, widths[name]):
            config[titles[name]] = drawn
        config[titles[name]] |= {"label": find_head(name), "help": _find_help(name, prefix)}
    return title_cells(cells, titles), config


def _draw_column(name: str, cells: Sequence[Cells], chips: Mapping[str, Mapping[str, str]], width: int) -> Any:
    """A column of lines, bars or chips; None for one of texts or numbers."""
    if name == "trend":
        return st.column_config.LineChartColumn(width=width)
    values = [row[name] for row in cells if row[name] is not None] if name == "throughput" else []
    if values:
        # From zero on: a bar that begins elsewhere makes small differences look large.
        format_ = number_format(values)
        return st.column_config.ProgressColumn(min_value=0, max_value=max(values), format=format_, width=width)
    if name in chips:
        colours = chips[name]
        return st.column_config.MultiselectColumn(options=[*colours], color=[*colours.values()], width=width)
    return None


def _chip_colours(cells: Sequence[Cells]) -> dict[str, dict[str, str]]:
    """For each column of chips, the colours of its texts."""
    ranks = {row["rank"]: band_of(row["rank"]) for row in cells}
    changes = badge_colours(text for row in cells for text in row.get("change", ()))
    has_bands = set(ranks.values()) != {NO_BAND}
    return {**({"rank": ranks} if has_bands else {}), **({"change": changes} if changes else {})}


def _lacks_room(cells: Sequence[Cells], widths: Mapping[str, int]) -> bool:
    is_wide = sum(widths.values()) > NARROW - _TICKS
    return is_wide or any(widths.get("flavor", 0) < round(_SCALE * text_width(row["flavor"])) for row in cells)


def _find_help(name: str, prefix: str) -> str | None:
    if name == "trend":
        return t("board.trend_help", count=NEWEST)
    if name == "change":
        return t("board.change_help")
    if name == "flavor":
        return t("board.flavor_prefix", prefix=escape_markdown(prefix)) if prefix else t("board.flavor_help")
    return find_title(name) if COLUMNS[name].short else None


def _compute_widths(cells: Sequence[Cells], names: Sequence[str], chips: Collection[str]) -> dict[str, int]:
    """Pixels of each column: as wide as its longest text; bars and lines share what is left of a narrow window."""
    texts = {
        name: [find_head(name), *(_format_cell(row.get(name)) for row in cells)]
        for name in names
        if name not in _GRAPHS
    }
    widths = {
        name: min(
            _MAX_WIDTH.get(name, _LONGEST),
            max(_LEAST, round(_SCALE * max(map(text_width, values)))) + (_CHIP if name in chips else 0),
        )
        for name, values in texts.items()
    }
    graphs = [name for name in names if name in _GRAPHS]
    spare = NARROW - _TICKS - sum(widths.values()) - sum(_GRAPHS[name][0] for name in graphs)
    if spare < 0 and "flavor" in widths:
        widths["flavor"] = max(min(_LEAST_FLAVOR, widths["flavor"]), widths["flavor"] + spare)
    for name in graphs:
        least, most = _GRAPHS[name]
        widths[name] = min(most, least + max(0, spare) // len(graphs))
    return widths


def _format_cell(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(value)
    return f"{value:,}" if isinstance(value, int | float) else str(value or "")
