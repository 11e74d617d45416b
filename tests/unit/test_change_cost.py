"""What docs/columns.md promises: a new key of the result block is in every output after changes in six files."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.model.columns import RESULTS, stored_in
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.migrations import LATEST
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

pytestmark = pytest.mark.slow

PLACE = len(stored_in(RESULTS)) + 2

COLUMN = f"""    Column("cpu_power_w", NUMBER, "mean power of the CPUs", "W", label="CPU power",
        stored=result({PLACE}, since={LATEST + 1}, name="cpu_power"), exported=Exported("power"), mlflow=METRIC,
        key=Key("cpu watt", zero_is_unmeasured=True), compared=LOWER, median_since={LATEST + 1}),
)  # fmt: skip

UTILISATION = (
"""

CHANGES = {
    "aisbench_core/model/columns/measured.py": (")  # fmt: skip\n\nUTILISATION = (\n", COLUMN),
    "aisbench_core/model/result.py": (
        "    total_end_time: datetime | None = None\n",
        "    total_end_time: datetime | None = None\n    cpu_power: float | None = None\n",
    ),
    "aisbench_core/warehouse/values/runs.py": (
        "    energy_j: float",
        "    cpu_power_w: float | None\n    energy_j: float",
    ),
    "aisbench_core/warehouse/values/boards.py": (
        '    differs_in: str = ""\n',
        '    differs_in: str = ""\n    cpu_power_w: float | None = None\n',
    ),
    "aisbench_core/exchange/readers/results.py": (
        '    MAX_POWER = "max_power"\n',
        '    MAX_POWER = "max_power"\n    CPU_POWER = "cpu_power"\n',
    ),
    "aisbench_core/base/messages/zh.po": (
        'msgctxt "column.max_power_w"',
        'msgctxt "column.cpu_power_w"\nmsgid "CPU power"\nmsgstr "CPU 功率"\n\nmsgctxt "column.max_power_w"',
    ),
}

OUTPUTS = Path(__file__).with_name("outputs_of_a_key.py")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a product with the new key says of it."""
    copy = tmp_path_factory.mktemp("product")
    for part in ("aisbench_core", "pages", "docs"):
        shutil.copytree(HOME / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (before, after) in CHANGES.items():
        text = (copy / name).read_text("utf-8")
        assert text.count(before) == 1, name
        (copy / name).write_text(text.replace(before, after), "utf-8")
    environment = os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{HOME}"}
    done = subprocess.run(
        [sys.executable, OUTPUTS, copy], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_the_page_names_the_files() -> None:
    section = (HOME / "docs" / "columns.md").read_text("utf-8").split("## Add a key", 1)[1]

    assert re.findall(r"^\* `(\S+)`:", section, re.M) == list(CHANGES)
    assert len(CHANGES) <= 8


@pytest.mark.parametrize(
    "output",
    ["record", "table", "v_runs", "v_groups", "csv", "series csv", "leaderboard", "compare", "import", "mlflow"],
)
def test_a_new_key_reaches(output: str, found: dict[str, object]) -> None:
    assert found[output] == 250.0


def test_a_new_key_is_on_the_pages_in_both_languages(found: dict[str, object]) -> None:
    assert found["heads"] == ["CPU power (W)", "CPU 功率（W）"]
    assert found["run page"] is True


def test_a_new_key_is_in_the_documents(found: dict[str, object]) -> None:
    assert found["documents"] == ["columns.md"]


def test_a_warehouse_of_before_gets_the_column(found: dict[str, object]) -> None:
    assert found["migrated"] == ["cpu_power"]


def test_records_of_before_keep_their_hash(found: dict[str, object], tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(a.record("old"))
    [row] = warehouse.runs.list_rows(BoardQuery("cn-north-9")).rows

    assert dict(found["hashes"])["old"] == row.record_sha256  # type: ignore[call-overload]  # by run
