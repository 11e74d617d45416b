"""Each statistic of a group is declared once: rows have a field for each, and SQL and Python give the same numbers."""

from dataclasses import fields
from functools import cache

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.base.messages import labels_in_chinese
from aisbench_core.domain.statistics.summary import Summary, summarize_values
from aisbench_core.model import columns
from aisbench_core.model.columns.statistics import CLUSTER, STATISTICS, STORED
from aisbench_core.warehouse.answers.board import derived_sql
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.runs import RunRow

NAMES = {statistic.name for statistic in STATISTICS}


def test_rows_of_the_leaderboard_have_every_statistic_but_the_deviation_that_the_interval_says_better() -> None:
    assert NAMES - {field.name for field in fields(BoardRow)} == {"sd"}


def test_rows_of_runs_have_every_column_under_the_name_that_the_catalogue_gives() -> None:
    found = {field.name for field in fields(RunRow)}

    assert {column.field for column in columns.COLUMNS if column.sortable or column.compared} <= found


def test_a_summary_has_nothing_that_the_catalogue_lacks() -> None:
    assert {field.name for field in fields(Summary)} - {"count"} <= NAMES


def test_every_label_is_in_chinese() -> None:
    chinese = {name.removeprefix("statistic.") for name in labels_in_chinese() if name.startswith("statistic.")}

    assert chinese == {statistic.name for statistic in STATISTICS if statistic.label}


def test_stored_statistics_have_a_position_each() -> None:
    assert [statistic.position for statistic in STORED] == [*range(1, len(STORED) + 1)]


@cache
def engine() -> duckdb.DuckDBPyConnection:
    """One for all examples."""
    return duckdb.connect()


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=12))
def test_sql_and_python_give_the_same_numbers(values: list[float]) -> None:
    aggregates = {each.name: each.aggregate("true") for each in STATISTICS if each.sql and each.over == CLUSTER}
    known = aggregates | derived_sql(aggregates["mean"], aggregates["sd"], "count(*)", "true")
    asked = ", ".join(f"{sql} as {name}" for name, sql in known.items())
    with engine().cursor() as con:
        relation = con.sql(f"select unnest($values) as {CLUSTER}, '' as primary_metric", params={"values": values})
        [cells] = relation.aggregate(asked).fetchall()
    expected = summarize_values(values)

    for name, value in zip(known, cells, strict=True):
        if hasattr(expected, name):
            assert value == (
                None if (own := getattr(expected, name)) is None else pytest.approx(own, rel=1e-6, abs=1e-6)
            ), name
