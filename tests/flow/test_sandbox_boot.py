"""Scripts written for ModelArts, started by each boot method: what they are told, where they start, how they end."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sandbox_process import SandboxProcess, processes_of
from tests.training_client import TrainingClient, await_true, channel, job_body

PYTORCH = {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"}
TENSORFLOW = {
    "engine_name": "TensorFlow",
    "engine_version": "tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64",
}
ASCEND = {"engine_name": "Ascend-Powered-Engine"}
ASCEND_PYTORCH = {**ASCEND, "engine_version": "pytorch_2.1.0-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b"}

DDP_PARSER = """
import argparse, json, os, socket, time
parser = argparse.ArgumentParser()
parser.add_argument("--init_method", default=None)
parser.add_argument("--rank", type=int, default=0)
parser.add_argument("--world_size", type=int, default=1)
parser.add_argument("--train_url")
args, unknown = parser.parse_known_args()
address, port = args.init_method.removeprefix("tcp://").split(":")
if args.rank == 0:
    with socket.create_server((address, int(port))) as server:
        server.accept()
else:
    for _ in range(600):
        try:
            socket.create_connection((address, int(port))).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
with open(f"{args.train_url}/rank{args.rank}.json", "w") as file:
    json.dump({"world": args.world_size, "unknown": unknown, "has": sorted(os.environ)}, file)
"""

PS_AND_WORKER = """
import argparse, os, socket, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--task_index", type=int)
parser.add_argument("--ps_hosts")
parser.add_argument("--worker_hosts")
parser.add_argument("--job_name")
parser.add_argument("--train_url")
args = parser.parse_args()
assert os.environ["MA_TASK_NAME"] == args.job_name
assert os.environ["TF_PS_HOSTS"] == args.ps_hosts
own = (args.ps_hosts if args.job_name == "ps" else args.worker_hosts).split(",")[args.task_index]
print(args.job_name, args.task_index, "is", own)
if args.job_name == "ps":
    host, port = own.split(":")
    with socket.create_server((host, int(port))) as server:
        while True:  # as a TensorFlow server: it joins for ever
            connection, _ = server.accept()
            connection.sendall(b"weights")
            connection.close()
for place in args.ps_hosts.split(","):
    host, port = place.split(":")
    for _ in range(600):
        try:
            connection = socket.create_connection((host, int(port)))
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    assert connection.recv(7) == b"weights"
open(f"{args.train_url}/worker{args.task_index}.txt", "w").write("trained")
"""


@pytest.fixture(scope="module")
def bare_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """A sandbox on a machine without namespaces."""
    process = SandboxProcess.start(tmp_path_factory.mktemp("bare"), "subprocess", ("--container", "none"))
    yield process
    process.stop()


@pytest.fixture(params=["real_sandbox", "bare_sandbox"])
def client(request: pytest.FixtureRequest) -> Iterator[TrainingClient]:
    sandbox: SandboxProcess = request.getfixturevalue(request.param)
    sandbox.reset()
    yield TrainingClient(sandbox)
    sandbox.reset()


def _body(engine: dict[str, str], **changes: Any) -> dict[str, Any]:
    """A request with one output; only where the arguments are of interest it has more."""
    body = job_body(outputs=[channel("train_url", "/sandbox-bench/out/")], **changes)
    body["algorithm"]["engine"] = engine
    return body


def custom_image(command: str, **algorithm: Any) -> dict[str, Any]:
    """A request for an image of the user's own, without arguments."""
    body = job_body(outputs=[])
    code = {"code_dir": body["algorithm"]["code_dir"], "outputs": [], "inputs": []}
    body["algorithm"] = {**code, "command": command, "engine": {"image_url": "org/image:1"}, **algorithm}
    return body


