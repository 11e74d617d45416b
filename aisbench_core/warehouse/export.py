"""Runs as CSV for compliance reports: every run that the screen's filter chooses, not only the page it shows."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import IO, Protocol

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.csv_columns import CELLS, COLUMNS
from aisbench_core.warehouse.filters import CHOSEN, WORTH, parameters, worth
from aisbench_core.warehouse.scaling import POINTS
from aisbench_core.warehouse.values import BoardQuery

BATCH = 1000
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet would run a text cell that begins like this."""

_CELLS = ", ".join(f"{sql or 'null'} as {name}" for name, sql in CELLS.items())

_ROWS = f"""
    with points as ({POINTS}),
    base as (
        select region, rehearsal, fingerprint, framework_version, flavor, pool_id, cards_per_node, synthetic_data,
            min(node_count) as base_nodes, min_by(throughput, node_count) as base_throughput
        from points group by all),
    chosen as (
        select * from runs join results using (run_id)
        where {CHOSEN} and {WORTH})
    select {_CELLS} from chosen left join base
        using (region, rehearsal, fingerprint, framework_version, flavor, pool_id, cards_per_node, synthetic_data)
    order by created_at, run_id
"""  # noqa: S608 (our own words)


def export_csv(
    cur: DuckDBPyConnection, query: BoardQuery, target: IO[bytes], exported_at: datetime, *, bom: bool
) -> int:
    """Write header and rows; returns the number of runs. The file is left open, and is complete when this returns."""
    cur.execute(
        _ROWS,
        {
            **parameters(cur, query),
            **worth(query),
            "exported_at": exported_at.astimezone(UTC).replace(tzinfo=None),
        },
    )
    text = io.TextIOWrapper(target, "utf-8-sig" if bom else "utf-8", newline="", write_through=True)
    try:
        return _write(cur, csv.writer(text))
    finally:
        text.detach()


class _Writer(Protocol):
    def writerow(self, row: Sequence[object], /) -> object: ...


def _write(cur: DuckDBPyConnection, writer: _Writer) -> int:
    writer.writerow(COLUMNS)
    count = 0
    while rows := cur.fetchmany(BATCH):
        for row in rows:
            writer.writerow([cell(value) for value in row])
        count += len(rows)
    return count


def cell(value: object) -> str:
    """One value as CSV text: ISO-8601 UTC, a decimal point, true and false, nothing for what was not measured."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value.isoformat()}Z" if isinstance(value, datetime) else str(value)
