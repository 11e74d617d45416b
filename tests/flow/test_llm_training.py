"""A job reports steps and tokens; its run has rates, MFU by three formulas, and checkpoint seconds."""

from pathlib import Path

import pytest

from aisbench_core.model import MetricSource, Run, RunMetric, RunSpec, RunState
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess

MANIFEST = """
title: Tiny LLM
summary: Reports steps of a second without training anything.
model: Tiny
framework: NumPy
boot_file: train.py
engine_name: Ascend-Powered-Engine
reporter: true
dataset: {name: none, optional: true}
definitions: {steps: {text: sequences / seconds}}
versions:
  "1": {throughput_definition: steps, engine_version: mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b}
llm:
  shape: {layers: 2, hidden: 64, heads: 4, ffn: 128, vocab: 100}
  first_step: 3
  last_step: 10
  sequence_length: 128
  global_batch_size: 16
  lowest_numerical_precision_in_linear: bf16
"""

TRAIN = """
import aisbench_report as report
for n in range(1, 13):
    report.step(8, 10.0 if n == 1 else 1.0, tokens=1024, n=n)
with report.phase("checkpoint_save"):
    pass
report.throughput(8.0)
report.accuracy(0.9)
report.done()
"""

CHIPS = """
chips:
  - name: Sandbox
    printed: [sandbox.cpu]
    peaks: [{precisions: [bf16], tflops: 0.001, origin: measured, source: a guess, date: '2026-11'}]
"""


@pytest.fixture
def bench(real_sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    real_sandbox.reset()
    return bench_on(real_sandbox, tmp_path / "data")


def run_to_the_end(bench: Bench) -> Run:
    code = bench.core.settings.own_workloads_dir / "tiny_llm"
    (code / "code").mkdir(parents=True)
    (code / "workload.yaml").write_text(MANIFEST)
    (code / "code" / "train.py").write_text(TRAIN)
    spec = RunSpec(workload="tiny_llm", flavor="sandbox.cpu.2cards", cards_per_node=2, node_count=1)
    return bench.await_end(bench.launch(spec))


def metrics_of(bench: Bench, run: Run) -> dict[str, RunMetric]:
    record = bench.core.files.record(run.run_id)
    assert record is not None
    return {metric.name: metric for metric in record.metrics}


def test_a_job_that_reports_its_steps_gets_rates_and_mfu_of_the_declared_window(bench: Bench) -> None:
    (bench.core.settings.chips_path).write_text(CHIPS)

    run = run_to_the_end(bench)

    metrics = metrics_of(bench, run)
    assert run.state is RunState.COMPLETED, run.detail
    assert metrics["tokens_per_s"].value == 2048, "the slow first step is outside of the window"
    assert metrics["tokens_per_s"].definition == "tokens/counted/steps/3-10"
    assert metrics["step_p99_s"].value == 1
    flops = 6 * (2 * (4 * 64 * 64 + 3 * 64 * 128) + 100 * 64) + 12 * 2 * 64 * 128
    assert metrics["mfu.palm"].value == pytest.approx(100 * flops * 1024 / 1e9)
    assert metrics["mfu.palm"].unit == "% of 0.001 bf16 TFLOPS"
    assert metrics["mfu.palm"].source is MetricSource.CONSOLE
    assert metrics["checkpoint_save_s"].value >= 0
    training = bench.core.warehouse.runs.describe_trainings([run.run_id], bench.core.read_chips())[run.run_id]
    assert training.readings[0].mfu * 100 == pytest.approx(metrics["mfu.palm"].value)


def test_a_wrong_file_of_chips_costs_no_result(bench: Bench) -> None:
    (bench.core.settings.chips_path).write_text("chips: [{name: X}]\n")

    run = run_to_the_end(bench)

    warnings = [str(event.message) for event in bench.core.ledger.events(run.run_id) if event.level == "warning"]
    assert run.state is RunState.COMPLETED, run.detail
    assert any("chips.yaml" in warning for warning in warnings), warnings
    assert "mfu.palm" not in metrics_of(bench, run)
