"""Health while others write: their write-ahead logs come and go between two looks."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from aisbench_core.maintenance import health
from aisbench_core.warehouse.store import file_store

LOOKS = 5_000


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A warehouse whose log is made and taken away all the time."""
    path = tmp_path / "warehouse.duckdb"
    path.write_bytes(b"x" * 100)
    log, stop = Path(f"{path}.wal"), Event()

    def make_and_take_away() -> None:
        while not stop.is_set():
            log.write_bytes(b"y")
            log.unlink()

    writer = Thread(target=make_and_take_away)
    writer.start()
    yield path
    stop.set()
    writer.join()


def test_a_log_that_has_just_gone_is_no_incident(file: Path) -> None:
    assert {health._measure_file(file) for _ in range(LOOKS)} <= {100, 101}


def test_nor_is_one_that_goes_while_the_warehouse_is_measured(file: Path) -> None:
    assert {file_store._file_size(file).bytes for _ in range(LOOKS)} <= {100, 101}
