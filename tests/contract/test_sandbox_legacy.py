"""The older training API (v1) over HTTP: jobs with versions, statuses as numbers, numbered offers."""

from typing import Any

import pytest

from tests.legacy_client import LegacyClient, configuration
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def objects(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


@pytest.fixture
def client(sandbox: SandboxProcess, objects: TrainingClient) -> LegacyClient:
    assert objects
    return LegacyClient(sandbox)


def test_a_job_has_numbers_a_first_version_and_a_status_that_is_a_number(client: LegacyClient) -> None:
    made = client.create(train_url="/sandbox-bench/out/V1/")

    assert (made["job_name"], made["version_name"], made["status"]) == ("old-job", "V0001", 1)
    assert isinstance(made["job_id"], int)
    assert isinstance(made["version_id"], int)
    assert made["resource_id"].startswith("job")
    assert [client.version(made)["status"] for _ in range(4)] == [7, 8, 10, 10]


def test_a_version_tells_what_it_was_made_of(client: LegacyClient) -> None:
    volume = {"nfs": {"id": "i", "src_path": "10.0.0.1:/", "dest_path": "/home/work/nas", "read_only": False}}

    version = client.version(client.create(spec_id=2, engine_id=2, worker_server_num=2, volumes=[volume]))

    assert version["parameter"] == [{"label": "epochs", "value": "3"}]
    assert (version["spec_id"], version["spec_code"]) == (2, "sandbox.cpu.2cards")
    assert (version["engine_id"], version["engine_name"]) == (2, "Ascend-Powered-Engine")
    assert (version["worker_server_num"], version["train_url"]) == (2, "/sandbox-bench/out/V1/")
    assert (version["nas_type"], version["nas_share_addr"]) == ("nfs", "10.0.0.1:/")
    assert (version["job_name"], version["pre_version_id"]) == ("old-job", 0)


def test_engines_have_the_names_that_configurations_of_then_give_them(client: LegacyClient) -> None:
    engines = {each["engine_version"]: each for each in client.ask("GET", "job/ai-engines?job_type=1")["engines"]}
    old = engines["MindSpore-1.3-cann_5.0.2-python3.7-euleros2.8-aarch64"]

    version = client.version(client.create(engine_id=old["engine_id"]))

    assert old["engine_name"] == "Ascend-Powered-Engine"
    assert {key: version[key] for key in ("engine_id", "engine_name", "engine_version", "engine_type")} == old
    assert len({each["engine_id"] for each in engines.values()}) == len(engines)


def test_a_share_is_written_in_either_shape(client: LegacyClient) -> None:
    share = {"nas_type": "nfs", "nas_share_addr": "10.0.0.1:/", "nas_mount_path": "/home/work/nas"}

    version = client.version(client.create(**share))

    assert {key: version[key] for key in share} == share
    wrong = {"job_name": "bad", "config": configuration(nas_type="nfs", nas_share_addr="10.0.0.1:/")}
    assert client.refused("POST", "training-jobs", wrong) == (400, "ModelArts.0101")


@pytest.mark.parametrize(("share", "path"), [(f"10.0.0.1:/{'n' * 256}", "/mnt"), ("10.0.0.1:/", f"/mnt/{'数' * 86}")])
def test_a_share_with_a_name_that_no_file_system_takes_is_refused(client: LegacyClient, share: str, path: str) -> None:
    wrong = {"job_name": "bad", "config": configuration(volumes=[{"nfs": {"src_path": share, "dest_path": path}}])}

    assert client.refused("POST", "training-jobs", wrong) == (400, "ModelArts.0101")


@pytest.mark.parametrize("key", ["pool_id", "poolId"])
def test_a_pool_is_named_in_either_spelling(client: LegacyClient, sandbox: SandboxProcess, key: str) -> None:
    pool = {"name": "pool-a", "flavor": "modelarts.pool.visual.8xlarge", "nodes": 2}
    sandbox.admin("PUT", "capacity", {"pools": [pool]})

    version = client.version(client.create(**dict[str, Any]({key: "pool-a"}, spec_id=None)))

    assert (version["pool_id"], version["spec_code"]) == ("pool-a", "modelarts.pool.visual.8xlarge")
    both = {"job_name": "bad", "config": configuration(pool_id="pool-a", poolId="pool-b", spec_id=None)}
    assert client.refused("POST", "training-jobs", both) == (400, "ModelArts.0101")


def test_results_and_logs_have_the_names_that_the_older_service_gives(
    client: LegacyClient, objects: TrainingClient
) -> None:
    made = client.create(worker_server_num=2)
    while client.version(made)["status"] != 10:
        pass

    files = client.ask("GET", f"training-jobs/{made['job_id']}/versions/{made['version_id']}/log/file-names")

    names = [f"{made['resource_id']}-job-old-job-{node}.log" for node in range(2)]
    assert files["log_file_list"] == names
    assert set(objects.keys("out/V1/")) >= {f"out/V1/{name}" for name in names} | {"out/V1/throughput_1.json"}


def test_a_log_is_read_by_lines(client: LegacyClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold", log="".join(f"line {number}\n" for number in range(2, 12)))
    made = client.create()
    client.version(made)
    address = f"training-jobs/{made['job_id']}/versions/{made['version_id']}/aom-log"
    name = f"{made['resource_id']}-job-old-job-0.log"

    newest = client.ask("GET", f"{address}?log_file={name}&lines=2")
    older = client.ask("GET", f"{address}?log_file={name}&lines=2&base_line={newest['start_line']}&order=asc")
    newer = client.ask("GET", f"{address}?log_file={name}&lines=2&base_line={older['end_line']}&order=desc")

    assert newest["content"].splitlines() == ["line 10", "line 11"]
    assert older["content"].splitlines() == ["line 8", "line 9"]
    assert newer["content"] == newest["content"]
    assert client.refused("GET", f"{address}?log_file=other.log") == (400, "ModelArts.0101")


def test_a_version_is_made_after_another_and_counted(client: LegacyClient) -> None:
    first = client.create()
    path = f"training-jobs/{first['job_id']}/versions"
    config = configuration(train_url="/sandbox-bench/out/V2/", pre_version_id=first["version_id"])

    second = client.ask("POST", path, {"config": config, "job_desc": "better"})

    assert (second["version_name"], second["job_id"]) == ("V0002", first["job_id"])
    assert second["resource_id"] != first["resource_id"]
    listed = client.ask("GET", path)
    assert (listed["version_count"], listed["job_desc"]) == (2, "better")
    assert [version["version_name"] for version in listed["versions"]] == ["V0002", "V0001"]
    assert listed["versions"][0]["pre_version_id"] == first["version_id"]
    assert len(client.ask("GET", f"{path}?per_page=1&page=2")["versions"]) == 1
    assert client.refused("POST", path, {"config": configuration(pre_version_id=999)}) == (400, "ModelArts.0101")


def test_jobs_are_listed_found_sorted_and_paged(client: LegacyClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    for name in ("beta", "alpha", "gamma"):
        client.create(name, train_url=f"/sandbox-bench/out/{name}/")

    assert client.names() == ["alpha", "beta", "gamma"]
    assert client.names(sortBy="create_time", order="desc") == ["gamma", "alpha", "beta"]
    assert client.names(per_page=2, page=2) == ["gamma"]
    assert client.names(search_content="a", status="8,1", per_page=1) == ["alpha"]
    assert client.names(search_content="alp") == ["alpha"]
    assert client.names(status=10) == []
    assert client.ask("GET", "training-jobs")["job_total_count"] == 3


@pytest.mark.parametrize(
    "query", ["per_page=0", "per_page=1001", "page=0", "sortBy=colour", "order=up", "status=running", "page=65536"]
)
def test_a_list_that_cannot_be_is_refused(client: LegacyClient, query: str) -> None:
    assert client.refused("GET", f"training-jobs?{query}")[0] == 400


def test_stopping_describing_and_deleting(client: LegacyClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    made = client.create()
    job, version = f"training-jobs/{made['job_id']}", f"training-jobs/{made['job_id']}/versions/{made['version_id']}"
    client.ask("PUT", job, {"job_desc": "another"})
    assert client.version(made)["job_desc"] == "another"

    client.ask("POST", f"{version}/stop")

    assert client.version(made)["status"] == 12
    assert client.refused("POST", f"{version}/stop")[0] == 409
    client.ask("DELETE", version)
    assert client.refused("GET", version) == (400, "ModelArts.0105")
    client.ask("DELETE", job)
    assert client.names() == []
    assert client.refused("DELETE", job) == (400, "ModelArts.0105")


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("ModelArts.0101", {"spec_id": 0}),
        ("ModelArts.0101", {"engine_id": 999}),
        ("ModelArts.0101", {"pool_id": "a-pool"}),
        ("ModelArts.0101", {"dataset_id": "d"}),
        ("ModelArts.0101", {"parameter": [{"value": "1"}]}),
        ("ModelArts.0101", {"train_url": "nowhere"}),
        ("ModelArts.2757", {"app_url": "/sandbox-bench/missing/"}),
        ("ModelArts.2758", {"boot_file_url": "/sandbox-bench/code/other.py"}),
        ("ModelArts.2791", {"log_url": "/sandbox-bench/log"}),
        ("ModelArts.2788", {"worker_server_num": None}),
        ("ModelArts.2806", {"user_command": "bash run.sh"}),
    ],
)
def test_a_configuration_that_cannot_run_is_refused(client: LegacyClient, code: str, changes: dict[str, Any]) -> None:
    body = {"job_name": "bad", "config": configuration(**changes)}

    assert client.refused("POST", "training-jobs", body) == (400, code)
    assert client.names() == []


def test_a_name_and_an_output_are_taken_once(client: LegacyClient) -> None:
    client.create("first")

    def refused(name: str, **changes: Any) -> tuple[int, str]:
        return client.refused("POST", "training-jobs", {"job_name": name, "config": configuration(**changes)})

    assert refused("first", train_url="/sandbox-bench/elsewhere/") == (400, "ModelArts.0103")
    assert refused("second") == (400, "ModelArts.0101")


def test_neither_api_shows_the_others_jobs(client: LegacyClient, objects: TrainingClient) -> None:
    client.create("shared-name")

    from_v2 = objects.create(job_body("shared-name"))

    assert client.names() == ["shared-name"]
    assert objects.show(from_v2.metadata.id).metadata.name == "shared-name"


def test_specs_and_engines_are_numbered(client: LegacyClient) -> None:
    specs = client.ask("GET", "job/resource-specs?job_type=train")
    engines = client.ask("GET", "job/ai-engines")

    assert specs["spec_total_count"] == len(specs["specs"])
    assert (specs["specs"][0]["spec_id"], specs["specs"][0]["spec_code"]) == (1, "sandbox.cpu.1card")
    assert {type(spec["core"]) for spec in specs["specs"]} == {str}
    assert [engine["engine_id"] for engine in engines["engines"]] == list(range(1, len(engines["engines"]) + 1))
    assert engines["engines"][0]["engine_name"] == "Ascend-Powered-Engine"


def test_jobs_of_the_older_api_outlive_the_sandbox(client: LegacyClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    made = client.create()

    sandbox.restart()

    assert client.version(made)["version_name"] == "V0001"
    assert client.create("next", train_url="/sandbox-bench/next/")["job_id"] > made["job_id"]
