"""The table of all pages: what it is given, and what it says of ticks, opened rows and sorted columns."""

import pytest
from streamlit.testing.v1 import AppTest

from pages._ui.grid.table import grid_height
from pages._ui.grid.values import CellPart, Dot, GridCell, GridColumn, GridRow, Spark, Tone, encode_column, encode_row
from pages._ui.shell.navigation import LIVE, address_of
from tests.console.grids import Grid


def two_runs() -> None:
    import streamlit as st

    from pages._ui.grid.action_bar import create_action_bar
    from pages._ui.grid.sorting import read_sorting
    from pages._ui.grid.table import show_grid
    from pages._ui.grid.values import Align, GridCell, GridColumn, GridRow, PageLink
    from pages._ui.shell.navigation import LIVE

    sorting = read_sorting(["launched", "name"], "launched", texts=["name"])
    columns = [GridColumn("run", "Run", sort="name"), GridColumn("age", "Age", Align.RIGHT, sort="launched")]
    names = ["one", "two"] if not st.query_params.get("only") else ["two"]
    rows = [GridRow(name, f"Run {name}", {"run": GridCell(name)}, PageLink(LIVE, {"run": name})) for name in names]
    ticked = show_grid(columns, rows, "Runs", key="runs", is_tickable=True, sorting=sorting)
    if ticked:
        with create_action_bar("runs", len(ticked)):
            st.button("Compare")
    st.text(f"ticked: {' '.join(ticked)}; by {sorting.by} {'down' if sorting.is_descending else 'up'}")


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(two_runs).run()


def said(app: AppTest) -> str:
    return str(app.text[0].value)


def test_ticked_rows_are_named_in_the_order_of_their_ticks_and_have_a_bar_of_actions(app: AppTest) -> None:
    assert said(app) == "ticked: ; by launched down"
    assert not app.button

    Grid(app).tick("two", "one")

    assert said(app).startswith("ticked: two one;")
    assert app.markdown[0].value == "**2 selected**"
    assert [button.label for button in app.button] == ["Compare", "Esc clears"]


def test_what_is_cleared_stays_cleared_until_something_is_ticked_again(app: AppTest) -> None:
    Grid(app).tick("one")

    app.button(key="clear-ticks").click().run()

    assert said(app).startswith("ticked: ;")
    assert Grid(app).data["cleared"] > 0
    assert said(Grid(app).tick("one")).startswith("ticked: one;")


def test_a_ticked_row_that_is_filtered_away_is_not_ticked(app: AppTest) -> None:
    Grid(app).tick("one", "two")

    app.query_params["only"] = "1"
    app.run()

    assert said(app).startswith("ticked: two;")


def test_heads_sort_by_the_url_and_turn_the_order_round(app: AppTest) -> None:
    Grid(app).sort("name")
    assert said(app).endswith("by name up")
    assert app.query_params == {"sort": "name"}
    assert Grid(app).data["sorted"] == {"by": "name", "down": False}

    Grid(app).sort("name")
    assert said(app).endswith("by name down")

    Grid(app).sort("launched")
    assert said(app).endswith("by launched down")
    assert app.query_params == {}


def test_a_row_links_to_its_page_in_the_language_of_the_session(app: AppTest) -> None:
    assert [row.href for row in Grid(app).rows] == ["live?run=one&lang=en", "live?run=two&lang=en"]
    assert address_of(LIVE, {"ids": ["a b", "c&d"]}) == "live?ids=a+b&ids=c%26d&lang=en"


def test_the_height_of_a_table_is_known_before_the_browser_draws_it(app: AppTest) -> None:
    assert [grid_height(count) for count in (0, 2, 20)] == [44, 108, 684]
    assert Grid(app).labels == {"run": "Run", "age": "Age"}


def test_a_cell_carries_its_state_tone_unit_signs_and_curve() -> None:
    target = CellPart("✗ 75.9 %", Tone.BAD, name="missed the target of 75.9 %")
    spark = Spark((1.0, 2.0), (0.0, 3.0), "2 runs", (1.0, 1.5))
    cell = GridCell("10 %", Tone.BAD, unit="samples/s", dot=Dot(Tone.GOOD, "Completed"), parts=(target,), spark=spark)

    row = encode_row(GridRow("r", "Run r", {"run": cell, "hidden": GridCell("x")}), ["run", "absent"])

    assert row["href"] == ""
    assert row["cells"] == {
        "run": {
            "text": "10 %",
            "tone": "bad",
            "unit": "samples/s",
            "dot": {"tone": "good", "name": "Completed"},
            "parts": [{"text": "✗ 75.9 %", "tone": "bad", "name": "missed the target of 75.9 %"}],
            "spark": {
                "values": (1.0, 2.0), "axis": (0.0, 3.0), "band": (1.0, 1.5), "name": "2 runs", "tone": "info",
            },
        }
    }  # fmt: skip
    assert encode_column(GridColumn("run", "Run", sort="name"), ["age"]) == {
        "key": "run",
        "label": "Run",
        "align": "left",
    }
