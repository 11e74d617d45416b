"""From four runs on, Compare has a column for each run."""

from pathlib import Path
from typing import Any

from aisbench_core.model import RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.compared import MAX_COMPARED
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid


def _record(used: Path) -> list[str]:
    """Repeats of two versions, a run with another batch, and one that failed."""
    slow: dict[str, Any] = {"framework_version": "r9.0"}
    Warehouse(used / "warehouse.duckdb").record_many([
        *(a.record(f"base-{at}", throughputs=[1000.0 + at] * 8) for at in range(3)),
        *(a.record(f"slow-{at}", throughputs=[800.0 + at] * 8, **slow) for at in range(3)),
        a.record("batch", speed_parameters={"batch_size": 7}),
        a.record("broken", state=RunState.FAILED),
    ])  # fmt: skip
    return ["base-0", "slow-0", "batch", "broken"]


def test_four_runs_are_columns_whose_heads_say_state_and_validity(open_page: OpenPage, used: Path) -> None:
    run_ids = _record(used)

    grid = Grid(open_page("compare", ids=run_ids), "Runs as columns")

    heads = {column["key"]: column.get("below", "") for column in grid.data["columns"]}
    assert [*heads] == ["name", *run_ids]
    assert heads["base-0"] == "Baseline · Completed · valid"
    assert heads["broken"].startswith("Failed · ")
    against = grid.rows[0]
    assert [against[run_id] for run_id in run_ids] == ["", "slower", "not comparable", "same configuration"]
    assert "r9.0 · batch_size=256 is 19.9 % slower than" in against.cells["slow-0"]["title"]
    assert "batch_size" in against.cells["batch"]["title"]
    throughput = next(row for row in grid.rows if row["name"].startswith("Throughput"))
    assert throughput["base-0"] == "8,000"
    assert throughput["slow-0"] == "6,400 −20.00 %"
    assert throughput["batch"] == "8,000"


def test_fields_that_differ_are_below_the_metrics_and_equal_ones_come_at_a_click(
    open_page: OpenPage, used: Path
) -> None:
    run_ids = _record(used)

    few = Grid(open_page("compare", ids=run_ids), "Runs as columns").column("name")
    every = Grid(open_page("compare", ids=run_ids, all="1"), "Runs as columns").column("name")

    assert {"Parameter batch_size", "Framework version"} <= {*few}
    assert "Model" not in few
    assert every[: len(few)] == few
    assert "Model" in every


def test_the_address_keeps_order_and_baseline(open_page: OpenPage, used: Path) -> None:
    run_ids = _record(used)

    app = open_page("compare", ids=run_ids, baseline="slow-0")

    grid = Grid(app, "Runs as columns")
    assert [column["key"] for column in grid.data["columns"]] == ["name", *run_ids]
    assert grid.data["columns"][2]["below"].startswith("Baseline")
    throughput = next(row for row in grid.rows if row["name"].startswith("Throughput"))
    assert throughput["base-0"] == "8,000 +25.00 %"
    assert app.query_params["baseline"] == "slow-0"


def test_the_limit_is_said_where_an_address_names_more(open_page: OpenPage, used: Path) -> None:
    Warehouse(used / "warehouse.duckdb").record_many(a.records([8000.0] * 40, prefix="same"))

    app = open_page("compare", ids=[f"same-{at}" for at in range(40)])

    assert len(Grid(app, "Runs as columns").data["columns"]) == MAX_COMPARED + 1
    assert "At most 32 runs are compared; 8 more are left out." in texts(app)


def test_one_run_that_cannot_be_compared_is_named_and_the_other_has_its_verdict(
    open_page: OpenPage, used: Path
) -> None:
    _record(used)

    app = open_page("compare", ids=["base-0", "slow-0", "batch"])

    labels = [block.proto.popover.label for block in app.get("popover")]
    assert any("Not comparable: batch" in label for label in labels)
    assert "r9.0 · batch\\_size=256 is 19.9 % slower than" in texts(app)
