"""A new field of a spec reaches everything that treats fields, after one declaration and its label in two languages."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import write_profile

pytestmark = pytest.mark.slow

DECLARED = {
    "aisbench_core/model/spec.py": (
        "    flavor: Annotated[",
        "    power_limit_w: Annotated[int | None, Field(ge=1, description='watts that a card may draw')] = None\n"
        "    flavor: Annotated[",
    ),
}

NAMED = {
    "pages/_ui/texts/en.yaml": (
        "  conda_env: Conda environment\n",
        "  conda_env: Conda environment\n  power_limit_w: Power limit\n  power_limit_w_help: Of each card.\n",
    ),
    "aisbench_core/base/messages/zh.po": (
        'msgctxt "pages.field.conda_env"',
        'msgctxt "pages.field.power_limit_w"\nmsgid "Power limit"\nmsgstr "功率上限"\n\n'
        'msgctxt "pages.field.power_limit_w_help"\nmsgid "Of each card."\nmsgstr "每卡的功率上限。"\n\n'
        'msgctxt "pages.field.conda_env"',
    ),
}

OUTPUTS = Path(__file__).with_name("outputs_of_a_field.py")


def outputs_after(changes: dict[str, tuple[str, str]], folder: Path) -> dict[str, Any]:
    """What a copy of the product with these changes says of the field."""
    copy, data = folder / "product", folder / "data"
    for part in ("aisbench_core", "pages"):
        shutil.copytree(HOME / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (before, after) in changes.items():
        text = (copy / name).read_text("utf-8")
        assert text.count(before) == 1, name
        (copy / name).write_text(text.replace(before, after), "utf-8")
    data.mkdir()
    write_profile(data)
    environment = os.environ | {
        "PYTHONPATH": f"{copy}{os.pathsep}{HOME}",
        "AISBENCH_DATA_DIR": str(data),
        "AISBENCH_WORKLOADS_DIR": str(HOME / "workloads"),
        "AISBENCH_REQUEST_SECONDS": "2",
    }
    done = subprocess.run(
        [sys.executable, OUTPUTS, copy], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a product with the field says of it."""
    return outputs_after(DECLARED | NAMED, tmp_path_factory.mktemp("field"))


def test_a_new_field_is_in_the_form_and_its_draft_and_on_the_command_line(found: dict[str, Any]) -> None:
    assert found["drafts"] == [300, 300], "as typed, and after another workload was picked"
    assert found["command line"] == 300


def test_a_new_field_has_its_label_in_both_languages(found: dict[str, Any]) -> None:
    assert found["labels"] == ["Power limit", "功率上限"]


def test_a_new_field_is_compared_and_reproduced_and_makes_another_row(found: dict[str, Any]) -> None:
    assert found["compare"] == ["power_limit_w"]
    assert found["reproduce"] == ["300", "300", "SAME"]
    assert found["is another row"]


def test_a_new_field_is_described_to_programs_and_never_lost_silently_in_an_export(found: dict[str, Any]) -> None:
    assert found["documents"] >= 1
    assert found["left out of modelarts_config.py"] == ["power_limit_w"]


def test_a_new_field_changes_the_hashes_of_runs_that_set_it_and_of_no_other(
    found: dict[str, Any], tmp_path: Path
) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(a.record("plain"))
    with warehouse.cursor() as cur:
        [row] = cur.execute("select record_sha256, fingerprint from runs").fetchall()

    assert found["hashes"]["plain"] == a.spec().sha256 != found["hashes"]["with it"]
    assert found["record of a run without it"] == list(row)


def test_a_field_without_a_label_is_named(tmp_path: Path) -> None:
    found = outputs_after(DECLARED, tmp_path)

    assert found == {"without a text": ["field.power_limit_w", "field.power_limit_w_help"]}
