"""What the CSV of an export holds, for programs: a Data Package with its Table Schema, and CSV on the Web.

Both are made of the columns of the table, so that a new column needs no second place."""

from collections.abc import Mapping
from typing import Any

from aisbench_core.model.columns import Kind
from aisbench_core.warehouse.exporting.columns import SheetColumn
from aisbench_core.warehouse.exporting.export import SHEETS
from aisbench_core.warehouse.values.exports import MEDIA_TYPES, ExportFormat, ExportTable

# Version 2 of the Data Package standard.
PROFILES = "https://datapackage.org/profiles/2.0"

NO_UNIT = "none"
"""The unit of texts and flags."""

PRIMARY_KEYS: Mapping[ExportTable, str] = {ExportTable.RUNS: "run_id"}

_TITLES = {ExportTable.RUNS: "Runs", ExportTable.SERIES: "Statistics per series and row of the leaderboard"}

_RULES = (
    "An empty cell was not measured; 0 is a measurement. Text in which =, +, -, @, TAB, CR, LF or a full-width form "
    "begins, or follows ' only, is prefixed with '. A unit that is the name of a column is the one in that column."
)

# Of a field of a Table Schema, and the datatype of CSV on the Web.
_TYPES: Mapping[Kind, tuple[Mapping[str, Any], str]] = {
    Kind.TEXT: ({"type": "string"}, "string"),
    Kind.INTEGER: ({"type": "integer"}, "integer"),
    Kind.NUMBER: ({"type": "number"}, "double"),
    Kind.FLAG: ({"type": "boolean", "trueValues": ["true"], "falseValues": ["false"]}, "boolean"),
    Kind.TIME: ({"type": "datetime"}, "dateTimeStamp"),
}


def build_table_schema(table: ExportTable) -> dict[str, Any]:
    """The Table Schema of an export, whose fields have the further property `unit`."""
    keys = {"primaryKey": [PRIMARY_KEYS[table]]} if table in PRIMARY_KEYS else {}
    fields = [_build_field(column) for column in SHEETS[table].columns]
    return {"$schema": f"{PROFILES}/tableschema.json", "fields": fields, "missingValues": [""], **keys}


def build_data_package(*tables: ExportTable) -> dict[str, Any]:
    """The Data Package of exports, each of which is the file `<table>.csv` beside it."""
    return {
        "$schema": f"{PROFILES}/datapackage.json",
        "name": f"aisbench-{'-'.join(tables)}",
        "description": _RULES,
        "resources": [*map(_build_resource, tables)],
    }


def build_csvw(table: ExportTable) -> dict[str, Any]:
    """The metadata of an export for CSV on the Web, by which it is `<table>.csv-metadata.json` beside the file."""
    keys = {"primaryKey": PRIMARY_KEYS[table]} if table in PRIMARY_KEYS else {}
    return {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "url": f"{table}.csv",
        "dc:title": _TITLES[table],
        "dc:description": _RULES,
        "dialect": {"encoding": "utf-8", "delimiter": ",", "quoteChar": '"', "doubleQuote": True, "header": True},
        "tableSchema": {"columns": [_build_csvw_column(column) for column in SHEETS[table].columns], **keys},
    }


def _build_resource(table: ExportTable) -> dict[str, Any]:
    return {
        "name": table.value,
        "type": "table",
        "title": _TITLES[table],
        "path": f"{table}.csv",
        "format": ExportFormat.CSV.value,
        "mediatype": MEDIA_TYPES[ExportFormat.CSV],
        "encoding": "utf-8",
        "dialect": {"delimiter": ",", "lineTerminator": "\r\n", "quoteChar": '"', "doubleQuote": True},
        "schema": build_table_schema(table),
    }


def _build_field(column: SheetColumn) -> dict[str, Any]:
    described = {"description": column.meaning, "unit": column.unit or NO_UNIT}
    return {"name": column.name, **_TYPES[column.kind][0], **described}


def _build_csvw_column(column: SheetColumn) -> dict[str, Any]:
    described = {"dc:description": column.meaning, "schema:unitText": column.unit or NO_UNIT}
    return {"name": column.name, "titles": column.name, "datatype": _TYPES[column.kind][1], "null": "", **described}
