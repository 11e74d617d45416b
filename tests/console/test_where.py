"""Lists of runs are filtered by parameters and numbers: typed or suggested, kept in the address, removed by a chip."""

from dataclasses import replace
from pathlib import Path

from aisbench_core.model import RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid

REGION = a.record("x").region
SMALL, LARGE = {"batch_size": 64}, {"batch_size": 512}


def _record(data_dir: Path) -> None:
    made = [
        a.record("small", speed_parameters=SMALL, throughputs=[900.0] * 8),
        a.record("large", speed_parameters=LARGE, throughputs=[1100.0] * 8),
    ]
    Warehouse(data_dir / "warehouse.duckdb").record_many(made)
    ledger = Ledger(data_dir / "ledger.sqlite3")
    for one in made:
        ledger.add(replace(one.run, state=RunState.COMPLETED))


def test_the_leaderboard_shows_what_fulfils_the_address(open_page: OpenPage, data_dir: Path) -> None:
    _record(data_dir)

    groups = open_page("leaderboard", show="groups", where="parameter.batch_size:256..")
    runs = open_page("leaderboard", show="runs", where=["throughput:..8000", "parameter.batch_size:64"])

    assert [row.id for row in Grid(groups).rows] == ["large"]
    assert [row.id for row in Grid(runs).rows] == ["small"]
    suggested = groups.multiselect(key="where").options
    assert {"parameter.batch_size:64", "parameter.batch_size:512", "throughput:8e+03.."} <= {*suggested}


def test_a_chip_removes_its_condition(open_page: OpenPage, data_dir: Path) -> None:
    _record(data_dir)
    app = open_page("leaderboard", show="runs", where=["throughput:..8000", "parameter.batch_size:64"])

    app.button(key="where-0").click().run()

    assert app.query_params["where"] == "parameter.batch_size:64"
    app.button(key="where-0").click().run()
    assert "where" not in app.query_params
    assert {row.id for row in Grid(app).rows} == {"small", "large"}


def test_the_list_of_runs_is_filtered_by_what_is_recorded(open_page: OpenPage, data_dir: Path) -> None:
    _record(data_dir)

    app = open_page("runs", where="throughput:8000..")

    assert [row.id for row in Grid(app).rows] == ["large"]
    assert "Recorded runs only" in texts(app)


def test_what_cannot_be_read_is_said_and_the_rest_filters(open_page: OpenPage, data_dir: Path) -> None:
    _record(data_dir)

    app = open_page("runs", where=["speed:1..", "throughput:8000.."])

    assert [row.id for row in Grid(app).rows] == ["large"]
    assert "no such number" in texts(app)


def test_configurations_are_grouped_by_a_parameter(open_page: OpenPage, data_dir: Path) -> None:
    _record(data_dir)

    plain = Grid(open_page("leaderboard", show="groups"))
    grouped = Grid(open_page("leaderboard", show="groups", parameter="batch_size"))

    assert [row.id for row in plain.rows] == ["large", "small"]
    assert grouped.column("parameter") == ["64", "512"]
    assert [row.id for row in grouped.rows] == ["small", "large"]


def test_each_view_of_the_leaderboard_keeps_its_columns(open_page: OpenPage, data_dir: Path) -> None:
    _record(data_dir)
    app = open_page("leaderboard", show="runs", run_columns=["model", "id"], columns=["rank", "throughput"])
    assert [*Grid(app).labels] == ["run", "model", "id"]

    app.selectbox(key="show").select("blocks").run()
    app.selectbox(key="show").select("runs").run()

    assert [*Grid(app).labels] == ["run", "model", "id"]
    assert app.query_params["columns"] == ["rank", "throughput"]
