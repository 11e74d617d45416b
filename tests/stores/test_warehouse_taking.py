"""Runs of another console's warehouse file, or of a snapshot, come along whole, and each of them once."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from aisbench_core.errors import ResultError
from aisbench_core.model import RunRecord
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.taking import Taken, kept_runs, let_go
from tests import records as a
from tests.stores.test_warehouse_care import BOARD, everything, some

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NOWHERE: frozenset[str] = frozenset()


def silent(_done: int, _of: int) -> None:
    """Nobody watches."""


@pytest.fixture
def theirs(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "theirs.duckdb")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "theirs.duckdb"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "taken"


def test_every_run_comes_along_in_the_same_words_and_once(
    warehouse: Warehouse, theirs: Warehouse, file: Path, kept: Path
) -> None:
    some(theirs)
    before = file.read_bytes()

    first = warehouse.taking.take(file, kept, NOWHERE, silent)
    again = warehouse.taking.take(file, kept, NOWHERE, silent)

    assert (first, again) == (Taken(new=6), Taken(known=6))
    assert everything(warehouse) == everything(theirs)
    assert warehouse.leaderboard(BOARD) == theirs.leaderboard(BOARD)
    assert warehouse.check([]).damages == ()
    assert file.read_bytes() == before


def test_a_snapshot_is_as_good_and_what_is_here_stays_as_it_is(
    warehouse: Warehouse, theirs: Warehouse, tmp_path: Path, kept: Path
) -> None:
    some(theirs)
    warehouse.record(a.record("run-0", engine_version="ours"))
    ours = warehouse.run("run-0")
    snapshot = theirs.snapshot(tmp_path / "snapshot.duckdb", NOW).path

    seen = warehouse.taking.look(snapshot, NOWHERE)
    taken = warehouse.taking.take(snapshot, kept, NOWHERE, silent)

    assert seen == taken == Taken(new=5, known=1)
    assert warehouse.run("run-0") == ours
    assert warehouse.runs(BOARD).total == 6
    assert len(list(kept_runs(kept))) == 5


def test_rehearsals_and_runs_of_a_job_that_was_launched_here_stay_out(
    warehouse: Warehouse, theirs: Warehouse, file: Path, kept: Path
) -> None:
    warehouse.record(of_job("ours", "job-1"))
    theirs.record(of_job("the same job", "job-1"))
    theirs.record(replace(of_job("rehearsed", "job-2"), rehearsal=True))
    theirs.record(replace(of_job("from a sandbox", "job-3"), region="rehearsed-here"))
    theirs.record(of_job("new", "job-4"))

    taken = warehouse.taking.take(file, kept, {"rehearsed-here"}, silent)

    assert taken == Taken(new=1, known=1, left_out=2)
    assert [row.run_id for row in warehouse.runs(BOARD).rows] == ["new", "ours"]


def of_job(run_id: str, job_id: str) -> RunRecord:
    record = a.record(run_id)
    return replace(record, run=replace(record.run, job_id=job_id))


def test_what_was_taken_over_survives_a_rebuild_and_an_interruption(
    warehouse: Warehouse, theirs: Warehouse, file: Path, kept: Path
) -> None:
    some(theirs)
    warehouse.taking.take(file, kept, NOWHERE, silent)

    warehouse.rebuild([a.record("of this console")], kept_runs(kept))
    after = warehouse.runs(BOARD).total
    warehouse.rebuild([a.record("of this console")])  # as after a loss
    warehouse.taking.again(kept)

    assert after == 7
    assert warehouse.runs(BOARD).total == 7
    assert warehouse.check([]).damages == ()


def test_what_was_forgotten_is_kept_no_longer(theirs: Warehouse, file: Path, kept: Path, tmp_path: Path) -> None:
    some(theirs)
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.taking.take(file, kept, NOWHERE, silent)

    let_go(kept, ["run-0", "long"])
    warehouse.rebuild([], kept_runs(kept))
    warehouse.taking.again(kept)

    assert warehouse.runs(BOARD).total == 4
    assert warehouse.check([]).damages == ()


def test_a_database_of_another_program_is_refused_by_its_name(warehouse: Warehouse, file: Path, kept: Path) -> None:
    with duckdb.connect(file) as con:
        con.execute("create table cars (name VARCHAR)")

    with pytest.raises(ResultError, match=r"theirs\.duckdb is a database of another program"):
        warehouse.taking.take(file, kept, NOWHERE, silent)

    assert list(kept.iterdir()) == []
