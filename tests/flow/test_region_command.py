"""What a region offers, from the shell: flavors with prices, engines, pools with their queues, quotas, files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body

POOL = "pool-aisb-0123456789abcdef0123456789abcdef"
FLAVOR = "sandbox.cpu.2cards"


@pytest.fixture
def shell(tmp_path: Path, sandbox: SandboxProcess) -> Iterator[CommandLine]:
    shell = CommandLine(tmp_path / "data", sandbox)
    shell.add_profile("priced", sandbox.profile, price_per_node_hour={FLAVOR: 12.5}, currency="CNY")
    shell.add_profile("older", sandbox.profile, api="v1")
    yield shell
    shell.end()


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    """A pool of four nodes, one of them bad, with a job on two and one that waits."""
    pool = {"name": POOL, "flavor": "modelarts.kat1.8xlarge", "nodes": 4, "bad": [3]}
    sandbox.admin("PUT", "capacity", {"pools": [pool]})
    sandbox.script(by="hold")
    client = TrainingClient(sandbox)
    client.put("code/train.py", "")
    for name, nodes in (("large", 2), ("waits", 4)):
        body = job_body(name, nodes=nodes, flavor="modelarts.pool.visual.8xlarge")
        body["spec"]["resource"]["pool_id"] = POOL
        job_id = client.create(body).metadata.id
        sandbox.advance(job_id)  # from Creating into the queue
        if name == "large":
            sandbox.advance(job_id)
    return client


def test_flavors_have_the_prices_of_the_profile_and_no_others(shell: CommandLine) -> None:
    priced = shell.answer("region", "flavors", "--profile", "priced")
    table = shell.type("region", "flavors", "--profile", "priced").stdout
    unpriced = shell.answer("region", "flavors")

    prices = {row["flavor"]["flavor_id"]: row["price_per_node_hour"] for row in priced}
    assert prices.pop(FLAVOR) == 12.5
    assert set(prices.values()) == {None}
    assert {row["price_per_node_hour"] for row in unpriced} == {None}
    assert "12.50 CNY" in table


@pytest.mark.parametrize("profile", ["lab", "older"])
def test_engines_pools_and_quotas_are_listed_with_either_api(
    shell: CommandLine, client: TrainingClient, profile: str
) -> None:
    assert client

    engines = shell.answer("region", "engines", "--profile", profile)
    (pool,) = shell.answer("region", "pools", "--profile", profile)
    quotas = shell.answer("region", "quotas", "--profile", profile)

    assert "Ascend-Powered-Engine" in {engine["name"] for engine in engines}
    counts = {name: pool["pool"][name] for name in ("total_nodes", "free_nodes", "faulty_nodes")}
    assert counts == {"total_nodes": 4, "free_nodes": 1, "faulty_nodes": 1}
    assert [(job["name"], job["position"]) for job in pool["waiting"]] == [("waits", 1)]
    assert quotas == [{"resource": "job-num", "limit": 10_000, "used": 2}]


def test_the_table_of_pools_shows_used_nodes_and_the_queue(shell: CommandLine, client: TrainingClient) -> None:
    assert client

    table = shell.type("region", "pools").stdout

    heads, row, _, queue_heads, queued = table.splitlines()
    assert heads.split() == ["pool", "name", "type", "phase", "nodes", "used", "free", "faulty", "waiting", "flavors"]
    assert row.split()[:9] == [POOL, f"{POOL[:39]}…", "Dedicate", "Running", "4", "2", "1", "1", "1"]
    assert queue_heads.startswith("pool")
    assert "waits" in queued


def test_images_are_listed_by_organisation_image_and_version(shell: CommandLine) -> None:
    organisations = shell.answer("region", "images")
    (image,) = shell.answer("region", "images", "sandbox-team")
    versions = shell.answer("region", "images", "sandbox-team/bench/resnet")
    table = shell.type("region", "images", "sandbox/mindspore").stdout

    assert [each["name"] for each in organisations] == ["sandbox", "sandbox-team"]
    assert (image["name"], image["versions"], image["size"]) == ("bench/resnet", 2, 8_000_000_000)
    assert [each["image"] for each in versions] == ["sandbox-team/bench/resnet:v2", "sandbox-team/bench/resnet:v1"]
    assert [line.split()[0] for line in table.splitlines()] == [
        *("image_url", "sandbox/mindspore:2.3.0-cann8.0-aarch64", "sandbox/mindspore:2.2.12-cann7.0-aarch64")
    ]


def test_without_rights_images_or_an_address_of_swr_there_is_one_sentence(
    shell: CommandLine, sandbox: SandboxProcess
) -> None:
    shell.add_profile("elsewhere", sandbox.profile, swr_endpoint="")

    missing = shell.type("region", "images", "sandbox/no-such-image")
    unknown = shell.type("region", "images", "--profile", "elsewhere")
    sandbox.faults({"service": "modelarts", "path": "manage", "status": 403, "code": "SVCSTG.SWR.4030001"})
    refused = shell.type("region", "images")

    assert "The repository sandbox/no-such-image is not found" in missing.stderr
    assert "profile elsewhere does not say where images are kept" in unknown.stderr
    assert "swr_endpoint" in unknown.stderr
    assert "SWR at" in refused.stderr
    assert "lack a permission" in refused.stderr
    for answer in (missing, unknown, refused):
        assert answer.exit_code in (1, 2, 3), answer.stderr
        assert "Traceback" not in answer.stderr


def test_files_are_listed_page_by_page(shell: CommandLine, sandbox: SandboxProcess) -> None:
    client = TrainingClient(sandbox)
    for name in ("a/one", "a/two", "b", "c"):
        client.put(f"listed/{name}", "content")
    path = f"obs://{sandbox.bucket}/listed"

    first = shell.answer("region", "files", path, "--limit", "2")
    rest = shell.answer("region", "files", path, "--limit", "2", "--after", first["next_after"])
    text = shell.type("region", "files", path, "--limit", "2", "--size")

    inside = f"/{sandbox.bucket}/listed/"
    assert [entry["path"] for entry in first["entries"]] == [f"{inside}a/", f"{inside}b"]
    assert [(entry["path"], entry["size"]) for entry in rest["entries"]] == [(f"{inside}c", 7)]
    assert rest["next_after"] == ""
    assert f"{inside}b" in text.stdout
    assert text.stderr == f"4 objects, 28 B\nthere are more: --after '{inside}b'\n"


def test_a_directory_that_is_none_is_invalid_input(shell: CommandLine) -> None:
    answer = shell.type("region", "files", "relative/path")

    assert answer.exit_code == 2
    assert "path: must be /bucket/directory/ or obs://bucket/directory/ (found relative/path)" in answer.stderr


def test_a_region_that_does_not_answer_is_unavailable(shell: CommandLine, sandbox: SandboxProcess) -> None:
    shell.add_profile("away", sandbox.profile, modelarts_endpoint="http://127.0.0.1:9", obs_server="http://127.0.0.1:9")

    for words in (["flavors"], ["engines"], ["pools"], ["quotas"], ["files"]):
        assert shell.type("region", *words, "--profile", "away").exit_code == 3
