"""MPI jobs: mpirun on worker-0 starts the boot file once per card on every node, and all of them compute together."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sandbox_process import SandboxProcess, processes_of
from tests.training_client import TrainingClient, await_true, channel, job_body

MPI = {"engine_name": "MPI", "engine_version": "mindspore_1.3.0-cuda_10.1-py_3.7-ubuntu_1804-x86_64"}

SUM = """
import argparse, json, os
from mpi4py import MPI
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
parser.add_argument("--title")
args = parser.parse_args()  # the platform adds no arguments
everybody = MPI.COMM_WORLD
rank = everybody.Get_rank()
facts = {
    "size": everybody.Get_size(),
    "sum": everybody.allreduce(rank),
    "local": os.environ["OMPI_COMM_WORLD_LOCAL_RANK"],
    "node": os.environ["VC_TASK_INDEX"],
    "own": os.environ["MY_OWN"],
    "title": args.title,
}
with open(f"{args.train_url}/rank{rank}.json", "w") as file:
    json.dump(facts, file)
print("rank", rank, "is done", flush=True)
"""

pytestmark = pytest.mark.frameworks


@pytest.fixture
def client(real_sandbox: SandboxProcess) -> Iterator[TrainingClient]:
    real_sandbox.reset()
    yield TrainingClient(real_sandbox)
    real_sandbox.reset()


def _body(nodes: int, flavor: str, **changes: Any) -> dict[str, Any]:
    outputs = [channel("train_url", "/sandbox-bench/out/")]
    body = job_body(
        nodes=nodes, flavor=flavor, outputs=outputs, parameters=[("title", "two words")],
        environments={"MY_OWN": "yes"}, **changes,
    )  # fmt: skip
    body["algorithm"]["engine"] = MPI
    return body


@pytest.mark.parametrize(
    ("nodes", "flavor", "cards"), [(1, "modelarts.p3.4xlarge.public", 4), (2, "modelarts.p3.2xlarge.public", 2)]
)
def test_the_boot_file_runs_once_per_card_and_all_ranks_meet(
    client: TrainingClient, nodes: int, flavor: str, cards: int
) -> None:
    client.put("code/train.py", SUM)

    job = client.wait(client.create(_body(nodes, flavor)).metadata.id)

    job_id = job.metadata.id
    log = client.log(job_id)
    assert job.status.phase == "Completed", log
    facts = [json.loads(client.get(f"out/rank{rank}.json") or "") for rank in range(nodes * cards)]
    assert [each["node"] for each in facts] == [str(rank // cards) for rank in range(nodes * cards)]
    assert [each["local"] for each in facts] == [str(rank % cards) for rank in range(nodes * cards)]
    assert {(each["size"], each["sum"], each["own"], each["title"]) for each in facts} == {(4, 6, "yes", "two words")}
    assert all(f"rank {rank} is done" in log for rank in range(nodes * cards))
    await_true(lambda: processes_of(job_id) == [], "the end of what served mpirun")


def test_a_rank_that_fails_on_another_node_fails_the_job_with_its_code(client: TrainingClient) -> None:
    client.put("code/train.py", "import os, sys, time\nrank = os.environ['OMPI_COMM_WORLD_RANK']\n"
               "sys.exit(7) if rank == '1' else time.sleep(600)\n")  # fmt: skip

    job = client.wait(client.create(_body(2, "modelarts.p3.large.public")).metadata.id)

    assert (job.status.phase, job.status.task_statuses[0].exit_code) == ("Failed", 7)
    await_true(lambda: processes_of(job.metadata.id) == [], "the end of all ranks")


def test_a_stopped_mpi_job_leaves_nothing_behind(client: TrainingClient) -> None:
    client.put("code/train.py", "import time\nprint('works', flush=True)\ntime.sleep(600)\n")
    job_id = client.create(_body(2, "modelarts.p3.large.public")).metadata.id
    await_true(lambda: client.log(job_id).count("works") == 2, "both ranks' first line")

    client.stop(job_id)

    assert client.wait(job_id).status.phase == "Terminated"
    await_true(lambda: processes_of(job_id) == [], "the end of all ranks")
