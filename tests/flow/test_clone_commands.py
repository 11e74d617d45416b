"""`aisbench clone` and `diff`: a run as a spec, and what two of them ask for differently."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.interfaces.cli import main
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a


def type_in(data_dir: Path, *words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"AISBENCH_DATA_DIR": str(data_dir)})


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A run that was launched here, one of another machine, and an imported one."""
    Ledger(tmp_path / "ledger.sqlite3").add(a.run("here-1"))
    elsewhere = a.record("elsewhere-1", node_count=4, code_dir="/of/another/machine/quickstart_digits/code")
    Warehouse(tmp_path / "warehouse.duckdb").rebuild(
        [a.record("here-1"), elsewhere, a.imported("i-1", stated=("workload", "framework_version", "node_count"))]
    )
    return tmp_path


def test_a_clone_is_the_spec_that_the_run_was_launched_with(data_dir: Path, tmp_path: Path) -> None:
    assert from_yaml(type_in(data_dir, "clone", "here").stdout) == a.spec()
    assert from_yaml(type_in(data_dir, "clone", "elsewhere-1").stdout).node_count == 4

    type_in(data_dir, "clone", "here-1", "-o", str(tmp_path / "again.yaml"))

    same = type_in(data_dir, "diff", "here-1", str(tmp_path / "again.yaml"))
    assert same.exit_code == 7  # the manifest names what the run's spec of this test left open
    assert type_in(data_dir, "diff", "here-1", "here-1").exit_code == 0


def test_a_clone_of_an_imported_run_says_what_is_not_known(data_dir: Path) -> None:
    result = type_in(data_dir, "clone", "i-1")

    assert from_yaml(result.stdout).model_fields_set == {"workload", "framework_version"}
    assert result.stderr.startswith("unknown for i-1: parameters, inputs")


def test_the_workloads_own_code_of_another_machine_means_that_of_this_one(data_dir: Path) -> None:
    run = a.run("moved-1", a.spec(workload="quickstart_digits", code_dir="/elsewhere/quickstart_digits/code"))
    Ledger(data_dir / "ledger.sqlite3").add(run)

    assert from_yaml(type_in(data_dir, "clone", "moved").stdout).code_dir == ""


def test_a_difference_is_exit_code_7_with_each_field(data_dir: Path) -> None:
    result = type_in(data_dir, "diff", "here-1", "elsewhere-1", "--json")

    assert result.exit_code == 7
    found = {each["field"]: (each["original"], each["now"]) for each in json.loads(result.stdout)["differences"]}
    assert found["node_count"] == (1, 4)
    assert "not_known" in json.loads(result.stdout)
    assert "node_count  1" in type_in(data_dir, "diff", "here-1", "elsewhere-1").stdout


def test_against_an_imported_run_only_what_it_tells_is_compared(data_dir: Path) -> None:
    result = type_in(data_dir, "diff", "here-1", "i-1")

    assert (result.exit_code, result.stdout) == (0, "no differences\n")
    assert result.stderr.startswith("unknown for one of them, not compared: parameters")


def test_an_unknown_run_and_a_file_that_cannot_be_written_are_said(data_dir: Path) -> None:
    assert type_in(data_dir, "clone", "nobody").exit_code == 2
    assert "cannot be written" in type_in(data_dir, "clone", "here-1", "-o", "/nowhere/spec.yaml").stderr
