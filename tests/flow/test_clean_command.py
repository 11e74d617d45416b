"""`aisbench clean`: sizes first, then a question, then the removal; afterwards every command still works."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from aisbench_core.store.ledger.ledger import Ledger
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD
from tests.sandbox_process import SandboxProcess

QUICK = ("quickstart_digits", "--cards", "2", "--set", "flavor=sandbox.cpu.2cards")


@pytest.fixture
def ended(shell: CommandLine, sandbox: SandboxProcess) -> str:
    """A completed run of the shell."""
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return str(shell.answer("run", *QUICK, "--wait")["run"]["run_id"])


def test_the_command_shows_asks_removes_and_says_so_afterwards(shell: CommandLine, ended: str) -> None:
    dry = shell.type("clean", ended, "--outputs", "--logs", "--dry-run")
    refused = shell.type("clean", ended, "--outputs", "--logs")
    done = shell.type("clean", ended, "--outputs", "--logs", "--folder", "--yes")
    again = shell.type("clean", ended, "--outputs", "--yes")

    assert dry.exit_code == 0
    assert "outputs" in dry.stdout
    assert "logs" in dry.stdout
    assert refused.exit_code == 1
    assert "This cannot be undone" in refused.stderr
    assert done.exit_code == 0
    assert done.stdout.count(" removed: ") == 3
    assert (again.exit_code, again.stdout) == (0, "unchanged\n")
    shown = shell.type("show", ended)
    assert "outputs at /" in shown.stdout
    assert "removed at" in shown.stdout
    assert [each["part"] for each in json.loads(shell.type("show", ended, "--json").stdout)["removals"]] == [
        *("outputs", "logs", "folder")
    ]
    logs = shell.type("logs", ended)
    assert (logs.exit_code, logs.stdout) == (0, "")
    assert "the run's folder: removed at" in logs.stderr
    exported = shell.type("export", "--format", "json")
    assert exported.exit_code == 0
    assert ended in exported.stdout
    events = shell.type(
        "sql", "select message, actor from events where message like '% removed: %'", "--format", "json"
    )
    assert len(json.loads(events.stdout)) == 3


def test_what_is_refused_is_said_and_nothing_of_it_is_removed(shell: CommandLine, ended: str) -> None:
    waiting = shell.answer("run", *QUICK)

    done = shell.type("clean", ended, waiting["run"]["run_id"], "--outputs", "--yes")

    assert done.exit_code == 2
    assert "the run has not ended: it is preparing" in done.stderr
    assert "outputs" in shell.type("clean", ended, "--outputs", "--dry-run").stdout


@pytest.mark.parametrize(
    "words", [(), ("--outputs",), ("some-run",), ("some-run", "--retention"), ("--retention", "--job")]
)
def test_a_command_without_runs_and_parts_is_refused(shell: CommandLine, words: tuple[str, ...]) -> None:
    done = shell.type("clean", *words)

    assert done.exit_code == 2
    assert "name runs and what to remove of them" in done.stderr


@pytest.mark.usefixtures("ended")
def test_retention_without_settings_removes_nothing(shell: CommandLine) -> None:
    done = shell.type("clean", "--retention", "--dry-run", "--json")

    assert json.loads(done.stdout) == {"plans": [], "removed": []}


def test_retention_leaves_alone_what_must_stay_and_removes_the_rest(
    shell: CommandLine, sandbox: SandboxProcess, ended: str
) -> None:
    bucket = sandbox.profile["bucket"]
    shared = shell.answer("run", *QUICK, "--set", f"log_path=/{bucket}/aisbench/output/", "--wait")["run"]["run_id"]
    settings = shell.data_dir / "settings.yaml"
    settings.write_text("keep_logs_days: 1\nkeep_folders_days: 1\n", "utf-8")
    shell.environment["AISBENCH_SETTINGS"] = str(settings)
    ledger = Ledger(shell.data_dir / "ledger.sqlite3")
    for run_id in (ended, shared):
        run = ledger.get(run_id)
        ledger.advance(run, replace(run, ended_at=run.created_at - timedelta(days=2)))

    done = shell.type("clean", "--retention", "--yes", "--json")

    answer = json.loads(done.stdout)
    assert (done.exit_code, "logs and outputs are in one directory" in done.stderr) == (0, True)
    parts = {run_id: [removal["part"] for removal in removals] for run_id, removals in answer["removed"].items()}
    assert parts == {ended: ["logs", "folder"], shared: ["folder"]}
