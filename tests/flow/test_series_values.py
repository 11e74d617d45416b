"""A series that varies hyperparameters: a row for each combination, checked before launch, and its fastest row."""

import math
from pathlib import Path

import pytest
import yaml

from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD
from tests.sandbox_process import SandboxProcess

WHAT = ("quickstart_digits", "--cards", "2", "--set", "flavor=sandbox.cpu.2cards")


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    sandbox.script(by="look", outputs=GOOD)
    return CommandLine(tmp_path / "data", sandbox)


def test_a_series_finds_the_batch_size_that_single_runs_find_too(real_shell: CommandLine) -> None:
    shell = real_shell
    options = ("--values", "batch_size=2,256", "--repeats", "2", "--budget", "8", "--wait")
    done = shell.answer("series", "run", *WHAT, "--param", "epochs=2", *options)

    by_batch = {row["parameters"]["batch_size"]: row for row in done["rows"]}
    single = {}
    for batch in (2, 256):
        run_id = shell.type("run", *WHAT, "--param", "epochs=2", "--param", f"batch_size={batch}", "--wait").stdout
        single[batch] = shell.answer("show", run_id.split()[0])["result"]["throughput"]
    assert done["state"] == "completed"
    assert done["best"]["parameters"] == {"batch_size": 256} == {"batch_size": max(single, key=single.__getitem__)}
    assert by_batch[256]["median"] > by_batch[2]["median"]
    # Each row is a measurement of its own: the series rules count its two runs only.
    assert [len(row["verdict"]["run_ids"]) for row in done["rows"]] == [2, 2]
    assert done["node_hours"]["used"] < 8
    best = next(
        cell for cell in done["cells"] if cell["parameters"] == {"batch_size": 256} and cell["state"] == "valid"
    )
    assert shell.answer("show", best["run_id"])["run"]["spec"]["parameters"]["batch_size"] == 256


def test_every_combination_is_a_row_with_its_own_findings(shell: CommandLine) -> None:
    options = ("--values", "batch_size=16,0", "--values", "epochs=1,2,2", "--nodes", "1,2", "--repeats", "1")
    dry = shell.type("series", "run", *WHAT, *options, "--dry-run")

    assert dry.exit_code == 2
    assert "8 cells" in dry.stderr
    assert "1 node · batch_size=0, epochs=1, 1 node · batch_size=0, epochs=2" in dry.stderr
    assert "parameters.batch_size" in dry.stderr
    assert "2 nodes · batch_size=16, epochs=2" in dry.stdout


@pytest.mark.parametrize(
    ("values", "says"),
    [("batch_size=", "enter at least one value of batch_size"), ("nobody=1,2", "nobody")],
)
def test_a_wrong_value_is_named_before_launch(shell: CommandLine, values: str, says: str) -> None:
    refused = shell.type("series", "run", *WHAT, "--values", values)

    assert refused.exit_code == 2
    assert says in refused.stderr
    assert shell.answer("series", "list")["total"] == 0


def test_a_series_without_values_has_no_fastest_row(shell: CommandLine) -> None:
    done = shell.answer("series", "run", *WHAT, "--repeats", "2", "--wait")

    assert done["best"] is None
    assert [row["parameters"] for row in done["rows"]] == [{}]
    assert math.isclose(done["rows"][0]["median"], 200.0)


def test_the_fastest_row_becomes_a_spec_file(shell: CommandLine, tmp_path: Path) -> None:
    options = ("--values", "batch_size=16,32", "--repeats", "1", "--wait")
    series = shell.answer("series", "run", *WHAT, *options)
    file = tmp_path / "best.yaml"

    written = shell.type("series", "best", series["series_id"], "-o", str(file))

    spec = yaml.safe_load(file.read_text("utf-8"))
    assert written.exit_code == 0
    assert "best: " in written.stderr
    assert spec["parameters"]["batch_size"] == series["best"]["parameters"]["batch_size"]
    assert shell.type("preflight", str(file)).exit_code == 0


def test_a_series_of_one_row_has_no_fastest_one(shell: CommandLine) -> None:
    series = shell.answer("series", "run", *WHAT, "--repeats", "1", "--wait")

    asked = shell.type("series", "best", series["series_id"])

    assert (asked.exit_code, asked.stdout) == (6, "")
    assert "no best row" in asked.stderr
