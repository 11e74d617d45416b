"""Every run that the screen's filter chooses, not only the page it shows, as one file."""

from collections.abc import Mapping
from datetime import UTC
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.answers.filters import CHOSEN, parameters, worth
from aisbench_core.warehouse.exporting import csv_file, json_file, parquet_file, workbook
from aisbench_core.warehouse.exporting.bases import basis_parameters
from aisbench_core.warehouse.exporting.numbering import report_id
from aisbench_core.warehouse.exporting.parts import MOST, Parameters, parts
from aisbench_core.warehouse.exporting.runs import EXPORTED, RUNS
from aisbench_core.warehouse.exporting.series import SERIES, asked_by
from aisbench_core.warehouse.exports import Export, ExportFormat, ExportTable
from aisbench_core.warehouse.validity.judging import Judge

SHEETS = {ExportTable.RUNS: RUNS, ExportTable.SERIES: SERIES}


def write(
    cur: DuckDBPyConnection,
    asked: Export,
    judge: Judge,
    target: IO[bytes],
    bases: Mapping[str, str],
    most: int = MOST,
) -> int:
    """Write the file; returns the number of rows. The target is left open, and is complete when this returns.

    `judge`: whose verdicts count; it says how many runs a series needs, and judges series. `bases`: what to say beside
    the ids of rulesets. `most`: runs at a time."""
    sheet = SHEETS[asked.table]
    at = asked.exported_at.astimezone(UTC).replace(microsecond=0)
    runs = parameters(cur, asked.query)
    chosen: Parameters = {**runs, "exported_at": at.replace(tzinfo=None), **basis_parameters(bases)}
    if asked.table is ExportTable.SERIES:
        chosen |= {"include_invalid": asked.query.include_invalid, **asked_by(cur, CHOSEN, runs, judge)}
        chosen |= {"report_id": report_id(cur, CHOSEN, runs)}
        some = [chosen]
    else:
        named = runs | worth(asked.query)
        chosen |= named | {"report_id": report_id(cur, EXPORTED, named)}
        some = [chosen | part for part in parts(cur, EXPORTED, named, most)]
    mark = _mark(asked.query.region, rehearsal=bool(runs["rehearsal"]))
    match asked.format:
        case ExportFormat.CSV:
            return csv_file.write(cur, sheet, some, target, asked.bom)
        case ExportFormat.JSON:
            return json_file.write(cur, sheet, some, target)
        case ExportFormat.PARQUET:
            marks = {"schema": sheet.schema, "content": mark, "exported_at_utc": f"{at:%Y-%m-%dT%H:%M:%SZ}"}
            return parquet_file.write(cur, sheet, some, target, marks)
        case ExportFormat.EXCEL:
            name = f"{asked.table}{' (rehearsals)' if runs['rehearsal'] else ''}"
            return workbook.write(cur, sheet, some, target, mark, name)


def _mark(region: str, *, rehearsal: bool) -> str:
    return f"rehearsals in {region}: not measurements" if rehearsal else f"measurements of {region}"
