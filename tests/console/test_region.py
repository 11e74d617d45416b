"""The page Region: what the region of a profile offers and holds, and what is said while it does not answer."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from huaweicloudsdkmodelarts.v1 import CreateAlgorithmRequest
from streamlit.testing.v1 import AppTest

from aisbench_core.base.clock import utc_now
from aisbench_core.model import JobTask, RunAttempt
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body

POOL = "pool-aisb-0123456789abcdef0123456789abcdef"
FLAVOR = "sandbox.cpu.2cards"
SECTIONS = ("flavors", "engines", "pools", "algorithms", "files", "jobs")


@pytest.fixture
def client(sandbox: SandboxProcess, data_dir: Path) -> TrainingClient:
    """A region that answers, with a pool, an active job and some objects; its profile is `lab`."""
    profile = {**sandbox.profile, "price_per_node_hour": {FLAVOR: 12.5}}
    (data_dir / "profiles").mkdir()
    (data_dir / "profiles" / "lab.yaml").write_text(yaml.safe_dump({**profile, "name": "lab"}), "utf-8")
    sandbox.admin("PUT", "capacity", {"pools": [{"name": POOL, "flavor": "modelarts.kat1.8xlarge", "nodes": 4}]})
    sandbox.script(by="hold")
    client = TrainingClient(sandbox)
    client.put("code/train.py", "")
    body = job_body("somebody-elses", nodes=3, flavor="modelarts.pool.visual.8xlarge")
    body["spec"]["resource"]["pool_id"] = POOL
    sandbox.advance(client.create(body).metadata.id)
    return client


def rows(app: AppTest, table: int = 0) -> list[dict[str, object]]:
    return [dict(row) for row in app.dataframe[table].value.to_dict("records")]


def labels(app: AppTest) -> list[str]:
    return [link.label for link in app.page_link]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_region_that_does_not_answer_is_said_not_to(open_page: OpenPage, section: str) -> None:
    app = open_page("region", show=section)

    assert "nothing is listening there" in app.error[0].value
    assert not app.exception


def test_images_are_shown_by_organisation_and_of_one_its_versions(client: TrainingClient, open_page: OpenPage) -> None:
    assert client

    images = open_page("region", profile="lab", show="images")
    versions = open_page("region", profile="lab", show="images", organisation="sandbox-team", repository="bench/resnet")

    assert [row["Image"] for row in rows(images)] == ["sandbox/mindspore", "sandbox/pytorch"]
    assert [row["Custom image"] for row in rows(versions)] == [f"sandbox-team/bench/resnet:v{n}" for n in (2, 1)]


def test_a_registry_that_refuses_is_a_sentence_on_the_page(
    client: TrainingClient, open_page: OpenPage, sandbox: SandboxProcess
) -> None:
    assert client
    sandbox.faults({"service": "modelarts", "path": "manage", "status": 403, "code": "SVCSTG.SWR.4030001"})

    app = open_page("region", profile="lab", show="images")

    assert "SWR at" in app.error[0].value.replace("\\", "")
    assert not app.exception


def test_flavors_have_the_prices_of_the_profile(client: TrainingClient, open_page: OpenPage) -> None:
    assert client

    app = open_page("region", profile="lab")

    price = {row["Flavor"]: row["Price per node hour (CNY)"] for row in rows(app)}
    assert price[FLAVOR] == 12.5
    assert "As of" in texts(app)


def test_a_search_leaves_what_it_matches(client: TrainingClient, open_page: OpenPage) -> None:
    assert client

    app = open_page("region", profile="lab", q="SANDBOX.CPU")

    assert {str(row["Flavor"]).startswith("sandbox.cpu") for row in rows(app)} == {True}


def test_only_the_queues_of_the_shown_pools_are_read(
    client: TrainingClient, sandbox: SandboxProcess, open_page: OpenPage
) -> None:
    assert client
    pools = [{"name": f"pool-{number:03}", "flavor": "modelarts.kat1.8xlarge", "nodes": 1} for number in range(45)]
    sandbox.admin("PUT", "capacity", {"pools": pools})
    sandbox.admin("DELETE", "requests")

    app = open_page("region", profile="lab", show="pools", page="3")

    asked = sandbox.admin("GET", "requests")["modelarts"]
    assert [row["Pool"] for row in rows(app)] == [f"pool-{number:03}" for number in range(40, 45)]
    assert "45" in texts(app)
    assert sum(count for label, count in asked.items() if "workloads" in label) == 5


def test_pools_show_their_nodes_the_queue_and_the_quotas(client: TrainingClient, open_page: OpenPage) -> None:
    assert client

    app = open_page("region", profile="lab", show="pools")

    pool, waiting = rows(app)[0], rows(app, 1)[0]
    assert (pool["Dedicated pool"], pool["Nodes"], pool["Waiting jobs"]) == (POOL, 4, 1)
    assert (waiting["Job"], waiting["Position"]) == ("somebody-elses", 1)
    assert "Training jobs: 1 of 10,000" in texts(app)


def test_a_directory_shows_its_directories_its_objects_and_the_way_to_it(
    client: TrainingClient, open_page: OpenPage, sandbox: SandboxProcess
) -> None:
    client.put("data/sets/a/one.bin", "12345")
    client.put("data/sets/readme", "123")

    app = open_page("region", profile="lab", show="files", path=f"/{sandbox.bucket}/data/sets/")
    app.button(key=f"count-/{sandbox.bucket}/data/sets/").click().run()

    assert [label for label in labels(app) if label in (sandbox.bucket, "data", "sets", "a/")] == [
        sandbox.bucket, "data", "sets", "a/",
    ]  # fmt: skip
    assert rows(app) == [{"Object": "readme", "Size": "3 B"}]
    assert "Objects: 2, 8 B" in texts(app)


def test_a_large_directory_is_shown_page_by_page(
    client: TrainingClient, open_page: OpenPage, sandbox: SandboxProcess
) -> None:
    for number in range(101):
        client.put(f"many/{number:03}", "")
    path = f"/{sandbox.bucket}/many/"

    first = open_page("region", profile="lab", show="files", path=path)
    second = open_page("region", profile="lab", show="files", path=path, after=f"{path}099")

    assert len(rows(first)) == 100
    assert "Next page" in labels(first)
    assert [row["Object"] for row in rows(second)] == ["100"]
    assert "First page" in labels(second)


def test_what_is_no_directory_is_a_sentence(client: TrainingClient, open_page: OpenPage) -> None:
    assert client

    app = open_page("region", profile="lab", show="files", path="relative/")

    assert "must be /bucket/directory/" in app.error[0].value
    assert not app.exception


def test_a_job_of_somebody_else_can_be_stopped_after_a_question(client: TrainingClient, open_page: OpenPage) -> None:
    assert client

    app = open_page("region", profile="lab", show="jobs")
    assert "Not launched by this console" in texts(app)

    next(button for button in app.button if (button.key or "").startswith("stop-job-")).click().run()
    app.button(key="stop-job-yes").click().run()

    assert not app.exception
    assert "somebody-elses" not in texts(app) or "Terminating" in texts(app)


def test_a_job_of_somebody_else_is_read_into_the_dialog_of_new_run(client: TrainingClient, open_page: OpenPage) -> None:
    assert client
    app = open_page("region", profile="lab", show="jobs")

    next(button for button in app.button if (button.key or "").startswith("clone-")).click().run()

    assert not app.exception
    assert app.session_state["import-document"].jobs[0].values["boot_file"].value.endswith("train.py")


def test_an_answer_is_kept_until_somebody_asks_anew(
    client: TrainingClient, open_page: OpenPage, sandbox: SandboxProcess
) -> None:
    assert client
    app = open_page("region", profile="lab", show="engines")
    sandbox.forget_requests()

    app.run()
    kept = sum(sandbox.requests().get("modelarts", {}).values())
    next(button for button in app.button if (button.key or "").startswith("refresh-")).click().run()

    assert kept == 0
    assert sum(sandbox.requests()["modelarts"].values()) == 1


def test_algorithms_are_listed_with_what_they_start(client: TrainingClient, open_page: OpenPage) -> None:
    job = job_body()["algorithm"]
    config = {name: job[name] for name in ("code_dir", "boot_file", "engine")}
    body = {"metadata": {"name": "digits", "description": "small"}, "job_config": config}
    made = client.sdk.create_algorithm(CreateAlgorithmRequest(body=body)).metadata

    (row,) = rows(open_page("region", profile="lab", show="algorithms"))

    assert (row["Algorithm"], row["Description"], row["ID"]) == ("digits", "small", made.id)
    assert row["Boot file or command"] == "/sandbox-bench/code/train.py"


def test_subscribed_algorithms_are_listed_with_both_ids(
    client: TrainingClient, open_page: OpenPage, sandbox: SandboxProcess
) -> None:
    job = job_body()["algorithm"]
    config = {name: job[name] for name in ("code_dir", "boot_file", "engine")}
    made = client.sdk.create_algorithm(CreateAlgorithmRequest(body={"metadata": {"name": "d"}, "job_config": config}))
    ids = sandbox.admin("POST", f"algorithms/{made.metadata.id}/subscribe")

    _, subscribed = open_page("region", profile="lab", show="algorithms").dataframe

    (row,) = subscribed.value.to_dict("records")
    assert (row["Algorithm"], row["Version"]) == ("d", "1.0.0")
    assert (row["Subscription id"], row["Version of the subscribed algorithm"]) == tuple(ids.values())


@pytest.mark.usefixtures("client")
def test_nodes_that_were_slow_in_their_last_runs_are_a_section(
    open_page: OpenPage, data_dir: Path, sandbox: SandboxProcess
) -> None:
    slow = [900.0] * 8 + [1000.0] * 24
    record = a.record("slow-run", node_count=4, throughputs=slow, region=sandbox.profile["region"], rehearsal=True)
    hosts = tuple(JobTask(f"worker-{node}", "", f"192.168.7.{node}") for node in range(4))
    record = replace(record, attempts=(RunAttempt(1, a.T0, tasks=hosts),))
    record = replace(record, run=replace(record.run, ended_at=utc_now()))
    Warehouse(data_dir / "warehouse.duckdb").record(record)

    [table] = open_page("region", profile="lab", show="nodes").dataframe

    [row] = table.value.to_dict("records")
    assert (row["Node"], row["Slow runs"], row["Newest run"]) == ("192.168.7.0", "1 of its last 1", "slow-run")
