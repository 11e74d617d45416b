"""A warehouse that an earlier version wrote: its rows stay, and new columns are empty until a run is recorded again."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

from aisbench_core.model import stated_of
from aisbench_core.warehouse import BoardQuery, Export, Warehouse
from aisbench_core.warehouse.store.schema import RUNS
from tests import records as a
from tests.stored_schemas import unpack_file


def test_what_was_not_known_then_is_empty_until_the_run_is_recorded_again(tmp_path: Path) -> None:
    warehouse = Warehouse(unpack_file(1, tmp_path / "warehouse.duckdb"))
    with warehouse.cursor() as cur:
        before = cur.execute("select system, system_fields, tester from runs").fetchall()

    warehouse.record(a.record("cluster", node_count=2))

    with warehouse.cursor() as cur:
        after = cur.execute(
            "select run_id, system_fields, system->>'$.number_of_nodes' from runs order by 1"
        ).fetchall()
    assert before == [(None, None, None)] * 3
    assert after == [("cluster", 6, "2"), ("failed", None, None), ("single", None, None)]
    assert "system" in RUNS


def test_a_description_is_part_of_the_row_and_of_the_csv(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    stated = stated_of({"division": "open", "test_id": "t-7", "scenario": "generic"})
    warehouse.record(replace(a.record(), described=stated))
    target = BytesIO()

    warehouse.export(Export(BoardQuery("cn-north-9"), a.T0), target)

    heads, cells = (line.split(",") for line in target.getvalue().decode().splitlines()[:2])
    row = dict(zip(heads, cells, strict=False))
    assert (row["test_id"], row["division"], row["scenario"]) == ("t-7", "open", "generic")
