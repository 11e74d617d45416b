"""Two ranks report metrics, phases and steps; the run keeps them, also if a rank is killed."""

import json
from pathlib import Path

import pytest

from aisbench_core.model import Run, RunMetric, RunSpec, RunState
from aisbench_core.running.step_files import fetch_steps, latest_steps
from aisbench_core.store.run_folders.run_paths import RunFolder
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


LIVES = """
import subprocess, sys
LIFE = '''
import os, sys
sys.path.insert(0, sys.argv[3])
import aisbench_report as report
report._REMOTE_STEP_SECONDS = 0.0
life = int(sys.argv[2])
for n in range(3 * life - 2, 3 * life + 1):
    report.step(16 * life, 0.25, n=n)
os._exit(9)
'''
for life in ("1", "2"):
    subprocess.run([sys.executable, "-c", LIFE, "--train_url=obs://sandbox-bench/lives/", life, sys.path[0]])
import aisbench_report
aisbench_report.throughput(100.0)
aisbench_report.accuracy(0.9)
aisbench_report.done()
"""


def test_on_obs_a_restart_keeps_the_step_reports_of_the_life_before(bench: Bench, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(LIVES)
    flavor = "sandbox.cpu.1card"
    spec = RunSpec(workload="quickstart_digits", code_dir=str(code), flavor=flavor, cards_per_node=1, node_count=1)

    run = bench.await_end(bench.launch(spec))
    assert run.state is RunState.COMPLETED, bench.core.files.log_tail(run.run_id, 0)
    folder = RunFolder(tmp_path / "fetched")
    fetch_steps(bench.objects(), "/sandbox-bench/lives/", 1, folder)

    assert len(list(folder.steps.iterdir())) == 2
    assert [report.samples for report in latest_steps(folder)] == [16.0] * 3 + [32.0] * 3
