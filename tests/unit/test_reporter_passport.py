"""What the reporter records of a node: nothing secret, within a second of the script's time, and never at its cost."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.preflight.rules import secrets
from tests.flow.remote_shell import wait_until
from tests.unit.test_passport import OUTPUTS

REPORTER = HOME / "workloads" / "_reporter"

TRAIN = """
import threading, aisbench_report
for thread in threading.enumerate():
    if thread.name == "aisbench-passport":
        thread.join()
aisbench_report.throughput(5.0)
aisbench_report.done()
"""


@pytest.fixture(scope="module")
def masking() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(REPORTER))
        yield importlib.import_module("aisbench_masking")


def put_tool(folder: Path, name: str, outputs: dict[str, str]) -> None:
    """A program that prints what the real one does, by its arguments."""
    folder.mkdir(exist_ok=True)
    cases = "".join(f"  '{command}') cat <<'END'\n{text}\nEND\n;;\n" for command, text in outputs.items())
    (folder / name).write_text(f'#!/bin/sh\ncase "{name} $*" in\n{cases}esac\n', "utf-8")
    (folder / name).chmod(0o755)


def train(folder: Path, *arguments: str, code: str = TRAIN, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script of a job in `folder`, with the tools in its folder `tools`."""
    (folder / "train.py").write_text(code, "utf-8")
    clean = {
        "PATH": f"{folder / 'tools'}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPORTER),
        "PYTHONWARNINGS": "error",
        "AISBENCH_RUN_ID": "r-1",
        "MA_JOB_DIR": str(folder),
    }
    command = [sys.executable, "train.py", f"--train_url={folder / 'out'}", *arguments]
    return subprocess.run(
        command, cwd=folder, env=clean | environment, capture_output=True, text=True, timeout=120, check=False
    )


