"""A field that is added to the spec, as ARCHITECTURE.md says, leaves stored runs whole and splits rows at once."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a

LAST = "    ] = None\n    training_mode: "
"""Between the two lines stands a field of the copy that the product does not have."""

OUTPUTS = Path(__file__).with_name("outputs_of_a_field.py")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a product with the new field says of a warehouse that the one without it stored."""
    copy = tmp_path_factory.mktemp("product")
    stored = copy / "warehouse.duckdb"
    tuned = a.record("tuned", environments={"PRECISION": "int8"}, log_levels={"cann": "error"})
    Warehouse(stored).record_many([a.record("before"), tuned])
    shutil.copytree(HOME / "aisbench_core", copy / "aisbench_core", ignore=shutil.ignore_patterns("__pycache__"))
    spec = copy / "aisbench_core" / "model" / "spec.py"
    text = spec.read_text("utf-8")
    assert text.count(LAST) == 1
    spec.write_text(text.replace(LAST, LAST.replace("\n", "\n    turbo: bool = False\n")), "utf-8")
    environment = os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{HOME}"}
    done = subprocess.run(
        [sys.executable, OUTPUTS, stored], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_stored_runs_are_whole(found: dict[str, object]) -> None:
    assert found["has_field"] is True
    assert found["damages"] == []
    assert found["damages_after"] == []


def test_a_run_that_sets_it_is_not_comparable_and_has_a_row_of_its_own(found: dict[str, object]) -> None:
    assert found["reasons"] == ["turbo"]
    assert found["rows"] == [1, 1, 2]


def test_a_run_that_does_not_set_it_is_as_before(found: dict[str, object]) -> None:
    assert found["alike"] == ["comparable", 0]
