"""A script that writes no result files has a result: what its framework prints within the manifest's steps."""

from pathlib import Path

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.results.log_results import LogWindow
from aisbench_core.model import MetricSource, Mode, Run, RunRecord, RunSpec, RunState
from aisbench_core.running.progress.watch import ProgressWatch
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.values.runs import BoardQuery, CheckLevel, RunRow, Validity
from tests import records as a
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess
from tests.unit.test_logged_trainings import (
    BATCH,
    MEMORY,
    MFU,
    STEPS,
    TOKENS,
    average,
    llama_factory,
    log_of,
    loss_of,
    mindspeed,
)

MANIFEST = """
title: An unmodified recipe
summary: MindSpeed-LLM as it is.
model: Qwen3-8B
framework: PyTorch
boot_file: train.py
throughput_unit: {unit}
result_from: log
measured_steps: {{first: {first}, last: {last}}}
dataset: {{name: packed tokens, optional: true}}
definitions: {{steps: {{text: Tokens of the measured steps / their seconds}}}}
versions:
  "2.7":
    engine_version: mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b
    throughput_definition: steps
"""


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    return bench_on(sandbox, tmp_path / "data")


def run_recipe(
    bench: Bench, sandbox: SandboxProcess, log: str, unit: str = "tokens/s", first: int = 11, last: int = STEPS
) -> Run:
    folder = bench.core.settings.own_workloads_dir / "recipe"
    (folder / "code").mkdir(parents=True)
    (folder / "code" / "train.py").write_text("print()\n")
    (folder / "workload.yaml").write_text(MANIFEST.format(unit=unit, first=first, last=last))
    sandbox.script(log=log, outputs={})
    spec = RunSpec(workload="recipe", flavor="sandbox.cpu.2cards", cards_per_node=2)
    return bench.follow(bench.launch(spec))


def record_of(bench: Bench, run: Run) -> RunRecord:
    record = bench.core.files.record(run.run_id)
    assert record
    return record


def row_of(bench: Bench, run: Run) -> RunRow:
    row = bench.core.warehouse.runs.find_row(run.run_id)
    assert row
    return row


def test_what_the_log_says_of_the_measured_steps_is_the_result(bench: Bench, sandbox: SandboxProcess) -> None:
    run = run_recipe(bench, sandbox, log_of(mindspeed))

    record, row = record_of(bench, run), row_of(bench, run)
    metrics = {metric.name: metric for metric in record.metrics if metric.source is MetricSource.LOG}
    assert run.state is RunState.COMPLETED, run.detail
    assert row.throughput == pytest.approx(TOKENS / average(11, 50), rel=1e-3)
    assert row.per_card == pytest.approx(TOKENS / average(11, 50) / 2, rel=1e-3)
    assert (row.throughput_unit, row.accuracy) == ("tokens/s", None)
    assert metrics["reported_mfu"].value == pytest.approx(100 * MFU)
    assert metrics["reported_memory_gb"].value == MEMORY
    assert metrics["loss"].value == pytest.approx(loss_of(50))
    assert metrics["step_mean_s"].value == pytest.approx(average(11, 50))
    assert metrics["samples_per_s"].value == pytest.approx(BATCH / average(11, 50))
    assert {metric.definition for metric in metrics.values()} == {"log/steps/11-50"}


def test_a_log_that_goes_on_behind_the_window_has_a_result_of_the_lines_within_it(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    run = run_recipe(bench, sandbox, "".join(mindspeed(step) for step in range(20, 101, 20)))

    definitions = {m.definition for m in record_of(bench, run).metrics if m.source is MetricSource.LOG}
    assert run.state is RunState.COMPLETED, run.detail
    assert definitions == {"log/steps/21-40"}


def test_the_cards_of_a_result_in_a_log_are_not_known_and_no_reason_to_refuse_it(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    run = run_recipe(bench, sandbox, log_of(mindspeed))

    row = row_of(bench, run)
    cards = next(check for check in row.checks if check.id == "V03")
    board = bench.core.warehouse.runs.list_rows(BoardQuery(row.region, rehearsal=True))
    assert (cards.level, cards.evidence) == (CheckLevel.WARN, "the log says only their sum")
    assert row.validity is not Validity.INVALID
    assert [one.run_id for one in board.rows] == [run.run_id]
    assert not bench.core.warehouse.check([record_of(bench, run)]).damages


def test_runs_that_measure_other_steps_are_not_compared(bench: Bench) -> None:
    workloads = Workloads(HOME / "workloads", bench.core.settings.own_workloads_dir)
    folder = bench.core.settings.own_workloads_dir / "recipe"
    folder.mkdir(parents=True)
    windows = []
    for last in (50, 100):
        (folder / "workload.yaml").write_text(MANIFEST.format(unit="tokens/s", first=11, last=last))
        facts = workloads.get("recipe").facts(RunSpec(workload="recipe", framework_version="2.7"))
        windows.append((facts.speed_parameters or {})["result_from"])

    assert windows == ["log 11-50", "log 11-100"]


@pytest.mark.parametrize(
    ("log", "unit", "why"),
    [
        ("hello\n", "tokens/s", "the log names no step from 11 to 50"),
        (log_of(mindspeed)[:3000], "tokens/s", "the log names no step from 11 to 50"),
        (
            log_of(mindspeed).replace("tokens", "letters"),
            "tokens/s",
            "the log does not say how many tokens/s it trains",
        ),
        ("".join(mindspeed(step) for step in range(1, 40)), "tokens/s", "the log ends at step 39, before step 50"),
    ],
)
def test_a_log_that_does_not_say_it_fails_the_run_with_the_reason(
    bench: Bench, sandbox: SandboxProcess, log: str, unit: str, why: str
) -> None:
    run = run_recipe(bench, sandbox, log, unit)

    assert run.state is RunState.FAILED
    assert why in run.detail


@pytest.mark.parametrize(("style", "node"), [(mindspeed, 1), (llama_factory, 0)])
def test_the_log_is_that_of_the_node_on_which_the_style_prints(tmp_path: Path, style: object, node: int) -> None:
    """Both nodes print the same steps, one of them with other numbers."""
    folder = RunFolder(tmp_path / "run-1")
    folder.logs.mkdir(parents=True)
    lines = log_of(style)  # type: ignore[arg-type]  # one of the four, which a parameter cannot say
    folder.log(node).write_text(lines)
    folder.log(1 - node).write_text(lines.replace("lm loss: ", "lm loss: 9").replace('"loss": ', '"loss": 9'))
    watch = ProgressWatch(Workloads(HOME / "workloads"))

    (measures,) = watch.measure_logs(a.run(run_spec=a.spec(node_count=2)), folder, LogWindow(11))

    assert measures
    assert measures.loss == pytest.approx(loss_of(50))


def test_each_server_that_trains_alone_has_its_log(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run-1")
    folder.logs.mkdir(parents=True)
    for node in range(2):
        folder.log(node).write_text(log_of(mindspeed))
    watch = ProgressWatch(Workloads(HOME / "workloads"))
    spec = a.spec(mode=Mode.SINGLE_SERVER, node_count=3)

    measured = watch.measure_logs(a.run(run_spec=spec), folder, LogWindow(11, 20))

    assert [one and one.last for one in measured] == [20, 20, None]
