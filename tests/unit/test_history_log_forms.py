"""Old logs after somebody's shell, editor, terminal or network: other bytes, the same runs, and never much memory."""

import io
import random
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.exchange.readers.lines import MOST_LINE, iter_lines, iter_windows
from aisbench_core.exchange.readers.logs import read_log
from aisbench_core.exchange.readers.results import UPSTREAM_ZONE, ParsedResult
from tests.unit.old_logs import BERT, BERT_BLOCK, BERT_PATH, RESNET_BLOCK, block, modelarts, stubs
from tests.unit.test_history_logs import TIMES, found_in, only, results


class Pieces:
    """A file that hands out its bytes in pieces of any size, as networks do."""

    def __init__(self, content: bytes, sizes: Iterator[int]) -> None:
        self._content, self._sizes, self._place = content, sizes, 0

    def read(self, size: int, /) -> bytes:
        end = self._place + min(size, next(self._sizes, size))
        part, self._place = self._content[self._place : end], min(end, len(self._content))
        return part


# --- what becomes of files ----------------------------------------------------------------------------

LOG = BERT + modelarts().replace("/opt", "/opt/测试") + "训练结束\n"


@pytest.mark.parametrize(
    "changed",
    [
        LOG.encode("gbk"),
        LOG.encode("utf-8-sig"),
        LOG.encode("utf-16"),
        LOG.replace("\n", "\r\n").encode(),
        LOG.replace("\n", "\r").encode(),
        LOG.replace("\n", "\r\n").encode("gbk"),
        LOG.replace("[INFO]", "\x1b[32m[INFO]\x1b[0m").replace("report", "\x1b[1mreport").encode(),
        LOG.replace("report result", "10%\r50%\r100%\rreport result").encode(),
        LOG.replace("url:", "进度 ").encode() + LOG.encode(),
        b"\0" * 5000 + LOG.encode(),
        LOG.encode() + b"\xff\xfe\x80 garbage",
    ],
    ids=["GBK", "BOM", "UTF-16", "CRLF", "CR", "GBK and CRLF", "colours", "progress", "twice", "NULs", "garbage"],
)
def test_the_same_log_in_another_form_is_the_same_run(changed: bytes) -> None:
    assert {each.identity for each in results(changed)} >= {each.identity for each in results(LOG)}


def test_lines_of_other_programs_inside_a_block_do_no_harm() -> None:
    log = BERT.replace('   "max_power"', '[WARNING] disk {"is": "full"}\n   "max_power"')

    assert only(log).info == only(BERT).info


def test_a_stamp_before_every_line_does_no_harm() -> None:
    log = "".join(f"2022-07-13T13:24:48+08:00 stub-0 | {line}" for line in BERT.splitlines(keepends=True))

    assert only(log).info == only(BERT).info


def test_a_block_on_one_line_is_read_and_so_is_what_follows_it() -> None:
    one = "[INFO]train_result_info: " + " ".join(BERT_BLOCK.split())
    two = "[INFO]train_result_info: " + " ".join(RESNET_BLOCK.split())

    assert [each.info.throughput_ratio for each in results(one + two)] == [450.58182754928634, 14151.181727494011]


def test_the_raw_block_is_kept_as_it_is() -> None:
    assert only(BERT.replace("\n", "\r\n")).raw == BERT_BLOCK.replace("\n", "\r\n")


@given(st.lists(st.integers(1, 700), max_size=60), st.sampled_from(["utf-8", "gbk", "utf-16"]), st.booleans())
def test_the_pieces_in_which_a_log_arrives_make_no_difference(sizes: list[int], encoding: str, crlf: bool) -> None:
    content = (LOG.replace("\n", "\r\n") if crlf else LOG).encode(encoding)

    in_pieces = list(read_log(Pieces(content, iter(sizes)), "run.log", UPSTREAM_ZONE))

    assert in_pieces == found_in(content)


@given(st.lists(st.sampled_from([b"a\n", b"\r", b"\r\n", b"b" * MOST_LINE, b"cc", b"\n"]), max_size=12), st.data())
def test_lines_are_the_same_in_whatever_pieces_they_arrive(parts: list[bytes], data: st.DataObject) -> None:
    content = b"".join(parts)
    size = data.draw(st.integers(1, max(1, len(content))))

    assert list(iter_lines(Pieces(content, iter([size] * 4)))) == list(iter_lines(io.BytesIO(content)))


@given(st.integers(0, len(LOG)), st.integers(0, len(LOG)), st.binary(max_size=40))
def test_a_log_with_a_hole_or_noise_in_it_can_be_read(start: int, end: int, noise: bytes) -> None:
    content = LOG[:start].encode() + noise + LOG[end:].encode()

    assert all(each.source == "run.log" for each in found_in(content))


@given(st.binary(max_size=2000))
def test_any_bytes_can_be_read(content: bytes) -> None:
    found_in(b'train_result_info: {"throughput_ratio": ' + content)
    found_in(content + BERT.encode())


# --- size ---------------------------------------------------------------------------------------------


class Endless:
    """A file of so many bytes, all alike, made while it is read; something stands at its end."""

    def __init__(self, size: int, fill: bytes, end: bytes = b"") -> None:
        self._left, self._fill, self._end = size, fill, end

    def read(self, size: int, /) -> bytes:
        if self._left <= 0:
            part, self._end = self._end, b""
            return part
        self._left -= size
        return (self._fill * (size // len(self._fill) + 1))[:size]


@pytest.mark.slow
@pytest.mark.parametrize(
    "fill",
    [b"\0", b"\r10%", b"read throughput:", b"train_result_info: {", b'"accuracy" : {'],
    ids=["one line", "progress", "words", "braces", "keys"],
)
def test_64_megabytes_are_read_in_little_memory(fill: bytes) -> None:
    file = Endless(64 * 1024**2, fill, b"\n" + BERT.encode())
    tracemalloc.start()

    found = list(read_log(file, "large.log", UPSTREAM_ZONE))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [each.model for each in found if isinstance(each, ParsedResult)][-1:] == ["bert"]
    assert peak < 16 * 1024**2


def test_a_long_line_is_kept_in_part() -> None:
    content = b"x" * (3 * MOST_LINE) + b"\nnext\n"

    assert [len(window) for window in iter_windows(Pieces(content, iter([1000] * 500)))][-1] <= 2 * MOST_LINE
    assert list(iter_lines(io.BytesIO(content))) == ["x" * MOST_LINE + "\n", "next\n"]


def test_a_log_of_noise_around_a_thousand_runs_gives_a_thousand_runs() -> None:
    noise = random.Random(7).choices(["loss: 2.5\n", "epoch time: 12 ms\n", "进度 10%\r", "\x1b[1mok\x1b[0m\n"], k=40)
    log = "".join(
        "".join(noise) + stubs(BERT_PATH, *TIMES, block(f"{450 + run}", "0.7", *TIMES)) for run in range(1000)
    )

    found = results(log)

    assert [each.info.throughput_ratio for each in found] == [450.0 + run for run in range(1000)]
    assert len({each.identity for each in found}) == 1000


def test_a_line_with_too_many_blocks_and_a_log_with_too_many_failures_are_cut_short() -> None:
    blocks = 'train_result_info: {"throughput_ratio": "1"} ' * 1400
    failures = "train_result_info: no\n" * 1000

    assert len(results(blocks)) == 17
    assert len(found_in(failures)) == 20


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_many_lines_end_in_whatever_way(end: str) -> None:
    content = (end * 100_000 + "last").encode()

    assert sum(1 for _ in iter_lines(io.BytesIO(content))) == 100_001
