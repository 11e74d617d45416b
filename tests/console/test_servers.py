"""Runs of single servers on the pages: every server, and how far they lie apart."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import RunRecord, ServerResult
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid
from tests.records import record


def alone(run_id: str, *results: ServerResult) -> RunRecord:
    """A run of servers with one card each."""
    found = record(
        run_id,
        throughputs=[each.throughput or 1.0 for each in results],
        mode="single_server",
        node_count=len(results),
        cards_per_node=1,
    )
    assert found.result
    return replace(found, result=replace(found.result, server_results=results))


@pytest.fixture
def recorded(used: Path) -> None:
    """Two runs of single servers beside those of clusters."""
    runs = [
        alone("alone-1", ServerResult(0, 100.0, 0.75), ServerResult(1, 110.0, 0.77)),
        alone("alone-2", ServerResult(0, 120.0, None), ServerResult(1, 140.0, None)),
    ]
    ledger, warehouse = Ledger(used / "ledger.sqlite3"), Warehouse(used / "warehouse.duckdb")
    for each in runs:
        ledger.add(each.run)
        warehouse.record(each)


def tables(app: AppTest) -> list[pd.DataFrame]:
    return [element.value for element in app.dataframe]


@pytest.mark.usefixtures("recorded")
def test_live_shows_every_server_and_the_spread(open_page: OpenPage) -> None:
    app = open_page("live", run="alone-1")

    servers, spread = next(
        (one, two) for one, two in zip(tables(app), tables(app)[1:], strict=False) if "Server" in one
    )
    assert servers.to_dict("records") == [
        {"Server": 0, "Throughput (samples/s)": "100", "Accuracy": "75 %"},
        {"Server": 1, "Throughput (samples/s)": "110", "Accuracy": "77 %"},
    ]
    throughput = spread.set_index("Value").loc["Throughput (samples/s)"].to_dict()
    assert throughput == {
        "Mean": "105",
        "Standard deviation": "7.0711",
        "CV": "6.734 %",
        "Lowest": "100",
        "Highest": "110",
        "Measured on": "2 of 2",
    }


@pytest.mark.usefixtures("recorded")
def test_compare_puts_the_servers_of_all_runs_side_by_side_and_what_is_missing_is_not_zero(open_page: OpenPage) -> None:
    app = open_page("compare", ids=["alone-1", "alone-2"])

    servers = next(each for each in tables(app) if "Server" in each)
    assert list(servers["alone-2 · Throughput (samples/s)"]) == ["120", "140"]
    assert list(servers["alone-2 · Accuracy"]) == ["–", "–"]
    spread = next(each for each in tables(app) if "Measured on" in each).set_index("Value")
    assert spread.loc["alone-2 · Accuracy", "Measured on"] == "0 of 2"


@pytest.mark.usefixtures("recorded")
def test_single_servers_beside_a_cluster_are_told_apart_without_a_ratio(open_page: OpenPage) -> None:
    app = open_page("compare", ids=["run-n2-0", "alone-1"])

    assert "cannot be compared with" in texts(app)
    assert not any(Grid(app, "Metrics").column("change-alone-1"))
    servers = next(each for each in tables(app) if "Server" in each)
    assert list(servers) == ["Server", "Throughput (samples/s)", "Accuracy"]


@pytest.mark.usefixtures("recorded")
def test_clusters_have_no_such_tables(open_page: OpenPage) -> None:
    app = open_page("compare", ids=["run-n1-0", "run-n2-0"])

    assert not [each for each in tables(app) if "Server" in each]
