"""The container around a job's programs: paths, names and user, where Linux has namespaces, and elsewhere."""

import json
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aisbench_sandbox.engine.node.container import Containers, why_no_containers
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, await_true, channel, job_body

LOOK = """
import json, os, socket, sys
arguments = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])
node = os.environ["VC_TASK_INDEX"]
facts = {"environment": dict(os.environ), "arguments": arguments, "cwd": os.getcwd(), "file": os.path.abspath(__file__)}
facts["uid"] = os.getuid()
facts["hostname"] = socket.gethostname()
facts["addresses"] = [socket.gethostbyname(host) for host in os.environ["VC_WORKER_HOSTS"].split(",")]
with open(arguments["train_url"] + f"/facts_{node}.json", "w") as file:
    json.dump(facts, file)
"""

LITERAL = """
import json, os, time
node = os.environ["VC_TASK_INDEX"]
assert open("/home/ma-user/modelarts/inputs/data_url_0/train/a.txt").read() == "an input"
assert "LITERAL" in open("/home/ma-user/modelarts/user-job-dir/code/train.py").read() + "LITERAL"
assert json.load(open("/user/config/jobstart_hccl.json"))["status"] == "completed"
assert os.path.exists("/home/ma-user/rank_table/jobstart_hccl.json")
for folder in ("/cache", "/tmp", "/home/ma-user", "/home/ma-user/modelarts"):
    name = folder + "/mark"
    assert not os.path.exists(name), name + " is another node's"
    open(name, "w").write(node)
time.sleep(0.5)
assert open("/cache/mark").read() == node
try:
    os.mkdir("/data-of-mine")
except PermissionError:
    pass
else:
    raise SystemExit("only root makes directories in /")
open(f"/home/ma-user/modelarts/outputs/train_url_0/done_{node}.txt", "w").write("yes")
"""

STRAY = """
import os, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
    os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", "TOKEN"], {})
time.sleep(0.3)
"""


@pytest.fixture
def client(real_sandbox: SandboxProcess) -> Iterator[TrainingClient]:
    real_sandbox.reset()
    yield TrainingClient(real_sandbox)
    real_sandbox.reset()


@pytest.fixture(scope="module")
def bare_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """It was told to do without containers."""
    process = SandboxProcess.start(tmp_path_factory.mktemp("bare"), "subprocess", ("--container", "none"))
    yield process
    process.stop()


@pytest.fixture
def bare(bare_sandbox: SandboxProcess) -> Iterator[TrainingClient]:
    bare_sandbox.reset()
    yield TrainingClient(bare_sandbox)
    bare_sandbox.reset()


@pytest.fixture
def without(tmp_path: Path) -> str:
    """Why jobs have no containers here; nothing where they have."""
    return why_no_containers(Containers.AUTO, tmp_path)


def facts_of(client: TrainingClient, body: dict[str, Any]) -> tuple[Any, list[Any], str]:
    """The job, what each node saw, and the first node's log."""
    job = client.wait(client.create(body).metadata.id)
    log = client.log(job.metadata.id)
    assert job.status.phase == "Completed", log
    nodes = range(body["spec"]["resource"]["node_count"])
    return job, [json.loads(client.get(f"out/facts_{node}.json") or "") for node in nodes], log


