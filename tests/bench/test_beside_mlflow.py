"""Search and export beside MLflow with SQLite, at 20,000 and 100,000 runs, in the same run."""

import json
import subprocess
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.records import runs
from aisbench_core.warehouse.values.exports import Export, ExportFormat
from tests import records as a
from tests.bench.figures import put
from tests.bench.warehouses import BOARD, FILTERED, FOLDER, folder_of, median_ms

PEER = Path(__file__).with_name("mlflow_peer.py")
PYTHON = FOLDER / "mlflow" / "bin" / "python"
"""MLflow's own environment, which `make bench` makes: its dependencies are older than ours."""

FEW, MANY = 20_000, 100_000
ASKED = replace(FILTERED, rehearsal=False)
BOARD_OF_ALL = replace(BOARD, include_invalid=True)


@pytest.mark.parametrize("count", [FEW, MANY])
def test_questions_take_a_fraction_of_what_mlflow_takes(count: int, tmp_path: Path) -> None:
    ran = subprocess.run([PYTHON, PEER, tmp_path, str(count)], capture_output=True, text=True, timeout=600, check=True)
    peer = json.loads(ran.stdout.splitlines()[-1])
    warehouse = Warehouse(folder_of(count) / "warehouse.duckdb")

    opened = median_ms(lambda: warehouse.runs.list_rows(ASKED))
    with warehouse.cursor() as cur:
        found = median_ms(lambda: runs.fetch_page(cur, ASKED), 15)
    board = median_ms(lambda: warehouse.board.list_rows(FILTERED))
    export = median_ms(lambda: exported(warehouse), 3)

    name, asked = f"MLflow {peer['version']}", f"{peer['search_ms']:.0f} ms"
    put(
        f"Search among {count:,} runs",
        f"{found:.1f} ms ({opened:.0f} ms with opening and closing the file)",
        "4 ×" if count == FEW else "40 ×",
        f"{name} `search_runs`: {asked}",
        peer["search_ms"] / found,
    )
    put(
        f"Leaderboard, 3 filters, {count:,} runs",
        f"{board:.0f} ms",
        beside=f"{name} `search_runs`, which has no statistics: {asked}",
        ratio=peer["search_ms"] / board,
    )
    put(
        f"Export of {count:,} runs with verdicts as CSV",
        f"{export / 1000:.2f} s",
        "40 ×" if count == FEW else "40 ×; 2 s",
        f"{name} `search_runs` and CSV: {peer['export_ms'] / 1000:.1f} s",
        peer["export_ms"] / export,
    )
    assert peer["search_ms"] / found >= (3 if count == FEW else 30)
    assert peer["export_ms"] / export >= 25


def test_a_workbook_of_a_hundred_thousand_runs_takes_its_time(tmp_path: Path) -> None:
    warehouse = Warehouse(folder_of(MANY) / "warehouse.duckdb")

    for kind in (ExportFormat.PARQUET, ExportFormat.JSON, ExportFormat.EXCEL):
        took = median_ms(lambda kind=kind: into(tmp_path / kind, warehouse, kind), 1)  # type: ignore[misc]  # mypy cannot infer it
        put(f"Export of {MANY:,} runs as {kind}", f"{took / 1000:.1f} s")
        assert (tmp_path / kind).stat().st_size > MANY


def into(file: Path, warehouse: Warehouse, kind: ExportFormat) -> None:
    with file.open("wb") as target:
        warehouse.export(Export(BOARD_OF_ALL, a.T0, format=kind), target)


def exported(warehouse: Warehouse) -> bytes:
    target = BytesIO()
    warehouse.export(Export(BOARD_OF_ALL, a.T0), target)
    return target.getvalue()
