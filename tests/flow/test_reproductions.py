"""Giving a run's result again: what is the same is said first, the new run remembers, and its result is compared."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import ConfigError, RunNotFound
from aisbench_core.model import Actor, Channel, Launched, Role, RunState, WayIn
from aisbench_core.running.reproducing.values import ReproductionCheck, Sameness
from aisbench_core.running.systems.descriptions import SystemTemplate
from tests import records as a
from tests.actors import TESTER, named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data")


def verdicts(check: ReproductionCheck) -> dict[str, Sameness]:
    return {each.name: each.sameness for each in check.aspects}


def test_a_run_of_a_moment_ago_is_the_same_in_everything(bench: Bench) -> None:
    run = bench.follow(bench.launch())

    check = bench.core.reproductions.check(run.run_id, TESTER)

    assert check.identical is True, check.list_aspects(Sameness.NOT_KNOWN) + check.list_aspects(Sameness.DIFFERENT)
    assert {"code_sha256", "manifest_sha256", "parameters", "engine_version", "flavor", "system", "region"} <= {
        *verdicts(check)
    }


def test_what_has_changed_since_is_named_with_then_and_now(bench: Bench, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("print(1)\n", "utf-8")
    run = bench.follow(bench.launch(SPEC.model_copy(update={"code_dir": str(code)})))
    (code / "train.py").write_text("print(2)\n", "utf-8")
    bench.core.systems.state(SystemTemplate("sandbox"), {"cooling": "air"}, named(PERSON))

    check = bench.core.reproductions.check(run.run_id, TESTER)

    assert check.identical is False
    assert {each.name for each in check.list_aspects(Sameness.DIFFERENT)} == {"code_sha256", "system"}
    (changed,) = [each for each in check.aspects if each.name == "code_sha256"]
    assert changed.then == run.code_sha256
    assert len(changed.now) == 64
    viewer = Actor("vic", frozenset({Role.VIEWER}), WayIn.CONSOLE)
    assert verdicts(bench.core.reproductions.check(run.run_id, viewer))["code_sha256"] is Sameness.NOT_KNOWN
    (code / "train.py").unlink()
    code.rmdir()
    assert verdicts(bench.core.reproductions.check(run.run_id, TESTER))["code_sha256"] is not Sameness.SAME


def test_how_outputs_are_handled_is_compared_but_not_where_they_are_written(bench: Bench) -> None:
    outputs = [{"name": "train_url", "path": "/sandbox-bench/own/", "prefetch": True}]
    run = bench.follow(bench.launch(SPEC.model_copy(update={"outputs": tuple(map(Channel.model_validate, outputs))})))

    (compared,) = [
        each for each in bench.core.reproductions.check(run.run_id, TESTER).aspects if each.name == "outputs"
    ]

    assert (compared.then, compared.sameness) == ("train_url.prefetch=true", Sameness.SAME)


def test_a_reproduction_remembers_its_original_and_its_result_is_compared(bench: Bench) -> None:
    first = bench.follow(bench.launch())
    bench.follow(bench.launch())
    check = bench.core.reproductions.check(first.run_id, TESTER)

    again = bench.core.reproductions.launch(check, named(PERSON), "once")

    assert bench.core.reproductions.launch(check, named(PERSON), "once").run_id == again.run_id
    assert bench.core.reproductions.of(again.run_id) == first.run_id
    assert f"reproduces {first.run_id}" in bench.core.ledger.events(again.run_id)[0].message
    assert bench.core.reproductions.result(again.run_id) is None
    bench.follow(again)
    row = bench.core.warehouse.runs.find_row(again.run_id)
    assert row is not None
    assert row.reproduces == first.run_id
    found = bench.core.reproductions.result(again.run_id)
    assert found is not None
    assert (found.ratio, found.runs, found.is_within) == (1.0, 2, True)
    bench.core.storage.rebuild(TESTER)
    assert bench.core.reproductions.of(again.run_id) == first.run_id
    assert bench.core.storage.check(TESTER).damages == ()


def test_a_result_outside_of_what_is_expected_is_said_to_be_so(bench: Bench) -> None:
    originals = a.records([7_900, 8_000, 8_100], "old")
    slow = a.record("slow", throughputs=[900.0] * 8)
    bench.core.warehouse.record_many([*originals, replace(slow, launched=Launched("m", "old-1"))])

    found = bench.core.reproductions.result("slow")

    assert found is not None
    assert (found.ratio, found.is_within, found.runs) == (0.9, False, 3)
    assert found.low == pytest.approx(8000 / math.exp(4.303 * 100 * (4 / 3) ** 0.5 / 8000), abs=1)


def test_of_imported_and_older_runs_it_says_what_is_not_known(bench: Bench) -> None:
    imported = a.imported("i-1", workload="quickstart_digits", stated=("workload", "node_count"))
    bench.core.warehouse.record(imported)
    bench.core.warehouse.record(a.record("old", with_result=False, state=RunState.FAILED))

    found = verdicts(bench.core.reproductions.check("i-1", TESTER))

    assert found["node_count"] is Sameness.SAME
    assert found["region"] is Sameness.DIFFERENT
    assert {found[name] for name in ("parameters", "flavor", "manifest_sha256", "system")} == {Sameness.NOT_KNOWN}
    assert verdicts(bench.core.reproductions.check("old", TESTER))["manifest_sha256"] is Sameness.NOT_KNOWN
    assert bench.core.reproductions.of("i-1") == ""


def test_without_the_run_the_profile_or_the_workload_there_is_a_sentence(bench: Bench) -> None:
    bench.core.warehouse.record(a.record("strange", workload="of_another_lab"))

    with pytest.raises(RunNotFound):
        bench.core.reproductions.check("nobody", TESTER)
    with pytest.raises(ConfigError, match="of_another_lab"):
        bench.core.reproductions.check("strange", TESTER)
    with pytest.raises(ConfigError, match="nowhere"):
        bench.core.reproductions.check("strange", TESTER, "nowhere")


def test_the_command_says_it_in_words_json_and_exit_codes(sandbox: SandboxProcess, tmp_path: Path) -> None:
    sandbox.script(by="look", outputs=GOOD)
    line = CommandLine(tmp_path / "data", sandbox)
    run_id = line.type("run", "quickstart_digits", "--cards", "2", "--wait").stdout.strip()

    said = line.type("reproduce", run_id)
    assert said.exit_code == 0, said.output
    assert "0 different, 0 not known" in said.stdout.replace("0 not known, 0 different", "0 different, 0 not known")
    found: Any = json.loads(line.type("reproduce", run_id, "--launch", "--wait", "--json").stdout)
    assert found["identical"] is True
    assert found["run"]["state"] == "completed"
    assert (found["result"]["ratio"], found["result"]["original"]) == (1.0, run_id)
    line.data_dir.joinpath("profiles", "lab.yaml").write_text(
        line.data_dir.joinpath("profiles", "lab.yaml").read_text("utf-8").replace("region: ", "region: another-"),
        "utf-8",
    )
    assert line.type("reproduce", run_id).exit_code == 7
    assert line.type("reproduce", run_id, "--wait").exit_code == 2
