"""`aisbench suite`: what a pool is accepted by, and with which risks, in the shell."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.cli import main
from aisbench_core.wiring import Core, open_core
from tests import records as a

Typed = Callable[..., Result]

OWN = """\
title: Ours
spec: {workload: pytorch_resnet_cifar}
runs: 5
cv: 0.01
scale:
  - {name: a, hours: 0.5, sizes: [{nodes: 1}]}
"""


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """A console with a suite of its own and four runs of one configuration."""
    core = open_core(Settings(data_dir=tmp_path / "data"))
    core.settings.suites_dir.mkdir()
    (core.settings.suites_dir / "ours.yaml").write_text(OWN, "utf-8")
    core.warehouse.record_many([a.record(f"r-{number}", throughputs=[1000.0 + number] * 8) for number in range(4)])
    return core


@pytest.fixture
def typed(core: Core) -> Typed:
    def invoke(*words: str) -> Result:
        return CliRunner(env={"AISBENCH_DATA_DIR": str(core.settings.data_dir)}).invoke(main, words)

    return invoke


def test_suites_are_listed_and_printed_as_they_are_written(typed: Typed) -> None:
    listed = typed("suite", "list")

    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["suite", "llm", "ours", "quick", "training"]
    assert typed("suite", "show", "ours").stdout == OWN


def test_a_damaged_suite_is_named_beside_the_others(core: Core, typed: Typed) -> None:
    (core.settings.suites_dir / "bad.yaml").write_text("title: x\nruns: many\n", "utf-8")
    listed = typed("suite", "list")

    assert listed.exit_code == 1
    assert "error: suite bad.yaml: runs:" in listed.stderr
    assert "quick" in listed.stdout
    assert typed("suite", "check", "bad").exit_code == 2


def test_risks_are_printed_before_anything_is_launched(typed: Typed) -> None:
    checked = typed("suite", "check", "ours", "--reference", "1=r-2")
    plan = json.loads(typed("suite", "check", "ours", "--reference", "1=r-2", "--json").stdout)

    assert checked.exit_code == 0
    assert "runs of the configuration of r-2" in checked.stdout
    assert "it is accepted in error in at most 5.0% of cases" in " ".join(checked.stdout.split())
    [step] = plan["steps"]
    assert step["reference"]["value"] == pytest.approx(8012, rel=1e-3)
    assert step["reference"]["df"] == 3
    by_truth = {rate["truth"]: rate for rate in step["rates"]}
    assert by_truth[0.95]["passed"] == pytest.approx(0.05, abs=0.005)
    assert by_truth[1.0]["passed"] > 0.99


def test_runs_of_trusted_bundles_are_a_reference_and_claimed_ones_are_not(core: Core, typed: Typed) -> None:
    for number, verified_by in enumerate(["lab", "lab", "lab", ""]):
        record = a.imported(f"i-{number}", throughputs=[1000.0 + number] * 8, cards_heard=True)
        assert record.imported
        core.warehouse.record(replace(record, imported=replace(record.imported, verified_by=verified_by)))
    text = OWN.replace("nodes: 1}", "nodes: 1, reference: {bundles: i-3}}")
    (core.settings.suites_dir / "trusted.yaml").write_text(text, "utf-8")

    checked = typed("suite", "check", "trusted", "--json")

    reference = json.loads(checked.stdout)["steps"][0]["reference"]
    assert (round(reference["value"]), reference["df"]) == (8008, 2)


def test_a_size_without_a_reference_says_how_to_name_one(typed: Typed) -> None:
    assert "none: name one with --reference" in typed("suite", "check", "ours").stdout


def test_a_reference_is_refused_in_a_sentence(core: Core, typed: Typed) -> None:
    core.warehouse.record(a.record("lone", throughputs=[9.0] * 8, workload="other"))
    unknown = typed("suite", "check", "ours", "--reference", "1=nobody")
    lone = typed("suite", "check", "ours", "--reference", "1=lone")
    written = typed("suite", "check", "ours", "--reference", "r-2")

    assert {unknown.exit_code, lone.exit_code, written.exit_code} == {2}
    assert "the reference nobody: reference: no such run in the warehouse" in unknown.stderr
    assert "its configuration has 1 valid runs, and their spread is known from 3" in lone.stderr
    assert "write NODES=RUN" in written.stderr
