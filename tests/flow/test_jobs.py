"""Jobs of the region by their names, from the shell: those of runs, and those that were made elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.domain.authoring.specfile import from_yaml
from tests.flow.command_line import CommandLine
from tests.legacy_client import LegacyClient, configuration
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, await_true, job_body


@pytest.fixture
def shell(tmp_path: Path, sandbox: SandboxProcess) -> Iterator[CommandLine]:
    """A command line; jobs of its region run until somebody stops them."""
    sandbox.script(by="hold")
    client = TrainingClient(sandbox)
    client.put("code/train.py", "")
    shell = CommandLine(tmp_path / "data", sandbox)
    yield shell
    shell.end()


def test_a_job_that_was_made_elsewhere_is_listed_stopped_and_deleted_by_its_whole_name(
    shell: CommandLine, sandbox: SandboxProcess
) -> None:
    client = TrainingClient(sandbox)
    longer = client.create(job_body("resnet-of-somebody-else")).metadata.id
    client.create(job_body("resnet"))

    listed = shell.answer("jobs", "list")
    stopped = shell.answer("jobs", "stop", "resnet", "--yes")
    deleted = shell.type("jobs", "delete", "resnet", "--yes")

    assert {each["status"]["name"]: each["run"] for each in listed} == {"resnet": None, "resnet-of-somebody-else": None}
    assert stopped["status"]["phase"] == "Terminated"
    assert deleted.stdout == "resnet: deleted\n"
    assert [each["status"]["job_id"] for each in shell.answer("jobs", "list")] == [longer]


def test_a_job_that_was_made_elsewhere_is_cloned_to_a_spec(
    shell: CommandLine, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    body = job_body("resnet")
    TrainingClient(sandbox).create(body)

    cloned = shell.answer("jobs", "clone", "resnet")
    shell.type("jobs", "clone", "resnet", "--workload", "mindspore_bert", "-o", str(tmp_path / "spec.yaml"))

    spec, asked = cloned["spec"], [each["rule"] for each in cloned["findings"]]
    assert (spec["workload"], spec["name"], spec["boot_file"]) == ("mindspore_resnet", "resnet", "train.py")
    assert spec["flavor"] == body["spec"]["resource"]["flavor_id"]
    assert {"job.workload", "config.version", "config.code-dir"} <= {*asked}
    assert from_yaml((tmp_path / "spec.yaml").read_text("utf-8")).workload == "mindspore_bert"


def test_a_version_of_an_older_job_is_cloned_too(shell: CommandLine, sandbox: SandboxProcess) -> None:
    LegacyClient(sandbox).create("old-job")

    spec = shell.answer("jobs", "clone", "old-job", "--api", "v1")["spec"]

    assert (spec["name"], spec["api"], spec["boot_file"]) == ("old-job", "v1", "train.py")
    assert spec["outputs"][0]["name"] == "train_url"


def test_the_clone_of_the_job_of_a_run_is_the_run_s_own_spec(shell: CommandLine) -> None:
    run_id = shell.type("run", "quickstart_digits").stdout.strip()
    follower = shell.start("follow")

    spec = shell.type("jobs", "clone", _job_of(shell, run_id)).stdout

    assert spec == shell.type("clone", run_id).stdout
    follower.terminate()
    follower.communicate(timeout=60)


def test_stopping_and_deleting_ask_first(shell: CommandLine, sandbox: SandboxProcess) -> None:
    job_id = TrainingClient(sandbox).create(job_body("resnet")).metadata.id

    answer = shell.type("jobs", "stop", "resnet")

    assert answer.exit_code == 1
    assert "Stop resnet? [y/N]" in answer.stderr
    assert not TrainingClient(sandbox).show(job_id).status.phase.startswith("Termin")


def test_a_job_is_also_known_by_its_id(shell: CommandLine, sandbox: SandboxProcess) -> None:
    job_id = TrainingClient(sandbox).create(job_body("resnet")).metadata.id

    assert shell.answer("jobs", "stop", job_id, "--yes")["status"]["job_id"] == job_id


def test_the_job_of_a_run_is_stopped_as_the_run(shell: CommandLine) -> None:
    run_id = shell.type("run", "quickstart_digits").stdout.strip()
    follower = shell.start("follow")
    job = _job_of(shell, run_id)

    refused = shell.type("jobs", "delete", job, "--yes")
    shell.answer("jobs", "stop", job, "--yes")

    assert refused.exit_code == 2
    assert "only a job that has ended can be deleted (found" in refused.stderr
    assert shell.answer("show", run_id)["run"]["state"] in ("stopping", "collecting", "stopped")
    follower.terminate()
    follower.communicate(timeout=60)


def test_a_given_version_of_a_job_is_stopped(shell: CommandLine, sandbox: SandboxProcess) -> None:
    client = LegacyClient(sandbox)
    first = client.create("old-job")
    second = configuration(train_url="/sandbox-bench/out/V2/", log_url="/sandbox-bench/out/V2/")
    body = {"config": {**second, "pre_version_id": first["version_id"]}}
    client.ask("POST", f"training-jobs/{first['job_id']}/versions", body)

    unknown = shell.type("jobs", "stop", "old-job", "--version", "7", "--api", "v1", "--yes")
    older = shell.answer("jobs", "stop", "old-job", "--version", "1", "--api", "v1", "--yes")
    newest = shell.answer("jobs", "stop", "old-job", "--api", "v1", "--yes")

    assert unknown.exit_code == 2
    assert "job 'old-job' has no version 7 (versions that exist: 2, 1)" in unknown.stderr
    assert (older["status"]["version"], older["status"]["phase"]) == (1, "Terminated")
    assert (newest["status"]["version"], newest["status"]["phase"]) == (2, "Terminated")


@pytest.mark.parametrize("api", ["v1", "v2"])
def test_a_name_that_no_job_has_is_said_to_have_none(shell: CommandLine, api: str) -> None:
    answer = shell.type("jobs", "stop", "nobody", "--api", api, "--yes")

    assert answer.exit_code == 2
    assert "there is no job 'nobody'" in answer.stderr


def _job_of(shell: CommandLine, run_id: str) -> str:
    """The name of the job that carries the run out, once it is there."""

    def found() -> list[str]:
        jobs = shell.answer("jobs", "list")
        return [each["status"]["name"] for each in jobs if each["run"] and each["run"]["run_id"] == run_id]

    await_true(lambda: bool(found()), f"a job that carries {run_id} out")
    return found()[0]


def test_a_diagnosis_is_requested_of_a_failed_job_and_shown_when_it_has_ended(
    shell: CommandLine, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="at_once", exit_code=137)
    TrainingClient(sandbox).create(job_body("resnet"))

    (requested,) = shell.answer("jobs", "diagnose", "resnet")
    statuses = [shell.answer("jobs", "diagnose", "resnet", "--show")[0]["status"] for _ in range(3)]

    assert [requested["status"], *statuses] == ["CREATING", "PENDING", "RUNNING", "COMPLETED"]
    assert "Sandbox.Exit.137" in shell.type("jobs", "diagnose", "resnet", "--show").stdout


def test_a_job_that_has_not_failed_is_not_diagnosed(shell: CommandLine, sandbox: SandboxProcess) -> None:
    TrainingClient(sandbox).create(job_body("resnet"))

    refused = shell.type("jobs", "diagnose", "resnet")

    assert refused.exit_code != 0
    assert "is not diagnosed" in refused.stderr


def test_a_region_without_diagnosis_tasks_is_no_error(shell: CommandLine, sandbox: SandboxProcess) -> None:
    sandbox.script(by="at_once", exit_code=137)
    TrainingClient(sandbox).create(job_body("resnet"))
    unknown = {"code": "APIGW.0101", "message": "The API does not exist."}
    sandbox.faults({"service": "modelarts", "path": "/diagnosis-tasks", "status": 404, "times": 2, **unknown})

    answer = shell.type("jobs", "diagnose", "resnet")

    assert answer.exit_code == 0
    assert "this region has no diagnosis tasks" in answer.stderr


def test_what_cannot_be_an_id_is_not_sent_as_one(shell: CommandLine) -> None:
    for name in ("../../etc/passwd", "a b", "<b>"):
        missing = shell.type("jobs", "diagnose", name)

        assert missing.exit_code == 2
        assert name in missing.stderr
        assert "signature" not in missing.stderr
