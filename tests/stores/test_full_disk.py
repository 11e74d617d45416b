"""A disk that is full, for real: this process may not write files beyond a size, until it may again."""

import errno
import gc
import resource
from collections.abc import Callable
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import AisbenchError, DiskError
from aisbench_core.base.private_files import write_whole
from aisbench_core.domain.results.record import add_annotations, read_annotations
from aisbench_core.model import AnnotationChange, AnnotationKind, Event, Level
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import Export, ExportFormat
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.processes import FORKED

ALL = BoardQuery("cn-north-9", include_invalid=True)


def a_note(text: str) -> AnnotationChange:
    return AnnotationChange(a.T0, "console", AnnotationKind.NOTE, text)


def note_often(ledger: Ledger) -> None:
    for _ in range(60):
        ledger.note(Event("before", a.T0, "console", Level.INFO, "x" * 10_000))


def meet_a_full_disk(folder: Path, told: "Queue[Any]") -> None:
    """Write into warehouse, ledger and run folder without room, and again with it; tells every error."""
    warehouse, ledger = Warehouse(folder / "warehouse.duckdb"), Ledger(folder / "ledger.sqlite3")
    file = folder / "runs" / "r" / "x"
    warehouse.record(a.record("before"))
    ledger.add(a.run("before"))
    write_whole(file, b"before")
    add_annotations(file.parent, [a_note("before")])
    tries: dict[str, Callable[[], object]] = {
        "warehouse": lambda: warehouse.record_many(a.records([8000.0] * 400, "many")),
        "ledger": lambda: note_often(ledger),
        "file": lambda: write_whole(file, b"x" * 1_000_000),
        "remarks": lambda: add_annotations(file.parent, [a_note("x" * 300_000)]),
    }
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    for name, work in tries.items():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, usual[1]))
        try:
            work()
            told.put((name, "nothing happened", False))
        except AisbenchError as error:
            told.put((name, str(error), isinstance(error, DiskError)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        work()
    told.put(("leftovers", sorted(each.name for each in file.parent.iterdir()), False))
    told.put(("remarked", [len(each.text) for each in read_annotations(file.parent).changes], False))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder, answers = tmp_path_factory.mktemp("full"), FORKED.Queue()
    process = FORKED.Process(target=meet_a_full_disk, args=(folder, answers))
    process.start()
    found = [answers.get(timeout=120) for _ in range(6)]
    process.join(60)
    return folder, {name: rest for name, *rest in found}


@pytest.mark.parametrize("what", ["warehouse", "ledger", "file", "remarks"])
def test_a_full_disk_is_a_sentence_that_says_what_to_do(told: tuple[Path, dict[str, Any]], what: str) -> None:
    sentence, _ = told[1][what]

    assert "free space" in sentence
    assert "\n" not in sentence
    assert "rebuild" not in sentence
    assert "a file cannot" not in sentence


def test_what_was_kept_before_is_there_and_afterwards_everything_is(told: tuple[Path, dict[str, Any]]) -> None:
    folder, answers = told

    assert Warehouse(folder / "warehouse.duckdb").runs.list_rows(ALL).total == 401
    assert Ledger(folder / "ledger.sqlite3").get("before").run_id == "before"
    assert len(Ledger(folder / "ledger.sqlite3").events("before")) >= 60
    assert (folder / "runs/r/x").stat().st_size == 1_000_000
    assert answers["leftovers"][0] == ["annotations.jsonl", "x"]
    assert answers["remarked"][0] == [6, 300_000]


@pytest.mark.parametrize("kind", ExportFormat)
def test_a_target_without_room_is_an_error_of_the_system_that_can_be_told(
    warehouse: Warehouse, kind: ExportFormat
) -> None:
    warehouse.record_many(a.records([8000.0, 8100.0], "run"))

    with pytest.raises(OSError, match="No space left") as refusal, Path("/dev/full").open("wb", buffering=0) as full:
        warehouse.export(Export(ALL, a.T0, format=kind), full)

    assert refusal.value.errno == errno.ENOSPC
    gc.collect()  # what would be written on the way out is a warning, and warnings are errors here
