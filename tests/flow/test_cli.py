"""The main job from the shell, in a scripted region."""

import csv
import io
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from aisbench_core.domain.preflight.rules.names import LONGEST_NAME
from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess


def outputs(ranks: int) -> dict[str, str]:
    """What so many cards write."""
    throughputs = {f"throughput_{rank}.json": str(100 + rank) for rank in range(ranks)}
    return {**throughputs, "accuracy.json": "0.97", "ranksize.json": str(ranks)}


@pytest.fixture
def shell(tmp_path: Path, sandbox: SandboxProcess) -> Iterator[CommandLine]:
    """A command line with the sandbox as its region; each look moves a job one phase on."""
    sandbox.script(by="look", outputs=outputs(2), log="epoch 1\nepoch 2\n")
    shell = CommandLine(tmp_path / "data", sandbox)
    yield shell
    shell.end()


def completed(shell: CommandLine, *words: str) -> str:
    """The id of a run that was waited for."""
    result = shell.type("run", "quickstart_digits", *words, "--wait")
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


def test_a_run_from_launch_to_leaderboard(shell: CommandLine) -> None:
    result = shell.type("run", "quickstart_digits", "--param", "epochs=3", "--wait")

    assert result.exit_code == 0, result.output
    run_id = result.stdout.strip()
    assert run_id.startswith("r2")
    assert "completed" in result.stderr
    assert "201 samples/s" in result.stderr

    shown = shell.answer("show", run_id[:12])
    assert shown["run"]["state"] == "completed"
    assert shown["run"]["spec"]["parameters"]["epochs"] == 3
    assert shown["run"]["spec"]["cards_per_node"] == 2
    assert shown["result"]["throughput"] == 201.0
    assert shown["result"]["accuracy"] == 0.97
    assert [event["source"] for event in shown["events"]]

    assert shell.type("logs", run_id).stdout.endswith("\nepoch 1\nepoch 2\n")
    assert shell.type("logs", run_id, "--tail", "1").stdout == "epoch 2\n"
    (row,) = shell.answer("leaderboard")["rows"]
    assert (row["workload"], row["node_count"], row["best_run_id"]) == ("quickstart_digits", 1, run_id)
    assert run_id in shell.type("leaderboard").stdout
    assert "201 samples/s" in shell.type("show", run_id).stdout


def test_show_names_the_jobs_page_where_the_clouds_console_is_known(
    shell: CommandLine, sandbox: SandboxProcess
) -> None:
    run_id = shell.type("run", "quickstart_digits", "--cards", "2", "--wait").stdout.strip()

    unknown = shell.answer("show", run_id)["job_page"]
    shell.add_profile("lab", sandbox.profile, console_url="https://console.lab.example")
    job_id = shell.answer("show", run_id)["run"]["job_id"]

    assert unknown == ""
    assert f"https://console.lab.example/modelarts/?region=sandbox#/training/detail/{job_id}" in (
        shell.type("show", run_id).stdout
    )


def test_two_runs_side_by_side_and_as_csv(shell: CommandLine, sandbox: SandboxProcess, tmp_path: Path) -> None:
    one = completed(shell)
    sandbox.script(by="look", outputs=outputs(4))
    two = completed(shell, "--nodes", "2")

    comparison = shell.answer("compare", one, two)
    assert comparison["verdict"] == "comparable after normalisation"
    assert [row["field"] for row in comparison["differences"]] == ["node_count"]
    text = shell.type("compare", one, two).stdout
    assert "compare the throughput per node" in text
    assert "406 samples/s (× 2.0199)" in text

    listed = shell.answer("runs")
    assert [run["run_id"] for run in listed["runs"]] == [two, one]
    assert listed["total"] == 2
    assert shell.answer("runs", "--state", "failed") == {"runs": [], "total": 0}

    exported = shell.type("export")
    assert [row["run_id"] for row in csv.DictReader(io.StringIO(exported.stdout))]
    assert shell.type("export", "-o", str(tmp_path / "runs.csv"), "--nodes", "2").stderr == "1 run of sandbox written\n"
    (row,) = csv.DictReader((tmp_path / "runs.csv").read_text("utf-8").splitlines())
    assert (row["run_id"], row["schema_version"]) == (two, "aisbench-compliance-csv/1")

    shell.type("export", "--what", "series", "-o", str(tmp_path / "series.xlsx"))
    assert (tmp_path / "series.xlsx").read_bytes().startswith(b"PK")
    assert len(json.loads(shell.type("export", "--format", "json").stdout)) == 2
    reported = shell.type("report", one, two, "--lang", "en", "-o", str(tmp_path / "report.html"))
    assert reported.stderr == "2 runs reported\n"
    assert two in (tmp_path / "report.html").read_text("utf-8")
    shell.type("report", one, "--lang", "en", "-o", str(tmp_path / "report.pdf"))
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")
    assert "报告" in shell.type("report", "--nodes", "2", "--lang", "zh").stdout

    (shell.data_dir / "warehouse.duckdb").unlink()
    (shell.data_dir / "warehouse.duckdb.wal").unlink(missing_ok=True)
    assert shell.type("warehouse", "rebuild").stdout == "2 runs recorded\n"
    assert len(shell.answer("leaderboard")["rows"]) == 2


