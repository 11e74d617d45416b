"""Short tables of the leaderboard with the same columns have one head, at the first of them."""

from pathlib import Path

import pytest

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage
from tests.console.grids import list_grids


def recorded(benchmark: int, row: int, runs: int = 1) -> list[RunRecord]:
    """The runs of one row of a benchmark."""
    values = [8000.0 + row + run for run in range(runs)]
    return a.records(values, f"r{benchmark}-{row}", speed_parameters={"batch": benchmark}, flavor=f"f{row}")


@pytest.mark.parametrize(("benchmarks", "rows", "heads"), [(4, 1, 1), (2, 7, 2)])
def test_short_tables_with_equal_columns_have_one_head(
    open_page: OpenPage, data_dir: Path, benchmarks: int, rows: int, heads: int
) -> None:
    made = [run for benchmark in range(benchmarks) for row in range(rows) for run in recorded(benchmark, row)]
    Warehouse(data_dir / "warehouse.duckdb").rebuild(made)

    grids = list_grids(open_page("leaderboard"))

    assert [grid.data["headless"] for grid in grids] == [index >= heads for index in range(benchmarks)]
    assert len({tuple(grid.labels) for grid in grids}) == 1, "they are read out"


def test_a_table_whose_head_says_something_else_has_one_of_its_own(open_page: OpenPage, data_dir: Path) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*recorded(0, 0), *recorded(1, 0, runs=3)])

    grids = list_grids(open_page("leaderboard"))

    assert [grid.data["headless"] for grid in grids] == [False, False], "one has the axis of its curves in its head"
