"""A backup that is taken while run folders are written is restored as a console in which everything agrees."""

import tarfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.maintenance.backups.restoring import restore_backup
from aisbench_core.model import RunPart, RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.maintenance.moving import Moved
from aisbench_core.warehouse.tables.store import Progress
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.flow.following import GOOD, Bench, bench_on
from tests.sandbox_process import SandboxProcess


class BusyWarehouse(Warehouse):
    """Something happens in the console just before and just after it is copied."""

    before: Callable[[], object] = staticmethod(lambda: None)
    after: Callable[[], object] = staticmethod(lambda: None)

    def move_to(self, target: Warehouse, on_progress: Progress) -> Moved:
        self.before()
        moved = super().move_to(target, on_progress)
        self.after()
        return moved


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return bench_on(sandbox, tmp_path / "data")


@pytest.fixture
def run_id(bench: Bench) -> str:
    return bench.follow(bench.launch()).run_id


def describe(bench: Bench, run_id: str) -> None:
    bench.core.systems.state(run_id, {"system_name": "cluster A"}, TESTER)


def clean(bench: Bench, run_id: str) -> None:
    bench.core.cleaning.clean(bench.core.cleaning.plan(run_id, [RunPart.FOLDER]), TESTER)


def bring_in(bench: Bench, _: str) -> None:
    bench.core.imports.add_demo(TESTER)


def undo(bench: Bench, _: str) -> None:
    bench.core.imports.remove_demo(TESTER)


def launch(bench: Bench, _: str) -> None:
    assert bench.follow(bench.launch()).state is RunState.COMPLETED


def backed_up(core: Core, folder: Path, warehouse: Warehouse | None = None) -> Core:
    """A console on what a backup that is taken now holds."""
    backups = replace(core.backups, warehouse=warehouse) if warehouse else core.backups
    backups.create(folder / "backup.tar.gz", TESTER, replace=True)
    restored = Settings(data_dir=folder / "restored")
    restore_backup(folder / "backup.tar.gz", restored)
    return open_core(restored)


# What happens before the warehouse is copied is in both copies; the copies part at what happens after.
AFTER = [(happens, "after") for happens in (describe, clean, bring_in, undo, launch)]
LIKE_CLEAN = [
    pytest.param(happens, "before", marks=pytest.mark.exhaustive) for happens in (describe, bring_in, undo, launch)
]


@pytest.mark.parametrize(("happens", "moment"), [*AFTER, (clean, "before"), *LIKE_CLEAN])
def test_what_is_written_while_a_backup_is_taken_agrees_when_it_is_restored(
    bench: Bench, run_id: str, tmp_path: Path, happens: Callable[[Bench, str], None], moment: str
) -> None:
    core = bench.core
    if happens is undo:
        core.imports.add_demo(TESTER)
    warehouse = BusyWarehouse(core.settings.warehouse_path)
    setattr(warehouse, moment, lambda: happens(bench, run_id))

    other = backed_up(core, tmp_path, warehouse)

    assert core.storage.check(TESTER).damages == ()
    assert other.storage.check(TESTER).damages == ()
    runs = [path.name for path in core.settings.runs_dir.iterdir()]
    assert sorted(runs) == sorted(path.name for path in other.settings.runs_dir.iterdir())
    assert core.warehouse.runs.select_recorded(runs) == other.warehouse.runs.select_recorded(runs)
    assert core.files.record(run_id) == other.files.record(run_id)


def test_a_backup_among_writers_that_never_pause_comes_to_an_end_and_agrees(
    bench: Bench, run_id: str, tmp_path: Path
) -> None:
    core, stops, written = bench.core, threading.Event(), threading.Semaphore(0)

    def write() -> None:
        number = 0
        while not stops.is_set():
            number += 1
            core.systems.state(run_id, {"system_name": f"cluster {number}"}, TESTER)
            core.imports.add_demo(TESTER)
            written.release()
            core.imports.remove_demo(TESTER)

    writer = threading.Thread(target=write)
    writer.start()
    assert written.acquire(timeout=60)
    try:
        other = backed_up(core, tmp_path)
    finally:
        stops.set()
        writer.join()

    assert other.storage.check(TESTER).damages == ()
    assert other.audit.verify(TESTER).entries > 0


def test_a_folder_whose_collecting_was_given_up_is_not_archived_in_each_round(
    bench: Bench, run_id: str, tmp_path: Path
) -> None:
    given_up = bench.follow(bench.launch()).run_id
    bench.core.following.begin_collecting(given_up)
    warehouse = BusyWarehouse(bench.core.settings.warehouse_path)
    warehouse.after = lambda: describe(bench, run_id)

    other = backed_up(bench.core, tmp_path, warehouse)

    with tarfile.open(tmp_path / "backup.tar.gz") as archive:
        assert archive.getnames().count(f"runs/{given_up}/logs/worker-0.log") == 2
    assert other.storage.check(TESTER).damages == ()


def test_drafts_are_no_part_of_a_backup(bench: Bench, run_id: str, tmp_path: Path) -> None:
    data_dir = bench.core.settings.data_dir
    drafts = [
        data_dir / ".warehouse.duckdb.host.1.2.new.wal",
        data_dir / "runs" / run_id / ".record.json.host.1.2.new",
    ]
    for draft in drafts:
        draft.write_bytes(b"half")
    lock = data_dir / "workloads" / "own" / "poetry.lock"
    lock.parent.mkdir(parents=True)
    lock.write_bytes(b"of a person")

    other = backed_up(bench.core, tmp_path).settings.data_dir

    assert [draft for draft in drafts if (other / draft.relative_to(data_dir)).exists()] == []
    assert (other / lock.relative_to(data_dir)).read_bytes() == b"of a person"
