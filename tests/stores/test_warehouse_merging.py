"""Runs of another console's warehouse file, or of a snapshot, come along whole, each of them once, and as claims."""

import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import ResultError
from aisbench_core.base.private_files import draft_of
from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.maintenance.merging import MergeCounts, forget_runs, merged_run_ids
from aisbench_core.warehouse.validity.evaluation import Evaluation
from tests import records as a
from tests.processes import FORKED
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


@pytest.mark.every_store
def test_every_run_comes_along_whole_and_once(warehouse: Warehouse, theirs: Warehouse, file: Path, kept: Path) -> None:
    some(theirs)
    before = file.read_bytes()

    first = warehouse.merging.merge(file, kept, NOWHERE, silent, NOW)
    again = warehouse.merging.merge(file, kept, NOWHERE, silent, NOW)

    assert (first, again) == (MergeCounts(new=6), MergeCounts(existing=6))
    assert whole(warehouse) == whole(theirs)
    assert [row.runs for row in warehouse.board.list_rows(BOARD).rows] == [6]
    assert warehouse.check([]).damages == ()
    assert file.read_bytes() == before


def whole(warehouse: Warehouse) -> list[object]:
    """Every cell of runs and cards but those that say where a run comes from, and what it is worth."""
    out = ", ".join(("origin", "source", "imported_at", "group_id", *Evaluation._fields))
    with warehouse.cursor() as cur:
        rows = cur.execute(f"select * exclude ({out}) from runs join results using (run_id) order by run_id").fetchall()
    return [rows, *everything(warehouse)[1:]]


def test_runs_that_were_launched_there_are_claims_here_that_move_no_launched_run(
    warehouse: Warehouse, theirs: Warehouse, file: Path, kept: Path
) -> None:
    """Anybody can edit a file, and write valid beside what was edited."""
    warehouse.record(a.record("ours"))
    theirs.record(a.record("theirs"))
    ours = warehouse.board.list_rows(BOARD).rows[0]
    with duckdb.connect(file) as con:
        con.execute("update results set throughput_cluster = 1e6, throughput_ratio = 1e6, throughput_per_card = 1e6")
        con.execute("update rank_results set throughput = 125000")

    warehouse.merging.merge(file, kept, NOWHERE, silent, NOW)

    first, second = sorted(warehouse.board.list_rows(BOARD).rows, key=lambda row: row.origin, reverse=True)
    assert first == ours
    assert (ours.rank, second.rank) == ("1", "")
    run = warehouse.runs.find_row("theirs")
    assert run
    assert (run.origin, run.source, run.validity) == ("imported", "theirs.duckdb (launched there)", "claimed")
    assert [each.files for each in warehouse.imports.page()[0]] == ["theirs.duckdb (launched there)"]


def test_a_verdict_in_the_file_is_not_believed(warehouse: Warehouse, theirs: Warehouse, file: Path, kept: Path) -> None:
    theirs.record(a.record("below target", accuracy=0.01))
    with duckdb.connect(file) as con:
        con.execute("update results set validity = 'valid', checks = '[]', failed_checks = '', accuracy = 0")

    warehouse.merging.merge(file, kept, NOWHERE, silent, NOW)

    run = warehouse.runs.find_row("below target")
    assert run
    assert run.validity == "invalid"


@pytest.mark.every_store
def test_what_an_older_version_took_over_as_launched_becomes_a_claim_when_the_warehouse_is_built_anew(
    warehouse: Warehouse, theirs: Warehouse, kept: Path
) -> None:
    """Runs of this console's own folders stay launched, also where a file that was taken over holds them."""
    some(theirs)
    kept.mkdir()
    theirs.snapshot(kept / "0123456789abcdef.duckdb", NOW)
    for record in a.records([8000.0, 8100.0]):
        warehouse.record(record)  # as launched: the first is of this console, the second was taken over

    warehouse.rebuild(a.records([8000.0]), warehouse.merging.claims(kept))
    warehouse.merging.restore(kept)

    origins = {row.run_id: row.origin.value for row in warehouse.runs.list_rows(BOARD).rows}
    assert origins.pop("run-0") == "launched"
    assert [*origins.values()] == ["imported"] * 5
    assert warehouse.check([]).damages == ()


def test_a_snapshot_is_as_good_and_what_is_here_stays_as_it_is(
    warehouse: Warehouse, theirs: Warehouse, tmp_path: Path, kept: Path
) -> None:
    some(theirs)
    warehouse.record(a.record("run-0", engine_version="ours"))
    ours = warehouse.runs.find_row("run-0")
    snapshot = theirs.snapshot(tmp_path / "snapshot.duckdb", NOW).path

    seen = warehouse.merging.preview(snapshot, NOWHERE)
    taken = warehouse.merging.merge(snapshot, kept, NOWHERE, silent, NOW)

    assert seen == taken == MergeCounts(new=5, existing=1)
    assert warehouse.runs.find_row("run-0") == ours
    assert warehouse.runs.list_rows(BOARD).total == 6
    assert len(list(merged_run_ids(kept))) == 5


