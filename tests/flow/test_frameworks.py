"""Real MindSpore jobs over two nodes with two cards each, started by both of the manuals' ways for Ascend."""

from pathlib import Path

import pytest

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body

ENGINE = "mindspore_2.3.0-cann_8.0.rc1-py_3.9-euler_2.10.7-aarch64-snt9b"  # the first with msrun
SCRIPTS = Path(__file__).parent / "modelarts_scripts"
WEIGHTS = {f"out/weight_{rank}_of_4.json" for rank in range(4)}


def trained(sandbox: SandboxProcess, environments: dict[str, str]) -> TrainingClient:
    """A finished job that ran the script on 2 x 2 cards."""
    client = TrainingClient(sandbox)
    client.put("code/train.py", (SCRIPTS / "mindspore_sum.py").read_text("utf-8"))
    name = environments.get("MA_RUN_METHOD", "rank-table")
    body = job_body(name, nodes=2, flavor="modelarts.kat1.2xlarge", environments=environments)
    body["algorithm"]["engine"]["engine_version"] = ENGINE
    job = client.wait(client.create(body).metadata.id, seconds=180)
    assert job.status.phase == "Completed", "\n".join(client.log(job.metadata.id, node) for node in range(2))
    return client


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "environments",
    [
        pytest.param({"MA_RUN_METHOD": "msrun", "MSRUN_CLUSTER_TIME_OUT": "120"}, id="msrun"),
        pytest.param({}, id="rank table"),
    ],
)
def test_a_mindspore_job_trains_over_two_nodes(real_sandbox: SandboxProcess, environments: dict[str, str]) -> None:
    client = trained(real_sandbox, environments)

    assert set(client.keys("out/weight_")) == WEIGHTS
    weights = {float(client.get(key) or "nan") for key in WEIGHTS}
    assert len(weights) == 1  # every card holds the same weight, so their gradients met
    assert abs(weights.pop() - 3.0) < 0.01
