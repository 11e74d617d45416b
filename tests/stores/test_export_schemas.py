"""What `aisbench export --schema` writes describes the files that exports are, and says the unit of each column."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import frictionless
import pytest
from jsonschema import Draft202012Validator

from aisbench_core.domain.results.record import dump_record
from aisbench_core.interfaces.api.endpoints import ENDPOINTS
from aisbench_core.interfaces.cli.results.schemas import write_schema
from aisbench_core.model.columns import COLUMNS, Kind
from aisbench_core.model.columns.statistics import STATISTICS
from aisbench_core.warehouse.exporting.export import SHEETS
from aisbench_core.warehouse.exporting.schemas import NO_UNIT
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import ExportTable, SchemaKind
from tests import records as a
from tests.stores.test_warehouse_export import HOSTILE, exported, rows, some_runs

MEASURED = (Kind.INTEGER, Kind.NUMBER, Kind.TIME)

# How CSV on the Web writes values of these datatypes.
FORMS = {
    "string": r"(?s).*",
    "integer": r"-?\d+",
    "double": r"-?\d+(\.\d+)?(e[-+]?\d+)?",
    "boolean": "true|false",
    "dateTimeStamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
}


def schema_of(kind: SchemaKind, table: ExportTable = ExportTable.RUNS) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(write_schema(kind, table))
    return found


def write_package(folder: Path, warehouse: Warehouse, table: ExportTable) -> Path:
    some_runs(warehouse)
    (folder / f"{table}.csv").write_bytes(exported(warehouse, table=table))
    package = folder / "datapackage.json"
    package.write_text(write_schema(SchemaKind.DATA_PACKAGE, table), "utf-8")
    return package


@pytest.mark.parametrize("table", ExportTable)
def test_frictionless_finds_an_export_valid(table: ExportTable, warehouse: Warehouse, tmp_path: Path) -> None:
    package = write_package(tmp_path, warehouse, table)

    report = frictionless.validate(package)

    assert report.valid, report.flatten(["rowNumber", "fieldNumber", "type", "note"])
    assert report.tasks[0].stats["rows"] == len(rows(exported(warehouse, table=table)))


@pytest.mark.parametrize(
    ("what", "found", "planted"),
    [
        ("number", b"8000.0", b"8000.0 samples/s"),
        ("time", b"2026-03-01T08:00:00Z", b"yesterday"),
        ("header", b"throughput_cluster", b"throughput"),
        ("repeated run", b"two-nodes", b"measured"),
    ],
)
def test_frictionless_names_what_is_not_as_described(
    what: str, found: bytes, planted: bytes, warehouse: Warehouse, tmp_path: Path
) -> None:
    package = write_package(tmp_path, warehouse, ExportTable.RUNS)
    whole = (tmp_path / "runs.csv").read_bytes()
    assert found in whole, what
    (tmp_path / "runs.csv").write_bytes(whole.replace(found, planted))

    assert not frictionless.validate(package).valid


def test_a_value_is_read_with_its_type_and_a_guarded_text_as_text(warehouse: Warehouse, tmp_path: Path) -> None:
    package = frictionless.Package(write_package(tmp_path, warehouse, ExportTable.RUNS))

    read = {row["run_id"]: row for row in package.get_table_resource("runs").read_rows()}

    assert read["two-nodes"]["created_by"] == f"'{HOSTILE}"
    assert float(read["measured"]["average_power_w"]) == 310.5
    assert read["measured"]["synthetic_data"] is False
    assert read["measured"]["created_at_utc"] == a.T0
    assert read["stopped"]["throughput_cluster"] is None


@pytest.mark.parametrize("table", ExportTable)
def test_csv_on_the_web_describes_each_column_and_each_cell(table: ExportTable, warehouse: Warehouse) -> None:
    some_runs(warehouse)
    schema = schema_of(SchemaKind.CSVW, table)
    columns = schema["tableSchema"]["columns"]

    header, *body = csv.reader(io.StringIO(exported(warehouse, table=table).decode(), newline=""))

    assert schema["url"] == f"{table}.csv"
    assert [column["titles"] for column in columns] == header
    for row in body:
        for column, cell in zip(columns, row, strict=True):
            assert cell == "" or re.fullmatch(FORMS[column["datatype"]], cell), (column["name"], cell)


def test_every_column_that_is_measured_has_a_unit() -> None:
    units = {each.name: each.unit for each in STATISTICS}
    units |= {each.name: each.unit for each in COLUMNS if each.kind in MEASURED}

    assert [name for name, unit in units.items() if not unit] == []


@pytest.mark.parametrize("table", ExportTable)
def test_every_column_of_an_export_says_its_unit(table: ExportTable) -> None:
    fields = {field["name"]: field["unit"] for field in schema_of(SchemaKind.TABLE_SCHEMA, table)["fields"]}
    columns = {each["name"]: each for each in schema_of(SchemaKind.CSVW, table)["tableSchema"]["columns"]}

    assert [*fields] == [*columns] == [*SHEETS[table].names]
    for column in SHEETS[table].columns:
        assert (fields[column.name] == NO_UNIT) == (column.kind not in MEASURED), column.name
        assert columns[column.name]["schema:unitText"] == fields[column.name]


def test_a_record_is_as_its_schema_says_and_a_damaged_one_is_not() -> None:
    schema = schema_of(SchemaKind.RECORD)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    record = json.loads(dump_record(a.record("measured", throughputs=[1000.0] * 8)))

    assert [*validator.iter_errors(record)] == []
    assert [*record] == [*schema["properties"]]
    assert [*validator.iter_errors({**record, "rehearsal": "no"})]
    assert [*validator.iter_errors({name: value for name, value in record.items() if name != "run"})]


def test_each_answer_of_the_api_has_a_schema_whose_parts_are_all_there() -> None:
    schema = schema_of(SchemaKind.REST)
    Draft202012Validator.check_schema(schema)

    definitions = schema["$defs"]
    named = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(schema)))

    assert named <= definitions.keys()
    assert {endpoint.name for endpoint in ENDPOINTS if endpoint.answer} <= definitions.keys()
    checked = Draft202012Validator({**schema, "$ref": "#/$defs/show_token"})
    assert [*checked.iter_errors({"name": "a"})], "an answer without its required fields"
