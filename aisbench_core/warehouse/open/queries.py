"""SQL queries that people write: checked first, limited while they run, with errors that say where and why; and their
answers as CSV, JSON or Parquet, row by row, in constant memory."""

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
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any

import duckdb

from aisbench_core.base.errors import QueryError, WarehouseError
from aisbench_core.base.formats import csv_cell
from aisbench_core.base.messages import Hint, Message
from aisbench_core.warehouse.open.checks import ONLY_WAREHOUSE, TABLES_HINT, check_sql, position_of
from aisbench_core.warehouse.open.reading import MEMORY, CopyReader, Reader

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatchReader

# The default time limit.
SECONDS = 60.0

# After the time limit the engine is interrupted this often: it forgets an interrupt between two batches of rows.
INTERRUPT_S = 0.1

_HINTS = {
    "Permission": ONLY_WAREHOUSE,
    "Parser": Message("one SELECT in DuckDB's SQL is expected"),
    "Binder": TABLES_HINT,
    "Catalog": TABLES_HINT,
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
def execute_query(reader: Reader | CopyReader, query: Query) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor with the answer, to be fetched within the context and the time limit.

    Raises QueryError if the query is not a single SELECT over the warehouse, fails, or exceeds its time or memory, and
    WarehouseError if the warehouse cannot be read. KeyboardInterrupt ends it."""
    end = time.monotonic() + query.seconds
    try:
        with reader.cursor() as cur, _translate_errors(query.sql), _limit_time(cur, query.seconds, end):
            check_sql(cur, query.sql)
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


@contextlib.contextmanager
def _limit_time(cur: duckdb.DuckDBPyConnection, seconds: float, end: float) -> Iterator[None]:
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
    limit = _limit_time(cur, seconds, time.monotonic() + seconds) if seconds else contextlib.nullcontext()
    with _translate_errors(""), limit:
        yield


@contextlib.contextmanager
def _translate_errors(sql: str) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise _translate_error(error, sql) from error
    except OSError as error:  # so Arrow says what DuckDB said while rows are fetched in batches
        if not str(error).startswith('{"exception_type"'):
            raise
        raise _translate_error(error, sql) from error


def _translate_error(error: duckdb.Error | OSError, sql: str) -> QueryError | WarehouseError:
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
        Message("{reason}{position}", reason=reason, position=position_of(sql, fields.get("position"))), hint
    )


# --- answers as files -------------------------------------------------------------------------------

BATCH = 1000

Row = tuple[Any, ...]
Cursor = duckdb.DuckDBPyConnection


def list_names(cur: Cursor) -> list[str]:
    """The answer's columns; duplicates get a number."""
    unique: list[str] = []
    for name, *_ in cur.description or ():
        number = sum(other == name or other.startswith(f"{name}_") for other in unique) if name in unique else 0
        unique.append(f"{name}_{number}" if number else name)
    return unique


def iter_rows(cur: Cursor) -> Iterator[Row]:
    """The answer's rows; times of any zone in UTC."""
    if any(_ZONED in str(kind) for _, kind, *_ in cur.description or ()):
        yield from _zoned_rows(cur)
        return
    while batch := cur.fetchmany(BATCH):
        yield from batch


# DuckDB makes Python's times of these with pytz, an old package that nothing else needs; Arrow makes them without.
_ZONED = "TIMESTAMP WITH TIME ZONE"
_OFFSET = "TIME WITH TIME ZONE"


def read_arrow(cur: Cursor, batch_rows: int) -> "RecordBatchReader":
    """The answer as Arrow's batches. Raises QueryError for a time of day with an offset, which Arrow does not keep."""
    if any(_OFFSET in str(kind) for _, kind, *_ in cur.description or ()):
        raise QueryError(
            Message("a time of day with a time zone would lose it"), Message("cast it to text: `column::text`")
        )
    return cur.to_arrow_reader(batch_rows)


def _zoned_rows(cur: Cursor) -> Iterator[Row]:
    kinds = [kind for _, kind, *_ in cur.description or ()]
    for batch in read_arrow(cur, BATCH):
        for row in zip(*map(_list_values, batch.columns), strict=True):
            yield tuple(map(_as_fetched, row, kinds))


def _list_values(column: "Array[Any]") -> Sequence[object]:
    try:
        return [*column.to_pylist()]
    except (OverflowError, ValueError):  # Python has no other times, and Arrow no infinite ones
        raise QueryError(
            Message("a time is outside the years 1 to 9999"), Message("cast it to text: `column::text`")
        ) from None


def _as_fetched(value: Any, kind: Any) -> Any:
    """A value of Arrow's as DuckDB itself gives it, but times of any zone in UTC. `kind`: its DuckDBPyType."""
    if value is None:
        return None
    match kind.id:
        case "list" | "array":
            item = dict(kind.children)["child"]
            return [_as_fetched(each, item) for each in value]
        case "struct":
            return {name: _as_fetched(value[name], item) for name, item in kind.children}
        case "map":
            (_, keys), (_, items) = kind.children
            return _map_pairs([(_as_fetched(key, keys), _as_fetched(item, items)) for key, item in value])
        case "interval":
            return timedelta(days=30 * value.months + value.days, microseconds=value.nanoseconds // 1000)
        case "bit":  # the first byte counts the bits that fill the second one
            return "".join(f"{byte:08b}" for byte in value[1:])[value[0] :]
        case "bignum":  # after three bytes with its sign and length; the bits of negative ones are inverted
            is_negative = value[0] < 128
            number = int.from_bytes(bytes(255 - byte for byte in value[3:]) if is_negative else value[3:])
            return str(-number if is_negative else number)
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value


def _map_pairs(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    if any(isinstance(key, list | dict) for key, _ in pairs):
        return {"key": [key for key, _ in pairs], "value": [item for _, item in pairs]}
    return dict(pairs)


def write_csv(columns: Sequence[str], values: Iterator[Row], target: IO[bytes]) -> int:
    """RFC 4180 in UTF-8, cells as in the export; returns the number of rows."""
    text = io.TextIOWrapper(target, "utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text)
        writer.writerow(columns)
        return sum(1 for row in values if writer.writerow([csv_cell(_flatten_value(value)) for value in row]))
    finally:
        text.detach()


def write_json(columns: Sequence[str], values: Iterator[Row], target: IO[bytes]) -> int:
    """A list of objects, one a line; times in ISO 8601 UTC, what was not measured null. Returns the number of rows."""
    count = 0
    for count, row in enumerate(values, start=1):
        text = json.dumps(dict(zip(columns, map(_to_json, row), strict=True)), ensure_ascii=False, allow_nan=False)
        target.write(f"{'[' if count == 1 else ','}\n{text}".encode())
    target.write(b"\n]\n" if count else b"[]\n")
    return count


def write_parquet(cur: Cursor, limit: int | None, target: IO[bytes]) -> int:
    """Columns with their types; returns the number of rows."""
    from pyarrow import parquet

    reader = read_arrow(cur, BATCH)
    count = 0
    with parquet.ParquetWriter(target, reader.schema) as writer:
        for batch in reader:
            part = batch if limit is None else batch.slice(0, max(0, limit - count))
            if part.num_rows:
                writer.write_batch(part)
            count += part.num_rows
    return count


def _flatten_value(value: object) -> object:
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(_to_json(value), ensure_ascii=False)
    return None if isinstance(value, float) and math.isnan(value) else value


def _to_json(value: object) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    return f"{value.isoformat()}Z" if isinstance(value, datetime) else str(value)
