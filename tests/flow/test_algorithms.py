"""Algorithms from the shell: made of a workload, listed, run by a job, and deleted."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def shell(tmp_path: Path, sandbox: SandboxProcess) -> Iterator[CommandLine]:
    shell = CommandLine(tmp_path / "data", sandbox)
    shell.add_profile("older", sandbox.profile, api="v1")
    yield shell
    shell.end()


def test_a_workload_becomes_an_algorithm_that_jobs_can_run(shell: CommandLine, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    made = shell.answer(
        "algorithms", "create", "quickstart_digits", "--set", "name=digits", "--set", "description=small", "--param",
        "epochs=2",
    )  # fmt: skip

    (listed,) = shell.answer("algorithms", "list")
    client = TrainingClient(sandbox)
    job = client.create({**job_body(), "algorithm": {"id": made["algorithm_id"]}})
    shown = client.show(job.metadata.id).algorithm

    assert listed == made
    assert (made["name"], made["description"], made["parameters"]["epochs"]) == ("digits", "small", "2")
    assert made["boot_path"].startswith(made["code_path"])
    assert client.get(made["boot_path"].removeprefix(f"/{sandbox.bucket}/"))
    assert (shown.boot_file, shown.engine.engine_name) == (made["boot_path"], made["engine"].split()[0])
    table = shell.type("algorithms", "show", made["algorithm_id"]).stdout
    assert "digits" in table
    assert made["code_path"] in table


def test_a_deleted_algorithm_is_not_found_and_its_code_stays(shell: CommandLine, sandbox: SandboxProcess) -> None:
    made = shell.answer("algorithms", "create", "quickstart_digits")

    shell.type("algorithms", "delete", made["algorithm_id"], "--yes")

    again = shell.type("algorithms", "delete", made["algorithm_id"], "--yes")
    assert again.exit_code == 2
    assert made["algorithm_id"] in again.stderr
    assert shell.answer("algorithms", "list") == []
    assert TrainingClient(sandbox).keys(made["code_path"].removeprefix(f"/{sandbox.bucket}/"))


def test_an_api_without_algorithms_says_so(shell: CommandLine) -> None:
    listed = shell.type("algorithms", "list", "--profile", "older")
    created = shell.type("algorithms", "create", "quickstart_digits", "--profile", "older")

    assert created.exit_code == 2
    for said in (listed.stderr, created.stderr):
        assert "the API of this profile has no algorithms" in said


def test_a_run_of_an_algorithm_sends_its_id_and_no_code(shell: CommandLine, sandbox: SandboxProcess) -> None:
    outputs = {"throughput_0.json": "100", "throughput_1.json": "101", "accuracy.json": "0.97", "ranksize.json": "2"}
    sandbox.script(by="look", outputs=outputs)
    made = shell.answer("algorithms", "create", "quickstart_digits")
    algorithm = f"algorithm={made['algorithm_id']}"

    launched = shell.answer("run", "quickstart_digits", "--set", algorithm, "--param", "epochs=3", "--wait")

    run = launched["run"]
    assert (run["state"], run["spec"]["algorithm"], run["code_sha256"]) == ("completed", made["algorithm_id"], "")
    assert launched["result"]["throughput"] == 201.0
    job = TrainingClient(sandbox).show(run["job_id"]).algorithm
    assert (job.id, job.boot_file) == (made["algorithm_id"], made["boot_path"])
    assert {entry.name: entry.value for entry in job.parameters}["epochs"] == "3"
    cloned = shell.type("clone", run["run_id"]).stdout
    assert f"algorithm: {made['algorithm_id']}" in cloned
    assert "code_dir" not in cloned


def test_a_run_of_a_subscribed_algorithm_sends_both_ids(shell: CommandLine, sandbox: SandboxProcess) -> None:
    outputs = {"throughput_0.json": "100", "throughput_1.json": "101", "accuracy.json": "0.97", "ranksize.json": "2"}
    sandbox.script(by="look", outputs=outputs)
    made = shell.answer("algorithms", "create", "quickstart_digits", "--set", "name=digits")
    ids = sandbox.admin("POST", f"algorithms/{made['algorithm_id']}/subscribe")
    shell.type("algorithms", "delete", made["algorithm_id"], "--yes")  # a subscription does not need it
    settings = [text for name, value in ids.items() for text in ("--set", f"{name}={value}")]

    (listed,) = shell.answer("algorithms", "subscribed")
    launched = shell.answer("run", "quickstart_digits", *settings, "--wait")

    assert listed == {**ids, "name": "digits", "version": "1.0.0"}
    run = launched["run"]
    assert (run["state"], run["code_sha256"], launched["result"]["throughput"]) == ("completed", "", 201.0)
    job = TrainingClient(sandbox).show(run["job_id"]).algorithm
    assert (job.subscription_id, job.item_version_id) == (ids["subscription_id"], ids["item_version_id"])
    cloned = shell.type("clone", run["run_id"]).stdout
    assert f"subscription_id: {ids['subscription_id']}" in cloned
    assert f"item_version_id: {ids['item_version_id']}" in cloned


def test_a_region_without_ai_gallery_has_no_subscribed_algorithms(shell: CommandLine, sandbox: SandboxProcess) -> None:
    unknown = {"code": "APIGW.0101", "message": "The API does not exist or has not been published."}
    sandbox.faults({"service": "modelarts", "path": "/v1/aihub/", "status": 404, **unknown})

    assert shell.answer("algorithms", "subscribed") == []


def test_an_api_without_algorithms_has_no_subscribed_ones(shell: CommandLine) -> None:
    listed = shell.type("algorithms", "subscribed", "--profile", "older")

    assert "the API of this profile has no algorithms" in listed.stderr


def test_a_run_of_an_unknown_algorithm_fails_with_the_regions_words(shell: CommandLine) -> None:
    waited = shell.type("run", "quickstart_digits", "--set", "algorithm=nobody", "--wait", "--json")

    run = json.loads(waited.stdout)["run"]
    assert (waited.exit_code, run["state"]) == (4, "failed")
    assert "The algorithm nobody is not found" in run["detail"]
