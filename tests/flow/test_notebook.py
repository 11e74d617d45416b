"""docs/examples/leaderboard.ipynb runs from its first cell to its last, and is kept without what a machine printed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from aisbench_core.config.settings import HOME
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a

RUNNER = "import json, sys\nnames = {}\nfor cell in json.load(sys.stdin): exec(cell, names)"
NOTEBOOK = HOME / "docs" / "examples" / "leaderboard.ipynb"


def cells(kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == kind]


def test_every_cell_of_the_notebook_runs(tmp_path: Path) -> None:
    Warehouse(tmp_path / "warehouse.duckdb").record_many(
        [*a.records([8000, 8100]), *a.records([15000], "two", node_count=2)]
    )
    code = ["".join(cell["source"]) for cell in cells("code")]

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER],
        input=json.dumps(code),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"AISBENCH_DATA_DIR": str(tmp_path), "PYTHONPATH": str(HOME)},
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "measurements of cn-north-9"
    assert len(code) >= 6


def test_the_notebook_holds_no_outputs_and_no_place_of_a_machine() -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells("code"))
    assert str(HOME) not in NOTEBOOK.read_text("utf-8")
    assert {"nbformat": 4, "nbformat_minor": 5}.items() <= json.loads(NOTEBOOK.read_text("utf-8")).items()
