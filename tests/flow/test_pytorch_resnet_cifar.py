"""The PyTorch workload really trains: DistributedDataParallel over two nodes of two cards, in a sandbox."""

import json

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import Mode, RunSpec, Scalar
from tests.flow.jobs import Region
from tests.sandbox_process import SandboxProcess

RESNET = Workloads(HOME / "workloads").get("pytorch_resnet_cifar")
SMALL: dict[str, Scalar] = {"epochs": 5, "batch_size": 16, "train_samples": 512, "model_width": 8}

pytestmark = pytest.mark.torch


def test_two_nodes_of_two_cards_train_one_network_on_made_up_images(real_sandbox: SandboxProcess) -> None:
    region = Region(real_sandbox)
    spec = RunSpec(workload=RESNET.name, name="resnet-2x2", parameters=SMALL, flavor="sandbox.cpu.2cards", node_count=2)

    status, out = region.run(RESNET, spec)

    assert status.succeeded, status.message + region.log(spec.name)
    results = dict(region.written(out))
    assert json.loads(results.pop("dataset.json"))["synthetic"] is True
    assert list(results) == [
        "accuracy.json",
        "accuracy_0.json",
        "ranksize.json",
        "rehearsal.json",
        *[f"step_times_{node}_{card}.csv" for node in range(2) for card in range(2)],
        "steps_0.jsonl",
        "steps_1.jsonl",
        *[f"throughput_{rank}.json" for rank in range(4)],
    ]
    assert results["ranksize.json"] == "4"
    assert float(results["accuracy.json"]) > 0.3  # guessing gives 0.1
    assert all(float(results[f"throughput_{rank}.json"]) > 0 for rank in range(4))


def test_servers_on_their_own_train_without_each_other(real_sandbox: SandboxProcess) -> None:
    region = Region(real_sandbox)
    spec = RunSpec(
        workload=RESNET.name,
        name="resnet-single-server",
        parameters=SMALL | {"epochs": 1, "train_samples": 64, "model_width": 4},
        flavor="sandbox.cpu.2cards",
        node_count=2,
        mode=Mode.SINGLE_SERVER,
        environments={"SINGLESERVER_MODE": "True"},
    )

    status, out = region.run(RESNET, spec)

    assert status.succeeded, status.message + region.log(spec.name)
    assert {"0/throughput_1.json", "1/throughput_0.json", "accuracy_1.json"} <= set(region.written(out))
