"""The first hit in the logs of 512 nodes, 20 MB each, beside reading them line by line; and the last lines of all."""

import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from aisbench_core.domain.logs import views
from aisbench_core.domain.logs.lines import LineFilter
from aisbench_core.domain.logs.patterns import LogPattern
from aisbench_core.domain.logs.searching import search_logs
from tests.bench.figures import put

NODES = 512
BYTES = 20 * 1000 * 1000
ONE_BY_ONE = 16
ATTEMPTS = 3
NEEDLE = "HCCL link down"

Logs = Mapping[int, Path]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logs]:
    """10 GB, of which the last line of the last file is the only hit. Read once, so that they are in the page cache."""
    folder = tmp_path_factory.mktemp("logs")
    files = {node: folder / f"worker-{node}.log" for node in range(NODES)}
    files[0].write_text("".join(_lines()), "ascii")
    for node in range(1, NODES):
        shutil.copyfile(files[0], files[node])
    with files[NODES - 1].open("a") as log:
        log.write(f"2026-01-02 00:00:00.000 ERROR {NEEDLE}\n")
    yield files
    shutil.rmtree(folder)


def _lines() -> Iterator[str]:
    chance, at, written = random.Random(1), datetime(2026, 1, 1), 0  # noqa: DTZ001  # as logs write it
    while written < BYTES:
        at += timedelta(milliseconds=37)
        head = f"{at.isoformat(' ', 'milliseconds')} INFO train.py:{chance.randint(1, 400)} epoch {written >> 20} "
        line = f"{head}loss={chance.random():.5f} throughput={1000 * chance.random():.2f} samples/s\n"
        written += len(line)
        yield line


def first_hit_s(logs: Logs, text: str, *, is_regex: bool = False) -> float:
    """The best of a few, each until the only hit is found."""

    def find() -> None:
        found = next(hits for hits in search_logs(logs, LogPattern(text, is_regex), LineFilter()) if hits.count)
        assert (found.node, found.count) == (NODES - 1, 1)

    return fastest(find)


def fastest(work: Callable[[], None]) -> float:
    durations = []
    for _ in range(ATTEMPTS):
        start = time.perf_counter()
        work()
        durations.append(time.perf_counter() - start)
    return min(durations)


def line_by_line_s(logs: Logs) -> float:
    needle = NEEDLE.encode()

    def read() -> None:
        for node in range(ONE_BY_ONE):
            with logs[node].open("rb") as log:
                assert not any(needle in line for line in log)

    return fastest(read) / ONE_BY_ONE * NODES


def test_the_only_hit_in_ten_gigabytes_is_found_soon(logs: Logs) -> None:
    naive = line_by_line_s(logs)
    beside = f"line by line: {naive:.0f} s"

    exact = first_hit_s(logs, NEEDLE)
    any_case = first_hit_s(logs, NEEDLE.lower())
    expression = first_hit_s(logs, r"HCCL\s+link \w+$", is_regex=True)

    size = f"Logs, {NODES} × 20 MB"
    put(f"{size}: first hit, in the last file", f"{exact:.1f} s", "2 s", beside, naive / exact)
    put(
        f"{size}: first hit in any case of letters, in the last file", f"{any_case:.1f} s", "", beside, naive / any_case
    )
    put(f"{size}: first hit of an expression, in the last file", f"{expression:.1f} s", "", beside, naive / expression)
    assert naive / exact >= 5
    assert naive / any_case >= 1.5


def test_the_first_of_many_hits_is_there_at_once(logs: Logs) -> None:
    start = time.perf_counter()
    first = next(search_logs(logs, LogPattern("throughput=9"), LineFilter()))
    seconds = time.perf_counter() - start

    put(f"Logs, {NODES} × 20 MB: first hit of text that every file has", f"{1000 * seconds:.0f} ms", "2,000 ms")
    assert first.count
    assert seconds < 2


def test_the_last_lines_of_all_nodes_take_no_longer_for_longer_logs(logs: Logs) -> None:
    short = {node: file.with_suffix(".short") for node, file in logs.items()}
    for node, file in logs.items():
        with file.open("rb") as log:
            log.seek(-20_000, 2)
            short[node].write_bytes(log.read())

    long_s = fastest(lambda: _assert_last(logs))
    short_s = fastest(lambda: _assert_last(short))

    beside = f"{NODES} × 20 kB: {1000 * short_s:.0f} ms"
    put(
        f"Logs, {NODES} × 20 MB: last 300 lines by time",
        f"{1000 * long_s:.0f} ms",
        "1,000 ms",
        beside,
        short_s / long_s,
    )
    assert long_s <= 3 * short_s


def _assert_last(logs: Logs) -> None:
    view = views.view_last(logs, 300, LineFilter())
    assert (len(view.lines), view.by_time) == (300, True)