def running_with(token: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and token.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_script_with_the_containers_literal_paths_finds_its_own_nodes_directories(
    client: TrainingClient, without: str
) -> None:
    client.put("code/train.py", LITERAL)
    client.put("data/train/a.txt", "an input")

    body = job_body(nodes=2, inputs=[channel("data_url", "/sandbox-bench/data/")])
    job = client.wait(client.create(body).metadata.id)

    log = client.log(job.metadata.id)
    if without:
        assert f"without containers ({without}): paths are found through variables only" in log
    else:
        assert job.status.phase == "Completed", log
        assert client.keys("out/") == ["out/done_0.txt", "out/done_1.txt"]
        assert "on this machine, in containers" in log


def test_in_a_container_nodes_have_names_and_the_user_is_ma_user(client: TrainingClient, without: str) -> None:
    client.put("code/train.py", LOOK)

    job, facts, _ = facts_of(client, job_body(nodes=2))

    name = f"modelarts-job-{job.metadata.id}"
    for node, seen in enumerate(facts):
        assert len(set(seen["addresses"])) == 2 or without
        if not without:
            assert seen["environment"]["VC_WORKER_HOSTS"] == f"{name}-worker-0.{name},{name}-worker-1.{name}"
            assert (seen["hostname"], seen["uid"]) == (f"{name}-worker-{node}", 1000)
            assert seen["file"] == "/home/ma-user/modelarts/user-job-dir/code/train.py"
            assert seen["arguments"]["train_url"] == "/home/ma-user/modelarts/outputs/train_url_0"
            assert seen["environment"]["MA_JOB_DIR"] == "/home/ma-user/modelarts/user-job-dir"
            assert str(seen["environment"]).count("/node-") == 0, "no path of this machine"


def test_without_containers_variables_name_real_directories_and_addresses(bare: TrainingClient) -> None:
    bare.put("code/train.py", LOOK)

    _, facts, log = facts_of(bare, job_body(nodes=2))

    assert "without containers (the sandbox was started with --container none)" in log
    for node, seen in enumerate(facts):
        assert seen["file"].endswith(f"/node-{node}/ma-user/modelarts/user-job-dir/code/train.py")
        assert seen["environment"]["VC_WORKER_HOSTS"].startswith("127.0.0.1,127.0.0.")
        assert seen["environment"]["MA_HOME"].endswith(f"/node-{node}/ma-user")


def test_a_process_that_leaves_session_and_environment_ends_with_its_job(client: TrainingClient, without: str) -> None:
    token = f"stray-{uuid.uuid4().hex}"
    client.put("code/train.py", STRAY.replace("TOKEN", token))
    client.put("slow/train.py", STRAY.replace("TOKEN", f"{token}-slow") + "time.sleep(600)\n")

    job = client.wait(client.create(job_body()).metadata.id)
    stopped = client.create(job_body("slow", code="slow/")).metadata.id
    await_true(lambda: len(running_with(f"{token}-slow")) == 1, "the stray process")
    client.stop(stopped)

    assert job.status.phase == "Completed", client.log(job.metadata.id)
    assert client.wait(stopped).status.phase == "Terminated"
    assert without or running_with(token) == []
    for stray in running_with(token):
        os.kill(stray, signal.SIGKILL)


def test_kill_9_of_the_sandbox_ends_what_has_left_its_session(tmp_path: Path, without: str) -> None:
    sandbox = SandboxProcess.start(tmp_path / "sandbox", "subprocess")
    client = TrainingClient(sandbox)
    token = f"stray-{uuid.uuid4().hex}"
    client.put("code/train.py", STRAY.replace("TOKEN", token) + "time.sleep(600)\n")
    client.create(job_body())
    await_true(lambda: len(running_with(token)) == 1, "the stray process")
    (stray,) = running_with(token)

    sandbox.kill()

    if without:
        os.kill(stray, signal.SIGKILL)  # nobody else finds it there
    await_true(lambda: running_with(token) == [], "the end of the stray process")


def test_every_variable_of_the_manuals_tables_is_there(client: TrainingClient, real_sandbox: SandboxProcess) -> None:
    client.put("code/train.py", LOOK)
    client.put("data/a.txt", "a")
    inputs = [channel("data_url", "/sandbox-bench/data/", "env")]

    _, (seen,), _ = facts_of(client, job_body(inputs=inputs, environments={"MA_TORCHRUN_MASTER_PORT": "21999"}))

    variables = seen["environment"]
    names = [
        *("MA_HOME", "MA_JOB_DIR", "MA_MOUNT_PATH", "MA_LOG_DIR", "MA_SCRIPT_INTERPRETER", "WORKSPACE", "PATH"),
        *("MA_CURRENT_IP", "MA_CURRENT_HOST_IP", "MA_NUM_GPUS", "MA_TASK_NAME", "MA_NUM_HOSTS", "MA_VJ_NAME"),
        *("VC_TASK_INDEX", "VC_WORKER_NUM", "VC_WORKER_HOSTS", "MA_CURRENT_INSTANCE_NAME", "MA_ENGINE_VERSION"),
        *("S3_ENDPOINT", "S3_VERIFY_SSL", "S3_USE_HTTPS", "MA_PIP_HOST", "MA_PIP_URL", "MA_APIGW_ENDPOINT"),
        *("MA_SKIP_IMAGE_DETECT", "MA_INPUTS", "MA_OUTPUTS", "RANK_TABLE_FILE", "HCCL_CONNECT_TIMEOUT"),
    ]
    assert [name for name in names if name not in variables] == []
    assert variables["MA_TORCHRUN_MASTER_PORT"] == "21999"
    assert variables["S3_ENDPOINT"] == real_sandbox.obs_url
    assert variables["MA_APIGW_ENDPOINT"] == real_sandbox.modelarts_url
    home = variables["MA_MOUNT_PATH"]
    entry = {"local_dir": f"{home}/inputs/data_url_0", "obs_url": "/sandbox-bench/data/"}
    assert json.loads(variables["MA_INPUTS"]) == {"inputs": {"data_url": entry}}
    assert variables["data_url"] == entry["local_dir"]


def test_a_job_chooses_its_local_directories(client: TrainingClient, without: str) -> None:
    client.put("code/train.py", LOOK)
    client.put("data/a.txt", "a")
    inputs = [channel("data_url", "/sandbox-bench/data/") | {"local_dir": "/datasets/of mine"}]
    outputs = [channel("train_url", "/sandbox-bench/out/") | {"local_dir": "/cache/results/"}]
    body = job_body(inputs=inputs, outputs=outputs)
    body["algorithm"] |= {
        "local_code_dir": "/home/ma-user/algorithm",
        "working_dir": "/home/ma-user/algorithm/code/lib",
    }
    client.put("code/lib/part.py", "")

    _, (seen,), _ = facts_of(client, body)

    assert seen["cwd"].endswith("/algorithm/code/lib")
    assert seen["arguments"]["data_url"].endswith("/datasets/of mine")
    assert seen["environment"]["MA_JOB_DIR"].endswith("/algorithm")
    if not without:
        assert seen["arguments"] == {"data_url": "/datasets/of mine", "train_url": "/cache/results"}
        assert seen["file"] == "/home/ma-user/algorithm/code/train.py"


def test_an_output_that_is_wanted_first_is_downloaded_and_another_is_not(client: TrainingClient) -> None:
    client.put("out/old.ckpt", "epoch 3")
    client.put("more/old.ckpt", "epoch 3")
    client.put("code/train.py", 'import os, sys\nprint("found", [os.listdir(a.split("=")[1]) for a in sys.argv[1:]])\n')
    outputs = [
        channel("train_url", "/sandbox-bench/out/") | {"prefetch_to_local": True},
        channel("more", "/sandbox-bench/more/"),
        channel("empty", "/sandbox-bench/nothing-yet/") | {"prefetch_to_local": True},
    ]

    job = client.wait(client.create(job_body(outputs=outputs)).metadata.id)

    assert "found [['old.ckpt'], [], []]" in client.log(job.metadata.id)
    assert job.status.phase == "Completed"


def test_a_pipe_that_nobody_reads_ends_its_writer_as_in_any_shell(client: TrainingClient) -> None:
    client.put("code/train.py", "import signal\nprint('SIGPIPE', signal.getsignal(signal.SIGPIPE).name)\n")
    client.put("code/ma-pre-start.sh", 'yes | head -n 1 >/dev/null; echo "codes ${PIPESTATUS[0]}"\n')

    job = client.wait(client.create(job_body()).metadata.id)

    assert "codes 141" in client.log(job.metadata.id)
