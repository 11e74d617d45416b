"""What a copy of the product (its first argument) says of a key that only the copy knows, as JSON.

test_change_cost.py runs it where that copy is found before the product itself."""

import csv
import io
import json
import sqlite3
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import duckdb

from aisbench_core.exchange.mlflow.exporting import MlflowExport
from aisbench_core.exchange.mlflow.tracking import TrackingServer
from aisbench_core.exchange.readers.headers import guess_meanings
from aisbench_core.model import RunRecord, TrainResultInfo
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.measures.sorts import BOARD_SORTS
from aisbench_core.warehouse.open.reading import make_reader
from aisbench_core.warehouse.store.migrations import RELEASED, migrate_tables
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.exports import Export, ExportTable
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.leaderboard.columns import GROUP_COLUMNS, list_titles, read_cells
from pages._ui.shell.words import Language, set_language
from tests import records as a
from tests.mlflow_server import tracking_server
from tests.stored_schemas import unpack_file
from tests.unit import test_column_docs

VALUE = 250.0
HERE = BoardQuery("cn-north-9", sort="cpu_power_w")


def main(copy: Path) -> None:
    """Print what every output says."""
    warehouse = Warehouse(copy / "warehouse.duckdb")
    old, new = a.record("old"), a.record("new")
    warehouse.record_many([old, _with_key(new), _with_key(replace(new, run=replace(new.run, run_id="other")))])
    [row] = warehouse.board.list_rows(HERE).rows
    metrics = {each.name: each for each in warehouse.runs.compare(["new", "other"]).metrics}
    exported = _export(warehouse, ExportTable.RUNS)
    found: dict[str, Any] = {
        "record": vars_of(_with_key(new))["cpu_power"],
        "csv": float(next(line["cpu_power_w"] for line in exported if line["run_id"] == "new")),
        "series csv": float(_export(warehouse, ExportTable.SERIES)[0]["cpu_power_w"]),
        "leaderboard": row.cpu_power_w if "cpu_power_w" in BOARD_SORTS else None,  # type: ignore[attr-defined]  # there
        "compare": metrics["cpu_power_w"].values[1].value,
        "import": VALUE if guess_meanings(["CPU watt"]) == {"CPU watt": "cpu_power"} else None,
        "mlflow": _mlflow(warehouse, copy / "mlflow.db"),
        "heads": [_head(row, language) for language in Language],
        "run page": "cpu_power" in {field.name for field in fields(TrainResultInfo)},
        "documents": _documents(),
        "migrated": _migrated(copy / "before.duckdb"),
        "hashes": _hashes(warehouse),
    }
    with make_reader(warehouse.location).cursor() as cur:
        for name, asked in {
            "table": "select cpu_power from results where run_id = 'new'",
            "v_runs": "select cpu_power_w from v_runs where run_id = 'new'",
            "v_groups": "select cpu_power_w from v_groups",
        }.items():
            [(found[name],)] = cur.execute(asked).fetchall()
    print(json.dumps(found))


def _with_key(record: RunRecord) -> RunRecord:
    assert record.result is not None
    info = replace(record.result.info, cpu_power=VALUE)  # type: ignore[call-arg]  # the copy has it
    return replace(record, result=replace(record.result, info=info))


def vars_of(record: RunRecord) -> dict[str, Any]:
    """The keys of a record's block."""
    assert record.result is not None
    return {field.name: getattr(record.result.info, field.name) for field in fields(record.result.info)}


def _export(warehouse: Warehouse, table: ExportTable) -> list[dict[str, str]]:
    target = io.BytesIO()
    warehouse.export(Export(replace(HERE, sort="throughput"), a.T0, table), target)
    return list(csv.DictReader(io.StringIO(target.getvalue().decode("utf-8-sig"), newline="")))


def _head(row: BoardRow, language: Language) -> str:
    set_language(language)
    names = [name for name in GROUP_COLUMNS if name == "cpu_power_w"]
    return list_titles([read_cells(row, names)], names, [row])["cpu_power_w"]


def _mlflow(warehouse: Warehouse, file: Path) -> float:
    with tracking_server(file) as server:
        MlflowExport(make_reader(warehouse.location)).export(
            BoardQuery("cn-north-9"), TrackingServer(server.address, {})
        )
    with sqlite3.connect(file) as con:
        [(value,)] = con.execute("select distinct value from latest_metrics where key = 'cpu_power_w'").fetchall()
    return float(value)


def _documents() -> list[str]:
    """The pages that would name the key."""
    pages = {"columns.md": test_column_docs.document()}
    return [name for name, text in pages.items() if "cpu_power" in text]


def _migrated(file: Path) -> list[str]:
    with duckdb.connect(unpack_file(RELEASED, file)) as con:
        migrate_tables(con, file)
        asked = "select column_name from duckdb_columns() where table_name = 'results' and column_name like 'cpu%'"
        return [name for (name,) in con.execute(asked).fetchall()]


def _hashes(warehouse: Warehouse) -> dict[str, str]:
    with warehouse.cursor() as cur:
        return dict(cur.execute("select run_id, record_sha256 from runs").fetchall())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
