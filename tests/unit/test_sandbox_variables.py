"""The variables of a training container, node by node."""

from pathlib import Path

import pytest

from aisbench_sandbox.engine.node.layout import Node, Site
from aisbench_sandbox.engine.node.variables import build_environment, for_pip
from aisbench_sandbox.engine.rank_tables import get_loopback
from aisbench_sandbox.job import Job
from tests.training_client import job_body


def node(root: Path, flavor: str, index: int = 0, nodes: int = 1, contained: bool = False, **variables: str) -> Node:
    body = job_body(nodes=nodes, flavor=flavor, environments=variables)
    site = Site("AK", "SK", "http://127.0.0.1:1", "" if contained else "not wanted")
    return Node(Job("an-id", body, 0), index, root, 2222, "http://127.0.0.1:2", site)


def test_gpu_nodes_have_nccls_variables_and_no_rank_table(tmp_path: Path) -> None:
    variables = build_environment(node(tmp_path, "modelarts.p3.large.public"))

    assert {name for name in variables if name.startswith("NCCL_")} == {
        "NCCL_VERSION", "NCCL_DEBUG", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME",
    }  # fmt: skip
    assert "RANK_TABLE_FILE" not in variables


def test_other_nodes_have_the_directory_of_the_rank_table_and_nothing_of_nccl(tmp_path: Path) -> None:
    variables = build_environment(node(tmp_path, "modelarts.kat1.8xlarge"))

    assert variables["RANK_TABLE_FILE"] == str(tmp_path / "user" / "config")
    assert variables["MA_NUM_GPUS"] == "8"
    assert not [name for name in variables if name.startswith("NCCL_")]


def test_a_job_may_set_the_platforms_variables_anew_but_not_those_it_is_found_by(tmp_path: Path) -> None:
    variables = build_environment(
        node(
            tmp_path, "sandbox.cpu.1card", MA_LOG_DIR="/mine", HCCL_CONNECT_TIMEOUT="7", MA_VJ_NAME="x", MA_JOB_DIR="y"
        )
    )

    assert (variables["MA_LOG_DIR"], variables["HCCL_CONNECT_TIMEOUT"]) == ("/mine", "7")
    assert variables["MA_VJ_NAME"] == "ma-job-an-id"
    assert variables["MA_JOB_DIR"].endswith("/user-job-dir")


@pytest.mark.parametrize(
    ("contained", "hosts"),
    [
        (True, "modelarts-job-an-id-worker-0.modelarts-job-an-id,modelarts-job-an-id-worker-1.modelarts-job-an-id"),
        (False, f"{get_loopback(0)},{get_loopback(1)}"),
    ],
)
def test_the_other_nodes_are_named_in_containers_and_addressed_elsewhere(
    tmp_path: Path, contained: bool, hosts: str
) -> None:
    variables = build_environment(node(tmp_path, "sandbox.cpu.2cards", 1, 2, contained))

    assert variables["VC_WORKER_HOSTS"] == hosts
    assert (variables["VC_TASK_INDEX"], variables["MA_CURRENT_IP"]) == ("1", get_loopback(1))


def test_obs_is_told_with_its_keys_under_the_names_that_moxing_reads(tmp_path: Path) -> None:
    variables = build_environment(node(tmp_path, "sandbox.cpu.1card"))

    names = ("S3_ENDPOINT", "S3_USE_HTTPS", "S3_VERIFY_SSL", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
    assert [variables[name] for name in names] == ["http://127.0.0.1:2", "0", "0", "AK", "SK"]


def test_pips_index_is_told_without_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://name:secret@mirror.example:8443/packages/")
    known = build_environment(node(tmp_path, "sandbox.cpu.1card"))
    monkeypatch.delenv("PIP_INDEX_URL")
    unknown = build_environment(node(tmp_path, "sandbox.cpu.1card"))

    assert (known["MA_PIP_HOST"], known["MA_PIP_URL"]) == ("mirror.example", "https://mirror.example:8443/packages/")
    assert (unknown["MA_PIP_HOST"], unknown["MA_PIP_URL"]) == ("", "")


def test_pip_learns_where_to_look_and_not_where_to_put(tmp_path: Path) -> None:
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    (tmp_path / ".config" / "pip" / "pip.conf").touch()
    machine = {
        "HOME": str(tmp_path), "PIP_INDEX_URL": "here", "PIP_TARGET": "there", "PIP_USER": "1",
        "HTTPS_PROXY": "p", "no_proxy": "n", "AWS_SECRET_ACCESS_KEY": "s", "PYTHONPATH": "x",
    }  # fmt: skip

    assert for_pip(machine) == {
        "PIP_CONFIG_FILE": str(tmp_path / ".config" / "pip" / "pip.conf"),
        "PIP_INDEX_URL": "here",
        "HTTPS_PROXY": "p",
        "no_proxy": "n",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
