"""The rows of the leaderboard's tables; a header names the unit of its numbers, or a column of its own does."""

from collections.abc import Iterable, Sequence
from typing import Any

from aisbench_core.base.formats import MISSING, format_duration, nodes_and_cards
from aisbench_core.model.columns import list_medians
from aisbench_core.warehouse.values.boards import BoardRow, describe_hardware
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.runs.target import row_note, target_text
from pages._ui.runs.validity import join_reasons
from pages._ui.shell.formats import format_time, round_digits, to_percent
from pages._ui.shell.words import t


def common_unit(rows: Iterable[BoardRow | RunRow]) -> str:
    """The unit for a table's headers: that of all rows, or a reference to the column that has each row's own."""
    units = {row.throughput_unit for row in rows}
    return units.pop() if len(units) == 1 else t("board.unit_beside")


def group_cells(
    row: BoardRow, unit: str, parameters: str | None, changes: Sequence[str] | None = None
) -> dict[str, Any]:
    """A row of the leaderboard; `unit` is for the headers.

    `parameters` distinguish rows, and `changes` are badges; None: no column."""
    return {
        t("board.rank"): rank_text(row) or MISSING,
        t("board.model"): row.model,
        **({} if parameters is None else {t("board.parameters"): parameters}),
        t("board.version"): f"{row.framework} {row.framework_version}",
        t("board.flavor"): describe_hardware(row),
        t("board.block_size"): nodes_and_cards(row.node_count, row.cards_per_node),
        **own_unit(row, unit),
        t("board.median", unit=unit): round_digits(row.throughput),
        **({} if changes is None else {t("board.change"): changes}),
        t("board.runs"): row.runs,
        t("board.cv"): to_percent(row.cv),
        t("board.per_card", unit=unit): round_digits(row.per_card),
        t("board.accuracy_percent"): to_percent(row.accuracy),
        t("board.target"): target_text(row),
        **({t("board.note"): note} if (note := row_note(row)) and row.is_scattered else {}),
        **median_cells(row),
        t("board.low", unit=unit): round_digits(row.ci_low),
        t("board.high", unit=unit): round_digits(row.ci_high),
        t("board.best", unit=unit): round_digits(row.best),
        t("board.origin"): t(f"origin.{row.origin}"),
        t("board.not_valid"): row.invalid + row.incomplete,
        t("board.data"): t("board.synthetic") if row.synthetic_data else row.dataset,
        t("board.best_by"): row.best_by or MISSING,
        t("board.latest"): format_time(row.latest_at, "%Y-%m-%d %H:%M"),
        t("board.workload"): row.workload,
        t("board.reason"): row.reason,
    }


def rank_text(row: BoardRow) -> str:
    """Its rank; that of a single run says that it is unconfirmed. Empty without one."""
    return row.rank if row.is_confirmed or not row.rank else t("board.unconfirmed", rank=row.rank)


def system_text(row: BoardRow) -> str:
    """What distinguishes it from rows that look the same, and what is not known of it."""
    return ", ".join(filter(None, (row.system, t.message(row.mixed))))


def median_cells(row: BoardRow) -> dict[str, Any]:
    """Medians that few rows have, such as power: a table without any has no column for them."""
    values = {column: getattr(row, column.name) for column in list_medians()}
    cells = {t.column(column): round_digits(value) for column, value in values.items() if value is not None}
    return cells | ({t("board.currency"): row.currency} if row.currency else {})


def run_cells(row: RunRow, unit: str) -> dict[str, Any]:
    """A single run; `unit` is for the headers."""
    return {
        t("board.run"): row.run_id,
        t("board.validity"): t(f"validity.{row.validity}"),
        t("board.model"): row.model,
        t("board.version"): f"{row.framework} {row.framework_version}",
        **own_unit(row, unit),
        t("board.throughput", unit=unit): round_digits(row.throughput),
        t("board.flavor"): describe_hardware(row),
        t("board.block_size"): nodes_and_cards(row.node_count, row.cards_per_node),
        t("board.per_card", unit=unit): round_digits(row.per_card),
        t("board.accuracy_percent"): to_percent(row.accuracy),
        t("board.target"): target_text(row),
        t("board.origin"): t(f"origin.{row.origin}"),
        t("board.tag"): ", ".join(row.tags),
        t("board.reason"): join_reasons(row),
        t("board.duration"): format_duration(row.duration_s),
        t("board.data"): t("board.synthetic") if row.synthetic_data else row.dataset,
        t("board.by"): row.created_by,
        t("board.launched"): format_time(row.created_at, "%Y-%m-%d %H:%M"),
    }


def own_unit(row: BoardRow | RunRow, unit: str) -> dict[str, str]:
    """A column for the unit where the headers cannot name one."""
    return {} if unit == row.throughput_unit else {t("board.unit"): row.throughput_unit}
