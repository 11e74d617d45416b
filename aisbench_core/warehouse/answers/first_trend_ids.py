"""Today's ids of trends by those of the first formula of fingerprints, which links, saved views and messages hold."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.measures.fingerprint import first_fingerprint_of
from aisbench_core.warehouse.tables.schema import build_in_condition
from aisbench_core.warehouse.values.histories import TrendRow

_COVERED = ("workload", "model", "dataset", "mode", "throughput_definition", "speed_parameters")


def find_first_ids(cur: DuckDBPyConnection, rows: Sequence[TrendRow]) -> dict[str, str]:
    """Today's id of each of these trends by its first one. Of a trend that became several, the first of the rows."""
    condition, values = build_in_condition("run_id", [row.latest_run_id for row in rows])
    found = cur.execute(f"select run_id, {', '.join(_COVERED)} from runs where {condition}", values).fetchall()
    cells = {run_id: dict(zip(_COVERED, covered, strict=True)) for run_id, *covered in found}
    ids = [(_first_id(row, cells[row.latest_run_id]), row.group.id) for row in rows if row.latest_run_id in cells]
    return dict(reversed(ids))


def _first_id(row: TrendRow, cells: Mapping[str, Any]) -> str:
    speed = json.loads(cells["speed_parameters"] or "null")
    fingerprint = first_fingerprint_of(cells, speed if isinstance(speed, dict) else None)
    return replace(row.group, fingerprint=fingerprint).id
