"""Whether a run or a plan is normal, as `aisbench` and programs ask it."""

import json
from pathlib import Path

import pytest

from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD
from tests.sandbox_process import SandboxProcess

WHAT = ("quickstart_digits", "--cards", "2", "--set", "flavor=sandbox.cpu.2cards")


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    sandbox.script(by="look", outputs=GOOD)
    return CommandLine(tmp_path / "data", sandbox)


def test_a_band_is_told_before_a_launch_and_with_the_result(shell: CommandLine) -> None:
    before = shell.type("preflight", *WHAT)
    done = shell.answer("series", "run", *WHAT, "--repeats", "6", "--parallel", "3", "--wait")
    run_id = done["cells"][0]["run_id"]

    after = shell.type("preflight", *WHAT)
    other = shell.type("preflight", *WHAT, "--param", "batch_size=64")
    shown = shell.answer("show", run_id)

    assert "not enough data on what is usual: 0 own runs" in before.stderr
    assert "95 % of such runs reach 200 to 200 samples/s (6 own runs)" in after.stderr
    assert "not enough data on what is usual: 0 own runs" in other.stderr
    assert json.loads(shell.type("preflight", *WHAT, "--json").stdout) == []
    assert shown["expected"]["normality"] == "within"
    assert shown["expected"]["own_runs"] == 5
    assert "as usual: 95 % of such runs reach 200 to 200 samples/s (5 own runs)" in shell.type("show", run_id).stdout