def test_a_spec_that_was_printed_is_launched_from_its_file(shell: CommandLine, tmp_path: Path) -> None:
    printed = shell.type("spec", "quickstart_digits", "--cards", "2", "--set", "environments.GLOG_v=3").stdout
    (tmp_path / "spec.yaml").write_text(printed, "utf-8")

    run = shell.answer("run", str(tmp_path / "spec.yaml"), "--set", "description=from a file", "--wait")["run"]

    assert yaml.safe_load(printed)["parameters"]["epochs"] == 40
    assert run["spec"]["environments"] == {"GLOG_v": "3"}
    assert run["spec"]["description"] == "from a file"
    assert run["state"] == "completed"


def test_a_code_directory_in_a_spec_file_is_found_beside_the_file(shell: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "train.py").touch()
    (tmp_path / "spec.yaml").write_text("workload: quickstart_digits\ncode_dir: mine\ncards_per_node: 2\n", "utf-8")

    answer = shell.answer("run", str(tmp_path / "spec.yaml"), "--dry-run")

    assert answer["spec"]["code_dir"] == str(tmp_path / "mine")
    assert answer["findings"] == []
    assert shell.answer("runs")["total"] == 0


def test_packages_and_log_levels_are_named_on_the_command_line_and_in_a_file(
    shell: CommandLine, tmp_path: Path
) -> None:
    name = "Ascend-cann-nnae_5.0.2.1_linux-aarch64.run"
    (tmp_path / name).write_text("package")
    typed = (
        "--set",
        f"update.cann={tmp_path / name}",
        "--set",
        "log_levels.cann=none",
        "--set",
        "log_levels.events=true",
    )
    (tmp_path / "spec.yaml").write_text(f"workload: quickstart_digits\nupdate: {{cann: {name}}}\n", "utf-8")

    here = shell.answer("run", "quickstart_digits", *typed, "--dry-run")
    from_file = shell.answer("run", str(tmp_path / "spec.yaml"), "--dry-run")

    assert here["spec"]["update"]["cann"] == from_file["spec"]["update"]["cann"] == str(tmp_path / name)
    assert (here["spec"]["log_levels"]["cann"], here["spec"]["log_levels"]["events"]) == ("none", True)
    wrong = shell.type("preflight", "quickstart_digits", "--set", "log_levels.mindspore=loud")
    assert wrong.exit_code == 2
    assert "log_levels.mindspore" in wrong.stderr


