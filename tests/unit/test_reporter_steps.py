"""The reporter's step(): a line for each card every ten seconds, and nothing that disturbs a training."""

import json
import subprocess
import sys
from pathlib import Path

from aisbench_core.config.settings import HOME
from aisbench_core.domain.liveness.step_reports import parse_steps

REPORTER = HOME / "workloads" / "_reporter"

# A script whose clock makes each call a second later.
TRAIN = """
import itertools, types, aisbench_report
ticks = itertools.count()
aisbench_report.time = types.SimpleNamespace(monotonic=lambda: float(next(ticks)), time=lambda: 1764072000.0)
{calls}
aisbench_report.throughput(5.0)
aisbench_report.done()
"""


def train(out: Path, calls: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", TRAIN.format(calls=calls), f"--train_url={out}"]
    environment = {"PYTHONPATH": str(REPORTER), "PYTHONWARNINGS": "error", **variables}
    return subprocess.run(command, check=False, env=environment, capture_output=True, text=True)


def test_steps_are_added_up_and_written_every_ten_seconds(tmp_path: Path) -> None:
    ended = train(
        tmp_path, "for _ in range(25): aisbench_report.step(32, 0.5)", RANK_ID="9", DEVICE_ID="1", VC_TASK_INDEX="1"
    )

    assert ended.returncode == 0, ended.stderr
    found = list(parse_steps((tmp_path / "steps_1.jsonl").read_bytes(), 1))
    assert sum(report.samples for report in found) == 25 * 32, "done() writes the rest"
    assert {(report.rank, report.card, report.samples / report.seconds) for report in found} == {(9, 1, 64.0)}
    assert len(found) == 3


def test_without_seconds_the_time_between_calls_counts(tmp_path: Path) -> None:
    ended = train(tmp_path, "for _ in range(11): aisbench_report.step(32)")

    assert ended.returncode == 0, ended.stderr
    found = list(parse_steps((tmp_path / "steps_0.jsonl").read_bytes(), 0))
    assert sum(report.samples for report in found) == 10 * 32, "the first call only starts the clock"


def test_all_ranks_of_a_node_share_a_file(tmp_path: Path) -> None:
    for rank in range(3):
        train(tmp_path, "aisbench_report.step(32, 0.5)", RANK_ID=str(rank), DEVICE_ID=str(rank))

    lines = (tmp_path / "steps_0.jsonl").read_text().splitlines()

    assert [json.loads(line)["rank"] for line in lines] == [0, 1, 2]


def test_values_that_are_no_measurement_and_a_file_that_cannot_be_written_disturb_nothing(tmp_path: Path) -> None:
    (tmp_path / "steps_0.jsonl").mkdir()
    calls = (
        "for value in (0, -1, float('nan'), float('inf')): aisbench_report.step(32, value)\naisbench_report.step(32, 1)"
    )

    ended = train(tmp_path, calls)

    assert ended.returncode == 0, ended.stderr
    assert "steps are no longer stored" in ended.stdout