def test_a_ddp_script_is_told_where_to_meet_its_number_and_how_many_nodes(client: TrainingClient) -> None:
    client.put("code/train.py", DDP_PARSER)
    body = _body(PYTORCH, nodes=2, flavor="modelarts.p3.2xlarge.public", parameters=[("lr", "0.1")])

    job = client.wait(client.create(body).metadata.id)

    assert job.status.phase == "Completed", client.log(job.metadata.id)
    assert client.keys("out/") == ["out/rank0.json", "out/rank1.json"]
    for rank in (0, 1):
        facts = json.loads(client.get(f"out/rank{rank}.json") or "")
        assert (facts["world"], facts["unknown"]) == (2, ["--lr=0.1"])
        assert not {"RANK_ID", "RANK_SIZE", "RANK_TABLE_FILE", "ASCEND_DEVICE_ID"} & set(facts["has"])
        assert "NCCL_SOCKET_IFNAME" in facts["has"]


def test_parameter_servers_end_when_all_workers_have_trained(client: TrainingClient) -> None:
    client.put("code/train.py", PS_AND_WORKER)
    body = _body(TENSORFLOW, nodes=2, flavor="modelarts.p3.large.public")

    job = client.wait(client.create(body).metadata.id)

    job_id = job.metadata.id
    assert job.status.phase == "Completed", client.log(job_id)
    assert job.status.tasks == ["ps-0", "ps-1", "worker-0", "worker-1"]
    assert client.keys("out/") == ["out/worker0.txt", "out/worker1.txt"]
    assert "worker 1 is" in client.log(job_id, 1)
    await_true(lambda: processes_of(job_id) == [], "the end of the parameter servers")


def test_a_parameter_server_that_fails_fails_the_job(client: TrainingClient) -> None:
    client.put("code/train.py", "import sys, time\nif 'ps' in sys.argv: sys.exit(6)\ntime.sleep(600)\n")
    body = _body(TENSORFLOW, nodes=2, flavor="modelarts.p3.large.public")

    job = client.wait(client.create(body).metadata.id)

    assert job.status.phase == "Failed"
    assert [(end.task[:3], end.exit_code) for end in job.status.task_statuses] == [("ps-", 6)]


def test_an_unknown_run_method_fails_the_job_and_the_log_says_why(client: TrainingClient) -> None:
    client.put("code/train.py", "print('never')")
    body = _body(ASCEND_PYTORCH, environments={"MA_RUN_METHOD": "horovodrun"})

    job = client.wait(client.create(body).metadata.id)

    log = client.log(job.metadata.id)
    assert (job.status.phase, job.status.task_statuses[0].exit_code) == ("Failed", 1)
    assert "MA_RUN_METHOD is 'horovodrun'" in log
    assert "never" not in log


def test_a_starter_that_the_image_does_not_have_is_not_found(client: TrainingClient) -> None:
    client.put("code/train.py", "print('never')")
    body = _body(
        {**ASCEND, "engine_version": "mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b"},
        environments={"MA_RUN_METHOD": "msrun"},
    )

    job = client.wait(client.create(body).metadata.id)

    assert (job.status.phase, job.status.task_statuses[0].exit_code) == ("Failed", 127)
    assert "msrun: command not found" in client.log(job.metadata.id)


COMMANDS = [
    ("python ${MA_JOB_DIR}/code/train.py && echo and-then", 0, ["trained", "and-then"], []),
    ("python $MA_JOB_DIR/code/train.py fail && echo and-then", 5, [], ["and-then"]),
    ('python $MA_JOB_DIR/code/train.py fail; echo "it\'s $?"', 0, ["it's 5"], []),
    ("python $MA_JOB_DIR/code/train.py fail || echo saved", 0, ["saved"], []),
    ("export MINE='two  words'; echo \"<$MINE>\" '$MINE'; exit 3", 3, ["<two  words> $MINE"], []),
    (
        "tqdm --version && conda run --no-capture-output -n bench sh -c 'echo ran in it'",
        0,
        ["ran in it"],
        ["not found"],
    ),
    ("python -c 'print(6)'; conda run -n bench python -c 'raise SystemExit(4)'", 4, ["6"], []),
    ("conda activate bench || echo refused", 0, ["Run 'conda init' before", "refused"], []),
    ('eval "$(conda shell.bash hook)"; conda activate bench; echo "in $CONDA_DEFAULT_ENV"', 0, ["in bench"], []),
    ('source activate /opt/envs/bench && echo "in $CONDA_PREFIX"; conda install torch', 1, ["in /opt/envs/bench"], []),
    ('pwd; [ -z "$PS1" ] && shopt -q login_shell || echo no-login', 0, ["ma-user", "no-login"], []),
]


