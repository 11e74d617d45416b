"""Processes that are killed at any moment, and start again: their time adds up, and planted delays are found."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.goodput.spans import sum_causes
from aisbench_core.domain.goodput.timeline import divide_time
from aisbench_core.domain.results.reported import read_phases, read_step_times
from tests import records as a

REPORTER = HOME / "workloads" / "_reporter"
KILLS = 200
STEP_S = 0.02

# A training of 20 steps that saves every fifth, and goes on from there. It is killed in the middle of a step.
SCRIPT = """
import json, os, pathlib, signal, sys, time
from aisbench_report import phase, step
plan = json.loads(sys.argv[2])
saved = pathlib.Path(plan["saved"])
phase("init"); time.sleep(plan["init"])
done = 0
if saved.exists():
    phase("checkpoint_load"); time.sleep(plan["load"])
    done = int(saved.read_text())
phase("train")
pathlib.Path(plan["trained"]).write_text(repr(time.time()))
for n in range(done + 1, 21):
    began = time.monotonic()
    if n == plan.get("stalls_at"):
        time.sleep(plan["stall"])
        began = time.monotonic()
    time.sleep(plan["step"])
    if n == plan.get("dies_at"):
        os.kill(os.getpid(), signal.SIGKILL)
    step(16, time.monotonic() - began, n=n)
    if n % 5 == 0:
        phase("checkpoint_save"); time.sleep(plan["save"])
        saved.write_text(str(n))
        phase("train")
"""


def live(out: Path, plan: Mapping[str, object]) -> None:
    environment = {"PYTHONPATH": str(REPORTER), "RANK_ID": "0", "DEVICE_ID": "0", "RANK_SIZE": "1"}
    command = [sys.executable, "-c", SCRIPT, f"--train_url={out}", json.dumps(plan)]
    subprocess.run(command, check=False, env=environment, capture_output=True, timeout=60)


@pytest.mark.parametrize("seed", range(KILLS))
def test_time_adds_up_and_planted_delays_are_found(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    delays = {name: chance.uniform(0.05, 0.4) for name in ("init", "load", "save")} | {
        "stall": chance.uniform(0.7, 1.2)
    }
    plan = {**delays, "step": STEP_S, "saved": str(tmp_path / "saved"), "trained": str(tmp_path / "trained")}
    dies_at, wait = chance.randint(2, 20), chance.uniform(0.1, 0.5)
    submitted = datetime.now(UTC)
    live(tmp_path, {**plan, "dies_at": dies_at})
    died = time.time()
    time.sleep(wait)
    # A pause before the first step of a process is preparation: the first step compiles.
    goes_on_at = (dies_at - 1) // 5 * 5 + 1
    live(tmp_path, {**plan, "stalls_at": chance.randint(goes_on_at + 1, 20)})
    job = a.run(submitted_at=submitted, started_at=submitted, ended_at=datetime.now(UTC))

    spans = divide_time(job, [], read_phases(tmp_path), read_step_times(tmp_path))

    found = {cause.value: span.total_seconds() for cause, span in sum_causes(spans).items()}
    assert job.ended_at is not None
    assert sum(found.values()) == pytest.approx((job.ended_at - submitted).total_seconds(), rel=0.01)
    assert found["restart"] == pytest.approx(float((tmp_path / "trained").read_text()) - died, abs=0.2)
    assert found["checkpoint"] == pytest.approx(4 * delays["save"], abs=0.2)
    assert found["stalled"] == pytest.approx(delays["stall"], abs=0.2)
    # Steps since the last checkpoint; of the one in which it died nothing was reported.
    assert found.get("rolled_back", 0) == pytest.approx(STEP_S * ((dies_at - 1) % 5), abs=0.2)
