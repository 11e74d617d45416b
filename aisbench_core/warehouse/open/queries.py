"""A question in SQL: read before it is asked, limited while it runs, and refused in words.

The engine is locked anyway (reading.py). What is checked here lets a person hear at once what is not possible, and
keeps functions out that reach past the tables, such as PostgreSQL's own in a team's warehouse.
"""

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from aisbench_core.errors import QueryError, WarehouseError
from aisbench_core.messages import Message, joined
from aisbench_core.warehouse.store.reading import MEMORY, Reader

SECONDS = 60.0
"""How long a question may take, unless somebody says otherwise."""

INTERRUPT_S = 0.1
"""So often the engine is interrupted once the time is up: an interrupt between two rows is forgotten."""

FUNCTIONS = frozenset({"unnest", "range", "generate_series", "repeat_row", "json_each", "json_tree"})
"""Functions that may stand where a table stands; all others lead out of the warehouse, or into its engine."""

_PLAIN_NAME = re.compile(r"\w+")
_ENGINE = re.compile(r"__ducklake|^(pg_catalog|system|temp)$", re.I)
_TABLES_HINT = Message(
    "`show tables` names the views, `describe v_runs` the columns of one; docs/open.md explains them"
)
_HINTS = (
    ("Permission", Message("only the warehouse can be read: no file, no address, no other database")),
    ("Parser", Message("one SELECT in DuckDB's SQL is expected")),
    ("Binder", _TABLES_HINT),
    ("Catalog", _TABLES_HINT),
)
_THEIRS = re.compile(
    "Permission|Parser|Binder|Catalog|Conversion|Invalid Input|Out of Range|Mismatch Type|Not implemented|Syntax|"
    "Parameter|Expression|Divide|Decimal|Invalid type|Constraint|Sequence|Settings"
)
"""DuckDB's kinds of errors that a person can mend in the question."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: SQL, the values of its `?` or `$name`, and how long it may take."""

    sql: str
    values: Sequence[object] | Mapping[str, object] = ()
    seconds: float = SECONDS


@contextlib.contextmanager
def asked(reader: Reader, question: Question) -> Iterator[duckdb.DuckDBPyConnection]:
    """The cursor with the answer, to be fetched while this lasts; fetching is part of the time that it may take.

    Raises QueryError when the question is no single SELECT over the warehouse, cannot be answered, or takes more time
    or memory than it may, and WarehouseError when the warehouse cannot be read. KeyboardInterrupt ends it."""
    end = time.monotonic() + question.seconds
    with _key_presses(), reader.cursor() as cur, _words(question.sql), _limited(cur, question.seconds, end):
        check(cur, question.sql)
        values = question.values
        cur.execute(question.sql, dict(values) if isinstance(values, Mapping) else list(values))
        yield cur


def has_both(reader: Reader) -> bool:
    """Whether the warehouse holds measurements and rehearsals, so that a question may mix them."""
    with reader.cursor() as cur:
        return cur.execute("select count(distinct rehearsal) from runs").fetchall() == [(2,)]


