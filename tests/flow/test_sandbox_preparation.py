"""What happens on a node before the boot file: requirements, pre-start scripts, the rank table; and its moxing."""

import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from huaweicloudsdkmodelarts.v1 import ListTrainingJobEventsRequest

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, channel, job_body

WHEEL = "tinypackage-1.0-py3-none-any.whl"
INFO = "tinypackage-1.0.dist-info"


@pytest.fixture(scope="module")
def bare_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """It was told to do without containers."""
    process = SandboxProcess.start(tmp_path_factory.mktemp("bare"), "subprocess", ("--container", "none"))
    yield process
    process.stop()


@pytest.fixture(params=["real_sandbox", "bare_sandbox"])
def client(request: pytest.FixtureRequest) -> Iterator[TrainingClient]:
    """Both ways: with containers, where the system has them, and without."""
    sandbox: SandboxProcess = request.getfixturevalue(request.param)
    sandbox.reset()
    yield TrainingClient(sandbox)
    sandbox.reset()


def tiny_wheel() -> bytes:
    """A package of one module, as small as pip takes it."""
    files = {
        "tinypackage.py": "ANSWER = 42\n",
        f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: tinypackage\nVersion: 1.0\n",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{INFO}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{INFO}/RECORD"])
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return archive.getvalue()


def put_wheel(client: TrainingClient, key: str) -> None:
    assert client.obs.putContent("sandbox-bench", key, tiny_wheel()).status == 200


def test_requirements_beside_the_boot_file_are_installed_for_the_job_and_not_for_the_sandbox(
    client: TrainingClient,
) -> None:
    put_wheel(client, f"code/lib/{WHEEL}")
    client.put("code/lib/pip-requirements.txt", f"./{WHEEL}\n")
    client.put("code/lib/train.py", "import tinypackage\nprint('answer', tinypackage.ANSWER)\n")

    job = client.wait(client.create(job_body(boot="lib/train.py")).metadata.id)

    log = client.log(job.metadata.id)
    assert job.status.phase == "Completed", log
    assert "[ModelArts Service Log][init] pip install -r pip-requirements.txt" in log
    assert "Successfully installed tinypackage-1.0" in log
    assert "answer 42" in log
    own = subprocess.run([sys.executable, "-c", "import tinypackage"], capture_output=True, text=True, check=False)
    assert "No module named 'tinypackage'" in own.stderr
    request = ListTrainingJobEventsRequest(training_job_id=job.metadata.id, order="asc", x_language="en-us")
    told = [event.message for event in client.sdk.list_training_job_events(request).events]
    steps = [told.index(message) for message in told if "Python packages" in message or "training started" in message]
    assert len(steps) == 3
    assert steps == sorted(steps)


def test_requirements_that_cannot_be_installed_fail_the_job_before_its_code(client: TrainingClient) -> None:
    client.put("code/pip-requirements.txt", "./missing-1.0-py3-none-any.whl\n")
    client.put("code/ma-pre-start.sh", "echo never\n")
    client.put("code/train.py", "print('never')\n")

    job = client.wait(client.create(job_body()).metadata.id)

    log = client.log(job.metadata.id)
    (end,) = job.status.task_statuses
    assert (job.status.phase, end.exit_code) == ("Failed", 1)
    assert end.message == "pip-requirements.txt exited with code 1"
    assert "never" not in log
    assert "missing-1.0" in log
    assert log.rstrip().endswith("[end] exit code 1")


def test_pre_start_scripts_run_in_order_and_what_they_install_and_export_reaches_the_boot_file(
    client: TrainingClient,
) -> None:
    put_wheel(client, f"code/run/{WHEEL}")
    client.put(
        "code/ma-pre-start.sh",
        "cd $(dirname $(readlink -f $(find ./ -name train.py)))\n"
        f"pip install --no-index run/{WHEEL} || exit 9\nsudo -E chmod +x run/*.whl || exit 8\n"
        'export SEEN=shell GLOG_v=3\necho "first in $PWD"\n',
    )
    client.put("code/ma-pre-start.py", "import os, tinypackage\nprint('second sees', os.environ['SEEN'])\n")
    client.put("code/train.py", "import os, tinypackage\nprint('third', tinypackage.ANSWER, os.environ['GLOG_v'])\n")

    job = client.wait(client.create(job_body()).metadata.id)

    log = client.log(job.metadata.id)
    assert job.status.phase == "Completed", log
    assert log.index("first in /") < log.index("second sees shell") < log.index("third 42 3")
    assert "run ma-pre-start.sh and ma-pre-start.py" in log


