"""Logs without bounds: 100 MB without a newline, and 10 GB, are read and searched in a few megabytes."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from aisbench_core.domain.logs import views
from aisbench_core.domain.logs.lines import LineFilter
from aisbench_core.domain.logs.patterns import LogPattern
from aisbench_core.domain.logs.searching import NodeHits, search_logs

pytestmark = pytest.mark.slow

MOST_BYTES = 48 * 1024**2
"""Two logs at a time, with the lines of a chunk of each as they are decoded."""


def memory_of(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.fixture
def endless(tmp_path: Path) -> dict[int, Path]:
    log = tmp_path / "worker-0.log"
    log.write_bytes(b"step 1\n" + "精度 12 ".encode() * (100 * 1024**2 // 10) + b"needle")
    return {0: log}


def test_a_line_without_an_end_is_shown_and_searched_in_bounded_memory(endless: dict[int, Path]) -> None:
    hits: list[NodeHits] = []

    assert memory_of(lambda: views.view_last(endless, 300, LineFilter())) < MOST_BYTES
    assert memory_of(lambda: views.view_around(endless, {0: 50 * 1024**2}, 300, LineFilter())) < MOST_BYTES
    assert memory_of(lambda: hits.extend(search_logs(endless, LogPattern("needle"), LineFilter()))) < MOST_BYTES
    assert hits[-1].count == 1
    assert views.view_last(endless, 1, LineFilter()).lines[-1].text.endswith("needle")


def test_ten_gigabytes_are_shown_in_bounded_memory(tmp_path: Path) -> None:
    log = tmp_path / "worker-0.log"
    with log.open("wb") as file:
        file.seek(10 * 1024**3)
        file.write(b"\nlast line\n")

    assert memory_of(lambda: views.view_last({0: log}, 300, LineFilter())) < MOST_BYTES
    assert views.view_last({0: log}, 1, LineFilter()).lines[0].text == "last line"