def test_rehearsals_and_runs_of_a_job_that_was_launched_here_stay_out(
    warehouse: Warehouse, theirs: Warehouse, file: Path, kept: Path
) -> None:
    warehouse.record(of_job("ours", "job-1"))
    theirs.record(of_job("the same job", "job-1"))
    theirs.record(replace(of_job("rehearsed", "job-2"), rehearsal=True))
    theirs.record(replace(of_job("from a sandbox", "job-3"), region="rehearsed-here"))
    theirs.record(of_job("new", "job-4"))

    taken = warehouse.merging.merge(file, kept, {"rehearsed-here"}, silent, NOW)

    assert taken == MergeCounts(new=1, existing=1, excluded=2)
    assert [row.run_id for row in warehouse.runs.list_rows(BOARD).rows] == ["new", "ours"]


def of_job(run_id: str, job_id: str) -> RunRecord:
    record = a.record(run_id)
    return replace(record, run=replace(record.run, job_id=job_id))


def test_what_was_taken_over_survives_a_rebuild_and_an_interruption(
    warehouse: Warehouse, theirs: Warehouse, file: Path, kept: Path
) -> None:
    some(theirs)
    warehouse.merging.merge(file, kept, NOWHERE, silent, NOW)

    warehouse.rebuild([a.record("of this console")], warehouse.merging.claims(kept))
    after = warehouse.runs.list_rows(BOARD).total
    warehouse.rebuild([a.record("of this console")])  # as after a loss
    warehouse.merging.restore(kept)

    assert after == 7
    assert warehouse.runs.list_rows(BOARD).total == 7
    assert warehouse.check([]).damages == ()


def test_what_was_forgotten_is_kept_no_longer(theirs: Warehouse, file: Path, kept: Path, tmp_path: Path) -> None:
    some(theirs)
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.merging.merge(file, kept, NOWHERE, silent, NOW)

    forget_runs(kept, ["run-0", "long"])
    warehouse.rebuild([], merged_run_ids(kept))
    warehouse.merging.restore(kept)

    assert warehouse.runs.list_rows(BOARD).total == 4
    assert warehouse.check([]).damages == ()


def test_what_was_forgotten_comes_along_again_when_its_file_is_imported_again(
    warehouse: Warehouse, theirs: Warehouse, file: Path, kept: Path
) -> None:
    theirs.record_many(a.records([7900.0, 8000.0, 8100.0], "run"))
    for day in (1, 2):
        at = datetime(2026, 3, day, tzinfo=UTC)
        assert warehouse.merging.merge(file, kept, NOWHERE, silent, at).new == 3
        assert warehouse.runs.list_rows(BOARD).total == 3
        forget_runs(kept, warehouse.imports.run_ids(at))
        warehouse.imports.forget(at, keep_annotations=False)
        assert warehouse.runs.list_rows(BOARD).total == 0

    warehouse.merging.merge(file, kept, NOWHERE, silent, NOW)
    warehouse.rebuild([], warehouse.merging.claims(kept))

    assert sorted(merged_run_ids(kept)) == ["run-0", "run-1", "run-2"]
    assert warehouse.runs.list_rows(BOARD).total == 3


def test_a_database_of_another_program_is_refused_by_its_name(warehouse: Warehouse, file: Path, kept: Path) -> None:
    with duckdb.connect(file) as con:
        con.execute("create table cars (name VARCHAR)")

    with pytest.raises(ResultError, match=r"theirs\.duckdb is a database of another program"):
        warehouse.merging.merge(file, kept, NOWHERE, silent, NOW)

    assert list(kept.iterdir()) == []


def take_over(file: Path, kept: Path) -> None:
    Warehouse(kept.parent / "ours.duckdb").merging.merge(file, kept, NOWHERE, silent, NOW)


def test_what_a_killed_import_was_copying_goes_with_the_next_one(
    theirs: Warehouse, file: Path, kept: Path, tmp_path: Path
) -> None:
    some(theirs)
    living = kept / f".living.duckdb.{here()}.{os.getppid()}.1.new"
    living.mkdir(parents=True)
    killed = FORKED.Process(target=take_over, args=(file, kept))
    killed.start()
    deadline = time.monotonic() + 60
    while not (left := [folder for folder in kept.glob(".*") if folder != living and list(folder.iterdir())]):
        assert time.monotonic() < deadline
        time.sleep(0.001)

    killed.kill()
    killed.join(60)
    was_left = left[0].exists()
    take_over(file, kept)

    assert was_left
    assert list(kept.glob(".*")) == [living]
    assert Warehouse(tmp_path / "ours.duckdb").runs.list_rows(BOARD).total == 6


def here() -> str:
    """How drafts name this machine."""
    return draft_of(Path("any")).name.split(".")[2]
