"""The command lines by which a node starts a job's programs, for every boot method of the manuals."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aisbench_sandbox.engine.boot import Launch, build_launches, check_starter, starter
from aisbench_sandbox.engine.node.layout import Node
from aisbench_sandbox.engine.node.variables import build_environment
from aisbench_sandbox.job import Job
from aisbench_sandbox.refusals import Refused

ASCEND_PYTORCH = ("Ascend-Powered-Engine", "pytorch_2.1.0-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b")
ASCEND_OLD_PYTORCH = ("Ascend-Powered-Engine", "pytorch_1.8.1-cann_5.1.0-py_3.7-euler_2.8.3-aarch64")
ASCEND_MINDSPORE = ("Ascend-Powered-Engine", "mindspore_2.3.0-cann_8.0.rc1-py_3.9-euler_2.10.7-aarch64-snt9b")
ASCEND_OLD_MINDSPORE = ("Ascend-Powered-Engine", "mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b")
PYTORCH = ("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
HOROVOD = ("Horovod", "horovod_0.22.1-pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
TENSORFLOW = ("TensorFlow", "tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64")
FLAVORS = {1: "sandbox.cpu.1card", 2: "sandbox.cpu.2cards", 4: "sandbox.cpu.4cards"}


def _job(
    engine: tuple[str, str],
    nodes: int,
    cards: int,
    variables: Mapping[str, str] | None = None,
    algorithm: Mapping[str, Any] | None = None,
) -> Job:
    name, version = engine
    body = {
        "metadata": {"name": "a-job"},
        "algorithm": {
            "code_dir": "/bucket/code/",
            "boot_file": "/bucket/code/train.py",
            "engine": {"engine_name": name, "engine_version": version},
            "parameters": [{"name": "epochs", "value": "3"}],
            "environments": dict(variables or {}),
            "inputs": [],
            "outputs": [],
            **(algorithm or {}),
        },
        "spec": {"resource": {"flavor_id": FLAVORS[cards], "node_count": nodes}},
    }
    return Job("7b2a", body, 0)


def _node(folder: Path, job: Job, index: int = 0) -> Node:
    node = Node(job, index, folder / f"node-{index}", 40000, "http://obs")
    node.make_folders()
    return node


def _launches(folder: Path, job: Job, index: int = 0) -> list[Launch]:
    node = _node(folder, job, index)
    return build_launches(node, build_environment(node))


def _words(folder: Path, job: Job, index: int = 0) -> list[str]:
    """What the node's only program is started with; long directories are given names."""
    node = _node(folder, job, index)
    (launch,) = build_launches(node, build_environment(node))
    return [word.replace(str(node.code), "CODE").replace(str(node.root), "NODE") for word in launch.command]


def _after(words: list[str], hint: str) -> list[str]:
    at = next(at for at, word in enumerate(words) if hint in word)
    return words[at + 1 :]


