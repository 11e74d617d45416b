"""The columns of the leaderboard, each declared once, and which of them each of its tables has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aisbench_core.base.formats import MISSING, format_number, nodes_and_cards
from aisbench_core.model.columns import Column, list_medians
from aisbench_core.warehouse.values.boards import BoardRow, describe_hardware
from pages._ui.runs.target import row_note, target_text
from pages._ui.shell.formats import format_time, round_digits, to_percent
from pages._ui.shell.words import t

INTERVAL_DIGITS = 4  # more than repeats ever agree in, and as many as a window of 1280 pixels has room for

Cells = Mapping[str, Any]  # of a row, by the names of their columns


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A column of the leaderboard's tables.

    `name`: also in the URL. `title`: the key of its text, or the column of the catalogue that it is the median of.
    `cell`: of a row; None where it takes more than that: the table adds it. `in_list`:
    the title where rows of several benchmarks are in one table, if another; it may name their unit. `short`: the head
    over numbers that are narrower than the title. `is_sparse`: left out of a table in which no row has one. `sort`:
    what the URL calls the order of a list by this column."""

    name: str
    title: str | Column
    cell: Callable[[Any], Any] | None = None
    in_list: str = ""
    short: str = ""
    is_sparse: bool = False
    sort: str = ""


def rank_text(row: BoardRow) -> str:
    """Its rank; that of a single run says that it is unconfirmed. Empty without one."""
    return row.rank if row.is_confirmed or not row.rank else t("board.unconfirmed", rank=row.rank)


def system_text(row: BoardRow) -> str:
    """What distinguishes it from rows that look the same, and what is not known of it."""
    return ", ".join(filter(None, (row.system, t.message(row.mixed))))


def interval_text(row: BoardRow) -> str:
    """The 95 % interval of its mean."""
    if row.ci_low is None:
        return MISSING
    return " – ".join(format_number(end, digits=INTERVAL_DIGITS) for end in (row.ci_low, row.ci_high))


def _get_field(field: str, to_cell: Callable[[Any], Any] = lambda value: value) -> Callable[[Any], Any]:
    return lambda row: to_cell(getattr(row, field))


def _to_minute(at: Any) -> str:
    return format_time(at, "%Y-%m-%d %H:%M")


COLUMNS: Mapping[str, BoardColumn] = {
    column.name: column
    for column in (
        BoardColumn("rank", "board.rank", lambda row: rank_text(row) or MISSING),
        BoardColumn("model", "board.model", _get_field("model"), sort="model"),
        BoardColumn("flavor", "board.flavor", describe_hardware, short="board.hardware", sort="flavor"),
        BoardColumn(
            "size", "board.size", lambda row: nodes_and_cards(row.node_count, row.cards_per_node),
            in_list="board.block_size", short="board.block_size", sort="node_count",
        ),
        BoardColumn(
            "version", "board.version", lambda row: f"{row.framework} {row.framework_version}",
            sort="framework_version",
        ),
        BoardColumn("unit", "board.unit", _get_field("throughput_unit")),
        BoardColumn(
            "throughput", "board.block_median", _get_field("throughput", round_digits), in_list="board.median",
            sort="throughput",
        ),
        BoardColumn(
            "per_card", "board.block_per_card", _get_field("per_card", round_digits), in_list="board.per_card",
            sort="per_card",
        ),
        BoardColumn("relation", "board.relation"),
        BoardColumn("change", "board.change", short="board.block_change", is_sparse=True),
        BoardColumn("interval", "board.interval", interval_text),
        BoardColumn("runs", "board.runs", _get_field("runs"), short="board.block_runs", sort="runs"),
        BoardColumn("trend", "board.trend", short="board.block_trend"),
        BoardColumn("cv", "board.cv", _get_field("cv", to_percent), sort="cv"),
        BoardColumn(
            "accuracy", "board.accuracy_percent", _get_field("accuracy", to_percent), short="board.accuracy",
            sort="accuracy",
        ),
        BoardColumn("target", "board.target", target_text),
        BoardColumn("note", "board.note", row_note, is_sparse=True),
        # Medians that few rows have, such as power.
        *(
            BoardColumn(each.name, each, _get_field(each.name, round_digits), is_sparse=True, sort=each.name)
            for each in list_medians()
        ),
        BoardColumn("currency", "board.currency", _get_field("currency"), is_sparse=True),
        BoardColumn("ci_low", "board.low", _get_field("ci_low", round_digits)),
        BoardColumn("ci_high", "board.high", _get_field("ci_high", round_digits)),
        BoardColumn("best", "board.best", _get_field("best", round_digits), sort="best"),
        BoardColumn("parameters", "board.parameters", system_text, is_sparse=True),
        BoardColumn("origin", "board.origin", lambda row: t(f"origin.{row.origin}")),
        BoardColumn("not_valid", "board.not_valid", lambda row: row.invalid + row.incomplete + row.set_aside),
        BoardColumn("data", "board.data", lambda row: t("board.synthetic") if row.synthetic_data else row.dataset),
        BoardColumn("best_by", "board.best_by", lambda row: row.best_by or MISSING),
        BoardColumn("latest", "board.latest", _get_field("latest_at", _to_minute), sort="latest_at"),
        BoardColumn("workload", "board.workload", _get_field("workload"), sort="workload"),
        BoardColumn("reason", "board.reason", _get_field("reason")),
    )
}  # fmt: skip

