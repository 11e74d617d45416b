"""Real jobs on several nodes: one that hangs, and one with a slow rank; the run says so while they run."""

from pathlib import Path

import pytest

from aisbench_core.domain.liveness.alerts import alert_of
from aisbench_core.domain.liveness.stalls import UNKNOWN_MINUTES
from aisbench_core.model import AlertKind, Run, RunSpec, RunState
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import PERSON, Bench, bench_on
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true

HANGS = """
import time
print("step 1", flush=True)
time.sleep(3600)
"""
# Of the third card, each step takes a third longer; a second of this script is a minute of its reports.
IS_SLOW = """
import os, time, types
import aisbench_report
began = time.monotonic()
passed = lambda: 60 * (time.monotonic() - began)
aisbench_report.time = types.SimpleNamespace(monotonic=passed, time=lambda now=time.time(): now + passed())
seconds = 0.4 if os.environ["RANK_ID"] == "2" else 0.3
while True:
    aisbench_report.step(30, seconds)
    time.sleep(0.05)
"""
LONGEST_SECONDS = 120


@pytest.fixture
def bench(real_sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    real_sandbox.reset()
    return bench_on(real_sandbox, tmp_path / "data")


def launched(bench: Bench, tmp_path: Path, script: str) -> Run:
    """Two nodes of two cards each that run this."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(script)
    flavor = "sandbox.cpu.2cards"
    spec = RunSpec(workload="quickstart_digits", code_dir=str(code), flavor=flavor, cards_per_node=2, node_count=2)
    run = bench.launch(spec)
    await_true(lambda: ticked(bench, run).state is RunState.RUNNING, "the job", LONGEST_SECONDS)
    return run


def ticked(bench: Bench, run: Run, seconds: float = 10.0) -> Run:
    bench.tick(seconds)
    return bench.run(run)


def stop(bench: Bench, run: Run) -> None:
    bench.core.runs.stop(run.run_id, named(PERSON))
    bench.await_end(run)


def test_a_job_on_two_nodes_that_hangs_is_called_stalled(bench: Bench, tmp_path: Path) -> None:
    run = launched(bench, tmp_path, HANGS)
    # A line of a slower card would be a sign of life after minutes of the clock that is moved below.
    await_true(lambda: log(bench, run).count("step 1") == 4, "the first line of each card", LONGEST_SECONDS)

    for _ in range(UNKNOWN_MINUTES + 3):
        bench.tick(60)
    watch = bench.core.watches.get(run.run_id)
    alert = alert_of(bench.run(run), bench.core.files.job(run.run_id), watch)
    stop(bench, run)

    assert alert is not None
    assert alert.kind is AlertKind.STALLED


def log(bench: Bench, run: Run) -> str:
    bench.tick(10)
    return "".join(bench.core.files.log_tail(run.run_id, node) for node in range(2))


def test_a_slow_rank_is_named_while_its_job_runs(bench: Bench, real_sandbox: SandboxProcess, tmp_path: Path) -> None:
    run = launched(bench, tmp_path, IS_SLOW)

    def is_named() -> bool:
        bench.tick(60)
        return any(event.message.startswith("slow for") for event in bench.core.ledger.events(run.run_id))

    await_true(is_named, "the slow card", LONGEST_SECONDS)
    rates = bench.core.files.card_rates(run.run_id)
    shown = CommandLine(bench.core.settings.data_dir, real_sandbox).type("show", run.run_id).stdout
    notices = bench.core.ledger.rows("select kind from notices where kind = 'straggler'")
    stop(bench, run)

    assert [(rate.node, rate.card) for rate in rates if rate.slow_since] == [(1, 0)]
    assert len(rates) == 4
    assert "card 0 of node 1 (75 % of the median)" in shown
    assert len(notices) <= 1, "no channel wants it, so it may be gone already"
    told = [event for event in bench.core.ledger.events(run.run_id) if event.message.startswith("slow for")]
    assert len(told) == 1