TORCHRUN = [
    (1, 4, 0, {}, ["--standalone", "--nnodes=1", "--nproc_per_node=4"]),
    (
        1, 2, 0, {"MA_EXTRA_TORCHRUN_PARAMS": "--max_restarts=2  --rdzv_conf=timeout=7200"},
        ["--standalone", "--nnodes=1", "--nproc_per_node=2", "--max_restarts=2", "--rdzv_conf=timeout=7200"],
    ),
    (
        2, 4, 1, {},
        [
            "--nnodes=2", "--nproc_per_node=4", "--node_rank=1", "--master_addr=127.0.0.1", "--master_port=40000",
            "--rdzv_id=modelarts-job-7b2a", "--rdzv_backend=static",
        ],
    ),
    (
        2, 1, 0, {"MA_TORCHRUN_MASTER_PORT": "28888", "MA_EXTRA_TORCHRUN_PARAMS": "--rdzv_conf=timeout=7200"},
        [
            "--nnodes=2", "--nproc_per_node=1", "--node_rank=0", "--master_addr=127.0.0.1", "--master_port=28888",
            "--rdzv_id=modelarts-job-7b2a", "--rdzv_backend=static", "--rdzv_conf=timeout=7200",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "cards", "index", "variables", "options"), TORCHRUN)
def test_torchrun_gets_the_manuals_options_once_per_node(
    tmp_path: Path, nodes: int, cards: int, index: int, variables: dict[str, str], options: list[str]
) -> None:
    job = _job(ASCEND_PYTORCH, nodes, cards, {"MA_RUN_METHOD": "torchrun", **variables})

    words = _words(tmp_path, job, index)

    assert words[2:4] == ["torchrun", "torch.distributed.run"]
    assert _after(words, "extra torch") == [*options, "CODE/train.py", "--epochs=3"]


MSRUN = [
    ({}, ["--cluster_time_out=600"]),
    ({"MSRUN_CLUSTER_TIME_OUT": "1200"}, ["--cluster_time_out=1200"]),
    (
        {"MS_RANKTABLE_ENABLE": "True"},
        ["--cluster_time_out=600", "--rank_table_file=NODE/ma-user/rank_table/jobstart_hccl.json"],
    ),
    ({"MS_RANKTABLE_ENABLE": "False"}, ["--cluster_time_out=600"]),
]


@pytest.mark.parametrize(("variables", "last"), MSRUN)
def test_msrun_gets_the_manuals_options_once_per_node(
    tmp_path: Path, variables: dict[str, str], last: list[str]
) -> None:
    job = _job(ASCEND_MINDSPORE, 2, 4, {"MA_RUN_METHOD": "msrun", **variables})

    words = _words(tmp_path, job, 1)

    assert words[1].endswith("/msrun_node.py")
    assert words[2:] == [
        "--worker_num=8", "--local_worker_num=4", "--master_addr=127.0.0.1", "--node_rank=1", "--master_port=40000",
        "--log_dir=NODE/ma-user/modelarts/log/mindspore/log", "--join=True", *last, "CODE/train.py", "--epochs=3",
    ]  # fmt: skip


REFUSED = [
    (ASCEND_OLD_PYTORCH, "torchrun", "127", "torchrun: command not found"),
    (ASCEND_MINDSPORE, "torchrun", "127", "torchrun: command not found"),
    (ASCEND_OLD_MINDSPORE, "msrun", "127", "msrun: command not found"),
    (ASCEND_PYTORCH, "msrun", "127", "msrun: command not found"),
    (ASCEND_PYTORCH, "deepspeed", "1", "MA_RUN_METHOD is 'deepspeed'"),
]


@pytest.mark.parametrize(("engine", "method", "code", "reason"), REFUSED)
def test_a_method_that_the_image_does_not_have_fails_the_node_and_says_why(
    tmp_path: Path, engine: tuple[str, str], method: str, code: str, reason: str
) -> None:
    words = _words(tmp_path, _job(engine, 1, 2, {"MA_RUN_METHOD": method}))

    assert reason in words[4]
    assert words[5] == code


def test_an_image_of_the_users_own_is_believed_to_have_what_its_job_wants(tmp_path: Path) -> None:
    engine = {"engine_name": "Ascend-Powered-Engine", "engine_version": "", "image_url": "org/pytorch-npu:2.1"}
    job = _job(ASCEND_PYTORCH, 1, 2, {"MA_RUN_METHOD": "torchrun"}, {"engine": engine})

    assert _words(tmp_path, job)[2] == "torchrun"


PYTORCH_ARGUMENTS = [
    (1, 1, 0, []),
    (1, 4, 0, ["--init_method", "tcp://127.0.0.1:40000"]),
    (2, 1, 1, ["--init_method", "tcp://127.0.0.1:40000", "--rank", "1", "--world_size", "2"]),
    (3, 2, 2, ["--init_method", "tcp://127.0.0.1:40000", "--rank", "2", "--world_size", "3"]),
]


@pytest.mark.parametrize(("nodes", "cards", "index", "told"), PYTORCH_ARGUMENTS)
def test_pytorch_on_gpus_starts_once_per_node_and_is_told_where_to_meet(
    tmp_path: Path, nodes: int, cards: int, index: int, told: list[str]
) -> None:
    words = _words(tmp_path, _job(PYTORCH, nodes, cards), index)

    assert words[1:] == ["CODE/train.py", "--epochs=3", *told]


def test_tensorflow_on_one_node_starts_once_and_is_told_nothing(tmp_path: Path) -> None:
    assert _words(tmp_path, _job(TENSORFLOW, 1, 4))[1:] == ["CODE/train.py", "--epochs=3"]


def test_tensorflow_on_nodes_starts_a_parameter_server_and_a_worker_on_each_with_ports_that_all_agree_on(
    tmp_path: Path,
) -> None:
    job = _job(TENSORFLOW, 2, 1)

    tasks = [launch for index in (0, 1) for launch in _launches(tmp_path, job, index)]

    assert [(launch.task, launch.serves) for launch in tasks] == [
        ("ps-0", True), ("worker-0", False), ("ps-1", True), ("worker-1", False),
    ]  # fmt: skip
    told = [dict(zip(launch.command[3::2], launch.command[4::2], strict=True)) for launch in tasks]
    assert [each["--job_name"] for each in told] == ["ps", "worker", "ps", "worker"]
    assert [each["--task_index"] for each in told] == ["0", "0", "1", "1"]
    assert len({(each["--ps_hosts"], each["--worker_hosts"]) for each in told}) == 1
    hosts = [*told[0]["--ps_hosts"].split(","), *told[0]["--worker_hosts"].split(",")]
    assert len(set(hosts)) == 4
    assert all(5000 <= int(host.rpartition(":")[2]) <= 10000 for host in hosts)
    for launch, each in zip(tasks, told, strict=True):
        assert launch.environment["MA_TASK_NAME"] == each["--job_name"]
        assert launch.environment["TF_PS_HOSTS"] == each["--ps_hosts"]
        assert launch.environment["TF_WORKER_HOSTS"] == each["--worker_hosts"]
        assert launch.environment["MA_CURRENT_INSTANCE_NAME"] == f"modelarts-job-7b2a-{launch.task}"


def test_a_rank_table_job_starts_once_per_card_and_only_there_ranks_are_set(tmp_path: Path) -> None:
    ranks = _launches(tmp_path, _job(ASCEND_PYTORCH, 2, 4), 1)

    assert [launch.environment["RANK_ID"] for launch in ranks] == ["4", "5", "6", "7"]
    assert [launch.environment["ASCEND_DEVICE_ID"] for launch in ranks] == ["0", "1", "2", "3"]
    assert {launch.environment["RANK_SIZE"] for launch in ranks} == {"8"}
    for engine, variables in ((PYTORCH, {}), (ASCEND_PYTORCH, {"MA_RUN_METHOD": "torchrun"})):
        (launch,) = _launches(tmp_path / engine[0], _job(engine, 1, 4, variables))
        assert not {"RANK_ID", "RANK_SIZE", "DEVICE_ID", "ASCEND_DEVICE_ID"} & set(launch.environment)


def test_a_command_is_run_as_given_by_a_shell_without_profiles_and_the_arguments_follow_it(tmp_path: Path) -> None:
    image: dict[str, Any] = {"engine": {"image_url": "org/image:1"}, "boot_file": "", "parameters": []}
    line = 'cd ${MA_JOB_DIR}/code && bash run.sh; echo "it\'s $?"'
    image["command"] = line
    with_arguments = {**image, "parameters": [{"name": "title", "value": "two words; $HOME"}]}

    (plain,) = _launches(tmp_path / "a", _job(PYTORCH, 1, 1, algorithm=image))
    (extended,) = _launches(tmp_path / "b", _job(PYTORCH, 1, 1, algorithm=with_arguments))

    assert plain.command == ["/bin/bash", "--noprofile", "--norc", "-c", line]
    assert plain.folder.name == "ma-user"
    assert extended.command[-1] == f"{line} '--title=two words; $HOME'"


def test_programs_start_in_the_working_directory_if_there_is_one(tmp_path: Path) -> None:
    wished = {"local_code_dir": "/home/ma-user/mine", "working_dir": "/home/ma-user/mine/code"}
    missing = {"working_dir": "/home/ma-user/nowhere"}

    (usual,) = _launches(tmp_path / "a", _job(PYTORCH, 1, 1))
    (named,) = _launches(tmp_path / "b", _job(PYTORCH, 1, 1, algorithm=wished))
    (refused,) = _launches(tmp_path / "c", _job(PYTORCH, 1, 1, algorithm=missing))

    assert usual.folder == tmp_path / "a/node-0/ma-user/modelarts/user-job-dir"
    assert named.folder == tmp_path / "b/node-0/ma-user/mine/code"
    assert "working_dir /home/ma-user/nowhere: no such directory" in refused.command[4]


@pytest.mark.parametrize(("module", "code", "said"), [("json.tool", 0, "1"), ("no_such_framework.run", 127, "Get it.")])
def test_a_starter_is_the_frameworks_own_module_or_a_command_that_is_not_found(
    tmp_path: Path, module: str, code: int, said: str
) -> None:
    (tmp_path / "numbers.json").write_text("[1]")
    command = [sys.executable, starter.__file__, "frameworkrun", module, "Get it.", "numbers.json"]

    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert ended.returncode == code
    assert said in (ended.stdout or ended.stderr)
    assert ("frameworkrun: command not found" in ended.stderr) == (code == 127)


def test_an_mpi_job_is_refused_where_mpirun_is_missing_and_told_what_to_install(tmp_path: Path) -> None:
    job = _job(HOROVOD, 1, 2)

    with pytest.raises(Refused) as refused:
        check_starter(job, str(tmp_path))
    (tmp_path / "mpirun").touch(0o755)
    check_starter(job, str(tmp_path))

    assert refused.value.code == "ModelArts.2780"
    assert "extra mpi" in refused.value.solution


def test_mpirun_runs_on_the_first_node_only_and_the_others_serve_it(tmp_path: Path) -> None:
    job = _job(HOROVOD, 3, 2)

    first, *others = [launch for index in (0, 1, 2) for launch in _launches(tmp_path, job, index)]

    hosts = (tmp_path / "node-0/ma-user/hostfile").read_text().splitlines()
    assert hosts == ["localhost slots=2", "worker-1 slots=2", "worker-2 slots=2"]
    assert first.command[1:5] == ["-np", "6", "--hostfile", str(tmp_path / "node-0/ma-user/hostfile")]
    assert (first.label, first.serves) == ("mpirun", False)
    assert [(launch.command[4], launch.serves) for launch in others] == [("serve", True), ("serve", True)]
    script = (tmp_path / "node-2/ma-user/mpi-boot.sh").read_text()
    assert script.rstrip().endswith(
        f"{tmp_path}/node-2/ma-user/modelarts/user-job-dir/code/train.py --epochs=3 </dev/null"
    )
