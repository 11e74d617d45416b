"""A missed target accuracy is said beside every number of the run or row, in each view of the console."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, drawn, texts
from tests.console.grids import Grid

MISSED = "target missed"


@pytest.fixture
def fast_and_useless(data_dir: Path) -> None:
    """A fast row that learned nothing, one of which half did, and one that reached its target."""
    Warehouse(data_dir / "warehouse.duckdb").rebuild(
        [
            *a.records([20_000, 20_100], "useless", flavor="useless", accuracy=0.1),
            *a.records([15_000], "half", flavor="half"),
            *a.records([15_100], "other-half", flavor="half", accuracy=0.1),
            *a.records([9_000, 9_010], "good", flavor="good"),
        ]
    )


@pytest.mark.usefixtures("fast_and_useless")
def test_benchmarks_have_it_last_with_a_cross_and_name_the_target(open_page: OpenPage) -> None:
    app = open_page("leaderboard", chart="1")

    rows = Grid(app).rows
    assert [row["flavor"] for row in rows] == ["good", "useless", "half"]
    assert [row["accuracy"] for row in rows] == [
        "76.00 % target reached",
        "10.00 % target missed target 75.9 %",
        "76.00 % ✗ 1 of 2 missed the target",
    ]
    assert [row.tone("accuracy") for row in rows] == ["good", "bad", "bad"]
    assert [row.cells["accuracy"]["parts"][0]["text"] for row in rows] == ["✓", "✗", "✗"]
    assert "target 75.9 %" in texts(app)
    bars = [str(row["name"]) for row in drawn(app) if "rank" in row]
    assert [MISSED in name for name in bars] == [False, True, False]
    assert "1 of 2 missed" in bars[2]


@pytest.mark.usefixtures("fast_and_useless")
def test_the_wall_screen_has_it_last_with_a_note(open_page: OpenPage) -> None:
    app = open_page("leaderboard", tv="1")

    rows = app.table[0].value
    assert list(rows["Hardware"]) == ["good", "useless", "half"]
    assert MISSED in rows["Note"].iloc[1]


@pytest.mark.usefixtures("fast_and_useless")
def test_a_table_without_accuracies_says_it_in_a_note(open_page: OpenPage) -> None:
    rows = Grid(open_page("leaderboard", columns=["flavor", "throughput", "note"])).rows

    assert [row["note"] for row in rows] == ["", MISSED, "1 of 2 missed the target"]


@pytest.mark.usefixtures("fast_and_useless")
@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ({"show": "groups"}, ["target reached", MISSED, "1 of 2 missed the target"]),
        ({"show": "groups", "sort": "best"}, ["target reached", MISSED, "1 of 2 missed the target"]),
    ],
)
def test_the_list_of_configurations_has_it_last(
    open_page: OpenPage, view: Mapping[str, str], expected: list[str]
) -> None:
    app = open_page("leaderboard", **view)

    assert Grid(app).column("target") == expected


@pytest.mark.usefixtures("fast_and_useless")
def test_single_runs_say_it(open_page: OpenPage) -> None:
    grid = Grid(open_page("leaderboard", show="runs"))

    assert MISSED in grid.row("useless-0")["accuracy"]
    assert "target reached" in grid.row("good-0")["accuracy"]


@pytest.mark.usefixtures("fast_and_useless")
def test_the_page_of_a_configuration_says_it(open_page: OpenPage) -> None:
    app = open_page("configuration", run="half-0")

    assert any("1 of 2 missed the target" in box.value for box in app.error)


@pytest.mark.usefixtures("fast_and_useless")
def test_the_page_of_a_run_says_it_below_its_throughput(open_page: OpenPage) -> None:
    app = open_page("live", run="useless-0")

    assert any("10" in box.value and "75.9" in box.value and "missed" in box.value for box in app.error)
    assert MISSED in texts(app)


@pytest.mark.usefixtures("fast_and_useless")
@pytest.mark.parametrize(("by", "half"), [("runs", "target reached"), ("rows", "1 of 2 missed the target")])
def test_a_comparison_says_it(open_page: OpenPage, by: str, half: str) -> None:
    app = open_page("compare", ids=["half-0", "useless-0"], by=by)

    assert MISSED in texts(app)
    said = Grid(app, "Metrics").row("target")
    assert [said["value-half-0"], said["value-useless-0"]] == [half, MISSED]
    assert said.tone("value-useless-0") == "bad"


def test_a_workload_without_a_target_says_so(open_page: OpenPage, data_dir: Path) -> None:
    facts = replace(a.FACTS, accuracy_target=None)
    Warehouse(data_dir / "warehouse.duckdb").rebuild([a.record(facts=facts, accuracy=0.1)])

    assert "no target stated" in texts(open_page("leaderboard"))
    (accuracy,) = [tile for tile in open_page("live", run="run-1").metric if tile.label == "Accuracy"]
    assert accuracy.delta == "no target stated"
