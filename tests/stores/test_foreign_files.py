"""A warehouse file of somebody else gives its rows, and gets nothing: no file of ours, no time without end."""

import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import aisbench_core
from aisbench_core.base.errors import WarehouseError
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.foreign.copying import ReadLimits, copy_rows, write_rows
from aisbench_core.warehouse.store.migrations import LATEST, RELEASED
from aisbench_core.warehouse.validity.evaluation import Evaluation
from tests.foreign_files import KINDS, SECRET, Kind, changed, failure
from tests.stored_schemas import unpack_file
from tests.stores.test_warehouse_care import BOARD, everything

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "credentials.yaml"
    file.write_text(SECRET, "utf-8")
    return file


def whole(warehouse: Warehouse) -> list[object]:
    """Every cell of runs and cards but those that say where a run comes from, and what it is worth."""
    out = ", ".join(("origin", "source", "imported_at", "group_id", *Evaluation._fields))
    with warehouse.cursor() as cur:
        rows = cur.execute(f"select * exclude ({out}) from runs join results using (run_id) order by run_id").fetchall()
    return [rows, *everything(warehouse)[1:]]


def rows_of(file: Path, folder: Path) -> Path:
    """Its rows, copied as the process that reads files of others does it, but in this process: one takes a second."""
    draft = folder / "draft.duckdb"
    write_rows({"file": str(file), "draft": str(draft), "patience_s": 0.0, **asdict(ReadLimits(60.0))})
    return draft


def named(file: Path, folder: Path) -> str:
    """What is said of a file whose rows are not copied."""
    with pytest.raises(WarehouseError) as error:
        rows_of(file, folder)
    return str(error.value)


def test_a_view_in_the_place_of_a_table_reads_no_file(theirs: Path, secret: Path, tmp_path: Path) -> None:
    changed(
        theirs,
        "alter table runs rename to runs_of_before",
        f"create view runs as select * replace ((select content from read_text('{secret}')) as note) "
        "from runs_of_before",
    )

    said = named(theirs, tmp_path)

    assert f"{theirs}: runs is a view; allowed: a table with stored rows" in said


@pytest.mark.parametrize("table", ["schema_version", "results", "events", "series", "saved_views"])
def test_every_table_that_is_read_must_be_one(theirs: Path, table: str, tmp_path: Path) -> None:
    changed(theirs, f"alter table {table} rename to before", f"create view {table} as from before")

    assert f"{table} is a view" in named(theirs, tmp_path)


def test_a_snapshot_with_such_a_view_is_not_asked_either(theirs: Path, secret: Path) -> None:
    changed(
        theirs,
        "alter table schema_version rename to before",
        f"create view schema_version as select length(content)::INTEGER as version from read_text('{secret}')",
    )

    with aisbench_core.open_warehouse(theirs) as warehouse, pytest.raises(WarehouseError, match="is a view"):
        warehouse.sql("from v_runs")


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (
            ["alter table runs alter note type BLOB using note::BLOB"],
            "table runs: column note is BLOB; allowed: VARCHAR",
        ),
        (
            ["alter table runs add column more VARCHAR"],
            "table runs: there is a column more; allowed: run_id, series_id",
        ),
        (["alter table results drop column validity"], "table results: column validity is not there; allowed: VARCHAR"),
        (["alter table runs alter note set default uuid()::VARCHAR"], "column note is VARCHAR computed as"),
        (
            [
                "alter table events drop column actor",
                "create type kind as enum ('a')",
                "alter table events add actor kind",
            ],
            "column actor is ENUM('a'); allowed: VARCHAR",
        ),
        (["drop table annotations"], "annotations is not there; allowed: a table"),
        (["drop table runs"], "runs is not there; allowed: a table"),
        (["insert into schema_version values (99)"], "has schema 99"),
        (["delete from schema_version"], "is a database of another program"),
        (["drop table schema_version"], "is a database of another program"),
    ],
)
def test_what_is_no_table_of_ours_is_named(theirs: Path, statements: list[str], said: str, tmp_path: Path) -> None:
    assert said in named(changed(theirs, *statements), tmp_path)


def test_generated_columns_are_named(theirs: Path, tmp_path: Path) -> None:
    columns = "run_id VARCHAR, server BIGINT, rank BIGINT, throughput DOUBLE generated always as (rank * 2.0)"
    changed(theirs, "drop table rank_results", f"create table rank_results ({columns})")

    assert "column throughput is DOUBLE computed as" in named(theirs, tmp_path)


