"""Columns are chosen in every table: the address has them, and links back to the page take them along."""

from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.console.conftest import OpenPage
from tests.console.grids import Grid
from tests.series_bench import SeriesBench


def link_of(app: AppTest, label: str) -> dict[str, list[str]]:
    """What the menu's link of this label selects."""
    [link] = [link.proto for link in app.sidebar.get("page_link") if link.proto.label == label]
    return parse_qs(link.query_string)


@pytest.mark.usefixtures("used")
def test_the_menu_leads_back_to_the_runs_with_the_chosen_columns(open_page: OpenPage) -> None:
    app = open_page("runs")
    before = link_of(app, "Runs")

    app.multiselect(key="columns").set_value(["id", "status"]).run()
    chosen = link_of(app, "Runs"), link_of(app, "Leaderboard")
    app.multiselect(key="columns").set_value([]).run()

    assert before == link_of(app, "Runs") == {"lang": ["en"]}
    assert chosen == ({"lang": ["en"], "columns": ["id", "status"]}, {"lang": ["en"]})


def test_a_view_of_the_runs_keeps_filters_and_columns(open_page: OpenPage, used: Path) -> None:
    app = open_page("runs", columns=["id"], state="failed")
    app.text_input(key="view-name").set_value("Lost")
    app.button(key="view-save").click().run()

    app = open_page("runs", view="Lost")

    assert [*Grid(app).labels] == ["run", "id"]
    assert app.multiselect(key="state").value == ["failed"]
    assert Warehouse(used / "warehouse.duckdb").saved_views.on("runs")


def test_history_compare_and_all_configurations_have_the_chosen_columns(open_page: OpenPage, used: Path) -> None:
    warehouse = Warehouse(used / "warehouse.duckdb")
    warehouse.record_many([a.record(f"one-{at}", throughputs=[1000.0 + at] * 8) for at in range(4)])
    run_ids = [f"one-{at}" for at in range(4)]
    group = max(warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows, key=lambda row: row.runs).group.id

    history = Grid(open_page("history", group=group, columns=["by", "at"]))
    configurations = Grid(open_page("leaderboard", show="groups", group_columns=["size", "rank"]))
    whole, few, many = (
        Grid(open_page("compare", ids=run_ids[:count], **chosen), name).rows
        for count, chosen, name in (
            (2, {}, "Metrics"),
            (2, {"metrics": "accuracy"}, "Metrics"),
            (4, {"metrics": "accuracy"}, "Runs as columns"),
        )
    )

    assert [*history.labels] == ["run", "at", "by"]
    assert [*configurations.labels] == ["rank", "size"]
    assert {"throughput", "accuracy"} < {row.id for row in few} < {row.id for row in whole}
    assert {row.id for row in few} - {"validity"} <= {row.id for row in many}


def test_tables_of_a_series_have_the_chosen_columns(open_page: OpenPage, data_dir: Path) -> None:
    bench = SeriesBench.on(data_dir)
    series = bench.launch(node_counts="1", repeats=2)
    for _ in range(2):
        [run] = bench.admit()
        bench.end(run, 200.0)

    app = open_page("series", series=series.series_id, columns=["mean", "cv"], attempt_columns=["took"])

    heads = [[*table.value.columns] for table in app.dataframe]
    assert ["Row", "Mean", "CV"] in heads
    assert ["Row", "Duration"] in heads
    assert link_of(app, "Series") == {"lang": ["en"], "columns": ["mean", "cv"], "attempt_columns": ["took"]}
