"""Jobs write event files; their curves grow while they run, stay with the run, and the command line prints them."""

import csv
import io
import json
from pathlib import Path

from aisbench_core.domain.summaries.curves import RunCurves
from aisbench_core.model import AccessMethod, Channel, RunSpec, RunState
from tests.actors import named
from tests.event_files import MINDSPORE, MINDSPORE_NAME
from tests.flow.command_line import CommandLine
from tests.flow.following import bench_on
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true

# Trains until it is stopped; MindSpore's file lies in an output of its own.
ENDLESS = f"""
import itertools, os, pathlib, time
import aisbench_report
summaries = pathlib.Path(os.environ["summary_dir"]) / "mindspore"
summaries.mkdir(parents=True, exist_ok=True)
(summaries / {MINDSPORE_NAME!r}).write_bytes({MINDSPORE!r})
for step in itertools.count():
    aisbench_report.scalar("train/loss", float("nan") if step == 1 else 1 / (step + 1), step)
    time.sleep(0.1)
"""


def test_curves_grow_while_a_job_runs_and_stay_with_the_run(real_sandbox: SandboxProcess, tmp_path: Path) -> None:
    real_sandbox.reset()
    bench = bench_on(real_sandbox, tmp_path / "data")
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(ENDLESS, "utf-8")
    outputs = (Channel(name="train_url"), Channel(name="summary_dir", access_method=AccessMethod.ENV))
    spec = RunSpec(workload="quickstart_digits", code_dir=str(code), flavor="sandbox.cpu.1card", outputs=outputs)
    run = bench.launch(spec)
    command = CommandLine(bench.core.settings.data_dir, real_sandbox)
    steps: list[int] = []

    def curves() -> RunCurves:
        return bench.core.files.curves(run.run_id)

    def has_grown_twice() -> bool:
        bench.tick()
        last = next((curve.last for curve in curves().curves if curve.tag == "train/loss"), None)
        if last and last.step not in steps:
            steps.append(last.step)
        return len(steps) == 3

    await_true(has_grown_twice, "curves that grow", 120)
    while_it_ran = bench.run(run).state
    bench.core.runs.stop(run.run_id, named("tester"))
    run = bench.follow(run)
    written = command.type("scalars", run.run_id, "--csv").stdout
    answer = json.loads(command.type("scalars", run.run_id, "--json", "--tag", "train/*").stdout)
    table = command.type("scalars", run.run_id).stdout

    assert (while_it_ran, run.state) == (RunState.RUNNING, RunState.STOPPED)
    assert [(curve.tag, curve.directory) for curve in curves().curves] == [
        ("loss", "summary_dir/mindspore"),
        ("train/acc", "summary_dir/mindspore"),
        ("train/loss", "train_url/summaries"),
    ]
    loss = curves().curves[-1]
    assert (loss.not_finite, loss.points[1].step) == (1, 2)
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["value"] for row in rows if row["tag"] == "train/acc"][:2] == ["0.0", "0.10000000149011612"]
    assert [row["value"] for row in rows if row["tag"] == "train/loss"][:3] == ["1.0", "nan", "0.3333333432674408"]
    assert len(rows) == sum(curve.count + curve.not_finite for curve in curves().curves)
    assert [curve["tag"] for curve in answer["curves"]] == ["train/acc", "train/loss"]
    assert answer["curves"][1]["last"]["step"] == loss.points[-1].step
    assert "train_url/summaries" in table


def test_a_run_without_event_files_says_how_to_write_them(shell: CommandLine) -> None:
    run_id = shell.type("run", "quickstart_digits").stdout.strip()

    shown = shell.type("scalars", run_id)

    assert shown.exit_code == 0, shown.output
    assert "no event files: see docs/workloads.md" in shown.stderr
    assert shell.type("scalars", "r0").exit_code == 2
    assert shell.type("scalars", run_id, "--csv", "--json").exit_code == 2
