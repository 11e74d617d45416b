"""Reading old results against the naive way: the whole file as text, and a regular expression for each kind of line."""

import json
import re
import statistics
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from aisbench_core.exchange.readers.logs import read_log
from aisbench_core.exchange.readers.reading import read_path
from aisbench_core.exchange.readers.results import UPSTREAM_ZONE, ParsedResult
from tests.bench.test_transfers import seconds
from tests.unit.old_logs import BERT_PATH, block, modelarts, stubs

LOGS = 10_000
LARGE = 256 * 1024**2
ROUNDS = 3
NOISE = "".join(
    f"2022-07-13T12:{second // 60:02}:{second % 60:02} step: {second} loss is 2.5{second} per step time: 12.1 ms\n"
    for second in range(300)
)

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
NAIVE = [
    re.compile(pattern)
    for pattern in (
        r"workpath:(.+?) go testcase",
        r"ConfigInfo (.+)",
        r"create (?:job )?sucess.*job_id:(\S+)",
        r"rankid:(\d+) url:.* read throughput:(\S+)",
        r"throughput_list:\[(.*?)\] average:(\S+)",
        r"accuracy_list:\[(.*?)\] average:(\S+)",
        r"report result total_throughput : (\S+)",
        r"report result accuracy:(\S+)",
    )
]
NAIVE_BLOCK = re.compile(r"train_result_info: (\{.*?\})", re.S)


def naive(file: Path) -> int:
    """How many blocks a file holds, as a script of fifteen lines would find them."""
    text = COLOURS.sub("", file.read_text("utf-8"))
    for pattern in NAIVE:
        pattern.findall(text)
    return len([json.loads(found) for found in NAIVE_BLOCK.findall(text)])


def log_of(run: int) -> str:
    total = str(sum(900.5 + run + rank for rank in range(8)))
    ended = f"2022-07-{run % 28 + 1:02} {run // 3600 % 24:02}:{run // 60 % 60:02}:{run % 60:02}"
    the_block = block(total, "0.7612", "2022-07-01 00:00:00", ended)
    return modelarts(f"job-{run}", 8, 900.5 + run) + NOISE + stubs(BERT_PATH, "2022-7-1 00:00:00", ended, the_block)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for run in range(LOGS):
        folder = tmp_path / f"{run // 500}"
        folder.mkdir(exist_ok=True)
        (folder / f"{run}.log").write_text(log_of(run), "utf-8")
    return tmp_path


def test_ten_thousand_logs_are_read_wholly_for_a_few_times_what_finding_their_blocks_costs(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted(logs.rglob("*.log"))
    assert sum(isinstance(each, ParsedResult) for each in read_path(logs)) == LOGS

    slow = statistics.median(seconds(lambda: sum(map(naive, files))) for _ in range(ROUNDS))
    ours = statistics.median(seconds(lambda: list(read_path(logs))) for _ in range(ROUNDS))

    with capsys.disabled():
        size = sum(file.stat().st_size for file in files) / 1024**2
        print(f"\n{LOGS:,} logs, {size:.0f} MB: {ours:.1f} s (goal, with storing them, 60); ", end="")
        print(f"finding blocks alone {slow:.1f} s, {ours / slow:.1f} x")
    assert ours / slow <= 12


def test_a_large_log_is_read_quicker_than_by_a_naive_script_and_in_a_tenth_of_the_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "large.log"
    with file.open("w", encoding="utf-8") as target:
        while target.tell() < LARGE:
            target.write(NOISE * 100)
        target.write(log_of(1))

    def ours_of() -> int:
        with file.open("rb") as content:
            return len(list(read_log(content, "large.log", UPSTREAM_ZONE)))

    slow_bytes, ours_bytes = peak(lambda: naive(file)), peak(ours_of)
    slow = statistics.median(seconds(lambda: naive(file)) for _ in range(ROUNDS))
    ours = statistics.median(seconds(ours_of) for _ in range(ROUNDS))

    with capsys.disabled():
        print(f"\na log of {LARGE // 1024**2} MB: {ours:.2f} s, {ours_bytes / 1024**2:.0f} MB of memory; ", end="")
        print(f"naive {slow:.2f} s, {slow_bytes / 1024**2:.0f} MB, {slow / ours:.1f} x")
    assert (naive(file), ours_of()) == (1, 1)
    assert slow / ours >= 1
    assert slow_bytes / ours_bytes >= 10


def peak(work: Callable[[], object]) -> int:
    """The most memory that Python has while it works, in bytes."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most