def is_running(pid: int) -> bool:
    """Whether a process has not ended; one that ended may still be waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def recorded(folder: Path, node: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / f"passport_{node}.json").read_text("utf-8"))
    return found


def test_a_node_records_its_hardware_software_environment_arguments_and_files(tmp_path: Path) -> None:
    put_tool(tmp_path / "tools", "npu-smi", OUTPUTS["npu_24_910b4"]["tools"])
    (tmp_path / "model.yaml").write_text("batch: 8\n", "utf-8")

    done = train(
        tmp_path, "--config", "model.yaml", "--name=demo", HCCL_BUFFSIZE="200", OWN="x", VC_TASK_INDEX="3",
        LD_LIBRARY_PATH=f"{tmp_path}/lib",
    )  # fmt: skip
    found = recorded(tmp_path, 3)

    assert (done.returncode, done.stderr) == (0, "")
    assert found["node"] == 3
    assert {name.partition(" --query")[0] for name in found["tools"]} >= {*OUTPUTS["npu_24_910b4"]["tools"]}
    assert found["environment"]["HCCL_BUFFSIZE"] == "200"
    assert found["environment"]["LD_LIBRARY_PATH"] == "$MA_JOB_DIR/lib"
    assert found["environment"]["OWN"] is None
    assert found["arguments"] == ["train.py", "--train_url=$MA_JOB_DIR/out", "--config", "model.yaml", "--name=demo"]
    [config] = found["configs"]
    assert (config["argument"], config["path"], config["text"]) == ("config", "model.yaml", "batch: 8\n")
    assert found["host"]["kernel"] == os.uname().release
    assert found["packages"]["pytest"] == pytest.__version__
    assert found["problems"] == []


@pytest.mark.parametrize(
    "environment", [{"AISBENCH_RUN_ID": ""}, {"DEVICE_ID": "1"}, {"AISBENCH_CAPTURED": "1"}], ids=str
)
def test_only_the_first_card_of_a_node_of_a_job_records_it(environment: dict[str, str], tmp_path: Path) -> None:
    assert train(tmp_path, **environment).returncode == 0
    assert not list((tmp_path / "out").glob("passport_*"))


BREAKING = {
    "a tool that hangs": "sleep 600",
    "a tool that prints without end": "yes",
    "a tool that fails": "exit 3",
    "a tool that prints no text": "head -c 100000 /dev/urandom",
}


@pytest.mark.parametrize("script", BREAKING.values(), ids=BREAKING)
def test_the_training_goes_on_whatever_a_tool_does(script: str, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    for name in ("npu-smi", "nvidia-smi", "lscpu"):
        (tmp_path / "tools" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "tools" / name).chmod(0o755)

    done = train(tmp_path, code=TRAIN.replace("thread.join()", "pass"))

    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "throughput_0.json").read_text() == "5.0"
    assert recorded(tmp_path)["host"]["kernel"]


def test_a_tool_that_hangs_ends_with_the_training(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "lscpu").write_text("#!/bin/sh\necho $$ > pid.new\nmv pid.new pid\nexec sleep 600\n")
    (tmp_path / "tools" / "lscpu").chmod(0o755)
    waiting = "import os, time\nwhile not os.path.exists('pid'): time.sleep(0.01)\n"

    done = train(tmp_path, code=TRAIN.replace("thread.join()", "pass") + waiting)

    assert done.returncode == 0
    wait_until(lambda: not is_running(int((tmp_path / "pid").read_text())), "the end of the tool")


def test_what_a_slow_tool_says_is_added_when_it_has_answered(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "lscpu").write_text("#!/bin/sh\nsleep 2\necho 'Model name: slow'\n")
    (tmp_path / "tools" / "lscpu").chmod(0o755)

    assert train(tmp_path).returncode == 0
    assert recorded(tmp_path)["tools"]["lscpu"] == "Model name: slow\n"


def test_the_training_goes_on_where_nothing_can_be_recorded(tmp_path: Path) -> None:
    broken = "import sys, json\nsys.modules['aisbench_masking'] = json\n" + TRAIN
    no_output = "import sys\nsys.argv[1:] = ['--train_url=/proc/nothing']\nimport aisbench_report\nprint('trained')\n"

    first, second = train(tmp_path, code=broken), train(tmp_path, code=no_output)

    assert (first.returncode, second.returncode) == (0, 0)
    assert "aisbench: this node is not captured: " in first.stdout
    assert "aisbench: this node is not captured: " in second.stdout
    assert second.stdout.endswith("trained\n")


# Each is planted where jobs have such things, and none is real.
_NUMBER = iter(range(100, 1000))


def token(start: str = "") -> str:
    """A secret like no other."""
    return f"{start}Zq{next(_NUMBER)}LeakedValue"


ENVIRONMENT = {
    "HF_TOKEN": token(), "NCCL_SECRET": token(), "MS_PASSWORD": token(), "CUDA_API_KEY": token(),
    "ACCESS_KEY_ID": token(), "DB_URL": token("postgres://u:"), "PIP_INDEX_URL": f"https://u:{token()}@pypi.example/s",
    "HTTPS_PROXY": f"http://u:{token()}@proxy:8080", "TORCH_HUB": f"https://{token()}@hub.example/x",
    "HCCL_EXTRA": f"--auth {token('hf_')}1234567890123456", "TF_CONFIG": f'{{"x": "https://a:{token()}@h"}}',
    "ASCEND_OPTIONS": f"a=1,url=https://h/?sig=1&token={token()}", token("AKIA") + "1234567890": "1",
}  # fmt: skip
ARGUMENTS = [
    f"--password={token()}", "--api-key", token(), f"--data=https://u:{token()}@h/x", f"--wandb_token={token()}",
    f"--header=Bearer {token()}", "--secret", token(), f"{token('ghp_')}123456789012", f"--url=https://h/?X-Amz-Signature={token()}",
]  # fmt: skip
CONFIGS = {
    "a.yaml": f"""batch: 8
password: {token()}
login:
  credentials:
    user: {token()}
    other: [{token()}]
