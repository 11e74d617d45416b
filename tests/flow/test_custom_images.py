"""A run with a custom image: its conda environment decides which python the start command finds."""

import json
from pathlib import Path

import yaml

from aisbench_sandbox.engine.node.container import Containers, why_no_containers
from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient

ENV = "/mnt/conda/envs/bench"
PYTHON = '#!/bin/sh\necho "python of the environment: $1"\n'


def test_the_start_command_finds_the_programs_of_the_conda_environment(
    real_sandbox: SandboxProcess, tmp_path: Path
) -> None:
    programs = real_sandbox.data_dir / "shares" / "%2Fbench-pfs%2Fenvs" / "bin"  # what would be in the image
    programs.mkdir(parents=True)
    (programs / "python").write_text(PYTHON, "utf-8")
    for path in (programs / "python", programs, programs.parent):
        path.chmod(0o755)
    shell = CommandLine(tmp_path / "data", real_sandbox)
    fields = {"workload": "quickstart_digits", "flavor": "sandbox.cpu.1card", "cards_per_node": 1}
    fields |= {"image_url": "bench/own:1", "command": "python train.py", "conda_env": ENV}
    fields |= {"volumes": [{"pfs_path": "/bench-pfs/envs", "local_path": ENV}]}
    spec = tmp_path / "spec.yaml"
    spec.write_text(yaml.safe_dump(fields), "utf-8")

    ended = shell.start("run", str(spec), "--wait", "--json").communicate(timeout=120)
    run = json.loads(ended[0])["run"]

    shell.end()
    command = TrainingClient(real_sandbox).show(run["job_id"]).algorithm.command
    assert command == f"export PATH={ENV}/bin:$PATH; python train.py"
    assert f"conda_env: {ENV}" in shell.type("clone", run["run_id"]).stdout
    spec.write_text(yaml.safe_dump({**fields, "conda_env": "/opt/other"}), "utf-8")
    assert "conda_env" in shell.type("diff", run["run_id"], str(spec)).stdout
    if not why_no_containers(Containers.AUTO, tmp_path):
        (log,) = [path.read_text("utf-8") for path in shell.data_dir.rglob("worker-*.log")]
        assert "python of the environment: train.py" in log, log


def test_a_preset_engine_starts_the_boot_file_in_a_custom_image(real_sandbox: SandboxProcess, tmp_path: Path) -> None:
    shell = CommandLine(tmp_path / "data", real_sandbox)
    spec = tmp_path / "spec.yaml"
    fields = {"workload": "quickstart_digits", "flavor": "sandbox.cpu.1card", "cards_per_node": 1}
    fields |= {"image_url": "bench/own:1", "parameters": {"epochs": 1}}
    spec.write_text(yaml.safe_dump(fields), "utf-8")

    refused = shell.type("preflight", str(spec))
    spec.write_text(shell.type("preflight", str(spec), "--fix").stdout, "utf-8")
    ended = shell.start("run", str(spec), "--wait", "--json").communicate(timeout=120)
    run = json.loads(ended[0])["run"]

    shell.end()
    assert "or engine_name: Ascend-Powered-Engine then starts the boot file in the image" in refused.output
    assert run["state"] == "completed", run
    algorithm = TrainingClient(real_sandbox).show(run["job_id"]).algorithm
    assert (algorithm.engine.engine_name, algorithm.engine.image_url) == ("Ascend-Powered-Engine", "bench/own:1")
    assert algorithm.command is None


def test_a_conda_environment_without_an_image_is_refused_by_name(sandbox: SandboxProcess, tmp_path: Path) -> None:
    shell = CommandLine(tmp_path / "data", sandbox)

    refused = shell.type("run", "quickstart_digits", "--set", f"conda_env={ENV}")

    assert refused.exit_code == 2
    assert "conda_env" in refused.output
    assert "image_url is empty" in refused.output
