"""Parts of a log by line numbers."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_sandbox.service.jobs.log_lines import MAX_LINE_BYTES, newest_first, oldest_first


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "worker-0.log"
    file.write_text("".join(f"line {number}\n" for number in range(1, 11)))
    return file


def test_pages_from_either_end_meet(log: Path) -> None:
    newest = newest_first(log, None, 4)
    oldest = oldest_first(log, None, 6)

    assert newest.texts == ("line 10", "line 9", "line 8", "line 7")
    assert (newest.start, newest.end) == (10, 7)
    assert oldest.texts == tuple(f"line {number}" for number in range(1, 7))
    assert newest_first(log, newest.end, 6).texts == oldest.texts[::-1]


@given(st.integers(1, 12), st.integers(0, 12))
def test_every_line_is_read_once_whatever_the_size_of_a_page(size: int, start: int) -> None:
    log = Path(__file__)
    lines = log.read_text("utf-8").splitlines()

    found: list[str] = []
    base = start
    while (part := oldest_first(log, base, size)).texts:
        found += part.texts
        base = part.end

    assert found == lines[start:]


def test_an_empty_log_and_half_a_character_are_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"")
    assert newest_first(log, None, 5).texts == oldest_first(log, None, 5).texts == ()

    log.write_bytes("第一行".encode()[:-1] + b"\r\n" + b"x" * (MAX_LINE_BYTES + 10))

    first, second = oldest_first(log, None, 5).texts
    assert first == "第一\ufffd"
    assert len(second) == MAX_LINE_BYTES