def test_a_wrong_value_keeps_the_whole_file_out(theirs: Path, tmp_path: Path) -> None:
    changed(theirs, "update runs set state = 'great' where run_id = 'run-3'")

    assert "table runs, run run-3: column state is great; allowed: held, preparing" in named(theirs, tmp_path)


def test_macros_named_like_functions_change_nothing(theirs: Path, tmp_path: Path) -> None:
    before = whole(Warehouse(theirs))
    changed(
        theirs,
        "create macro max(x) as 99",
        "create macro count(x) as 0",
        "create macro json_type(x) as 'OBJECT'",
        "create macro regexp_full_match(a, b) as true",
        "create macro duckdb_tables() as table select 'runs' as table_name",
        "create macro pragma_table_info(x) as table select 'run_id' as name",
    )

    warehouse = Warehouse(rows_of(theirs, tmp_path))

    assert whole(warehouse) == before
    assert warehouse.check([]).damages == ()


def test_what_takes_too_long_is_given_up(theirs: Path, tmp_path: Path) -> None:
    changed(theirs, "insert into events select 'run-0', now()::TIMESTAMP, '', 'info', '', '' from range(5_000_000)")
    limits = ReadLimits(seconds=1.0)
    start = time.monotonic()

    with pytest.raises(WarehouseError, match=r"cannot be read within 1 s"):
        copy_rows(theirs, tmp_path / "draft.duckdb", 0.0, limits)

    assert time.monotonic() - start < 10


def test_more_rows_than_may_be_written_are_named(theirs: Path, tmp_path: Path) -> None:
    changed(
        theirs,
        "insert into events select 'run-0', now()::TIMESTAMP, '', 'info', md5(range::VARCHAR), '' from range(400_000)",
    )

    with pytest.raises(WarehouseError, match=r"theirs\.duckdb holds more than 0\.00195 GiB of rows"):
        copy_rows(theirs, tmp_path / "draft.duckdb", 0.0, ReadLimits(60.0, written=2 * 1024**2))


@pytest.mark.parametrize("version", range(RELEASED, LATEST + 1))
def test_rows_of_every_schema_since_the_first_release_are_read(version: int, tmp_path: Path) -> None:
    file = unpack_file(version, tmp_path / "old.duckdb")

    draft = rows_of(file, tmp_path)

    assert whole(Warehouse(draft)) == whole(Warehouse(file))


@pytest.mark.parametrize("version", [1, 19])
def test_a_file_of_a_development_version_is_refused_with_the_way(version: int, tmp_path: Path) -> None:
    refusal = named(unpack_file(version, tmp_path / "old.duckdb"), tmp_path)

    assert f"is of a development version (schema {version})" in refusal
    assert "`aisbench upgrade`" in refusal


def test_a_snapshot_is_asked_with_its_date(whole: Path, theirs: Path) -> None:
    with aisbench_core.open_warehouse(whole) as warehouse:
        taken = warehouse.sql("select taken_at_utc, runs from snapshot")
        board = warehouse.leaderboard(region="cn-north-9")

    assert [tuple(row) for row in taken.itertuples(index=False)] == [(pd.Timestamp(NOW), 6)]
    assert list(board["runs"]) == [row.runs for row in Warehouse(theirs).board.list_rows(BOARD).rows]


def test_a_damaged_file_is_named(theirs: Path, tmp_path: Path) -> None:
    content = bytearray(theirs.read_bytes())
    content[8192:12288] = b"\x5a" * 4096
    theirs.write_bytes(bytes(content))

    with pytest.raises(WarehouseError, match=r"theirs\.duckdb"):
        copy_rows(theirs, tmp_path / "draft.duckdb")


def test_a_file_that_somebody_records_into_is_read(theirs: Path, tmp_path: Path) -> None:
    with duckdb.connect(theirs) as con:
        con.execute("pragma disable_checkpoint_on_shutdown")
        con.execute("update runs set created_by = 'in the log'")
    assert theirs.with_name("theirs.duckdb.wal").exists()

    warehouse = Warehouse(rows_of(theirs, tmp_path))

    assert {row.created_by for row in warehouse.runs.list_rows(BOARD).rows} == {"in the log"}


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (2, 3))])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_files_that_are_broken_by_chance_end_in_runs_or_in_words(
    kind: Kind, seed: int, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    good = tmp_path_factory.getbasetemp() / f"good-{kind.name}"
    if not good.exists():
        kind.make(good)

    assert failure(kind, good, seed, tmp_path) == ""
