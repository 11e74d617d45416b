"""SQL queries that people write: checked first, limited while they run, with errors that say where and why; and their
answers as CSV, JSON or Parquet, row by row, in constant memory.

The engine is locked anyway (reading.py). The check gives clearer errors than the lock, and excludes functions that
reach beyond the tables, such as PostgreSQL's own in a team's warehouse.
"""

import contextlib
import csv
import io
import json
import math
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import IO, Any

import duckdb

from aisbench_core.errors import QueryError, WarehouseError
from aisbench_core.messages import Hint, Message, joined
from aisbench_core.warehouse.exporting.csv_file import cell
from aisbench_core.warehouse.store.reading import MEMORY, CopyReader, Reader

# The default time limit.
SECONDS = 60.0

# After the time limit the engine is interrupted this often: it forgets an interrupt between two batches of rows.
INTERRUPT_S = 0.1

# Table functions that are allowed; all others lead out of the warehouse, or into its engine.
FUNCTIONS = frozenset({"unnest", "range", "generate_series", "repeat_row", "json_each", "json_tree"})

_PLAIN_NAME = re.compile(r"\w+")
_ENGINE = re.compile(r"__ducklake|^(pg_catalog|system|temp)$", re.I)
_TABLES_HINT = Message(
    "`show tables` names the views, `describe v_runs` the columns of one; docs/open.md explains them"
)
_HINTS = {
    "Permission": Message("only the warehouse can be read: no file, no address, no other database"),
    "Parser": Message("one SELECT in DuckDB's SQL is expected"),
    "Binder": _TABLES_HINT,
    "Catalog": _TABLES_HINT,
}
# DuckDB's kinds of errors that a change of the query can solve.
_OF_THE_QUERY = re.compile(
    "Permission|Parser|Binder|Catalog|Conversion|Invalid Input|Out of Range|Mismatch Type|Not implemented|Syntax|"
    "Parameter|Expression|Divide|Decimal|Invalid type|Constraint|Sequence|Settings"
)


@dataclass(frozen=True, slots=True)
class Query:
    """SQL, the values of its `?` or `$name`, and its time limit."""

    sql: str
    values: Sequence[object] | Mapping[str, object] = ()
    seconds: float = SECONDS


EXAMPLE = Query(
    "select model, max(throughput) as best from v_groups where node_count = $nodes group by model", {"nodes": 8}
)
"""A query with a value, as documents show it."""


@contextlib.contextmanager
def executed(reader: Reader | CopyReader, query: Query) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor with the answer, to be fetched within the context and the time limit.

    Raises QueryError if the query is not a single SELECT over the warehouse, fails, or exceeds its time or memory, and
    WarehouseError if the warehouse cannot be read. KeyboardInterrupt ends it."""
    end = time.monotonic() + query.seconds
    try:
        with reader.cursor() as cur, _translated(query.sql), _limited(cur, query.seconds, end):
            check(cur, query.sql)
            cur.execute(query.sql, dict(query.values) if isinstance(query.values, Mapping) else list(query.values))
            yield cur
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # DuckDB raises this on Ctrl-C
            raise KeyboardInterrupt from None
        raise


def has_both(reader: Reader) -> bool:
    """Whether the warehouse has measurements and rehearsals, so that a query may mix them."""
    with reader.cursor() as cur:
        return cur.execute("select count(distinct rehearsal) from runs").fetchall() == [(2,)]


def check(cur: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raises QueryError unless this is one SELECT over tables and views."""
    statements = cur.extract_statements(sql)
    if len(statements) != 1:
        content = Message("{count} statements", count=len(statements)) if statements else Message("nothing")
        raise QueryError(
            Message("one SELECT is expected, and this holds {found}", found=content),
            Message("a PIVOT needs its values: ON … IN (…)"),
        )
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = str(statements[0].type).rpartition(".")[2].replace("_", " ")
        raise QueryError(
            Message("only a SELECT is carried out here, and this is {kind}", kind=kind),
            Message("the warehouse is read, never changed"),
        )
    [(text,)] = cur.execute("select json_serialize_sql(?)", [sql]).fetchall()
    tree = json.loads(text)
    if tree["error"]:
        raise QueryError(
            Message("this cannot be read: {reason}", reason=tree["error_message"]),
            Message("write it as a plain SELECT"),
        )
    for node in _nodes(tree["statements"]):
        _check_node(node, sql)


