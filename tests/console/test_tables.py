"""Numbers in tables: as many decimals as the longest of a column has, so that no browser invents digits."""

from collections.abc import Sequence

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.base.formats import MISSING
from pages._ui.shell.tables import configure_columns


@pytest.mark.parametrize(
    ("values", "shown_as"),
    [
        ((941.53, 785.2, 12), "%.2f"),
        ((1.0, 2, None), "%.0f"),
        ((941.53, 52_683.0), "localized"),
        ((0.1234567, 1.0), "plain"),
        ((1e-9, 1.0), "plain"),
    ],
)
def test_a_column_of_numbers_has_the_decimals_of_its_longest(values: Sequence[float | None], shown_as: str) -> None:
    [column] = configure_columns([{"value": value} for value in values], {"value": "Value"}, {}).values()

    assert column["type_config"]["format"] == shown_as


def some_texts() -> None:
    from pages._ui.shell.tables import show_table

    show_table([{"what": "=1+1", "why": "<b>"}, {"what": "步骤"}], {"what": "What", "why": "Why"}, "a table")


def test_a_table_of_texts_shows_them_as_they_are_and_nothing_for_what_a_row_lacks() -> None:
    table = AppTest.from_function(some_texts).run().dataframe[0]

    assert table.value.fillna(MISSING).to_dict("list") == {"What": ["=1+1", "步骤"], "Why": ["<b>", MISSING]}
    assert table.proto.placeholder == MISSING


def equal_titles() -> None:
    from pages._ui.shell.tables import show_table, show_wrapped

    titles = {"what": "What", "first": "r1", "second": "r1", "third": "r1 (2)"}
    row = {"what": "time", "first": "1", "second": "2", "third": "3"}
    show_table([row], titles, "a table")
    show_wrapped([row], titles, "a wrapped table")


def test_columns_of_equal_titles_keep_their_cells() -> None:
    app = AppTest.from_function(equal_titles).run()

    for table in (app.dataframe[0].value, app.table[0].value):
        assert [*table.iloc[0]] == ["time", "1", "2", "3"]
        assert len(set(table.columns)) == 4
