"""Clues in logs: the first error by time, whatever the size of a log, and nothing that a job has survived."""

import tracemalloc
from pathlib import Path

import pytest

from aisbench_core.running.diagnosing import log_clues
from aisbench_core.running.diagnosing.log_clues import Hit, find_clues
from aisbench_core.running.diagnosing.rules import shipped_rules

MEMORY = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
DISK = "OSError: [Errno 28] No space left on device"
STEP = "2026-11-20 {:02}:{:02}:{:02},000 INFO [rank0]: step {} loss 2.31\n"


def hits(folder: Path, *logs: str) -> list[Hit]:
    files = {}
    for node, text in enumerate(logs):
        files[node] = folder / f"worker-{node}.log"
        files[node].write_text(text, "utf-8")
    return find_clues(files, shipped_rules(), 2026)


def steps(count: int) -> str:
    return "".join(STEP.format(number // 3600, number // 60 % 60, number % 60, number) for number in range(count))


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("2026-11-20 03:00:01,500 ERROR", "2026-11-20 03:00:02,100 ERROR"),
        ("[2026/11/20-03:00:01] ERROR", "[2026/11/20-03:00:02] ERROR"),
        ("[ERROR] HCCL(1,python):2026-11-20-03:00:01.345.678 [x.cc:1]", "2026-11-20T03:00:02 ERROR"),
        ("[rank4]:[E1120 03:00:01.903881913 ProcessGroupNCCL.cpp:616]", "2026-11-20 03:00:02 ERROR"),
    ],
)
def test_the_first_error_is_the_earliest_not_that_of_the_first_node(early: str, late: str, tmp_path: Path) -> None:
    first, *_ = hits(tmp_path, f"{late} {DISK}\n", f"{early} {MEMORY}\n")

    assert (first.rule, first.node) == ("card-memory", 1)


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        (f"[rank3]: {MEMORY}", 3),
        (f"worker-5: [rank22]: {MEMORY}", 22),
        (f"[1,7]<stderr>: {MEMORY}", 7),
        (f"[ERROR] 2026-06-09 (PID:9, Device:1, RankID:9) {MEMORY}", 9),
        (f"[E ProcessGroupNCCL.cpp:916] [Rank 1] terminated: {MEMORY}", 1),
        (MEMORY, None),
    ],
)
def test_a_line_names_its_rank_as_launchers_do(line: str, rank: int | None, tmp_path: Path) -> None:
    (hit,) = hits(tmp_path, f"step 1\n{line}\n")

    assert (hit.rank, hit.line) == (rank, 2)


def test_the_lines_around_an_error_are_kept_short(tmp_path: Path) -> None:
    before = "".join(f"before {number}\n" for number in range(9))

    (hit,) = hits(tmp_path, f"{before}{MEMORY}{'x' * 9999}\n" + "after\n" * 9)

    assert hit.lines[:4] == ("before 5", "before 6", "before 7", "before 8")
    assert len(hit.lines) <= log_clues.LINES_BEFORE + 1 + log_clues.LINES_AFTER
    assert max(map(len, hit.lines)) == log_clues.SHOWN_LETTERS


def test_what_a_job_survived_for_hours_did_not_kill_it(tmp_path: Path) -> None:
    survived = hits(tmp_path, f"{STEP.format(0, 0, 0, 0)}{MEMORY}\n{steps(4000)}")
    recent = hits(tmp_path, f"{steps(4000)}{MEMORY}\n" + "waiting\n" * 100)

    assert survived == []
    assert [hit.rule for hit in recent] == ["card-memory"]


def test_only_the_last_attempt_counts(tmp_path: Path) -> None:
    start = "[ModelArts Service Log][init] download code_url: s3://bucket/code/\n"

    (hit,) = hits(tmp_path, f"{start}{MEMORY}\n{start}step 1\n{DISK}\n")

    assert (hit.rule, hit.line) == ("disk-full", 5)


def test_lines_that_call_themselves_warnings_or_information_are_no_errors(tmp_path: Path) -> None:
    harmless = ["WARNING: ", "2026-11-20 03:00:00,000 INFO ", "[W1120 03:00:00 x.cpp:1] ", "train.py:3: UserWarning: "]

    assert hits(tmp_path, *(f"{prefix}{DISK}\n" for prefix in harmless)) == []
    assert [hit.rule for hit in hits(tmp_path, f"ERROR after a WARNING: {DISK}\n")] == ["disk-full"]


@pytest.mark.parametrize("line", ["{0} of {0}", "{0:08x}-{0:05b}", "{0:b}a {0:b}b {0:o}c"])
def test_errors_are_found_among_lines_of_one_kind_and_of_many(line: str, tmp_path: Path) -> None:
    lines = "".join(f"step {line.format(number)}\n" for number in range(5000))

    found = hits(tmp_path, f"{lines}{DISK}\n{lines[:2000]}")

    assert [(hit.rule, hit.line) for hit in found] == [("disk-full", 5001)]


def test_a_huge_log_is_read_at_both_ends_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_clues, "TOTAL_BYTES", 512 * 1024)
    file = tmp_path / "worker-0.log"
    with file.open("wb") as log:  # a hole of 10 GB, which takes no space on the disk
        log.write(steps(10).encode())
        log.seek(10 * 1024**3)
        log.write(f"\n{steps(10)}[rank1]: {MEMORY}\n".encode())

    tracemalloc.start()
    (hit,) = find_clues({0: file}, shipped_rules(), 2026)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (hit.rule, hit.rank, hit.line) == ("card-memory", 1, None)
    assert hit.offset > 10 * 1024**3
    assert peak < 16 * 1024 * 1024


def test_the_share_of_each_node_is_smaller_with_many_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_clues, "TOTAL_BYTES", 0)
    log = f"{DISK}\n" + "padding of a line\n" * 900 + f"{MEMORY}\n"

    found = hits(tmp_path, *[log * 9] * 8)

    assert {hit.node for hit in found if hit.rule == "card-memory"} == {*range(8)}


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\xff\xfe" * 99, b"x" * 3_000_000, "显存不足 out of memory".encode("gbk")]
)
def test_any_bytes_can_be_searched(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "worker-0.log").write_bytes(content)

    assert find_clues({0: tmp_path / "worker-0.log", 1: tmp_path / "missing.log"}, shipped_rules(), 2026) == []
