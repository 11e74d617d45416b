"""The warehouse made anew from the folders of the runs, when nothing else is left."""

from pathlib import Path

import pytest

from aisbench_core.core import Core
from aisbench_core.errors import ResultError
from aisbench_core.results.record import write_record
from aisbench_core.running.places import RunFolder
from aisbench_core.settings import Settings
from aisbench_core.wiring import open_core
from tests import records as a


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """A console whose ledger and warehouse are lost, with the folders of two runs."""
    core = open_core(Settings(data_dir=tmp_path))
    for run_id in ("run-1", "run-2"):
        folder = RunFolder(core.settings.runs_dir / run_id)
        write_record(a.record(run_id), folder.record, folder.metrics, folder.events)
    return core


def test_runs_that_the_ledger_does_not_know_come_back(core: Core) -> None:
    count = core.warehouse.rebuild(core.files.records())

    assert count == 2
    found = core.warehouse.run("run-2")
    assert found
    assert found.throughput == 8 * a.CARD_THROUGHPUT


def test_a_damaged_record_is_named_and_the_rest_stays_as_it_was(core: Core) -> None:
    core.warehouse.rebuild(core.files.records())
    RunFolder(core.settings.runs_dir / "run-2").record.write_text("{", "utf-8")

    with pytest.raises(ResultError, match=r"run-2/record\.json"):
        core.warehouse.rebuild(core.files.records())

    assert core.warehouse.run("run-1")
