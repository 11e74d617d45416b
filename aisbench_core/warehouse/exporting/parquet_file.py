"""Parquet and Arrow streams: typed columns, with units and meanings beside them, batch by batch."""

from collections.abc import Sequence
from typing import IO, Any

import pyarrow as arrow
from duckdb import DuckDBPyConnection
from pyarrow import ipc, parquet

from aisbench_core.model.columns import Kind
from aisbench_core.warehouse.exporting.columns import Sheet, SheetColumn
from aisbench_core.warehouse.exporting.parts import Parameters
from aisbench_core.warehouse.values.exports import ExportFormat

BATCH = 10_000
TYPES = {
    Kind.TEXT: arrow.string(),
    Kind.INTEGER: arrow.int64(),
    Kind.NUMBER: arrow.float64(),
    Kind.FLAG: arrow.bool_(),
    Kind.TIME: arrow.timestamp("us", tz="UTC"),
}


def write(
    cur: DuckDBPyConnection,
    sheet: Sheet,
    parts: Sequence[Parameters],
    target: IO[bytes],
    marks: dict[str, str],
    form: ExportFormat = ExportFormat.PARQUET,
) -> int:
    """Write all rows, and `marks` as the file's metadata; returns how many rows."""
    schema = arrow.schema([_to_field(column) for column in sheet.columns], metadata=marks)
    count = 0
    with _open_writer(target, schema, form) as writer:
        for part in parts:
            for batch in cur.execute(sheet.select("*"), part).to_arrow_reader(BATCH):
                writer.write_batch(batch.cast(schema))
                count += batch.num_rows
    return count


def _open_writer(target: IO[bytes], schema: arrow.Schema, form: ExportFormat) -> Any:
    if form is ExportFormat.ARROW:
        return ipc.new_stream(target, schema)
    return parquet.ParquetWriter(target, schema, compression="zstd")


def _to_field(column: SheetColumn) -> arrow.Field:
    return arrow.field(column.name, TYPES[column.kind], metadata={"unit": column.unit, "meaning": column.meaning})
