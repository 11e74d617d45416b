"""A distributed PyTorch job really trains across nodes: by torchrun, by the PyTorch-GPU method, by a command."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, channel, job_body

ASCEND_PYTORCH = {
    "engine_name": "Ascend-Powered-Engine",
    "engine_version": "pytorch_2.1.0-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b",
}
PYTORCH = {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"}

TRAINING = """
import gc, json, os, sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def train(rank, out):
    torch.manual_seed(1)
    network = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    torch.manual_seed(rank)  # every rank has data of its own
    inputs = torch.randn(32, 4)
    targets = inputs.sum(1, keepdim=True)
    for _ in range(30):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(inputs), targets)
        loss.backward()
        optimizer.step()
    total = torch.tensor([float(rank)])
    dist.all_reduce(total)
    weights = [round(value, 6) for value in network.module.weight.detach().flatten().tolist()]
    facts = {"world": dist.get_world_size(), "total": total.item(), "weights": weights, "loss": loss.item()}
    with open(f"{out}/rank{rank}.json", "w") as file:
        json.dump(facts, file)
    del network, optimizer, loss
    gc.collect()  # or gloo's threads outlive the interpreter
    dist.destroy_process_group()
"""

FROM_ENVIRONMENT = """
import argparse, os
import torch.distributed as dist
from training import train
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
args, _ = parser.parse_known_args()
dist.init_process_group("gloo", init_method="env://")
assert int(os.environ["LOCAL_RANK"]) == dist.get_rank() % int(os.environ["LOCAL_WORLD_SIZE"])
train(dist.get_rank(), args.train_url)
"""

BY_SPAWN = """
import argparse, os
import torch.distributed as dist
import torch.multiprocessing as mp

def start(local_rank, base_rank, world_size, init_method, out):
    from training import train
    rank = base_rank + local_rank
    dist.init_process_group("gloo", rank=rank, init_method=init_method, world_size=world_size)
    train(rank, out)

parser = argparse.ArgumentParser()
parser.add_argument("--world_size", type=int, required=True)
parser.add_argument("--rank", type=int, required=True)
parser.add_argument("--init_method", type=str, required=True)
parser.add_argument("--train_url")
args, unknown = parser.parse_known_args()

if __name__ == "__main__":
    cards = int(os.environ["MA_NUM_GPUS"])
    place = (cards * args.rank, cards * args.world_size, args.init_method, args.train_url)
    mp.spawn(start, args=place, nprocs=cards, join=True)
"""

# The manual's ways to start it in an image of one's own, at a port that is free.
START = """
first="${VC_WORKER_HOSTS%%,*}"; port=$MA_TORCHRUN_MASTER_PORT
size="--nnodes=$MA_NUM_HOSTS --node_rank=$VC_TASK_INDEX --nproc_per_node=$MA_NUM_GPUS"
[ $VC_TASK_INDEX != 0 ] || is_host="--rdzv_conf=is_host=1"
python -m torch.distributed.MODULE ${MA_JOB_DIR}/code/train.py "$@"
"""
MODULES = {
    "launch": "launch $size --master_addr $first --master_port=$port --use_env",
    "run, static": "run $size --rdzv_id=1234 --rdzv_backend=static --master_addr=$first --master_port=$port",
    "run, c10d": "run $size $is_host --rdzv_id=1234 --rdzv_backend=c10d --rdzv_endpoint=$first:$port",
}

pytestmark = pytest.mark.torch


@pytest.fixture
def client(real_sandbox: SandboxProcess) -> Iterator[TrainingClient]:
    real_sandbox.reset()
    yield TrainingClient(real_sandbox)
    real_sandbox.reset()


def _body(engine: dict[str, str], **changes: Any) -> dict[str, Any]:
    body = job_body(outputs=[channel("train_url", "/sandbox-bench/out/")], **changes)
    body["algorithm"]["engine"] = engine
    return body


def _assert_trained_together(client: TrainingClient, body: dict[str, Any], ranks: int) -> None:
    """Every rank knows of all others, and all end with the same network though each has data of its own."""
    client.put("code/training.py", TRAINING)

    job = client.wait(client.create(body).metadata.id, seconds=180)

    logs = [client.log(job.metadata.id, node) for node in range(body["spec"]["resource"]["node_count"])]
    assert job.status.phase == "Completed", logs
    facts = [json.loads(client.get(f"out/rank{rank}.json") or "") for rank in range(ranks)]
    assert {(each["world"], each["total"]) for each in facts} == {(ranks, float(sum(range(ranks))))}
    assert len({tuple(each["weights"]) for each in facts}) == 1
    assert len({each["loss"] for each in facts}) == ranks
    assert max(each["loss"] for each in facts) < 0.1


def test_torchrun_trains_across_two_nodes_of_two_cards(client: TrainingClient) -> None:
    client.put("code/train.py", FROM_ENVIRONMENT)
    environments = {"MA_RUN_METHOD": "torchrun", "MA_EXTRA_TORCHRUN_PARAMS": "--rdzv_conf=timeout=120"}
    body = _body(ASCEND_PYTORCH, nodes=2, flavor="modelarts.kat1.2xlarge", environments=environments)

    _assert_trained_together(client, body, 4)


def test_torchrun_trains_on_one_node(client: TrainingClient) -> None:
    client.put("code/train.py", FROM_ENVIRONMENT)
    environments = {"MA_RUN_METHOD": "torchrun"}
    body = _body(ASCEND_PYTORCH, flavor="modelarts.kat1.2xlarge", environments=environments)

    _assert_trained_together(client, body, 2)


def test_the_pytorch_gpu_method_trains_across_two_nodes_of_two_cards(client: TrainingClient) -> None:
    client.put("code/train.py", BY_SPAWN)

    _assert_trained_together(client, _body(PYTORCH, nodes=2, flavor="modelarts.p3.2xlarge.public"), 4)


@pytest.mark.parametrize("module", MODULES)
def test_a_command_of_its_own_trains_across_two_nodes_of_two_cards(client: TrainingClient, module: str) -> None:
    client.put("code/train.py", FROM_ENVIRONMENT)
    client.put("code/start.sh", START.replace("MODULE", MODULES[module]))
    body = _body({"image_url": "org/pytorch:2.1"}, nodes=2, flavor="modelarts.p3.2xlarge.public")
    del body["algorithm"]["boot_file"]
    body["algorithm"]["command"] = "bash ${MA_JOB_DIR}/code/start.sh"

    _assert_trained_together(client, body, 4)


def test_a_rank_that_fails_under_torchrun_fails_the_job(client: TrainingClient) -> None:
    client.put("code/train.py", "import os, sys\nsys.exit(7 if os.environ['RANK'] == '1' else 0)\n")
    body = _body(ASCEND_PYTORCH, flavor="modelarts.kat1.2xlarge", environments={"MA_RUN_METHOD": "torchrun"})

    job = client.wait(client.create(body).metadata.id, seconds=180)

    assert (job.status.phase, job.status.task_statuses[0].exit_code) == ("Failed", 1)
    assert "exitcode  : 7" in client.log(job.metadata.id)