_MEDIANS = tuple(column.name for column in list_medians())

# Of a benchmark's table, where the reader chooses among them.
BLOCK_COLUMNS = (
    *("rank", "version", "flavor", "size", "throughput", "interval", "per_card", "relation", "change", "accuracy"),
    *("runs", "trend", "note", "parameters", "cv", *_MEDIANS, "currency", "origin", "not_valid", "latest", "reason"),
)
# Of the table of all configurations.
GROUP_COLUMNS = (
    *("rank", "model", "parameters", "version", "flavor", "size", "unit", "throughput", "change", "runs", "cv"),
    *(
        "per_card",
        "accuracy",
        "target",
        "note",
        *_MEDIANS,
        "currency",
        "ci_low",
        "ci_high",
        "best",
        "origin",
        "not_valid",
    ),
    *("data", "best_by", "latest", "workload", "reason"),
)


def read_cells(row: BoardRow, names: Iterable[str], added: Mapping[str, Any] | None = None) -> Cells:
    """The cells of a row; those that are `added` take more than the row."""
    cells: dict[str, Any] = {**(added or {})}
    for name in names:
        if name not in cells and (read := COLUMNS[name].cell):
            cells[name] = read(row)
    return {name: cell for name, cell in cells.items() if not COLUMNS[name].is_sparse or cell not in (None, "")}


def find_present(cells: Sequence[Cells], names: Iterable[str]) -> list[str]:
    """The columns that a table of these rows has."""
    return [name for name in names if any(name in row for row in cells)]


def list_titles(cells: Sequence[Cells], names: Iterable[str], rows: Sequence[BoardRow]) -> Mapping[str, str]:
    """The titles of a list of several benchmarks, by name; the column of units only where the heads cannot name one."""
    unit = common_unit(rows)
    present = [name for name in find_present(cells, names) if name != "unit" or unit != rows[0].throughput_unit]
    return {name: find_list_title(name, unit) for name in present}


def find_list_title(name: str, unit: str = "") -> str:
    """A column's title in a list of several benchmarks; without a unit that all rows share, each has its own."""
    title = COLUMNS[name].in_list or COLUMNS[name].title
    return t(title, unit=unit or t("board.unit_beside")) if isinstance(title, str) else t.column(title)


def find_title(name: str) -> str:
    """A column's title in the table of one benchmark, whose unit stands above."""
    title = COLUMNS[name].title
    return t(title) if isinstance(title, str) else t.column(title)


def find_head(name: str) -> str:
    """The title, or a shorter one over narrow numbers."""
    return t(COLUMNS[name].short) if COLUMNS[name].short else find_title(name)


def common_unit(rows: Iterable[BoardRow]) -> str:
    """The unit for a table's headers: that of all rows, or a reference to the column that has each row's own."""
    units = {row.throughput_unit for row in rows}
    return units.pop() if len(units) == 1 else t("board.unit_beside")
