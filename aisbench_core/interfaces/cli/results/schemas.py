"""What `aisbench export --schema` writes: descriptions of files and answers, for programs."""

import json
from typing import Any

from aisbench_core.domain.results.record import build_record_schema
from aisbench_core.interfaces.api.document.descriptions import DescribedSchemas
from aisbench_core.interfaces.api.document.openapi import build_answer_schemas
from aisbench_core.interfaces.api.endpoints import ENDPOINTS
from aisbench_core.warehouse.exporting.schemas import build_csvw, build_data_package, build_table_schema
from aisbench_core.warehouse.values.exports import ExportTable, SchemaKind


def write_schema(kind: SchemaKind, table: ExportTable) -> str:
    """The description as JSON; `table`: of which export, if it is of one."""
    return json.dumps(_build_schema(kind, table), ensure_ascii=False, indent=2) + "\n"


def _build_schema(kind: SchemaKind, table: ExportTable) -> dict[str, Any]:
    match kind:
        case SchemaKind.DATA_PACKAGE:
            return build_data_package(table)
        case SchemaKind.TABLE_SCHEMA:
            return build_table_schema(table)
        case SchemaKind.CSVW:
            return build_csvw(table)
        case SchemaKind.RECORD:
            return build_record_schema(DescribedSchemas)
        case SchemaKind.REST:
            return build_answer_schemas(ENDPOINTS)
