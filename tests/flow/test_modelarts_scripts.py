"""Scripts as people write them for ModelArts run in the sandbox as they are, where Linux has namespaces.

They open the container's literal paths; where there is no container, the node's log says why there is none."""

from pathlib import Path
from typing import Any

import pytest

from aisbench_sandbox.engine.node.container import Containers, why_no_containers
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body

SCRIPTS = Path(__file__).parent / "modelarts_scripts"
PRE_START = "export SINGLESERVER_MODE=True\n"


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Why jobs have no containers here; nothing where they have."""
    return why_no_containers(Containers.AUTO, tmp_path_factory.mktemp("containers"))


def run(client: TrainingClient, without: str, script: str, **asked: Any) -> Any:
    """The job that ran the script to a good end; or nothing, when it was told why it finds no literal paths."""
    client.put("code/train.py", (SCRIPTS / script).read_text("utf-8"))
    job = client.wait(client.create(job_body(flavor="modelarts.kat1.2xlarge", nodes=2, **asked)).metadata.id)
    if without:
        assert without in client.log(job.metadata.id)
        return None
    assert job.status.phase == "Completed", "\n".join(client.log(job.metadata.id, node) for node in range(2))
    return job


def test_a_script_per_card_waits_for_the_rank_table_and_moves_its_data_by_moxing(
    real_sandbox: SandboxProcess, without: str
) -> None:
    client = TrainingClient(real_sandbox)
    for number in range(3):
        client.put(f"imagenet/part{number}.txt", str(number))

    job = run(
        client,
        without,
        "per_card.py",
        parameters=[("obs_data", "obs://sandbox-bench/imagenet/"), ("obs_results", "s3://sandbox-bench/results/")],
    )

    if not job:
        return
    results = {rank: client.get(f"results/throughput_{rank}.json") for rank in range(4)}
    assert results == {0: "3.0", 1: "4.0", 2: "5.0", 3: "6.0"}
    assert (client.get("out/ranksize.json"), client.get("results/accuracy.json")) == ("4", "0.76")
    name = f"modelarts-job-{job.metadata.id}-worker-1"
    assert f"rank 3 of 4 on {name} in /home/ma-user/modelarts/workspace/device1" in client.log(job.metadata.id, 1)


def test_a_script_for_single_servers_rewrites_its_rank_table(real_sandbox: SandboxProcess, without: str) -> None:
    client = TrainingClient(real_sandbox)
    client.put("code/ma-pre-start.sh", PRE_START)

    if not run(client, without, "single_server.py", name="single"):
        return
    throughputs = [f"out/{server}/throughput_{rank}.json" for server in range(2) for rank in range(2)]
    assert [key for key in client.keys("out/") if "throughput" in key] == throughputs
    assert {client.get(key) for key in throughputs} == {"100.5"}
    assert [client.get(f"out/accuracy_{server}.json") for server in range(2)] == ["0.9", "0.9"]
