"""Two ranks report metrics, phases and steps; the run keeps them, also if a rank is killed."""

import json
from pathlib import Path

import pytest

from aisbench_core.model import Run, RunMetric, RunSpec, RunState
from tests.flow.api_process import ApiProcess, Program, token_of
from tests.flow.command_line import CommandLine
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess

TRAIN = """
import os, pathlib, signal, time
import aisbench_report as report
rank = int(os.environ["RANK_ID"])
report.phase("init")
report.phase("train")
for n in range(1, 21):
    report.step(16, 0.25 + rank, tokens=4096, n=n)
report.metric("tokens_per_joule", 3.0 + rank, unit="tokens/J", better="higher")
report.metric("grad_norm", float("nan"))
reported = pathlib.Path(__file__).with_name("reported")
if {killed} and rank == 0:
    reported.touch()
if {killed} and rank == 1:
    for attempt in range(6000):  # rank 0 ends with this one, and may be slower
        if reported.exists():
            break
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
report.throughput(100.0)
report.accuracy(0.9)
report.done()
"""


@pytest.fixture
def bench(real_sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    real_sandbox.reset()
    return bench_on(real_sandbox, tmp_path / "data")


def run_script(bench: Bench, folder: Path, *, killed: bool) -> Run:
    code = folder / "code"
    code.mkdir(exist_ok=True)
    (code / "train.py").write_text(TRAIN.format(killed=killed))
    spec = RunSpec(
        workload="quickstart_digits", code_dir=str(code), flavor="sandbox.cpu.2cards", cards_per_node=2, node_count=1
    )
    return bench.await_end(bench.launch(spec))


def metrics_of(bench: Bench, run: Run) -> dict[str, RunMetric]:
    record = bench.core.files.record(run.run_id)
    assert record is not None
    return {metric.name: metric for metric in record.metrics}


def test_what_two_ranks_report_becomes_metrics_of_the_run(
    bench: Bench, real_sandbox: SandboxProcess, tmp_path: Path
) -> None:
    run = run_script(bench, tmp_path, killed=False)
    command = CommandLine(bench.core.settings.data_dir, real_sandbox)
    query = "select name, value, unit, source from v_run_metrics where name = 'tokens_per_joule'"

    assert run.state is RunState.COMPLETED, run.detail
    assert metrics_of(bench, run)["tokens_per_joule"].value == 3.5, "the mean of the ranks"
    assert len(bench.core.files.step_times(run.run_id)) == 40
    assert {(phase.rank, phase.name, phase.ended_at is not None) for phase in bench.core.files.phases(run.run_id)} == {
        (rank, name, True) for rank in (0, 1) for name in ("init", "train")
    }
    assert json.loads(command.type("sql", query, "--format", "json").stdout) == [
        {"name": "tokens_per_joule", "value": 3.5, "unit": "tokens/J", "source": "job"}
    ]
    warnings = [str(event.message) for event in bench.core.ledger.events(run.run_id) if event.level == "warning"]
    assert warnings == ["metric grad_norm is nan, and not a finite number"]


def test_a_metric_that_only_a_script_knows_is_everywhere(
    bench: Bench, real_sandbox: SandboxProcess, tmp_path: Path
) -> None:
    """It needs no line of the product."""
    first = run_script(bench, tmp_path, killed=False)
    second = run_script(bench, tmp_path, killed=False)
    command = CommandLine(bench.core.settings.data_dir, real_sandbox)
    api = ApiProcess(bench.core.settings.data_dir)
    program = Program(api.url, token_of(bench))

    shown = command.type("show", first.run_id).stdout
    compared = command.type("compare", first.run_id, second.run_id).stdout
    [board] = json.loads(command.type("leaderboard", "--rehearsals", "--metric", "tokens_per_joule", "--json").stdout)[
        "rows"
    ]
    exported = command.type("export", "--rehearsals").stdout
    [metric] = [one for one in program.get(f"/runs/{first.run_id}").json["metrics"] if one["better"]]
    [ranked] = program.get("/leaderboard", rehearsals="true", metric="tokens_per_joule").json["items"]
    said = api.stop()

    assert "3.5 tokens/J" in shown
    assert "tokens_per_joule" in compared
    assert (board["throughput"], board["throughput_unit"], board["runs"]) == (3.5, "tokens/J", 2)
    assert '""name"":""tokens_per_joule"",""value"":3.5' in exported
    assert (metric["name"], metric["value"]) == ("tokens_per_joule", 3.5)
    assert ranked["throughput"] == 3.5
    assert "Traceback" not in said


def test_a_killed_rank_loses_nothing_that_it_reported_before(bench: Bench, tmp_path: Path) -> None:
    run = run_script(bench, tmp_path, killed=True)

    assert run.state is RunState.FAILED
    assert metrics_of(bench, run)["tokens_per_joule"].value == 3.5
    assert sum(step.rank == 1 for step in bench.core.files.step_times(run.run_id)) == 20
    assert [
        phase.ended_at for phase in bench.core.files.phases(run.run_id) if phase.rank == 1 and phase.name == "train"
    ] == [None]
