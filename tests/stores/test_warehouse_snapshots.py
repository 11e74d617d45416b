"""The warehouse of one moment as one file: whole, read-only, without secrets, and readable by DuckDB alone."""

import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.private_files import draft_of
from aisbench_core.warehouse.answers.views import VIEWS
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.queries import Query, execute_query
from aisbench_core.warehouse.open.reading import FileReader
from aisbench_core.warehouse.store.team import TeamLocation
from aisbench_core.warehouse.tables.schema import TABLES
from tests import records as a


def secrets(warehouse: Warehouse) -> tuple[str, ...]:
    return warehouse.location.access().secrets if isinstance(warehouse.location, TeamLocation) else ()


@pytest.mark.every_store
def test_a_snapshot_holds_all_of_one_moment_for_everybody_with_duckdb(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.record_many([*a.records([8000, 8100]), a.imported()])
    file = tmp_path / "snapshot.duckdb"

    taken = warehouse.snapshot(file, a.T0)
    warehouse.record(a.record("later"))

    assert (taken.runs, taken.bytes) == (3, file.stat().st_size)
    assert stat.S_IMODE(file.stat().st_mode) == 0o444
    with duckdb.connect(file, read_only=True) as con, warehouse.cursor() as cur:
        for table in TABLES:
            there = con.execute(f"from {table} order by all").fetchall()
            assert there == cur.execute(f"from {table} where run_id <> 'later' order by all").fetchall()
        assert con.execute("select throughput, runs from v_groups where origin = 'launched'").fetchall() == [(8050, 2)]
        assert con.execute("from snapshot").fetchall()[0][::2] == (a.T0.replace(tzinfo=None), 3)
        told = "select comment from duckdb_columns() where table_name = 'v_runs' and column_name = 'duration_s'"
        assert con.execute(told).fetchall() == [("run time of the job, from the platform [s]",)]
    for secret in secrets(warehouse):
        assert secret.encode() not in file.read_bytes()
    warehouse.record(a.record("and-later"))  # nothing keeps the warehouse
    assert [each.name for each in tmp_path.iterdir() if "snapshot" in each.name] == ["snapshot.duckdb"]


def test_a_snapshot_can_be_attached_under_any_name_and_asked_like_the_warehouse(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(a.record())
    file = warehouse.snapshot(tmp_path / "other.duckdb", a.T0).path

    with duckdb.connect() as con:
        con.execute(f"attach '{file}' as theirs (read_only)")
        for view in VIEWS:
            con.execute(f"from theirs.{view.name}").fetchall()
    reading = FileReader(file)
    with execute_query(reading, Query("select run_id from v_runs")) as cur:
        assert cur.fetchall() == [("run-1",)]
    reading.close()


def test_a_snapshot_of_a_snapshot_says_when_it_was_taken_itself(tmp_path: Path) -> None:
    first, second = tmp_path / "first.duckdb", tmp_path / "second.duckdb"
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many(a.records([7900, 8000, 8100], "run"))
    warehouse.snapshot(first, a.T0)

    taken = Warehouse(first).snapshot(second, a.T0 + timedelta(days=1))

    with duckdb.connect(second, read_only=True) as con:
        assert con.execute("select taken_at_utc::date::varchar, runs from snapshot").fetchall() == [("2026-03-02", 3)]
        assert con.execute("select count(*) from v_runs").fetchone() == (3,)
    assert taken.runs == 3


def test_nothing_that_is_there_is_written_over_unasked(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(a.record())
    file = tmp_path / "there.duckdb"
    file.write_text("mine")

    with pytest.raises(ConfigError, match="already exists"):
        warehouse.snapshot(file, a.T0)
    with pytest.raises(ConfigError, match="the warehouse itself"):
        warehouse.snapshot(tmp_path / "warehouse.duckdb", a.T0, replace=True)
    with pytest.raises(ConfigError, match="not a folder"):
        warehouse.snapshot(tmp_path / "missing" / "file.duckdb", a.T0)

    assert file.read_text() == "mine"
    assert warehouse.snapshot(file, a.T0, replace=True).runs == 1
    assert warehouse.snapshot(file, a.T0, replace=True).runs == 1
    assert warehouse.runs.find_row("run-1") is not None


def test_a_warehouse_without_runs_has_a_snapshot_too(tmp_path: Path) -> None:
    assert Warehouse(tmp_path / "new.duckdb").snapshot(tmp_path / "snapshot.duckdb", a.T0).runs == 0


LEFT = "import sys; from pathlib import Path; from aisbench_core.base.private_files import draft_of\n"
LEFT += "for name in sys.argv[1:]: draft_of(Path(name)).write_text('half')"


def test_what_a_killed_snapshot_left_goes_with_the_next_one_and_no_draft_of_who_lives(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    subprocess.run([sys.executable, "-c", LEFT, *(f"{tmp_path}/{day}.duckdb" for day in ("sun", "mon"))], check=True)
    living = draft_of(tmp_path / "tue.duckdb")
    living.write_text("half")
    assert len(list(tmp_path.glob(".*.new"))) == 3

    warehouse.snapshot(tmp_path / "mon.duckdb", a.T0)

    assert list(tmp_path.glob(".*.new")) == [living]
