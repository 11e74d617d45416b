"""Every run that the screen's filter chooses, not only the page it shows, as one file."""

from datetime import UTC
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.exporting import csv_file, json_file, parquet_file, workbook
from aisbench_core.warehouse.exporting.numbering import report_id
from aisbench_core.warehouse.exporting.runs import RUNS
from aisbench_core.warehouse.exporting.series import SERIES, asked_by
from aisbench_core.warehouse.exports import Export, ExportFormat, ExportTable
from aisbench_core.warehouse.filters import CHOSEN, WORTH, parameters, worth
from aisbench_core.warehouse.judging import Judge

SHEETS = {ExportTable.RUNS: RUNS, ExportTable.SERIES: SERIES}


def write(cur: DuckDBPyConnection, asked: Export, judge: Judge, target: IO[bytes]) -> int:
    """Write the file; returns the number of rows. The target is left open, and is complete when this returns.

    `judge`: whose verdicts count; it says how many runs a series needs, and judges series."""
    sheet = SHEETS[asked.table]
    at = asked.exported_at.astimezone(UTC).replace(microsecond=0)
    runs = parameters(cur, asked.query)
    chosen = {**runs, "exported_at": at.replace(tzinfo=None)}
    if asked.table is ExportTable.SERIES:
        chosen |= {"include_invalid": asked.query.include_invalid, **asked_by(cur, CHOSEN, runs, judge)}
        chosen |= {"report_id": report_id(cur, CHOSEN, runs)}
    else:
        chosen |= worth(asked.query)
        chosen |= {"report_id": report_id(cur, f"{CHOSEN} and {WORTH}", runs | worth(asked.query))}
    mark = _mark(asked.query.region, rehearsal=bool(chosen["rehearsal"]))
    match asked.format:
        case ExportFormat.CSV:
            return csv_file.write(cur, sheet, chosen, target, asked.bom)
        case ExportFormat.JSON:
            return json_file.write(cur, sheet, chosen, target)
        case ExportFormat.PARQUET:
            marks = {"schema": sheet.schema, "content": mark, "exported_at_utc": f"{at:%Y-%m-%dT%H:%M:%SZ}"}
            return parquet_file.write(cur, sheet, chosen, target, marks)
        case ExportFormat.EXCEL:
            name = f"{asked.table}{' (rehearsals)' if chosen['rehearsal'] else ''}"
            return workbook.write(cur, sheet, chosen, target, mark, name)


def _mark(region: str, *, rehearsal: bool) -> str:
    return f"rehearsals in {region}: not measurements" if rehearsal else f"measurements of {region}"