def check(cur: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raises QueryError unless this is one SELECT over tables and views."""
    statements = cur.extract_statements(sql)
    if len(statements) != 1:
        found = Message("{count} statements", count=len(statements)) if statements else Message("nothing")
        raise QueryError(
            Message("one SELECT is expected, and this holds {found}", found=found),
            Message("a PIVOT needs its values: ON … IN (…)"),
        )
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = str(statements[0].type).rpartition(".")[2].replace("_", " ")
        raise QueryError(
            Message("only a SELECT is carried out here, and this is {kind}", kind=kind),
            Message("the warehouse is read, never changed"),
        )
    [(text,)] = cur.execute("select json_serialize_sql(?)", [sql]).fetchall()
    told = json.loads(text)
    if told["error"]:
        raise QueryError(
            Message("this cannot be read: {reason}", reason=told["error_message"]),
            Message("write it as a plain SELECT"),
        )
    for node in _nodes(told["statements"]):
        _check_node(node, sql)


def _check_node(node: Mapping[str, Any], sql: str) -> None:
    if node.get("type") == "TABLE_FUNCTION":
        function = node.get("function") or {}
        name = str(function.get("function_name", "")).lower()
        if name not in FUNCTIONS:
            possible = Message("{functions} are possible", functions=", ".join(sorted(FUNCTIONS)))
            hint = joined("; ", [dict(_HINTS)["Permission"], possible])
            raise QueryError(
                Message(
                    "the function {name}() cannot be read from{position}",
                    name=name,
                    position=_place(sql, node.get("query_location")),
                ),
                hint,
            )
    if node.get("type") == "BASE_TABLE":
        name = str(node.get("table_name", ""))
        outer = [str(node.get(key) or "") for key in ("catalog_name", "schema_name")]
        if not _PLAIN_NAME.fullmatch(name) or any(_ENGINE.search(each) for each in outer):
            place = _place(sql, node.get("query_location"))
            raise QueryError(
                Message("{name!r} is no table of the warehouse{position}", name=name, position=place),
                dict(_HINTS)["Permission"],
            )


def _nodes(value: object) -> Iterator[Mapping[str, Any]]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


@contextlib.contextmanager
def _limited(cur: duckdb.DuckDBPyConnection, seconds: float, end: float) -> Iterator[None]:
    """Interrupts whatever the cursor does from `end` on, again and again: rows are computed while they are fetched."""
    left, is_over = threading.Event(), threading.Event()

    def interrupt() -> None:
        if left.wait(max(0.0, end - time.monotonic())):
            return
        is_over.set()  # by a clock of its own: waiting may end a moment before `end`
        cur.interrupt()
        while not left.wait(INTERRUPT_S):
            cur.interrupt()

    thread = threading.Thread(target=interrupt, name="time limit", daemon=True)
    thread.start()
    try:
        yield
    except BaseException as error:
        if not (is_over.is_set() and _is_interrupt(error)):
            raise
        raise too_slow(seconds) from None
    finally:
        left.set()
        thread.join()


def too_slow(seconds: float) -> QueryError:
    """The error of a question that took longer than it may."""
    return QueryError(
        Message("the question took longer than {seconds:g} s", seconds=seconds),
        Message("ask for less, or allow more time (--seconds)"),
    )


def _is_interrupt(error: BaseException) -> bool:
    """Whether the engine was interrupted; Arrow, and DuckDB where rows are fetched, say so in words only."""
    kinds = (duckdb.Error, OSError, ValueError, RuntimeError)
    return isinstance(error, kinds) and "interrupt" in str(error).lower()


@contextlib.contextmanager
def _key_presses() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from None
        raise


@contextlib.contextmanager
def _words(sql: str) -> Iterator[None]:
    """DuckDB's errors in words, with the place in the question that they are about."""
    try:
        yield
    except duckdb.Error as error:
        raise _translated(error, sql) from error


def _translated(error: duckdb.Error, sql: str) -> QueryError | WarehouseError:
    facts = _facts(str(error))
    kind, said = str(facts.get("exception_type", "")), str(facts.get("exception_message") or error)
    if kind == "Out of Memory" or isinstance(error, duckdb.OutOfMemoryException):
        return QueryError(
            Message("the question needs more than {memory} of memory", memory=MEMORY),
            Message("group, filter or limit it"),
        )
    if not _THEIRS.search(kind):
        return WarehouseError(
            Message("the warehouse cannot be read: {reason}", reason=said.splitlines()[0]), Message("try again")
        )
    hint = next((hint for name, hint in _HINTS if kind.startswith(name)), "")
    sentence = " ".join(said.split("\n\nLINE ")[0].split())
    return QueryError(Message("{reason}{position}", reason=sentence, position=_place(sql, facts.get("position"))), hint)


def _facts(text: str) -> dict[str, Any]:
    start = text.find("{")
    try:
        found = json.loads(text[start:]) if start >= 0 else {}
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}


def _place(sql: str, position: object) -> str:
    """Where in the question, for a person: line, column, and the line itself with a mark. DuckDB counts bytes."""
    if not str(position).isdigit():
        return ""
    before = sql.encode()[: int(str(position))].decode(errors="ignore")
    number, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    line = sql.split("\n")[number - 1]
    mark = " " * (column - 1) + "^"
    return f", at line {number}, column {column}:\n  {line}\n  {mark}\n"
