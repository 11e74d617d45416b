"""The columns of a benchmark's table: which ones the reader chose, and how wide each is drawn."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import Any

import streamlit as st

from aisbench_core.base.formats import MISSING, format_change, nodes_and_cards, number
from aisbench_core.model import Origin
from aisbench_core.model.columns import list_medians
from aisbench_core.warehouse.values.boards import BoardRow, describe_hardware, find_ties
from aisbench_core.warehouse.values.compared import RunDot
from aisbench_core.warehouse.values.histories import TrendVerdict
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.leaderboard.changes import badge_colours, change_text
from pages._ui.leaderboard.rows import rank_text, system_text
from pages._ui.runs.target import row_note
from pages._ui.shell import url
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time, round_digits, to_percent
from pages._ui.shell.tables import NARROW, configure_columns, number_format, shared_prefix, text_width
from pages._ui.shell.words import t

NEWEST = 30  # runs of a sparkline

INTERVAL_DIGITS = 4  # more than repeats ever agree in, and as many as a window of 1280 pixels has room for

PARAMETER = "columns"  # of the URL

# Names in the URL, with the text that names each column. Links hold them, so names stay.
_TITLES = {
    "rank": "board.rank",
    "flavor": "board.flavor",
    "size": "board.size",
    "version": "board.version",
    "throughput": "board.block_median",
    "per_card": "board.block_per_card",
    "relation": "board.relation",
    "change": "board.change",
    "interval": "board.interval",
    "runs": "board.runs",
    "trend": "board.trend",
    "cv": "board.cv",
    "accuracy": "board.accuracy_percent",
    "note": "board.note",
    **{column.name: "" for column in list_medians()},
    "currency": "board.currency",
    "parameters": "board.parameters",
    "origin": "board.origin",
    "not_valid": "board.not_valid",
    "latest": "board.latest",
    "reason": "board.reason",
}

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

# Headers that are wider than their numbers have a short one; their help has the whole name.
_SHORT = {
    "change": "board.block_change",
    "size": "board.block_size",
    "runs": "board.block_runs",
    "trend": "board.block_trend",
}

_TICKS = 34  # the column of boxes to tick, with the table's edges
_MAX_WIDTH = {"flavor": 200, "reason": 260}
_LONGEST = 150  # of other texts
_GRAPHS = {"throughput": (92, 150), "trend": (50, 110)}  # drawn columns: they share what the others leave
_LEAST = 46  # of texts: "Rank" and "Runs" need it
_LEAST_FLAVOR = 120  # long names give way to other columns; a double click on the cell shows them whole
_CHIPS = {"rank", "change"}
_CHIP = 14  # what a coloured chip adds to its text on both sides, in pixels
_SCALE = 0.97  # cells hold digits, dots and blanks, which are narrower than the letter that `text_width` reckons with


def choose_columns(query: BoardQuery) -> list[str]:
    """The names of the columns to show, behind a button; the URL has them where they are not the default ones."""
    default = [name for name in _TITLES if name in DEFAULT_COLUMNS or (query.include_invalid and name in _OF_INVALID)]
    with st.popover(t("board.columns"), icon=":material/view_column:"):
        return url.choose_options(
            PARAMETER, t("board.columns"), [*_TITLES], _find_title, default=default, help=t("board.columns_help")
        )


def block_cells(
    rows: Sequence[BoardRow], dots: Mapping[str, Sequence[RunDot]], changes: Mapping[str, TrendVerdict]
) -> list[dict[str, Any]]:
    """All cells of each row by the names of their columns; by its latest run, its newest runs and what changed."""
    best, same_framework = rows[0], framework_of(rows)
    ranks = rank_cells(rows)
    has_bands = any(band_of(rank) != NO_BAND for rank in ranks)
    return [
        {
            "rank": [rank] if has_bands else rank,  # chips are wider than texts
            "flavor": describe_hardware(row),
            "size": nodes_and_cards(row.node_count, row.cards_per_node),
            "version": row.framework_version if same_framework else f"{row.framework} {row.framework_version}",
            "throughput": round_digits(row.throughput),
            "per_card": round_digits(row.per_card),
            "relation": format_relation(row, best),
            **({"change": [change_text(found)]} if (found := changes.get(row.latest_run_id)) else {}),
            "interval": interval_text(row),
            "runs": row.runs,
            "trend": [dot.throughput for dot in dots[row.latest_run_id]],
            "cv": to_percent(row.cv),
            "accuracy": to_percent(row.accuracy),
            **({"note": note} if (note := row_note(row)) else {}),
            **{
                column.name: round_digits(value)
                for column in list_medians()
                if (value := getattr(row, column.name)) is not None
            },
            **({"currency": row.currency} if row.currency else {}),
            **({"parameters": system_text(row)} if system_text(row) else {}),
            "origin": t(f"origin.{row.origin}"),
            "not_valid": row.invalid + row.incomplete,
            "latest": format_time(row.latest_at, "%Y-%m-%d %H:%M"),
            "reason": row.reason,
        }
        for row, rank in zip(rows, ranks, strict=True)
    ]


def interval_text(row: BoardRow) -> str:
    """The 95 % interval of its mean."""
    if row.ci_low is None:
        return MISSING
    return " – ".join(number(end, digits=INTERVAL_DIGITS) for end in (row.ci_low, row.ci_high))


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


def build_titled_cells(
    cells: Sequence[Mapping[str, Any]], names: Collection[str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The chosen cells by the whole titles of their columns, and how Streamlit draws each column."""
    present = [name for name in _TITLES if name in names and any(name in row for row in cells)]
    widths = _compute_widths(cells, present)
    prefix = shared_prefix(row["flavor"] for row in cells) if _lacks_room(cells, widths) else ""
    if prefix:  # without it, the ends by which names differ are seen
        cells = [{**row, "flavor": row["flavor"].removeprefix(prefix)} for row in cells]
        widths = _compute_widths(cells, present)
    table = [{_find_title(name): row.get(name) for name in present} for row in cells]
    config = configure_columns(table, {_find_title(name): width for name, width in widths.items()})
    if "trend" in present:
        config[_find_title("trend")] = st.column_config.LineChartColumn(width=widths["trend"])
    values = [row["throughput"] for row in cells if row["throughput"] is not None]
    if "throughput" in present and values:
        # From zero on: a bar that begins elsewhere makes small differences look large.
        config[_find_title("throughput")] = st.column_config.ProgressColumn(
            min_value=0, max_value=max(values), format=number_format(values), width=widths["throughput"]
        )
    for name, colours in _chip_colours(cells).items():
        if name in present:
            config[_find_title(name)] = st.column_config.MultiselectColumn(
                options=[*colours], color=[*colours.values()], width=widths[name]
            )
    for name in present:
        config[_find_title(name)] |= {"label": _find_header(name), "help": _find_help(name)}
    if prefix and "flavor" in present:
        config[_find_title("flavor")]["help"] = t("board.flavor_prefix", prefix=escape_markdown(prefix))
    return table, config


