"""What the reporter's calls cost a training: the processor time of each, and its share of a step of 10 ms."""

import json
import os
import subprocess
import sys
from pathlib import Path

from aisbench_core.config.settings import HOME
from tests.bench.figures import put

CALLS, STEP_US, MOST_US = 50_000, 10_000, 10.0
MEASURE = f"""
import json, time
import aisbench_report as report
def measure(call):
    call(0)
    began = time.process_time()
    for n in range({CALLS}):
        call(n)
    return (time.process_time() - began) / {CALLS} * 1e6
def write(n):
    with open("plain.jsonl", "a") as file:
        file.write(json.dumps({{"n": n, "seconds": 0.01, "samples": 32, "tokens": 4096}}) + chr(10))
calls = {{
    "step": lambda n: report.step(32, 0.01, tokens=4096, n=n),
    "metric": lambda n: report.metric("tokens_per_joule", n, "tokens/J", "higher"),
    "phase": lambda n: report.phase("train"),
    "power": lambda n: report.power(310.5),
    "plain": write,
}}
print(json.dumps({{name: measure(call) for name, call in calls.items()}}))
"""


def test_a_call_of_the_reporter_takes_a_thousandth_of_a_step_of_10_ms(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(HOME / "workloads" / "_reporter"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", MEASURE, "--train_url=out"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    took = json.loads(done.stdout.splitlines()[-1])

    beside = f"opening a file and writing a line of JSON: {took['plain']:.0f} µs"
    for name in ("step", "metric", "phase", "power"):
        share = f"({100 * took[name] / STEP_US:.2f} % of a step of 10 ms)"
        ratio = took["plain"] / took[name]
        put(f"Reporter: `{name}()`", f"{took[name]:.1f} µs {share}", f"{MOST_US:g} µs", beside, ratio)
    assert all(took[name] < took["plain"] for name in ("step", "metric"))
