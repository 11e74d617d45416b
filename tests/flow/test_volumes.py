"""What a run finds in its container: volumes of both kinds, and its input in the directory that it has chosen."""

from pathlib import Path

import yaml

from aisbench_sandbox.engine.node.container import Containers, why_no_containers
from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient

CODE = """
import sys
for argument in sys.argv:
    if argument.startswith("--data_url="):
        folder = argument.partition("=")[2]
        print("input in", folder, open(folder.rstrip("/") + "/digits.txt").read(), flush=True)
for name in ("nfs", "pfs"):
    with open(f"/mnt/{name}/runs.txt", "a+") as file:
        file.seek(0)
        print(name, "was read by", file.read().count("run"), "runs", flush=True)
        file.write("run ")
"""
VOLUMES = [
    {"server_path": "192.168.0.82:/data", "local_path": "/mnt/nfs"},
    {"pfs_path": "/bench-pfs/data", "local_path": "/mnt/pfs"},
]


def test_a_volume_of_each_kind_is_read_by_a_later_run_and_stays_in_its_spec(
    real_sandbox: SandboxProcess, real_shell: CommandLine, tmp_path: Path
) -> None:
    code, spec = tmp_path / "code", tmp_path / "spec.yaml"
    code.mkdir()
    (code / "train.py").write_text(CODE, "utf-8")
    shell = real_shell
    fields = yaml.safe_load(shell.type("spec", "quickstart_digits").stdout)
    fields |= {"flavor": "sandbox.cpu.1card", "cards_per_node": 1, "volumes": VOLUMES}
    data = {"name": "data_url", "path": f"/{real_sandbox.bucket}/volumes/", "local_dir": "/home/ma-user/digits"}
    fields |= {"code_dir": str(code), "boot_file": "train.py", "inputs": [data]}
    TrainingClient(real_sandbox).put("volumes/digits.txt", "0123456789")
    spec.write_text(yaml.safe_dump(fields), "utf-8")

    said = [shell.start("run", str(spec), "--wait").communicate(timeout=120) for _ in range(2)]

    logs = sorted(path.read_text("utf-8") for path in shell.data_dir.rglob("worker-*.log"))
    run_id = next(path.name for path in (shell.data_dir / "runs").iterdir())
    kept = shell.data_dir / "runs" / run_id
    plain = tmp_path / "plain.yaml"
    plain.write_text(shell.type("spec", "quickstart_digits").stdout, "utf-8")
    assert "inputs.data_url.local_dir" in shell.type("diff", run_id, str(plain)).stdout
    assert "local_dir: /home/ma-user/digits" in shell.type("clone", run_id).stdout
    assert any("pfs_path: /bench-pfs/data" in path.read_text("utf-8") for path in kept.rglob("*.yaml"))
    if why_no_containers(Containers.AUTO, tmp_path):
        assert all("needs containers" in log for log in logs), said
    else:
        for name in ("nfs", "pfs"):
            assert all("input in /home/ma-user/digits 0123456789" in log for log in logs)
            assert [f"{name} was read by {count} runs" in log for count, log in enumerate(logs)] == [True, True], logs
    shell.end()
