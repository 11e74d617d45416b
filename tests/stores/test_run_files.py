"""Files of runs are found by the run's id, for which a page that many people look at does not read the ledger again."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.base.errors import RunNotFound
from aisbench_core.running.run_files import RunFiles
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import FolderPart
from tests import records as a
from tests.published_machines import LOG, RUN, Bucket, Machine


def test_the_ledger_is_read_once_for_the_files_of_a_run(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    files = RunFiles(RunFolders(tmp_path / "runs"), ledger)
    ledger.add(a.run("r-1"))
    log = tmp_path / "runs" / "r-1" / "logs" / "worker-0.log"
    log.parent.mkdir(parents=True)
    log.write_text("step 1\n")
    by_its_beginning = files.log_files("r")
    (tmp_path / "ledger.sqlite3").rename(tmp_path / "moved.sqlite3")

    assert by_its_beginning == files.log_files("r-1") == {0: log}
    assert not (tmp_path / "ledger.sqlite3").exists()
    with pytest.raises(RunNotFound):
        files.log_files("r-2")


def test_files_that_are_not_here_yet_are_listed_and_fetched_when_they_are_read(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    bucket = Bucket()
    ann, bob = Machine(tmp_path / "ann", ledger, bucket), Machine(tmp_path / "bob", ledger, bucket)
    ledger.add(replace(a.run(RUN), version=0))
    ann.write("spec.yaml", b"spec")
    ann.write(LOG, b"a long log")
    ann.folders.publish(RUN)
    files = RunFiles(bob.folders, ledger)

    sizes = files.sizes(RUN)
    before = (bob.folder / LOG).exists()
    log = files.file(RUN, LOG)

    assert sizes == {LOG: 10, "spec.yaml": 4}
    assert (before, log.read_bytes()) == (False, b"a long log")
    with pytest.raises(RunNotFound, match="has no file 'logs/worker-1"):
        files.file(RUN, "logs/worker-1.log")


def test_a_deleted_copy_of_a_run_is_fetched_again_part_by_part(tmp_path: Path) -> None:
    bucket, ledger = Bucket(), Ledger(tmp_path / "ledger.sqlite3")
    ann, bob = Machine(tmp_path / "ann", ledger, bucket), Machine(tmp_path / "bob", ledger, bucket)
    ann.write("record.json", b"{}")
    ann.write(LOG, b"one\n")
    ann.publish()
    parts = (FolderPart.RECORD, FolderPart.LOGS)
    bob.folders.read(RUN, *parts)

    shutil.rmtree(bob.folder)
    bob.folders.read(RUN, *parts)

    assert (bob.read("record.json"), bob.read(LOG)) == (b"{}", b"one\n")
