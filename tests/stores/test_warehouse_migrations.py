"""A warehouse that an earlier version wrote: its rows stay, and new columns are empty until a run is recorded again."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import duckdb
import pytest

from aisbench_core.model import stated_of
from aisbench_core.warehouse import BoardQuery, Export, Warehouse
from aisbench_core.warehouse.store.migrations import LATEST, STEPS, migrate
from aisbench_core.warehouse.store.schema import RUNS, TABLES
from tests import records as a


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file of the first schema with two runs, whose rows are those of today as far as it has columns."""
    file, today = tmp_path / "old.duckdb", tmp_path / "today.duckdb"
    Warehouse(today).rebuild([a.record("run-1"), a.record("run-2")])
    with duckdb.connect(file) as con:
        migrate(con, file, STEPS[:1])
        there = {name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()}
        con.execute(f"attach '{today}' as today")
        for table in there & TABLES.keys():
            known = [name for name, *_ in con.execute(f"describe {table}").fetchall()]
            names = ", ".join(known)
            con.execute(f"insert into {table} select {names} from today.{table}")  # names of ours
    return file


def test_a_new_warehouse_has_the_tables_that_all_steps_make(tmp_path: Path) -> None:
    columns = "select table_name, column_name, data_type from duckdb_columns() order by table_name, column_index"
    with duckdb.connect(tmp_path / "new.duckdb") as new, duckdb.connect(tmp_path / "step-by-step.duckdb") as stepped:
        migrate(new, "new")
        migrate(stepped, "stepped", STEPS[:-1])
        migrate(stepped, "stepped")

        assert new.execute(columns).fetchall() == stepped.execute(columns).fetchall()
        for warehouse in (new, stepped):
            assert warehouse.execute("select max(version) from schema_version").fetchall() == [(LATEST,)]


def test_rows_of_the_first_schema_stay_and_are_found(old: Path) -> None:
    found = Warehouse(old).runs(BoardQuery("cn-north-9"))

    assert {row.run_id for row in found.rows} == {"run-1", "run-2"}


def test_what_was_not_known_then_is_empty_until_the_run_is_recorded_again(old: Path) -> None:
    warehouse = Warehouse(old)
    with warehouse.cursor() as cur:
        before = cur.execute("select system, system_fields, tester from runs").fetchall()

    warehouse.record(a.record("run-1", node_count=2))

    with warehouse.cursor() as cur:
        after = cur.execute(
            "select run_id, system_fields, system->>'$.number_of_nodes' from runs order by 1"
        ).fetchall()
    assert before == [(None, None, None)] * 2
    assert after == [("run-1", 6, "2"), ("run-2", None, None)]
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
