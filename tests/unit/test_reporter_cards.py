"""The reporter's cards(): what it reads from npu-smi and nvidia-smi, and that no tool disturbs a training."""

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aisbench_core.config.settings import HOME

REPORTER = HOME / "workloads" / "_reporter"

# Tables as the tool prints them on a server with 910B4, on one with 910 (first generation), and on one with 310P3.
ASCEND_910B4 = """
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.0                   Version: 24.1.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 2     910B4               | OK            | 88.9        39                0    / 0             |
| 0                         | 0000:C2:00.0  | 97          0    / 0          2858 / 32768         |
+===========================+===============+====================================================+
| 5     910B4               | Warning       | NA          41                0    / 0             |
| 0                         | 0000:01:00.0  | 0           0    / 0          31000/ 32768         |
+===========================+===============+====================================================+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 2       0                 | 3117          | python                   | 2790                    |
| No running processes found in NPU 5                                                            |
+===========================+===============+====================================================+
"""
ASCEND_910 = """
| 0     910B                | OK            | 70.0        34                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           1197 / 13553      1365 / 32768         |
"""
ASCEND_310P3 = """
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
| 6       310P3                 | OK              | NA           50                0     / 0             |
| 0       0                     | 0000:84:00.0    | 0            1839 / 21525                            |
"""
NVIDIA = "0, 45, 1234, 81559, 71.23, 33\n1, [N/A], 10, 81559, [Not Supported], 30\n"

TRAIN = """
import time, aisbench_report
began = time.monotonic()
aisbench_report.cards()
time.sleep({seconds})
aisbench_report.throughput(5.0)
aisbench_report.accuracy(0.5)
aisbench_report.done()
"""


@pytest.fixture(scope="module")
def cards() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(REPORTER))
        yield importlib.import_module("aisbench_cards")


def values(use: float, used: float, total: float, power: float | None, temperature: float) -> dict[str, float]:
    found = {"coreUtil": use, "memoryUsed": used, "memoryTotal": total, "temperature": temperature}
    return found | ({} if power is None else {"power": power})


def test_the_tables_of_three_generations_are_read(cards: ModuleType) -> None:
    assert cards._ascend_cards(ASCEND_910B4) == {
        "0": values(97, 2858, 32768, 88.9, 39),
        "1": values(0, 31000, 32768, None, 41),
    }
    assert cards._ascend_cards(ASCEND_910) == {"0": values(0, 1365, 32768, 70.0, 34)}
    assert cards._ascend_cards(ASCEND_310P3) == {"0": values(0, 1839, 21525, None, 50)}


def test_the_csv_of_nvidia_smi_is_read(cards: ModuleType) -> None:
    assert cards._nvidia_cards(NVIDIA) == {
        "0": values(45, 1234, 81559, 71.23, 33),
        "1": {"memoryUsed": 10, "memoryTotal": 81559, "temperature": 30},
    }


@pytest.mark.parametrize(
    "garbage", ["", "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)", "|||\n| 1 | 2 | 3 |", "0,"]
)
def test_garbage_holds_no_card(cards: ModuleType, garbage: str) -> None:
    assert cards._ascend_cards(garbage) == {}
    assert cards._nvidia_cards(garbage) == {}


def tool(folder: Path, script: str, name: str = "npu-smi") -> Path:
    """A program on the path of the job that stands in for the card's own one."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    (folder / name).chmod(0o755)
    return folder


def train(output: Path, tools: Path, seconds: float = 0.5, **environment: str) -> tuple[str, float]:
    """Train for a while; what the job printed, and how long it took."""
    clean = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(REPORTER), "PYTHONWARNINGS": "error"}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", TRAIN.format(seconds=seconds), f"--train_url={output}"],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (output / "throughput_0.json").read_text() == "5.0"
    return done.stdout, time.monotonic() - began


def readings(output: Path) -> list[Any]:
    files = list(output.glob("cards_*"))
    return [json.loads(text) for file in files for text in file.read_text("utf-8").splitlines()]


def test_a_job_stores_what_the_tool_prints_and_what_it_cost(tmp_path: Path) -> None:
    tools = tool(tmp_path / "bin", f"cat <<'END'\n{ASCEND_910B4}\nEND")

    printed, _ = train(tmp_path / "out", tools)

    (reading,) = readings(tmp_path / "out")
    assert reading["cards"]["0"]["memoryUsed"] == 2858
    assert abs(reading["at"] - time.time()) < 60
    assert "aisbench: npu-smi was read 1 times, 0." in printed


def test_only_the_first_card_of_a_node_reads(tmp_path: Path) -> None:
    tools = tool(tmp_path / "bin", f"cat <<'END'\n{ASCEND_910B4}\nEND")

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "throughput_0.json").write_text("5.0")
    train(tmp_path / "out", tools, DEVICE_ID="1", RANK_ID="1", RANK_SIZE="2")

    assert readings(tmp_path / "out") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "sleep 600",
        "sleep 600 & sleep 600",
        "exit 1",
        "echo garbage",
        "yes",
        "head -c 1000000 /dev/urandom",
        "kill -9 $$",
    ],
)
def test_a_tool_that_hangs_fails_or_floods_disturbs_no_training(tmp_path: Path, script: str) -> None:
    printed, seconds = train(tmp_path / "out", tool(tmp_path / "bin", script))

    assert readings(tmp_path / "out") == []
    assert "npu-smi" not in printed
    assert seconds < 10


def test_a_hanging_tool_is_ended_with_what_it_started(cards: ModuleType, tmp_path: Path) -> None:
    stuck = tool(tmp_path / "bin", "sleep 600 &\nsleep 600", "stuck") / "stuck"
    began = time.monotonic()

    output = cards.aisbench_passport.read_tool([str(stuck)], 0.3)

    assert output == ""
    assert time.monotonic() - began < 10


def test_without_a_tool_nothing_is_measured(tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    printed, _ = train(tmp_path / "out", empty, PATH=str(empty))

    assert readings(tmp_path / "out") == []
    assert "smi" not in printed