def test_a_run_is_stopped_and_its_log_is_followed_to_the_end(shell: CommandLine, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold", log="epoch 1\n")
    launched = shell.type("run", "quickstart_digits")
    run_id = launched.stdout.strip()
    assert "no follower is active" in launched.stderr
    follower = shell.start("follow")
    logs = shell.start("logs", run_id, "--follow")
    assert logs.stdout is not None
    assert any(line == "epoch 1\n" for line in logs.stdout)

    stopped = shell.answer("stop", run_id[:14])

    assert stopped["state"] == "stopping"
    assert logs.wait(60) == 0
    logs.communicate()
    deadline = time.monotonic() + 60
    while follower.poll() is None and time.monotonic() < deadline:  # keys held down to the very end
        for number in (signal.SIGTERM, signal.SIGINT):
            follower.send_signal(number)
        time.sleep(0.001)
    said = follower.communicate(timeout=60)[1]
    assert follower.returncode == 0, said
    assert "stopped following" in said
    assert shell.answer("show", run_id)["run"]["state"] == "stopped"


def test_a_run_that_fails_ends_with_four(shell: CommandLine, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", exit_code=3, message="out of memory", log="Traceback\n")

    result = shell.type("run", "quickstart_digits", "--follow")

    assert result.exit_code == 4
    assert "Traceback" in result.stderr
    assert "failed" in result.stderr
    assert shell.type("collect", result.stdout.strip()).exit_code == 0


def test_ctrl_c_ends_the_waiting_and_not_the_run(shell: CommandLine, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    waiting = shell.start("run", "quickstart_digits", "--wait")
    assert waiting.stdout is not None
    run_id = waiting.stdout.readline().strip()
    assert waiting.stderr is not None
    for line in waiting.stderr:
        if "running" in line:
            break

    waiting.send_signal(signal.SIGINT)

    _, said = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert f"run {run_id} continues" in said
    assert "Traceback" not in said
    assert shell.answer("show", run_id)["run"]["state"] == "running"


def test_what_there_is(shell: CommandLine) -> None:
    workloads = shell.answer("workloads")
    assert "quickstart_digits" in [workload["name"] for workload in workloads]
    (profile,) = shell.answer("profiles")
    assert (profile["name"], profile["default"], profile["rehearsal"]) == ("lab", True, True)
    assert "bring your own" in shell.type("workloads").stdout
    assert "lab (default)" in shell.type("profiles").stdout
    health = shell.answer("health")
    assert json.dumps(health)


def test_preflight_asks_the_region_when_told_to(shell: CommandLine) -> None:
    assert shell.type("preflight", "quickstart_digits", "--online").stdout == "no problems found\n"

    result = shell.type("preflight", "quickstart_digits", "--set", "flavor=none.such", "--cards", "1", "--online")

    assert result.exit_code == 2
    assert "online.flavor" in result.stdout


CASES: list[tuple[tuple[str, ...], str]] = [
    (("run", "nothing"), "there is no workload named 'nothing'; known workloads: mindspore_bert"),
    (("run", "quickstart_digits", "--param", "epochs=0"), "parameters.epochs"),
    (("run", "quickstart_digits", "--param", "epochs"), "'epochs' is not K=V"),
    (("run", "quickstart_digits", "--set", "nodes=2"), "nodes: is not a known key; allowed: workload"),
    (("run", "quickstart_digits", "--set", "volumes.x=2"), "only these fields have subfields"),
    (("run", "quickstart_digits", "--nodes", "0"), "0 is not in the range x>=1"),
    (("run", "quickstart_digits", "--profile", "none"), "there is no profile named 'none'; known profiles: lab"),
    (("run", "no-such-file.yaml"), "the spec no-such-file.yaml cannot be read: No such file"),
    (("show", "r1999"), "there is no run 'r1999'"),
    (("compare", "r1", "r2"), "no such run"),
    (("compare", "r1"), "2 to 32"),
    (("runs", "--state", "lost"), "'lost' is not one of held, preparing"),
    (("leaderboard", "--sort", "size"), "'size' is not one of throughput, olympic_mean"),
    (("export", "-o", "/no/such/folder/x.csv"), "cannot be written: No such file"),
    (("report", "r1"), "no such run: r1"),
    (("report", "--model", "none"), "no run fits the filter"),
]


@pytest.mark.parametrize(("words", "says"), CASES)
def test_wrong_input_is_one_sentence_and_two(shell: CommandLine, words: tuple[str, ...], says: str) -> None:
    result = shell.type(*words)

    assert result.exit_code == 2, result.output
    assert says in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_the_longest_name_that_is_allowed_is_the_jobs_whole_name(shell: CommandLine) -> None:
    name = "n" * LONGEST_NAME

    run = shell.answer("run", "quickstart_digits", "--set", f"name={name}")["run"]

    assert run["job_name"] == f"{name}-{run['run_id']}"
    assert len(run["job_name"]) == 64
    assert shell.type("run", "quickstart_digits", "--set", f"name={name}n").exit_code == 2


def test_wrong_keys_are_one_sentence_without_the_key(
    shell: CommandLine, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    keys = {"access_key": "WRONGACCESSKEY1234", "secret_key": "wrong-secret-key-5678"}
    (tmp_path / "keys.yaml").write_text(yaml.safe_dump(keys), "utf-8")
    (tmp_path / "keys.yaml").chmod(0o600)
    shell.add_profile("lab", sandbox.profile, credentials_file=str(tmp_path / "keys.yaml"))

    result = shell.type("run", "quickstart_digits", "--wait")

    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert not any(key in result.output for key in keys.values())


def test_a_region_that_is_down_is_three(shell: CommandLine, sandbox: SandboxProcess) -> None:
    sandbox.kill()
    try:
        launched = shell.type("run", "quickstart_digits")
        looked = shell.type("preflight", "quickstart_digits", "--online")
    finally:
        sandbox.resume()

    assert (launched.exit_code, looked.exit_code) == (3, 3)
    assert "Traceback" not in launched.stderr


def test_preflight_prints_the_spec_with_every_fix(shell: CommandLine, tmp_path: Path) -> None:
    broken = ("quickstart_digits", "--set", "retries=9", "--set", "log_path=obs://bench/logs/")

    result = shell.type("preflight", *broken, "--fix")

    assert result.exit_code == 0, result.output
    assert "error: log_path: 'obs://bench/logs/' has a scheme" in result.stderr
    assert "[paths.form, OBS documentation] – fixed" in result.stderr
    (tmp_path / "mended.yaml").write_text(result.stdout, "utf-8")
    assert shell.type("preflight", str(tmp_path / "mended.yaml")).stdout == "no problems found\n"
