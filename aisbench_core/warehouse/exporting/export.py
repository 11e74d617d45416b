"""Every run that the screen's filter chooses, not only the page it shows, as one file."""

from collections.abc import Mapping
from datetime import UTC
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.base.text_tables import TextTableFormat
from aisbench_core.warehouse.exporting import csv_file, json_file, text_file
from aisbench_core.warehouse.exporting.parts import MAX_RUNS, WITHIN, Parameters, list_parts
from aisbench_core.warehouse.exporting.provenance import build_provenance
from aisbench_core.warehouse.exporting.runs import RUNS, runs_where
from aisbench_core.warehouse.exporting.series import SERIES, ruleset_parameters, series_where
from aisbench_core.warehouse.queries.filters import OF_VALIDITY, build_parameters, choose_runs_sql, validity_parameters
from aisbench_core.warehouse.validity.evaluation import Evaluator
from aisbench_core.warehouse.values.exports import Export, ExportFormat, ExportTable, OnRows, ignore_rows

SHEETS = {ExportTable.RUNS: RUNS, ExportTable.SERIES: SERIES}


def write(
    cur: DuckDBPyConnection,
    export: Export,
    evaluator: Evaluator,
    target: IO[bytes],
    bases: Mapping[str, str],
    max_runs: int = MAX_RUNS,
    on_rows: OnRows = ignore_rows,
) -> int:
    """Write the file; returns the number of rows. The target is left open, and is complete when this returns.

    `evaluator`: whose ruleset says how many runs a series needs, and judges series. `bases`: of rulesets, by their ids.
    `max_runs`: how many at a time. `on_rows`: called while a workbook is written, which takes longest."""
    chosen_runs = choose_runs_sql(export.query)
    at = export.exported_at.astimezone(UTC).replace(microsecond=0)
    filters = build_parameters(cur, export.query)
    rehearsal = bool(filters["rehearsal"])
    if export.table is ExportTable.SERIES:
        sheet = series_where(chosen_runs, "runs > 0 or $include_invalid")
        named = filters | build_provenance(cur, chosen_runs, filters, at, bases, export.audit_head)
        named |= {
            "include_invalid": export.query.include_invalid,
            **ruleset_parameters(cur, chosen_runs, filters, evaluator),
        }
        ranges: list[Parameters] = [{}]
    else:
        exported = f"{chosen_runs} and {OF_VALIDITY}"
        sheet = runs_where(f"{exported} and {WITHIN}")
        filters |= validity_parameters(export.query)
        named = filters | build_provenance(cur, exported, filters, at, bases, export.audit_head)
        ranges = list_parts(cur, exported, filters, max_runs)
    chosen = [named | part for part in ranges]
    region = export.query.region
    mark = f"rehearsals in {region}: not measurements" if rehearsal else f"measurements of {region}"
    match export.format:
        case ExportFormat.CSV:
            return csv_file.write(cur, sheet, chosen, target, export.bom)
        case ExportFormat.JSON:
            return json_file.write(cur, sheet, chosen, target)
        case ExportFormat.PARQUET | ExportFormat.ARROW:
            from aisbench_core.warehouse.exporting import parquet_file  # pyarrow takes 0.1 s

            marks = {"schema": sheet.schema, "content": mark, "exported_at_utc": f"{at:%Y-%m-%dT%H:%M:%SZ}"}
            return parquet_file.write(cur, sheet, chosen, target, marks, export.format)
        case ExportFormat.MARKDOWN | ExportFormat.LATEX:
            caption = f"{mark[:1].upper()}{mark[1:]}, {at:%Y-%m-%d}"
            return text_file.write(cur, sheet, chosen, target, export.table, caption, TextTableFormat(export.format))
        case ExportFormat.EXCEL:
            from aisbench_core.warehouse.exporting import workbook

            name = f"{export.table}{' (rehearsals)' if rehearsal else ''}"
            return workbook.write(cur, sheet, chosen, target, mark, name, on_rows)
