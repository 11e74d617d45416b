"""The log directory of a job in OBS: the tree of Ascend logs, and the platform's lines."""

import re
from collections.abc import Iterator

import pytest

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, await_true, job_body

ASCEND = """
import os
rank, job = os.environ["RANK_ID"], os.environ["MA_VJ_NAME"].replace("ma-job", "modelarts-job")
plog = os.environ["ASCEND_PROCESS_LOG_PATH"] + "/plog"
own = os.environ["MA_LOG_DIR"] + f"/{job}/worker-" + os.environ["VC_TASK_INDEX"]
mindspore = os.environ["MA_LOG_DIR"] + f"/{job}/mindspore/log"
for folder in (plog, own, mindspore, os.environ["MA_LOG_DIR"] + "/nothing"):
    os.makedirs(folder, exist_ok=True)
open(f"{plog}/plog-{rank}_1.log", "w").write("plog")
open(f"{own}/hccl-{rank}.log", "w").write("hccl")
open(f"{mindspore}/rank-{rank}.log", "w").write("mindspore")
open(os.environ["MA_LOG_DIR"] + "/nothing/empty.log", "w").close()
print("rank", rank, "trains")
"""


@pytest.fixture
def client(real_sandbox: SandboxProcess) -> Iterator[TrainingClient]:
    real_sandbox.reset()
    yield TrainingClient(real_sandbox)
    real_sandbox.reset()


def test_the_log_directory_has_the_tree_that_the_manual_shows(client: TrainingClient) -> None:
    client.put("code/train.py", ASCEND)

    job = client.wait(client.create(job_body(nodes=2, flavor="sandbox.cpu.2cards")).metadata.id)

    name = f"log/modelarts-job-{job.metadata.id}"
    assert job.status.phase == "Completed", client.log(job.metadata.id)
    assert client.keys("log/") == sorted(
        [
            *(f"{name}-proc-rank-{rank}-device-{rank % 2}.txt" for rank in range(4)),
            *(f"{name}-worker-{node}.log" for node in range(2)),
            *(f"{name}/ascend/process_log/rank_{rank}/plog/plog-{rank}_1.log" for rank in range(4)),
            *(f"{name}/mindspore/log/rank-{rank}.log" for rank in range(4)),
            *(f"{name}/worker-{rank // 2}/hccl-{rank}.log" for rank in range(4)),
        ]
    )


def test_the_platform_speaks_in_both_of_its_forms(client: TrainingClient) -> None:
    client.put("code/train.py", "print('train')\n")

    job = client.wait(client.create(job_body()).metadata.id)

    log = client.log(job.metadata.id)
    assert "[ModelArts Service Log][init] download code_url: s3://sandbox-bench/code/\n" in log
    assert re.search(
        r'^time="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d" level=info msg="start the periodic upload task, upload '
        r'period = \d+ seconds " file="upload.go:46" Command=obs/upload Component=ma-training-toolkit '
        r"Platform=ModelArts-Service$",
        log,
        re.MULTILINE,
    )


def test_a_job_that_is_stopped_leaves_its_logs_and_outputs(client: TrainingClient) -> None:
    boot = 'import sys, time\nprint("working", flush=True)\nopen(sys.argv[1][12:] + "/half.txt", "w").write("half")\n'
    client.put("code/train.py", boot + "time.sleep(600)\n")
    job_id = client.create(job_body()).metadata.id
    await_true(lambda: "working" in client.log(job_id), "the rank at work")

    client.stop(job_id)

    assert client.wait(job_id).status.phase == "Terminated"
    assert client.get("out/half.txt") == "half"
    assert client.get(f"log/modelarts-job-{job_id}-proc-rank-0-device-0.txt") == "working\n"
    assert client.log(job_id).rstrip().endswith("[end] exit code 143")
