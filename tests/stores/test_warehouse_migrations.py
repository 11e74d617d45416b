"""A warehouse that an earlier version wrote: its rows stay, and new columns are empty until a run is recorded again."""

import contextlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from aisbench_core.base.errors import WarehouseError
from aisbench_core.model import stated_of
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import Export
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.team_warehouse import TeamWarehouse


def test_a_description_is_part_of_the_row_and_of_the_csv(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    stated = stated_of({"division": "open", "test_id": "t-7", "scenario": "generic"})
    warehouse.record(replace(a.record(), described=stated))
    target = BytesIO()

    warehouse.export(Export(BoardQuery("cn-north-9"), a.T0), target)

    heads, cells = (line.split(",") for line in target.getvalue().decode().splitlines()[:2])
    row = dict(zip(heads, cells, strict=False))
    assert (row["test_id"], row["division"], row["scenario"]) == ("t-7", "open", "generic")


@pytest.fixture(params=["file", pytest.param("team", marks=pytest.mark.postgres)])
def own_warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Warehouse:
    """One that no other test uses."""
    if request.param == "file":
        return Warehouse(tmp_path / "warehouse.duckdb")
    return TeamWarehouse.create(request.getfixturevalue("postgres"), request.getfixturevalue("obs"), "changed").open()


@pytest.mark.every_store
def test_a_warehouse_that_was_changed_under_a_console_is_refused_in_words(own_warehouse: Warehouse) -> None:
    warehouse = own_warehouse
    warehouse.record(a.record("one"))
    with warehouse.cursor() as cur:
        cur.execute("alter table runs drop column passport")

    with pytest.raises(WarehouseError, match=r"says schema .* missing or too many: runs\.passport"):
        warehouse.record(a.record("two"))

    with warehouse.cursor() as cur:
        cur.execute("update schema_version set version = 24")
    with contextlib.suppress(WarehouseError):  # a file is upgraded as it is opened; a lake was open
        warehouse.record(a.record("two"))
    warehouse.record(a.record("three"))
    assert warehouse.runs.find_row("three")
