"""What PostgreSQL and OBS refuse to a team's warehouse, in words: what happened, and what to do."""

import re
from collections.abc import Iterable

import duckdb

from aisbench_core.errors import WarehouseBusy, WarehouseError
from aisbench_core.messages import Message
from aisbench_core.warehouse.store import unusable
from aisbench_core.warehouse.store.team import TeamPlace

BROKEN = (duckdb.Error,)
"""What may be a refusal; the rest of it is_ours."""

_OURS = (
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
"""Bugs: they stay as they are."""

_BROKEN_OFF = re.compile(r"unsuccessful query result|server (terminated|closed)|failed to prepare COPY", re.I)
"""A connection that broke off in the middle of an answer, whatever kind of error DuckDB makes of it."""

_ADVICE = (
    (
        r"password|no pg_hba|authentication",
        Message("set AISBENCH_WAREHOUSE_PASSWORD, or `warehouse` in data/credentials.yaml"),
    ),
    (r'database "[^"]*+" does not exist', Message("make it: createdb with the name that the setting warehouse says")),
    (
        r'role "[^"]*+" does not exist',
        Message("change `user` in the setting warehouse, or make that user in PostgreSQL"),
    ),
    (r"permission denied", Message("the user needs to own the database, or its tables")),
    (r"DATA_PATH parameter", Message("set warehouse_data to the place that the catalogue names")),
    (r"\A(?s:(?=.*DuckLake).*version)|catalog version", Message("use one version of this product in the whole team")),
    (
        r"\b403\b|Forbidden|SignatureDoesNotMatch|InvalidAccessKeyId",
        Message("check the keys of the profile warehouse_profile"),
    ),
    (
        r"\b404\b|NoSuchBucket|NoSuchKey",
        Message("look at the bucket in warehouse_data, then run `aisbench warehouse check`"),
    ),
    (
        r"HTTP|s3://",
        Message("check that OBS can be reached: `aisbench health`; what could not be written is tried again"),
    ),
    (
        r"connect|connection|Postgres|translate host|timeout expired|SSL|unsuccessful query|server terminated|COPY",
        Message("check that PostgreSQL runs and that the setting warehouse names it; runs are recorded once it does"),
    ),
)


def is_ours(error: duckdb.Error) -> bool:
    """Whether it is a bug, or a race that the writer settles itself."""
    if isinstance(error, duckdb.TransactionException):
        return is_conflict(error)
    return isinstance(error, _OURS) and not _BROKEN_OFF.search(str(error))


def is_conflict(error: duckdb.TransactionException) -> bool:
    """Whether another writer was first; without its turn, for example an analyst's own program."""
    return re.search(r"conflict|maximum retry count|duplicate key", str(error), re.I) is not None


def refusal(place: TeamPlace, error: duckdb.Error, secrets: Iterable[str] = ()) -> WarehouseError:
    """Our error for one of DuckDB's."""
    text = str(error)
    if "lock timeout" in text:
        return WarehouseBusy(
            Message("another writer has had its turn in the warehouse {path} for long", path=place),
            Message("try again in a moment"),
        )
    if isinstance(error, unusable.ERRORS):
        return WarehouseError(
            Message("an answer of the warehouse {path} broke off", path=place),
            Message("try again; the connection is made anew"),
        )
    for secret in secrets:
        text = text.replace(secret, "…")
    hint = next((advice for pattern, advice in _ADVICE if re.search(pattern, text, re.I)), Message("try again"))
    return WarehouseError(
        Message("the warehouse {path} cannot be used: {reason}", path=place, reason=_said(text)), hint
    )


def foreign(place: TeamPlace) -> WarehouseError:
    """The database holds tables of another program."""
    return WarehouseError(
        Message("the database of the warehouse {path} belongs to another program", path=place),
        Message("make one for the warehouse alone"),
    )


def _said(text: str) -> str:
    """The sentence that matters: PostgreSQL's or the server's, without DuckDB's nesting."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
    return re.sub(r'^.*Unable to connect to Postgres at "(?:[^"\\]|\\.)*": ', "", line)[:300]
