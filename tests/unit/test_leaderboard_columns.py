"""The leaderboard's columns: each is declared once, and its tables choose among them."""

from dataclasses import fields

import pytest

from aisbench_core.model.columns.statistics import STATISTICS
from aisbench_core.warehouse.values.boards import BoardRow
from pages._ui.leaderboard import tv
from pages._ui.leaderboard.block_columns import DEFAULT_COLUMNS
from pages._ui.leaderboard.columns import BLOCK_COLUMNS, COLUMNS, GROUP_COLUMNS

TABLES = {
    "block": BLOCK_COLUMNS,
    "default": DEFAULT_COLUMNS,
    "group": GROUP_COLUMNS,
    "wall": (*tv.COLUMNS,),
}

# Numbers of a row that no table has: the mean is said by its interval, and single accuracies by that of the median run.
NOT_SHOWN = {"olympic_mean", "mean", "per_node", "best_accuracy", "median_accuracy"}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_the_leaderboard_has_each_column_once_and_no_unknown_one(table: str) -> None:
    names = TABLES[table]

    assert len(set(names)) == len(names)
    assert set(names) <= set(COLUMNS)


def test_every_column_of_the_leaderboard_is_in_a_table() -> None:
    assert set(COLUMNS) == {*BLOCK_COLUMNS, *GROUP_COLUMNS}


def test_a_statistic_of_a_row_is_a_column_of_the_leaderboard_or_known_not_to_be() -> None:
    of_rows = {each.name for each in STATISTICS} & {field.name for field in fields(BoardRow)}

    assert of_rows - set(COLUMNS) == NOT_SHOWN