def _chip_colours(cells: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """For each column of chips, the colours of its texts."""
    ranks = {text: band_of(text) for row in cells if isinstance(row["rank"], list) for text in row["rank"]}
    changes = badge_colours(text for row in cells for text in row.get("change", ()))
    return {name: colours for name, colours in (("rank", ranks), ("change", changes)) if colours}


def _lacks_room(cells: Sequence[Mapping[str, Any]], widths: Mapping[str, int]) -> bool:
    is_wide = sum(widths.values()) > NARROW - _TICKS
    return is_wide or any(widths.get("flavor", 0) < round(_SCALE * text_width(row["flavor"])) for row in cells)


def _find_title(name: str) -> str:
    return (
        t(_TITLES[name])
        if _TITLES[name]
        else t.column(next(column for column in list_medians() if column.name == name))
    )


def _find_help(name: str) -> str | None:
    if name == "trend":
        return t("board.trend_help", count=NEWEST)
    if name == "change":
        return t("board.change_help")
    return t("board.flavor_help") if name == "flavor" else t(_TITLES[name]) if name in _SHORT else None


def _find_header(name: str) -> str:
    return t(_SHORT[name]) if name in _SHORT else _find_title(name)


def _compute_widths(cells: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, int]:
    """Pixels of each column: as wide as its longest text; bars and lines share what is left of a narrow window."""
    texts = {
        name: [_find_header(name), *(_format_cell(row.get(name)) for row in cells)]
        for name in names
        if name not in _GRAPHS
    }
    widths = {
        name: min(
            _MAX_WIDTH.get(name, _LONGEST),
            max(_LEAST, round(_SCALE * max(map(text_width, values))))
            + (_CHIP if any(isinstance(row.get(name), list) for row in cells) and name in _CHIPS else 0),
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
