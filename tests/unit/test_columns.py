"""The catalogue of columns is whole, and the typed rows are those that it declares."""

from dataclasses import fields

import pytest

from aisbench_core.base.messages import labels_in_chinese
from aisbench_core.exchange.readers.results import ColumnMeaning as TableColumn
from aisbench_core.model import TrainResultInfo
from aisbench_core.model.columns import (
    COLUMNS,
    KEYS,
    RESULTS,
    RUNS,
    Compared,
    by_field,
    list_compared,
    list_medians,
    stored_in,
)
from aisbench_core.model.columns.statistics import by_statistic
from aisbench_core.warehouse.validity.facts import Facts
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.runs import RunRow


def test_names_are_given_once() -> None:
    names = [column.name for column in COLUMNS]
    exported = [column.exported.name or column.name for column in COLUMNS if column.exported]

    assert len(set(names)) == len(names)
    assert len(set(exported)) == len(exported)
    assert len(by_field()) == len(names)


@pytest.mark.parametrize(("table", "first"), [("runs", 1), ("results", 2)])
def test_each_place_of_a_table_is_taken_once_and_later_columns_stand_behind(table: str, first: int) -> None:
    declared = [column.stored for column in COLUMNS if column.stored and column.stored.table == table]
    ordered = sorted(declared, key=lambda stored: stored.position)

    assert [stored.position for stored in ordered] == list(range(first, first + len(ordered)))
    assert [stored.since for stored in ordered] == sorted(stored.since for stored in ordered)
    assert len(stored_in(table)) == len(ordered)


def test_the_block_has_the_keys_of_the_catalogue() -> None:
    keys = [key.stored_name for key in KEYS]

    assert [field.name for field in fields(TrainResultInfo)] == keys
    assert set(keys) <= set(TableColumn)


def test_every_field_of_a_run_is_a_column() -> None:
    rows = {field.name for field in fields(RunRow)}

    assert rows <= by_field().keys()
    assert {column.field for column in list_compared(Compared.HIGHER_IS_BETTER, Compared.LOWER_IS_BETTER)} <= rows
    assert {key.field for key in KEYS if not key.stored_name.endswith("_time")} <= rows


def test_rows_of_the_leaderboard_have_every_median() -> None:
    assert {column.name for column in list_medians()} <= {field.name for field in fields(BoardRow)}


def test_what_rules_look_at_is_stored_or_derived_in_both_ways() -> None:
    stored = {column.stored_name for table in (RUNS, RESULTS) for column in stored_in(table)}
    of_other_tables = {"lowest_accuracy", "highest_accuracy", "cards"}

    assert set(Facts._fields) - stored == {"imported", "division", "test_model", "throughput"} | of_other_tables


def test_every_field_of_a_leaderboard_row_is_a_column_a_statistic_or_known_to_be_of_rows_only() -> None:
    known = {*by_field(), *by_statistic()}
    counts = {"runs", "invalid", "incomplete", "reached", "missed"}
    single_runs = {"best_run_id", "best_by", "best_at", "latest_run_id", "latest_at", "median_run_id"}
    ranked = {"rank_from", "rank_to", "differs_in", "reason", "is_lower_better"}

    assert {field.name for field in fields(BoardRow)} - known == counts | single_runs | ranked


def test_what_has_a_label_has_a_chinese_one() -> None:
    chinese = {name.removeprefix("column.") for name in labels_in_chinese() if name.startswith("column.")}

    assert chinese == {column.name for column in COLUMNS if column.label}
