"""Exports that name a standard's ruleset say beside it that its rules are inferred."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import openpyxl
import pytest
from pyarrow import parquet

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import Export, ExportFormat, ExportTable
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.actors import TESTER

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
ALL = BoardQuery("cn-north-9", include_invalid=True)
IEEE = "ieee-2937-2022"


@pytest.mark.every_store
def test_every_export_says_beside_a_standards_ruleset_that_its_rules_are_inferred(warehouse: Warehouse) -> None:
    warehouse.record(a.record("one"))
    warehouse.store_evaluations(warehouse.validate(replace(ALL, ruleset_id=IEEE)), actor=TESTER)
    warehouse.record(a.record("two"))
    basis = "rules inferred without the standard's text"

    for table, expected in (
        (ExportTable.RUNS, [(IEEE, basis), ("aisbench/1", None)]),
        (ExportTable.SERIES, [(f"aisbench/1;{IEEE}", f"{IEEE}: {basis}")]),
    ):
        for kind, read in READERS.items():
            target = io.BytesIO()
            warehouse.export(Export(ALL, NOW, table, kind), target)
            said = [(row["ruleset_id"], row["ruleset_basis"] or None) for row in read(target)]
            assert said == expected, (table, kind)


def _excel(content: io.BytesIO) -> list[dict[str, Any]]:
    header, *cells = openpyxl.load_workbook(content).worksheets[0].iter_rows(values_only=True)
    names = [str(each) for each in header]
    return [dict(zip(names, each, strict=True)) for each in cells]


READERS: dict[ExportFormat, Callable[[io.BytesIO], list[dict[str, Any]]]] = {
    ExportFormat.CSV: lambda content: list(csv.DictReader(io.StringIO(content.getvalue().decode()))),
    ExportFormat.JSON: lambda content: json.loads(content.getvalue()),
    ExportFormat.PARQUET: lambda content: parquet.read_table(content).to_pylist(),
    ExportFormat.EXCEL: _excel,
}
