"""Two nodes of a job record themselves before their first step; the run keeps that, and everything shows it."""

import json
from pathlib import Path

import pytest

from aisbench_core.model import RunSpec, RunState
from tests.flow.command_line import CommandLine
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true
from tests.unit.test_passport import OUTPUTS

TRAIN = """
import json, os, pathlib
node = os.environ["VC_TASK_INDEX"]
tools = pathlib.Path(__file__).parent / f"tools{node}"
tools.mkdir(exist_ok=True)
cases = "".join(f"'{command}') cat <<'END'\\n{text}\\nEND\\n;;\\n" for command, text in json.loads(OUTPUTS).items())
if node == "1":
    cases = cases.replace("7.5.0.5.220", "7.3.0.1.231")
(tools / "npu-smi").write_text(f'#!/bin/sh\\ncase "npu-smi $*" in\\n{cases}esac\\n')
(tools / "npu-smi").chmod(0o755)
os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
import aisbench_report, threading
for thread in threading.enumerate():
    if thread.name == "aisbench-passport":
        thread.join()
aisbench_report.throughput(100.0)
aisbench_report.accuracy(0.9)
aisbench_report.done()
"""


@pytest.fixture(scope="module")
def recorded(real_sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, str]:
    real_sandbox.reset()
    data = tmp_path_factory.mktemp("passport")
    bench = bench_on(real_sandbox, data / "data")
    code = data / "code"
    code.mkdir()
    (code / "train.py").write_text(f"OUTPUTS = {json.dumps(OUTPUTS['npu_24_910b4']['tools'])!r}\n{TRAIN}")
    spec = RunSpec(workload="quickstart_digits", code_dir=str(code), flavor="sandbox.cpu.1card", node_count=2)
    run = bench.launch(spec)

    def ended() -> bool:
        bench.tick()
        return bench.run(run).state.is_terminal

    await_true(ended, "the end of the run", 240)
    assert bench.run(run).state is RunState.COMPLETED, bench.run(run).detail
    return bench, run.run_id


def test_each_node_has_a_sealed_file_in_the_folder_of_the_run(recorded: tuple[Bench, str]) -> None:
    bench, run_id = recorded
    folder = bench.core.settings.runs_dir / run_id

    assert sorted(file.name for file in (folder / "passport").iterdir()) == ["0.json", "1.json"]
    assert bench.core.warehouse.check([]).damages == ()


def test_record_command_and_views_name_the_node_that_differs(
    recorded: tuple[Bench, str], real_sandbox: SandboxProcess
) -> None:
    bench, run_id = recorded
    command = CommandLine(bench.core.settings.data_dir, real_sandbox)
    shown = json.loads(command.type("show", run_id, "--json").stdout)
    query = "select captured_nodes, differing_nodes, passport->>'$.facts.\"accelerator.model\"' as model from v_runs"
    [row] = json.loads(command.type("sql", query, "--format", "json").stdout)
    nodes = json.loads(command.type("region", "nodes", "--profile", "sandbox", "--json").stdout)

    assert row == {"captured_nodes": 2, "differing_nodes": "1", "model": "910B4"}
    assert (shown["passport"]["nodes"], shown["passport"]["expected"]) == (2, 2)
    assert {"node": 1, "name": "accelerator.firmware", "value": "7.3.0.1.231", "usual": "7.5.0.5.220"}.items() <= {
        **shown["passport"]["differences"][0]
    }.items()
    assert "captured on 2 of 2 nodes" in command.type("show", run_id).stdout
    assert "accelerator.firmware 7.3.0.1.231 (7.5.0.5.220)" in nodes[0]["differs"]


MANIFEST = """
title: Unmodified
summary: A script that imports nothing of ours.
model: none
framework: Python
boot_file: src/train.py
dataset: {name: none, optional: true}
definitions: {all: {text: all}}
parameters:
  config: {type: str, default: model.yaml, decides_speed: true, help: the recipe}
versions:
  "1": {engine_version: mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b, throughput_definition: all}
"""


def test_a_script_without_the_reporter_is_captured_before_it_starts(
    real_sandbox: SandboxProcess, tmp_path: Path
) -> None:
    real_sandbox.reset()
    bench = bench_on(real_sandbox, tmp_path / "data")
    source = bench.core.settings.own_workloads_dir / "unmodified" / "code" / "src"
    source.mkdir(parents=True)
    (source.parents[1] / "workload.yaml").write_text(MANIFEST)
    (source / "train.py").write_text("import os; assert not os.environ.get('OWN') or print('own script ran')")
    (source / "ma-pre-start.sh").write_text("export OWN=1 HCCL_BUFFSIZE=123\n")
    (source / "model.yaml").write_text("global_batch_size: 64\n")
    run = bench.launch(RunSpec(workload="unmodified", flavor="sandbox.cpu.1card"))

    def ended() -> bool:
        bench.tick()
        return bench.run(run).state.is_terminal

    await_true(ended, "the end of the run", 240)
    log = (bench.core.settings.runs_dir / run.run_id / "logs" / "worker-0.log").read_text()
    passport = bench.core.warehouse.runs.find_passports([run.run_id])[run.run_id]

    assert "own script ran" in log
    assert passport.facts["setting.config.global_batch_size"] == "64"
    assert passport.facts["config.config"].startswith("sha256:")
    assert passport.facts["environment.HCCL_BUFFSIZE"] == "123"
