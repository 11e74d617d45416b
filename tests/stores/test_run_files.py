"""Files of runs are found by the run's id, for which a page that many people look at does not read the ledger again."""

from pathlib import Path

import pytest

from aisbench_core.errors import RunNotFound
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.publishing.folders import RunFolders
from aisbench_core.running.run_files import RunFiles
from tests import records as a


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
