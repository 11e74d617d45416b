"""A warehouse that an earlier version wrote: its rows stay, and new columns are empty until a run is recorded again."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

from aisbench_core.model import stated_of
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import Export
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a


def test_a_description_is_part_of_the_row_and_of_the_csv(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    stated = stated_of({"division": "open", "test_id": "t-7", "scenario": "generic"})
    warehouse.record(replace(a.record(), described=stated))
    target = BytesIO()

    warehouse.export(Export(BoardQuery("cn-north-9"), a.T0), target)

    heads, cells = (line.split(",") for line in target.getvalue().decode().splitlines()[:2])
    row = dict(zip(heads, cells, strict=False))
    assert (row["test_id"], row["division"], row["scenario"]) == ("t-7", "open", "generic")