def test_a_failing_pre_start_program_fails_the_job_with_its_code(client: TrainingClient) -> None:
    client.put("code/ma-pre-start.py", "import sys\nsys.exit(6)\n")
    client.put("code/train.py", "print('never')\n")

    job = client.wait(client.create(job_body()).metadata.id)

    assert (job.status.phase, job.status.task_statuses[0].exit_code) == ("Failed", 6)
    assert "never" not in client.log(job.metadata.id)


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder that a container may see: it has a /dev/shm of its own, where `tmp_path` may be."""
    with tempfile.TemporaryDirectory(prefix="aisbench-wheels-") as folder:
        yield Path(folder)


def test_pips_settings_of_this_machine_serve_that_step_only(on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (on_disk / "wheels").mkdir()
    (on_disk / "wheels" / WHEEL).write_bytes(tiny_wheel())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", (on_disk / "wheels").as_uri())
    monkeypatch.setenv("PIP_INDEX_URL", "http://name:secret@127.0.0.1:9/packages/")
    monkeypatch.setenv("PIP_TARGET", str(on_disk / "elsewhere"))
    # The wheels lie beside the data, which every container shows where it is.
    sandbox = SandboxProcess.start(on_disk, "subprocess")
    client = TrainingClient(sandbox)
    client.put("code/pip-requirements.txt", "tinypackage==1.0\n")
    client.put("code/train.py", "import os, tinypackage\nfor item in os.environ.items():\n    print('has', *item)\n")

    job = client.wait(client.create(job_body()).metadata.id)

    log = client.log(job.metadata.id)
    sandbox.stop()
    assert job.status.phase == "Completed", log
    assert "has MA_PIP_URL http://127.0.0.1:9/packages/" in log
    assert "has PIP_" not in log
    assert "secret" not in log
    assert not (on_disk / "elsewhere").exists()


WATCH = """
import json, os, time
folder = os.environ["RANK_TABLE_FILE"]
seen = []
until = time.monotonic() + 60
while "completed" not in seen and time.monotonic() < until:
    status = json.load(open(folder + "/jobstart_hccl.json"))["status"]
    seen += [status] if status not in seen else []
    time.sleep(0.01)
table = json.load(open(folder + "/jobstart_hccl.json"))
print("seen", seen, [len(instance["devices"]) for instance in table["group_list"][0]["instance_list"]])
"""


def test_an_image_of_ones_own_has_to_wait_for_the_rank_table(client: TrainingClient) -> None:
    client.put("code/watch.py", WATCH)
    body = job_body(nodes=2, flavor="sandbox.cpu.2cards")
    body["algorithm"] |= {"engine": {"image_url": "org/image:1"}, "command": "python ${MA_JOB_DIR}/code/watch.py"}
    del body["algorithm"]["boot_file"]

    job = client.wait(client.create(body).metadata.id)

    log = client.log(job.metadata.id)
    assert job.status.phase == "Completed", log
    assert "seen ['initializing', 'completed'] [2, 2]" in log


UPSTREAM = """
import argparse, json, os
import moxing as mox
parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
args = parser.parse_args()
rank = os.environ["RANK_ID"]
here = os.path.join("/tmp" if os.environ["HOME"] == "/home/ma-user" else os.environ["TMPDIR"], "data" + rank)
mox.file.copy_parallel("obs://sandbox-bench/data/", here)
assert open(here + "/train/a.txt").read() == "an input"
if not mox.file.exists("s3://sandbox-bench/upstream"):
    mox.file.make_dirs("s3://sandbox-bench/upstream")
mox.file.write("s3://sandbox-bench/upstream/throughput_" + rank + ".json", "12.5")
with mox.file.File(args.train_url + "/local_" + rank + ".txt", "w") as file:
    file.write(mox.file.read("obs://sandbox-bench/upstream/throughput_" + rank + ".json"))
"""


def test_a_script_that_writes_through_moxing_finds_it_with_keys_and_address(client: TrainingClient) -> None:
    client.put("data/train/a.txt", "an input")
    client.put("code/train.py", UPSTREAM)
    body = job_body(flavor="sandbox.cpu.2cards", inputs=[channel("data_url", "/sandbox-bench/data/")])

    job = client.wait(client.create(body).metadata.id)

    assert job.status.phase == "Completed", client.log(job.metadata.id)
    assert [client.get(f"upstream/throughput_{rank}.json") for rank in (0, 1)] == ["12.5", "12.5"]
    assert [client.get(f"out/local_{rank}.txt") for rank in (0, 1)] == ["12.5", "12.5"]
