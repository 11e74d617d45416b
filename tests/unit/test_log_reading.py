"""Lines of logs, whoever wrote them: no border between two reads splits a character, a colour or a line's end."""

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_core.domain.logs import reading
from aisbench_core.domain.logs.lines import LogLevel, decode_line, line_of, rank_of, text_of
from aisbench_core.domain.logs.reading import ReadBudget, line_start, read_backward, read_forward, safe_cut

ON_EVERY_FILE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

CHINESE = st.text(alphabet="精度训练失败，ab 1", min_size=1, max_size=30)
PARTS = st.one_of(
    CHINESE.map(str.encode),
    CHINESE.map(lambda text: text.encode("gbk")),
    st.sampled_from(
        [b"\x1b[31mERROR\x1b[0m", b"\x1b]0;title\x07", b"\x00", b"\x1b[1;38;5;208m", b"step 1/10", b"\xff\xfe"]
    ),
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
LOGS = st.lists(st.tuples(st.lists(PARTS, max_size=4).map(b"".join), ENDS), max_size=30)
BLOCKS = st.integers(1, 40)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker-0.log"


def small_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(reading, "BLOCK_BYTES", size)
    monkeypatch.setattr(reading, "FIRST_BYTES", size)


@ON_EVERY_FILE
@given(LOGS, BLOCKS)
def test_lines_are_the_same_wherever_blocks_end_and_in_both_directions(
    log: Path, lines: list[tuple[bytes, bytes]], size: int
) -> None:
    content = b"".join(text + end for text, end in lines)
    log.write_bytes(content)
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_blocks(monkeypatch, size)

        ahead, back = list(read_forward(log, 0)), list(read_backward(log))

    assert [raw for _, raw in ahead] == content.splitlines(keepends=True)
    assert ahead == back[::-1]
    assert all(content[offset : offset + len(raw)] == raw for offset, raw in ahead)


@ON_EVERY_FILE
@given(CHINESE, st.sampled_from(["utf-8", "gbk"]), st.integers(1, 8))
def test_no_character_of_an_endless_line_is_split(log: Path, word: str, encoding: str, spaces: int) -> None:
    text = ("训练" + word + " " * spaces) * 400
    log.write_bytes(text.encode(encoding))
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_blocks(monkeypatch, 512)
        monkeypatch.setattr(reading, "PIECE_BYTES", 1024)
        monkeypatch.setattr(reading, "_CUT_WINDOW", 256)

        ahead = "".join(text_of(raw) for _, raw in read_forward(log, 0))
        back = "".join([text_of(raw) for _, raw in read_backward(log)][::-1])

    assert ahead == text
    assert back == text


@ON_EVERY_FILE
@given(st.integers(1, 400))
def test_no_colour_of_an_endless_line_is_split(log: Path, before: int) -> None:
    log.write_bytes((b"x" * before + b"\x1b[1;38;5;208mred\x1b[0m") * 60)
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_blocks(monkeypatch, 512)
        monkeypatch.setattr(reading, "PIECE_BYTES", 1024)
        monkeypatch.setattr(reading, "_CUT_WINDOW", 256)

        ahead = "".join(text_of(raw) for _, raw in read_forward(log, 0))
        back = "".join([text_of(raw) for _, raw in read_backward(log)][::-1])

    assert ahead == ("x" * before + "red") * 60
    assert back == ahead


def test_a_cut_is_within_its_bounds_whatever_the_bytes() -> None:
    for part in (b"\xe7" * 100, b"\x1b" * 100, "精".encode() * 40, b"a" * 100, b"\x1b[" + b"1;" * 49):
        assert 1 <= safe_cut(part, 1, 60) <= 60


def test_what_a_budget_does_not_allow_is_not_read(log: Path) -> None:
    log.write_bytes(b"line\n" * 100_000)

    assert len(list(read_backward(log, None, ReadBudget(20_000)))) < 4_000
    assert len(list(read_forward(log, 0, ReadBudget(20_000)))) < 4_000


def test_a_log_that_shrinks_or_vanishes_while_it_is_read_ends(log: Path) -> None:
    log.write_bytes(b"line\n" * 100_000)
    back, ahead = read_backward(log), read_forward(log, 0)
    assert next(back)[1] == b"line\n"
    assert next(ahead)[1] == b"line\n"

    log.write_bytes(b"anew\n")
    assert all(raw == b"line\n" for _, raw in back)
    log.unlink()
    assert all(raw in b"line\n" for _, raw in ahead)


def test_the_beginning_of_a_line_is_found(log: Path) -> None:
    log.write_bytes(b"first\nsecond\r\nthird" + b"x" * 200_000)

    assert [line_start(log, offset) for offset in (-1, 0, 3, 6, 10, 14, 16)] == [0, 0, 0, 6, 6, 14, 14]
    assert 0 < line_start(log, 190_000) <= 190_000
    assert line_start(log, 10**9) <= 200_019


def test_lines_are_shown_without_colours_and_with_visible_control_characters() -> None:
    assert text_of(b"\x1b[31;1mERROR\x1b[0m: \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\r\n") == "ERROR: link"
    assert text_of(b"a\x00b\x1b\tc\x08") == "a␀b␛\tc␈"
    assert text_of("safe\u202ecod.exe\u2066".encode()) == "safe\ufffdcod.exe\ufffd"
    assert text_of("训练失败".encode("gbk")) == "训练失败"
    assert text_of(b"\xff\xff") == "\ufffd\ufffd"
    assert decode_line("精度".encode()) == "精度"


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("2026-01-02 03:04:05,678 ERROR train: lost", LogLevel.ERROR),
        ("[ERROR] HCCL(123,python):2026-01-02-03:04:05.678.901 [file.cc:1] timeout", LogLevel.ERROR),
        ("[WARNING] ME(1:2,MainProcess):2026-01-02-03:04:05.678.901 [x.py:1] slow", LogLevel.WARNING),
        ("INFO: no ERROR so far", LogLevel.INFO),
        ("Traceback (most recent call last):", LogLevel.ERROR),
        ("[rank3]: torch.cuda.OutOfMemoryError: out of memory", LogLevel.ERROR),
        ("RuntimeError: boom", LogLevel.ERROR),
        ("EI0006: Getting socket times out.", LogLevel.ERROR),
        ("W1125 03:40:00.123000 140 torch/distributed/run.py:793] ", LogLevel.WARNING),
        ("mpirun: error: no such host", LogLevel.ERROR),
        ("[ModelArts Service Log][end] exit code 1", LogLevel.ERROR),
        ("[ModelArts Service Log][end] exit code 0", LogLevel.NONE),
        ('time="2026-01-02T03:04:05+08:00" level=info msg="x" Platform=ModelArts-Service', LogLevel.INFO),
        ("validation error: 0.23, error_rate=0.1", LogLevel.NONE),
        ("DEBUG allocated", LogLevel.DEBUG),
        ("UserWarning: deprecated", LogLevel.WARNING),
    ],
)
def test_a_line_has_the_level_that_it_names_first(text: str, level: LogLevel) -> None:
    assert line_of(0, 0, text.encode()).level is level


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-01-02 03:04:05,678 x", datetime(2026, 1, 2, 3, 4, 5, 678_000)),  # noqa: DTZ001
        ("[2026/01/02 03:04:05] x", datetime(2026, 1, 2, 3, 4, 5)),  # noqa: DTZ001
        ("2026-01-02T03:04:05.123456789Z x", datetime(2026, 1, 2, 3, 4, 5, 123_456)),  # noqa: DTZ001
        ("[INFO] ME(1):2026-01-02-03:04:05.678.901 x", datetime(2026, 1, 2, 3, 4, 5, 678_901)),  # noqa: DTZ001
        ("2026-13-02 03:04:05 x", None),
        ("step 1", None),
        ("x" * 200 + "2026-01-02 03:04:05", None),
    ],
)
def test_a_line_has_the_time_that_it_begins_with(text: str, at: datetime | None) -> None:
    assert line_of(0, 0, text.encode()).at == at


def test_lines_name_ranks_in_the_ways_of_their_launchers() -> None:
    lines = ["[rank12]: x", "[default3]:x", "[1,5]<stderr>: x", "2026 ERROR rank=7 lost", "Rank 2 failed", "ranked 3"]

    assert [rank_of(line) for line in lines] == [12, 3, 5, 7, 2, None]
    assert rank_of("2026-01-02 03:04:05 ERROR train.py:7 [rank4] out of memory") == 4
    assert rank_of("[RankID:9] failed") == 9


def test_a_rank_that_another_one_misses_has_not_written_the_line() -> None:
    lines = [
        "RuntimeError: lost rank 3",
        "RuntimeError: lost [rank3]",
        "ERROR no answer from rank 3",
        "[rank1]: connection closed by peer rank 3",
    ]

    assert [rank_of(line) for line in lines] == [None, None, None, 1]
