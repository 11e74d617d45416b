"""Search and export beside MLflow with SQLite, at 20,000 and 100,000 runs, in the same run."""

import json
import subprocess
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from aisbench_core.warehouse import Export, Warehouse
from tests import records as a
from tests.bench.figures import put
from tests.bench.warehouses import BOARD, FILTERED, FOLDER, folder_of, median_ms

PEER = Path(__file__).with_name("mlflow_peer.py")
PYTHON = FOLDER / "mlflow" / "bin" / "python"
"""MLflow's own environment, which `make bench` makes: its dependencies are older than ours."""

BOARD_OF_ALL = replace(BOARD, include_invalid=True)


@pytest.mark.parametrize("count", [20_000, 100_000])
def test_questions_take_a_fraction_of_what_mlflow_takes(count: int, tmp_path: Path) -> None:
    ran = subprocess.run([PYTHON, PEER, tmp_path, str(count)], capture_output=True, text=True, timeout=600, check=True)
    peer = json.loads(ran.stdout.splitlines()[-1])
    warehouse = Warehouse(folder_of(count) / "warehouse.duckdb")

    board = median_ms(lambda: warehouse.leaderboard(FILTERED))
    newest = median_ms(lambda: warehouse.runs(FILTERED))
    export = median_ms(lambda: exported(warehouse), 3)

    name, search = f"MLflow {peer['version']}", peer["search_ms"]
    put(
        f"Leaderboard, 3 filters, {count:,} runs",
        f"{board:.0f} ms",
        "",
        f"{name} search: {search:.0f} ms",
        search / board,
    )
    put(
        f"Fastest 50 runs, 3 filters, {count:,} runs", f"{newest:.0f} ms", "12 ×" if count == 20_000 else "50 ×",
        f"{name} search: {search:.0f} ms", search / newest,
    )  # fmt: skip
    put(
        f"Export of {count:,} runs with verdicts", f"{export / 1000:.2f} s", "40 ×; 100,000 in 2 s",
        f"{name} search and CSV: {peer['export_ms'] / 1000:.1f} s", peer["export_ms"] / export,
    )  # fmt: skip
    assert peer["export_ms"] / export >= 5


def exported(warehouse: Warehouse) -> bytes:
    target = BytesIO()
    warehouse.export(Export(BOARD_OF_ALL, a.T0), target)
    return target.getvalue()
