"""`aisbench series` as it is typed: planned, launched, waited for, held, stopped and looked at."""

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


def test_a_series_is_planned_launched_and_waited_for(shell: CommandLine) -> None:
    dry = shell.type("series", "run", *WHAT, "--nodes", "1,2", "--repeats", "3", "--hours-per-run", "0.5", "--dry-run")
    none = shell.answer("series", "list")
    done = shell.type("series", "run", *WHAT, "--repeats", "2", "--parallel", "2", "--name", "tonight", "--wait")

    assert dry.exit_code == 0, dry.output
    assert "6 cells, about 4.5 node hours" in dry.stderr
    assert "2 nodes" in dry.stdout
    assert none == {"series": [], "total": 0}
    assert done.exit_code == 0, done.output
    assert "cell 2 of 2, 1 node, repeat 2: valid" in done.stderr
    series_id = done.stdout.split()[0]
    shown = shell.answer("series", "show", series_id[:-3])
    assert (shown["state"], shown["name"], shown["valid"], shown["lost"]) == ("completed", "tonight", 2, 0)
    assert [(cell["repeat"], cell["throughput"]) for cell in shown["cells"]] == [(1, 200.0), (2, 200.0)]
    assert (shown["rows"][0]["count"], shown["rows"][0]["median"]) == (2, 200.0)
    listed = shell.type("series", "list")
    assert "tonight" in listed.stdout
    matrix = shell.type("series", "show", series_id).stdout
    assert "2 of 2" in matrix
    assert "samples/s" in matrix
    assert shown["metric"] is None


def test_a_metric_stands_in_place_of_throughputs_and_an_unknown_one_is_refused_with_those_that_there_are(
    shell: CommandLine, sandbox: SandboxProcess
) -> None:
    energy = {"at": 1, "rank": 0, "name": "energy", "value": 2.5, "unit": "J/token", "better": "lower"}
    sandbox.script(by="look", outputs={**GOOD, "metrics_0_0.jsonl": json.dumps({**energy, "combined": "mean"}) + "\n"})
    series = [shell.type("series", "run", *WHAT, "--repeats", "2", "--wait").stdout.split()[0] for _ in range(2)]

    unknown = shell.type("series", "show", series[0], "--metric", "nothing")
    shown = shell.answer("series", "show", series[0], "--metric", "energy")
    compared = shell.type("series", "compare", *series, "--metric", "energy")

    assert unknown.exit_code == 2
    assert "no valid run of the series has it; known: energy" in unknown.stderr
    assert (shown["metric"]["name"], shown["metric"]["better"]) == ("energy", "lower")
    assert {(cell["throughput"], cell["unit"]) for cell in shown["cells"]} == {(2.5, "J/token")}
    assert "J/token" in compared.stdout
    assert shell.type("series", "compare", *series, "--metric", "nothing").exit_code == 2


def test_a_held_series_ends_the_waiting_with_4_is_resumed_and_stopped(shell: CommandLine) -> None:
    held = shell.type("series", "run", *WHAT, "--repeats", "2", "--budget", "0.5", "--wait")
    series_id = held.stdout.split()[0]

    more = shell.type("series", "resume", series_id, "--budget", "3")
    stopped = shell.type("series", "stop", series_id)
    again = shell.answer("series", "rerun", series_id)

    assert held.exit_code == 4
    assert "the budget is 0.5 node hours" in held.stdout
    assert more.stdout.split() == [series_id, "planned"]
    assert stopped.stdout.split() == [series_id, "stopped"]
    assert [cell["state"] for cell in again["cells"]] == ["planned", "planned"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", *WHAT, "--nodes", "1,x"), "node_counts.1"),
        (("run", *WHAT, "--versions", "9.9"), "9.9"),
        (("run", *WHAT, "--hours-per-run", "0"), "hours_per_run"),
        (("show", "nothing"), "there is no series 'nothing'"),
        (("resume", "nothing", "--budget", "3"), "there is no series"),
    ],
)
def test_what_is_typed_wrong_is_refused_with_2_and_a_sentence(
    shell: CommandLine, words: tuple[str, ...], says: str
) -> None:
    refused = shell.type("series", *words)

    assert refused.exit_code == 2
    assert says in refused.stderr
    assert shell.answer("series", "list")["total"] == 0


def test_repeats_end_when_the_interval_is_narrow_and_versions_when_they_are_as_good_as_equal(
    shell: CommandLine,
) -> None:
    narrow = shell.type("series", "run", *WHAT, "--until", "half-width<1%", "--wait")
    held = shell.type("series", "run", *WHAT, "--until", "half-width<1%", "--budget", "0.5", "--wait")

    assert narrow.exit_code == 0, narrow.output
    assert "at most 30 cells, about 30 node hours" in narrow.stderr
    assert "the interval of each row is ± 1 % or narrower" in narrow.stdout
    assert "5 of 5" in narrow.stdout
    shown = shell.answer("series", "show", narrow.stdout.split()[0])
    assert shown["judgement"]["is_met"] is True
    assert (shown["state"], len(shown["cells"])) == ("completed", 5)
    assert held.exit_code == 6, "the budget ended it before"
    assert "too few runs; wanted is ± 1 %" in held.stdout