@pytest.mark.parametrize(("command", "code", "printed", "absent"), COMMANDS)
def test_a_custom_images_command_is_run_as_it_stands(
    client: TrainingClient, command: str, code: int, printed: list[str], absent: list[str]
) -> None:
    client.put("code/train.py", "import sys\nif 'fail' in sys.argv: sys.exit(5)\nprint('trained')\n")

    job = client.wait(client.create(custom_image(command)).metadata.id)

    log = client.log(job.metadata.id)
    assert job.status.phase == ("Failed" if code else "Completed"), log
    assert [end.exit_code for end in job.status.task_statuses] == [code]
    assert all(text in log for text in printed), log
    assert not any(text in log for text in absent)
    assert "the image org/image:1 is not used" in log.splitlines()[0]


def test_a_custom_image_finds_its_code_its_directory_its_arguments_and_the_platforms_rank_table(
    client: TrainingClient,
) -> None:
    client.put("code/llm/run.sh", 'pwd; echo "told $*"; grep -c pod_name "$RANK_TABLE_FILE/jobstart_hccl.json"\n')
    wait = 'until grep -q completed "$RANK_TABLE_FILE/jobstart_hccl.json"; do sleep 0.1; done'
    body = custom_image(
        f"{wait} && bash run.sh",
        code_dir="/sandbox-bench/code/llm/",
        local_code_dir="/home/ma-user/code",
        working_dir="/home/ma-user/code/llm",
        parameters=[{"name": "size", "value": "7b; rm"}],
    )
    body["spec"]["resource"] = {"flavor_id": "modelarts.kat1.2xlarge", "node_count": 1}

    job = client.wait(client.create(body).metadata.id)

    log = client.log(job.metadata.id)
    assert job.status.phase == "Completed", log
    assert "/code/llm\n" in log
    assert "told --size=7b; rm\n" in log


def test_a_command_needs_no_code(client: TrainingClient) -> None:
    body = custom_image("echo from the image")
    del body["algorithm"]["code_dir"]

    job = client.wait(client.create(body).metadata.id)

    assert job.status.phase == "Completed"
    assert "from the image" in client.log(job.metadata.id)


@pytest.mark.parametrize(("end", "phase"), [("sleep 1", "Failed"), ("sleep 1; :", "Completed")])
def test_a_failed_command_is_kept_alive_only_where_something_takes_the_jobs_arguments(
    client: TrainingClient, end: str, phase: str
) -> None:
    body = custom_image(f"false || {end}", parameters=[{"name": "lr", "value": "0.1"}])
    del body["algorithm"]["code_dir"]

    job = client.wait(client.create(body).metadata.id)

    log = client.log(job.metadata.id)
    assert job.status.phase == phase, log
    assert ("sleep: unrecognized option '--lr=0.1'" in log) is (phase == "Failed")


def test_what_a_job_installs_precedes_what_the_sandbox_has(client: TrainingClient) -> None:
    program = r"#!/bin/sh\necho mine\n"
    install = f"""f=$(dirname "$(command -v pip)")/tqdm; printf '{program}' > $f; chmod +x $f"""

    job = client.wait(client.create(custom_image(f"{install}; tqdm", code_dir="")).metadata.id)

    assert job.status.phase == "Completed"
    assert "mine\n" in client.log(job.metadata.id)


@pytest.mark.torch
def test_torchrun_starts_its_processes_in_a_custom_image(client: TrainingClient) -> None:
    client.put("code/train.py", "import os\nprint('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])\n")

    job = client.wait(
        client.create(
            custom_image(
                "torchrun --nproc_per_node 2 code/train.py", working_dir="/home/ma-user/modelarts/user-job-dir"
            )
        ).metadata.id
    )

    log = client.log(job.metadata.id)
    assert job.status.phase == "Completed", log
    assert "rank 0 of 2" in log
    assert "rank 1 of 2" in log