def _check_node(node: Mapping[str, Any], sql: str) -> None:
    position = _position(sql, node.get("query_location"))
    if node.get("type") == "TABLE_FUNCTION":
        name = str((node.get("function") or {}).get("function_name", "")).lower()
        if name not in FUNCTIONS:
            possible = Message("{functions} are possible", functions=", ".join(sorted(FUNCTIONS)))
            raise QueryError(
                Message("the function {name}() cannot be read from{position}", name=name, position=position),
                joined("; ", [_HINTS["Permission"], possible]),
            )
    # Where a team's warehouse is reached through a proxy, its password is a setting of the engine.
    if str(node.get("function_name", "")).lower() == "current_setting":
        raise QueryError(
            Message("settings of the engine cannot be read{position}", position=position), _HINTS["Permission"]
        )
    if node.get("type") == "BASE_TABLE":
        name = str(node.get("table_name", ""))
        schemas = [str(node.get(key) or "") for key in ("catalog_name", "schema_name")]
        if not _PLAIN_NAME.fullmatch(name) or any(map(_ENGINE.search, schemas)):
            raise QueryError(
                Message("{name!r} is not a table of the warehouse{position}", name=name, position=position),
                _HINTS["Permission"],
            )


def _nodes(tree: object) -> Iterator[Mapping[str, Any]]:
    stack = [tree]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


@contextlib.contextmanager
def _limited(cur: duckdb.DuckDBPyConnection, seconds: float, end: float) -> Iterator[None]:
    """Interrupts the cursor from `end` on, repeatedly: rows are computed while they are fetched."""
    done, is_over = threading.Event(), threading.Event()

    def interrupt() -> None:
        if done.wait(max(0.0, end - time.monotonic())):
            return
        is_over.set()  # the wait may end a moment before `end`, so the time alone does not tell
        cur.interrupt()
        while not done.wait(INTERRUPT_S):
            cur.interrupt()

    thread = threading.Thread(target=interrupt, name="time limit", daemon=True)
    thread.start()
    try:
        yield
    except BaseException as error:
        # Arrow, and DuckDB while rows are fetched, raise other errors that only mention the interrupt.
        kinds = (duckdb.Error, OSError, ValueError, RuntimeError)
        if is_over.is_set() and isinstance(error, kinds) and "interrupt" in str(error).lower():
            raise too_slow(seconds) from None
        raise
    finally:
        done.set()
        thread.join()


def too_slow(seconds: float) -> QueryError:
    """The error of a query that exceeds its time limit."""
    return QueryError(
        Message("the query took longer than {seconds:g} s", seconds=seconds),
        Message("ask for less, or allow more time (--seconds)"),
    )


@contextlib.contextmanager
def read_within(cur: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """A context for queries of ours whose rows are read in batches; None: without a time limit.

    Raises QueryError when it takes longer, and WarehouseError when rows cannot be read."""
    limit = _limited(cur, seconds, time.monotonic() + seconds) if seconds else contextlib.nullcontext()
    with _translated(""), limit:
        yield


@contextlib.contextmanager
def _translated(sql: str) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise _translation(error, sql) from error
    except OSError as error:  # so Arrow says what DuckDB said while rows are fetched in batches
        if not str(error).startswith('{"exception_type"'):
            raise
        raise _translation(error, sql) from error


def _translation(error: duckdb.Error | OSError, sql: str) -> QueryError | WarehouseError:
    """Our error for one of DuckDB's, whose text is JSON behind a prefix (`errors_as_json`)."""
    try:
        fields = json.loads(str(error)[str(error).index("{") :])
    except ValueError:
        fields = {}
    kind, text = str(fields.get("exception_type", "")), str(fields.get("exception_message") or error)
    if kind == "Out of Memory" or isinstance(error, duckdb.OutOfMemoryException):
        return QueryError(
            Message("the query needs more than {memory} of memory", memory=MEMORY), Message("group, filter or limit it")
        )
    if not _OF_THE_QUERY.search(kind):
        reason = text.splitlines()[0]
        return WarehouseError(Message("the warehouse cannot be read: {reason}", reason=reason), Message("try again"))
    hint: Hint = next((hint for name, hint in _HINTS.items() if kind.startswith(name)), "")
    reason = " ".join(text.split("\n\nLINE ")[0].split())
    return QueryError(
        Message("{reason}{position}", reason=reason, position=_position(sql, fields.get("position"))), hint
    )


def _position(sql: str, offset: object) -> str:
    """Line and column of a byte offset, and the line itself with a mark."""
    if not str(offset).isdigit():
        return ""
    before = sql.encode()[: int(str(offset))].decode(errors="ignore")
    number, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    line = sql.split("\n")[number - 1]
    mark = " " * (column - 1) + "^"
    return f", at line {number}, column {column}:\n  {line}\n  {mark}\n"


# --- answers as files -------------------------------------------------------------------------------

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
