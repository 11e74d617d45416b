"""`aisbench accept` as it is typed: planned with its risks, asked, launched, waited for, shown and stopped."""

from pathlib import Path

import pytest

from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD
from tests.sandbox_process import SandboxProcess

SUITE = """\
title: Ours
runs: 4
spec: {{workload: quickstart_digits, cards_per_node: 2, flavor: sandbox.cpu.2cards}}
scale: [{{name: digits, hours: 0.1, sizes: [{{nodes: 1, reference: {{value: {value}, source: the lab}}}}]}}]
"""


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    sandbox.script(by="look", outputs=GOOD)
    (tmp_path / "data" / "suites").mkdir(parents=True)
    return CommandLine(tmp_path / "data", sandbox)


def write(tmp_path: Path, value: int) -> None:
    (tmp_path / "data" / "suites" / "ours.yaml").write_text(SUITE.format(value=value), "utf-8")


def test_a_pool_is_accepted_in_the_shell_and_a_rehearsal_certifies_nothing(shell: CommandLine, tmp_path: Path) -> None:
    write(tmp_path, 200)
    done = shell.type("accept", "ours", "--yes", "--wait")
    [listed] = shell.answer("acceptance", "list")
    shown = shell.answer("acceptance", "show", listed["acceptance_id"])

    assert done.exit_code == 0, done.output
    assert "it is accepted in error in at most 5.0% of cases" in " ".join(done.stderr.split())
    assert done.stdout.startswith("accepted until 2")
    assert "rehearsal – no certificate" in done.stdout.splitlines()[0]
    assert (shown["state"], shown["rehearsal"], shown["reason"]) == ("accepted", True, "all steps passed")
    assert [(step["verdict"], step["valid"]) for step in shown["steps"]] == [("passed", 3)]


def test_a_slow_pool_ends_with_8_and_the_interval_that_says_so(shell: CommandLine, tmp_path: Path) -> None:
    write(tmp_path, 300)
    done = shell.type("accept", "ours", "--yes", "--wait")

    assert done.exit_code == 8, done.output
    assert "step digits-1: between 66.7% and 66.7% of the reference after 3 runs" in done.stdout


def test_nothing_is_launched_without_a_yes_and_what_is_launched_is_stopped(shell: CommandLine, tmp_path: Path) -> None:
    write(tmp_path, 200)
    asked = shell.type("accept", "ours")
    none = shell.answer("acceptance", "list")
    launched = shell.type("accept", "ours", "--yes")

    stopped = shell.type("acceptance", "stop", launched.stdout.strip())

    assert asked.exit_code == 1
    assert none == []
    assert stopped.stdout.startswith("stopped (rehearsal – no certificate)")
