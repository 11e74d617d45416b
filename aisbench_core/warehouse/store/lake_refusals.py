"""Errors of PostgreSQL, OBS and DuckDB about a team's warehouse, with what a person can do about them."""

import ctypes
import re
from collections.abc import Iterable

import duckdb

from aisbench_core.base.errors import WarehouseBusy, WarehouseError
from aisbench_core.base.messages import Message
from aisbench_core.warehouse.store.team import TeamLocation

# DuckDB declares the engine unusable after a fault of its own: when PostgreSQL dies in the middle of an answer, or
# another process removes tables of an old schema (github.com/duckdb/ducklake/issues/1305).
UNUSABLE = (duckdb.InternalException, duckdb.FatalException)

# Bugs of ours, which are not translated.
_BUGS = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ConversionException,
    duckdb.InvalidInputException,
    duckdb.NotImplementedException,
    duckdb.OutOfRangeException,
    duckdb.ParserException,
    duckdb.SyntaxException,
    duckdb.TypeMismatchException,
)

# The connection broke in the middle of an answer; DuckDB raises errors of several kinds then.
_DISCONNECTED = re.compile(r"unsuccessful query result|server (terminated|closed)|failed to prepare COPY", re.I)

_ADVICE = (
    (
        r"password|no pg_hba|authentication",
        Message("set AISBENCH_WAREHOUSE_PASSWORD, or `warehouse` in data/credentials.yaml"),
    ),
    (r'database "[^"]*+" does not exist', Message("create it with createdb, under the name in the setting warehouse")),
    (
        r'role "[^"]*+" does not exist',
        Message("change `user` in the setting warehouse, or create that user in PostgreSQL"),
    ),
    (r"permission denied", Message("the user needs to own the database or its tables")),
    (r"DATA_PATH parameter", Message("set warehouse_data to the path in the catalogue")),
    (
        r"\A(?s:(?=.*DuckLake).*version)|catalog version",
        Message("use the same version of this product in the whole team"),
    ),
    (
        r"\b403\b|Forbidden|SignatureDoesNotMatch|InvalidAccessKeyId",
        Message("check the keys of the profile warehouse_profile"),
    ),
    (
        r"\b404\b|NoSuchBucket|NoSuchKey",
        Message("check the bucket in warehouse_data, then run `aisbench warehouse check`"),
    ),
    (
        r"HTTP|s3://",
        Message("check that OBS can be reached: `aisbench health`; failed writes are retried"),
    ),
    (
        r"connect|connection|Postgres|translate host|timeout expired|SSL|unsuccessful query|server terminated|COPY",
        Message("check that PostgreSQL runs and that the setting warehouse names it; runs are recorded once it does"),
    ),
)


def abandon_connections(*connections: duckdb.DuckDBPyConnection) -> None:
    """Never close these connections to an unusable engine, not even at exit, and leak their memory.

    Rolling back the lake fails in a place where C++ allows no exception, which would end the process."""
    for connection in connections:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def is_ours(error: duckdb.Error) -> bool:
    """Whether it is a bug, or a conflict that the writer resolves itself."""
    if isinstance(error, duckdb.TransactionException):
        return is_conflict(error)
    return isinstance(error, _BUGS) and not _DISCONNECTED.search(str(error))


def is_conflict(error: duckdb.TransactionException) -> bool:
    """Whether another writer was first: one that does not take turns, such as an analyst's own program."""
    return re.search(r"conflict|maximum retry count|duplicate key", str(error), re.I) is not None


def translate_error(location: TeamLocation, error: duckdb.Error, secrets: Iterable[str] = ()) -> WarehouseError:
    """Our error for one of DuckDB's."""
    text = str(error)
    if "lock timeout" in text:
        return WarehouseBusy(
            Message("another writer has locked the warehouse {path} for too long", path=location),
            Message("try again in a moment"),
        )
    if isinstance(error, UNUSABLE):
        return WarehouseError(
            Message("the connection to the warehouse {path} broke in the middle of an answer", path=location),
            Message("try again; a new connection is opened"),
        )
    for secret in secrets:
        text = text.replace(secret, "…")
    hint = next((advice for pattern, advice in _ADVICE if re.search(pattern, text, re.I)), Message("try again"))
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
    reason = re.sub(r'^.*Unable to connect to Postgres at "(?:[^"\\]|\\.)*": ', "", line)[:300]  # DuckDB's nesting
    return WarehouseError(Message("the warehouse {path} cannot be used: {reason}", path=location, reason=reason), hint)
