"""Search over all nodes: what people see is what is found, whatever the bytes; hostile patterns end in time."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_core.domain.logs import scanning, searching
from aisbench_core.domain.logs.first_errors import AFTER_BYTES, first_errors, in_order
from aisbench_core.domain.logs.lines import LineFilter, LogLevel, text_of
from aisbench_core.domain.logs.patterns import BEGIN, END, LogPattern, LogPatternError
from aisbench_core.domain.logs.searching import NodeHits, search_logs

pytestmark = pytest.mark.slow  # hostile expressions run until their deadline

ALL = LineFilter()


def write(folder: Path, *logs: bytes) -> dict[int, Path]:
    files = {node: folder / f"worker-{node}.log" for node in range(len(logs))}
    for node, content in enumerate(logs):
        files[node].write_bytes(content)
    return files


def found(logs: dict[int, Path], text: str, *, regex: bool = False, wanted: LineFilter = ALL) -> dict[int, NodeHits]:
    return {hits.node: hits for hits in search_logs(logs, LogPattern(text, regex), wanted) if hits.is_done}


def texts(hits: NodeHits) -> list[str]:
    return [line.text for line in hits.lines]


def test_hits_are_counted_per_node_and_point_to_their_lines(tmp_path: Path) -> None:
    logs = write(tmp_path, b"step 1\nHCCL timeout\nstep 2\nHCCL timeout again\n", b"step 1\n")

    hits = found(logs, "hccl TIMEOUT".lower())

    assert {node: each.count for node, each in hits.items()} == {0: 2, 1: 0}
    assert [(line.offset, line.text) for line in hits[0].lines] == [(7, "HCCL timeout"), (27, "HCCL timeout again")]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("训练失败", "a\n训练失败 x\n".encode()),
        ("训练失败", "a\n训练失败 x\n".encode("gbk")),
        ("ERROR: lost", b"a\n\x1b[31mERR\x1b[0mOR\x1b[1m:\x1b[0m lost x\n"),
        ("100%", b"  1%|  |\r 50%|# |\r100%|##| x\r\n"),
        ("a.b", b"acb\na.b x\n"),
        ("(x", b"x\n(x x\n"),
        ("épuisée", "a\nMÉMOIRE ÉPUISÉE x\n".encode()),
    ],
)
def test_text_is_found_as_it_is_shown(tmp_path: Path, text: str, content: bytes) -> None:
    hits = found(write(tmp_path, content), text)

    assert hits[0].count == 1
    assert texts(hits[0])[0].endswith("x")


@pytest.mark.parametrize(
    ("expression", "content"),
    [
        (r"^训.失败", "a\n训练失败 x\n".encode("gbk")),
        (r"[失败]{2} x$", "a\r\n训练失败 x\r\n".encode()),
        (r"\Astep \d+ x\z", b"step x\nstep 12 x\nstep 3 x y\n"),
        (r"^ERROR: \w+ x$", b"a\n\x1b[31mERROR\x1b[0m: lost x\nb\n"),
        (r"\bx$", b"no\na x"),
    ],
)
def test_an_expression_is_matched_with_each_line_as_it_is_shown(
    tmp_path: Path, expression: str, content: bytes
) -> None:
    assert found(write(tmp_path, content), expression, regex=True)[0].count == 1


LINES = st.lists(st.text(alphabet="abAB精 \x1b\x00.", max_size=12), max_size=40)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.text(alphabet="abAB精.", min_size=1, max_size=3), st.sampled_from(["utf-8", "gb18030"]))
def test_as_many_lines_are_found_as_when_each_is_looked_at(
    tmp_path: Path, lines: list[str], text: str, encoding: str
) -> None:
    raw = [line.encode(encoding) for line in lines]
    shown = [text_of(line) for line in raw]
    expected = [line for line in shown if (text in line if text != text.lower() else text in line.lower())]

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(scanning, "SMALL_CHUNK_BYTES", 64)
        monkeypatch.setattr(scanning, "CHUNK_BYTES", 128)
        hits = found(write(tmp_path, b"\n".join(raw)), text)

    assert texts(hits[0]) == expected
    assert hits[0].count == len(expected)


def test_a_match_in_a_line_without_an_end_is_found_across_parts(tmp_path: Path) -> None:
    size = scanning.CHUNK_BYTES
    for offset in (size - 3, 2 * size - 1, 3 * size + 17, scanning.SMALL_CHUNK_BYTES - 4):
        content = bytearray(b"x" * (4 * size))
        content[offset : offset + 6] = b"needle"

        assert found(write(tmp_path, bytes(content)), "needle")[0].count in (1, 2)


def test_a_search_ends_when_a_log_has_more_hits_than_are_counted(tmp_path: Path) -> None:
    logs = write(tmp_path, b"INFO x\n" * 3_000_000, b"INFO x\n")

    hits = found(logs, "INFO")

    assert hits[0].has_more
    assert hits[0].count < 200_000
    assert len(hits[0].lines) == searching.MOST_LINES
    assert not hits[1].has_more


def test_filters_hold_for_hits(tmp_path: Path) -> None:
    logs = write(tmp_path, b"[ModelArts Service Log] lost\nERROR lost\nINFO lost\n")

    assert found(logs, "lost", wanted=LineFilter(LogLevel.ERROR))[0].count == 1
    assert found(logs, "lost", wanted=LineFilter(system=False))[0].count == 2


HOSTILE = [
    r"(x+x+)+y",
    r"(a|aa)+$!",
    r"(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)!",
    r"([a-z]+.*){20}!",
    r".{1000}y",
    r"[a-z]{0,500}[a-z]{0,500}!",
    r"(x|a).{900}[b-z].{90}!",
    r"\PN{1000}!",
]


@pytest.mark.parametrize("expression", HOSTILE)
def test_a_hostile_expression_ends_at_its_deadline(tmp_path: Path, expression: str) -> None:
    line = b"a" * 300 + b"xa" * 400 + b"\n"
    logs = write(tmp_path, *[line * 20_000] * 3)  # 22 MB each

    start = time.monotonic()
    for _ in search_logs(logs, LogPattern(expression, is_regex=True), ALL, 0.5):
        pass
    waited = time.monotonic() - start

    assert waited < 5  # half a second, and whatever else the machine does
    other = time.monotonic()
    assert re.search("needle", "x" * 1000) is None
    assert time.monotonic() - other < 2  # Python's lock is free while what is left of the search ends


@pytest.mark.parametrize("expression", ["(", "(?=x)", r"(a)\1", "a{2000}", r"\pL{999}\pN{999}", "", "x" * 1001])
def test_an_expression_that_cannot_be_used_is_a_sentence(expression: str) -> None:
    with pytest.raises(LogPatternError) as refused:
        LogPattern(expression, is_regex=True)

    assert "\n" not in refused.value.sentence
    assert "pyarrow" not in str(refused.value.sentence).lower()


def test_a_search_that_nobody_awaits_any_more_ends(tmp_path: Path) -> None:
    logs = write(tmp_path, *[b"INFO step\n" * 3_000_000] * 6)
    running = search_logs(logs, LogPattern(r"(.*a){5}z", is_regex=True), ALL)
    first = search_logs(logs, LogPattern("INFO"), ALL)

    assert next(first).count
    first.close()
    running.close()


def test_a_removed_log_has_no_hits(tmp_path: Path) -> None:
    logs = write(tmp_path, b"x\n") | {1: tmp_path / "worker-1.log"}

    assert {node: hits.count for node, hits in found(logs, "x").items()} == {0: 1, 1: 0}


def test_each_match_of_a_line_is_marked() -> None:
    assert LogPattern("ab").mark_matches("xAB abx") == f"x{BEGIN}AB{END} {BEGIN}ab{END}x"
    assert LogPattern(r"\d+", is_regex=True).mark_matches("step 12 of 20") == f"step {BEGIN}12{END} of {BEGIN}20{END}"
    assert LogPattern(r"\1").mark_matches(r"a\1") == rf"a{BEGIN}\1{END}"


def test_the_first_error_of_each_rank_is_where_it_begins_and_what_it_ended_with(tmp_path: Path) -> None:
    logs = write(
        tmp_path,
        b"2026-01-01 00:00:09 INFO x\n[rank1]: Traceback (most recent call last):\n[rank1]:   File x\n"
        b"[rank0]: RuntimeError: lost rank 1\n[rank1]: ValueError: loss is NaN\n[rank1]: ERROR again\n"
        b"[ModelArts Service Log][end] exit code 1\n",
        b"2026-01-01 00:00:05 ERROR timeout\n",
        b"step 1\n[ModelArts Service Log][end] exit code 137\n",
        b"step 1\nstep 2\n",
    )

    errors = in_order({each.node: each for each in first_errors(logs)})

    assert [(error.line.node, error.rank, error.cause) for error in errors] == [
        (1, None, "2026-01-01 00:00:05 ERROR timeout"),
        (0, 1, "[rank1]: ValueError: loss is NaN"),
        (0, 0, "[rank0]: RuntimeError: lost rank 1"),
        (2, None, "[ModelArts Service Log][end] exit code 137"),
    ]


def test_the_exception_that_ended_a_job_comes_before_what_the_platform_says_of_the_nodes_it_ended(
    tmp_path: Path,
) -> None:
    ended = b"2026-01-01 00:00:07 INFO step 1\n[ModelArts Service Log][end] exit code 143\n"
    failed = b"2026-01-01 00:00:08 INFO step 1\nTraceback (most recent call last):\n  File x\nValueError: loss is NaN\n"
    logs = write(tmp_path, ended, b"2026-01-01 00:00:09 ERROR lost rank 2\n", failed)

    errors = in_order({each.node: each for each in first_errors(logs)})

    assert [(error.line.node, error.rank, error.at and error.at.second) for error in errors] == [
        (2, None, 8),
        (1, None, 9),
        (0, None, 7),
    ]


def test_errors_far_behind_the_first_one_are_not_searched_for(tmp_path: Path) -> None:
    step = b"step of a run that goes on and on\n"
    logs = write(tmp_path, b"[rank0]: ERROR a\n" + step * (2 * AFTER_BYTES // len(step)) + b"[rank1]: ERROR b\n")

    [errors] = first_errors(logs)

    assert [error.rank for error in errors.errors] == [0]