url: s3://{token()}:{token()}@bucket
note: Bearer {token()}
key: |
  -----BEGIN RSA {"PRIVATE"} KEY-----
  {token()}
  -----END RSA PRIVATE KEY-----
# token: {token()}
command: train --auth-token {token()} --batch 8
""",
    "b.json": json.dumps({"batch": 8, "nested": {"api_key": token(), "list": [{"secret": token()}]}}, indent=1),
    "c.json": json.dumps({"access_key": token(), "batch": 8}),
    "d.toml": f'[db]\nsecret_key = "{token()}"\n',
    "e.ini": f"[db]\npasswd={token()}\nproxy=http://u:{token()}@h\n",
    "f.py": f'PASSWORD = "{token()}"\nconnect(token="{token()}", batch=3)\n',
}
PACKAGE = f"https://{token()}@git.example/x.git?token={token()}"
PLANTED = [
    found
    for text in (*ENVIRONMENT, *ENVIRONMENT.values(), *ARGUMENTS, *CONFIGS.values(), PACKAGE)
    for found in re.findall(r"Zq\d+LeakedValue", text)
]


def test_no_planted_secret_is_in_any_file(tmp_path: Path) -> None:
    origin = tmp_path / "site" / "planted-1.0.dist-info" / "direct_url.json"
    origin.parent.mkdir(parents=True)
    origin.write_text(json.dumps({"url": PACKAGE, "vcs_info": {"vcs": "git", "commit_id": "abc123"}}), "utf-8")
    put_tool(tmp_path / "tools", "lscpu", {"lscpu ": f"Model name: x\nAuthToken: {token()}"})
    for name, text in CONFIGS.items():
        (tmp_path / name).write_text(text, "utf-8")
    arguments = [*ARGUMENTS, *(f"--config_{name[0]}={name}" for name in CONFIGS)]

    done = train(tmp_path, *arguments, **ENVIRONMENT, **{"PYTHONPATH": f"{REPORTER}:{tmp_path / 'site'}"})

    assert done.returncode == 0, done.stderr
    assert len(PLANTED) >= 30
    stored = "".join(file.read_text("utf-8") for file in (tmp_path / "out").iterdir()) + done.stdout
    assert [secret for secret in (*PLANTED, "LeakedValue") if secret in stored] == []
    found = recorded(tmp_path)
    assert found["environment"]["HF_TOKEN"] is None
    assert found["packages"]["planted"] == "1.0 (https://git.example/x.git@abc123)"
    assert [config["argument"] for config in found["configs"]] == [f"config_{name[0]}" for name in CONFIGS]
    assert "batch: 8" in found["configs"][0]["text"]


def test_a_file_with_a_secret_has_the_hash_of_what_is_shown(tmp_path: Path) -> None:
    hashes = []
    for password in ("one", "two"):
        (tmp_path / "a.yaml").write_text(f"batch: 8\npassword: {password}\n", "utf-8")
        train(tmp_path, "--config=a.yaml")
        hashes.append(recorded(tmp_path)["configs"][0]["sha256"])

    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(
    "line",
    [
        "max_tokens: 4096",
        "tokenizer: bert",
        "num_key_value_heads: 8",
        "use_auth: false",
        "keep: 1",
        "monkeys_per_box: 3",
    ],
)
def test_what_only_sounds_like_a_secret_is_kept(masking: ModuleType, line: str) -> None:
    assert masking.mask_text(line + "\n") == (line + "\n", 0)


def test_the_job_and_the_preflight_know_secrets_by_the_same_forms(masking: ModuleType) -> None:
    names = ("_CERTAIN_NAME", "_LIKELY_NAME", "_HARMLESS", "_ACCESS_KEY", "_SECRET_KEY", "_TOKEN_FORM", "_MIXED")

    assert [getattr(masking, name).pattern for name in names] == [getattr(secrets, name).pattern for name in names]
