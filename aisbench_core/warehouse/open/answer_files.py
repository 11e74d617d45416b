"""The answer to a SQL query as CSV, JSON or Parquet, row by row, in constant memory."""

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import IO, Any

import duckdb

from aisbench_core.warehouse.exporting.csv_file import cell

BATCH = 1000

Row = tuple[Any, ...]
Cursor = duckdb.DuckDBPyConnection


def names(cur: Cursor) -> list[str]:
    """The answer's columns; duplicates get a number."""
    unique: list[str] = []
    for name, *_ in cur.description or ():
        number = sum(other == name or other.startswith(f"{name}_") for other in unique) if name in unique else 0
        unique.append(f"{name}_{number}" if number else name)
    return unique


def rows(cur: Cursor, limit: int | None = None) -> Iterator[Row]:
    """The answer's rows."""
    remaining = limit if limit is not None else math.inf
    while remaining > 0 and (batch := cur.fetchmany(int(min(BATCH, remaining)))):
        yield from batch
        remaining -= len(batch)


def write_csv(columns: Sequence[str], values: Iterator[Row], target: IO[bytes]) -> int:
    """RFC 4180 in UTF-8, cells as in the export; returns the number of rows."""
    text = io.TextIOWrapper(target, "utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text)
        writer.writerow(columns)
        return sum(1 for row in values if writer.writerow([cell(_flat(value)) for value in row]))
    finally:
        text.detach()


def write_json(columns: Sequence[str], values: Iterator[Row], target: IO[bytes]) -> int:
    """A list of objects, one a line; times in ISO 8601 UTC, what was not measured null. Returns the number of rows."""
    count = 0
    for count, row in enumerate(values, start=1):
        text = json.dumps(dict(zip(columns, map(_json, row), strict=True)), ensure_ascii=False, allow_nan=False)
        target.write(f"{'[' if count == 1 else ','}\n{text}".encode())
    target.write(b"\n]\n" if count else b"[]\n")
    return count


def write_parquet(cur: Cursor, limit: int | None, target: IO[bytes]) -> int:
    """Columns with their types; returns the number of rows."""
    from pyarrow import parquet

    reader = cur.to_arrow_reader(BATCH)
    count = 0
    with parquet.ParquetWriter(target, reader.schema) as writer:
        for batch in reader:
            part = batch if limit is None else batch.slice(0, max(0, limit - count))
            if part.num_rows:
                writer.write_batch(part)
            count += part.num_rows
    return count


def _flat(value: object) -> object:
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(_json(value), ensure_ascii=False)
    return None if isinstance(value, float) and math.isnan(value) else value


def _json(value: object) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    return f"{value.isoformat()}Z" if isinstance(value, datetime) else str(value)
