"""What a warehouse file of somebody else may hold: base tables with exactly our columns, and values that ours can have.

Errors name the file, the table, what was found and what is allowed.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import duckdb

from aisbench_core.errors import WarehouseError
from aisbench_core.model import Api, Level, Mode, Origin, RemarkKind, RunState
from aisbench_core.warehouse.answers import baselines, group_statistics
from aisbench_core.warehouse.records import saved_views, series_plans
from aisbench_core.warehouse.store.migrations import LATEST, STEPS
from aisbench_core.warehouse.store.schema import TABLES
from aisbench_core.warehouse.values import CheckLevel, Validity

VERSION = "schema_version"
VERSION_COLUMNS = {"version": "INTEGER"}
SNAPSHOT = "snapshot"
_SNAPSHOT_COLUMNS = {"taken_at_utc": "TIMESTAMP", "schema_version": "INTEGER", "runs": "BIGINT"}
OPTIONAL = frozenset({SNAPSHOT})
_OTHERS = ("series", "baselines", "saved_views")

HINT = "ask whoever made it for a snapshot: `aisbench warehouse snapshot FILE`"
SHOWN_LETTERS = 60

Cursor = duckdb.DuckDBPyConnection
Columns = Mapping[str, str]


def not_a_warehouse(file: Path) -> WarehouseError:
    """The error about a database of something else."""
    return WarehouseError(f"{file} is a database of another program", "name a warehouse file, or a snapshot of one")


def too_new(file: Path, version: int) -> WarehouseError:
    """The error about a file of a version that is not known yet."""
    return WarehouseError(
        f"the warehouse {file} has schema {version}, and this version knows schemas up to {LATEST}",
        "update this installation; nothing was changed",
    )


# --- tables -------------------------------------------------------------------------------------------


@cache
def tables_of(version: int) -> Mapping[str, Columns]:
    """The tables with rows that are read, each with its columns and their types, as a schema version has them."""
    with duckdb.connect(":memory:") as con:
        for step in STEPS[:version]:
            con.execute(step)
        known = objects(con, "memory")
        found = {table: _columns(con, f"memory.main.{table}") for table in (*TABLES, *_OTHERS) if table in known}
    return {**{table: dict(columns) for table, columns in found.items()}, SNAPSHOT: _SNAPSHOT_COLUMNS}


def create(cur: Cursor, database: str, version: int) -> None:
    """Make the tables of a schema version, and that of a snapshot."""
    cur.execute(f"use {database}")
    for number, step in enumerate(STEPS[:version], start=1):
        if number == 1:
            cur.execute(f"create table {VERSION} (version INTEGER)")
        cur.execute(step)
        cur.execute(f"insert into {VERSION} values (?)", [number])
    columns = ", ".join(f"{name} {kind}" for name, kind in _SNAPSHOT_COLUMNS.items())
    cur.execute(f"create table {SNAPSHOT} ({columns})")
    cur.execute("use memory")


def objects(cur: Cursor, database: str) -> dict[str, str]:
    """What the database's main schema holds under each name: a table or a view."""
    cur.execute(
        """select table_name, 'table' from duckdb_tables() where database_name = $of and schema_name = 'main'
        union all
        select view_name, 'view' from duckdb_views() where database_name = $of and schema_name = 'main'""",
        {"of": database},
    )
    return dict(cur.fetchall())


def check_table(cur: Cursor, file: Path, table: str, there: Mapping[str, str], expected: Columns) -> None:
    """Raises WarehouseError unless it is a base table with these columns, none of them computed."""
    what = there.get(table)
    if what != "table":
        stands = f"is a {what}" if what else "is not there"
        raise WarehouseError(f"{file}: {table} {stands}; allowed: a table with stored rows", HINT)
    found = _columns(cur, f"theirs.main.{table}")
    for name, kind in found.items():
        if name not in expected:
            allowed = ", ".join(expected)
            raise WarehouseError(f"{file}, table {table}: there is a column {_shown(name)}; allowed: {allowed}", HINT)
        if kind != expected[name]:
            raise WarehouseError(
                f"{file}, table {table}: column {name} is {_shown(kind)}; allowed: {expected[name]}", HINT
            )
    for name, kind in expected.items():
        if name not in found:
            raise WarehouseError(f"{file}, table {table}: column {name} is not there; allowed: {kind}", HINT)


def _columns(cur: Cursor, table: str) -> dict[str, str]:
    """Types by name; a column with a default, or one that is computed, is said to be so."""
    cur.execute("select name, type, dflt_value from pragma_table_info(?)", [table])
    return {
        name: kind if default is None else f"{kind} computed as {default}" for name, kind, default in cur.fetchall()
    }


# --- values -------------------------------------------------------------------------------------------

_NULLABLE = {
    "runs": {
        "series_index", "submitted_at", "started_at", "ended_at", "queue_s", "duration_s", "accuracy_target",
        "node_count", "cards_per_node", "card_count", "imported_at", "launch", "system", "system_from_job",
        "system_fields", "tester", "detail_data",
    },
    "rank_results": {"throughput"},
    "server_results": {"throughput", "accuracy"},
}  # fmt: skip
_MEASURED = {
    "raw", "run_id", "formula_id", "straggler_ranks", "not_measured", "checks", "failed_checks", "warned_checks",
    "validity", "problems", "ruleset_id", "ruleset_sha256",
}  # fmt: skip
"""Of results all other columns may be empty."""

_WORDS = {
    ("runs", "state"): RunState,
    ("runs", "mode"): Mode,
    ("runs", "origin"): Origin,
    ("runs", "api"): ("", *Api),
    ("results", "validity"): Validity,
    ("events", "level"): Level,
    ("remarks", "kind"): RemarkKind,
}

_SIZES = ("node_count", "cards_per_node", "card_count")

_OBJECT, _TEXTS = "an object", "a list of texts"
_CHECKS = "a list of checks"
_SHAPES = {
    ("runs", "spec"): _OBJECT,
    ("runs", "speed_parameters"): "an object or null",
    ("runs", "tags"): _TEXTS,
    ("runs", "system"): _OBJECT,
    ("runs", "system_from_job"): _TEXTS,
    ("runs", "tester"): _OBJECT,
    ("runs", "launch"): _OBJECT,
    ("results", "not_measured"): _TEXTS,
    ("results", "problems"): _TEXTS,
    ("results", "checks"): _CHECKS,
}
_CHECK = """'[{"id":"VARCHAR","level":"VARCHAR","expected":"VARCHAR","found":"VARCHAR"}]'"""
_WRONG_SHAPES = {
    _OBJECT: "json_type({0}) <> 'OBJECT'",
    "an object or null": "json_type({0}) not in ('OBJECT', 'NULL')",
    _TEXTS: """case when json_type({0}) <> 'ARRAY' then true
        else len(list_filter(json_extract({0}, '$[*]'), lambda each: json_type(each) <> 'VARCHAR')) > 0 end""",
    _CHECKS: """case when json_type({0}) <> 'ARRAY' then true when json_array_length({0}) = 0 then false
        else try(json_transform_strict({0}, CHECK)) is null or len(list_filter(json_extract_string({0},
            '$[*].level'), lambda each: each not in (LEVELS))) > 0 end""".replace("CHECK", _CHECK).replace(
        "LEVELS", ", ".join(f"'{level}'" for level in CheckLevel)
    ),
}

NAME_MOST, TEXT_MOST, PLAN_MOST = 64 * 1024, 4 * 1024**2, 16 * 1024**2
"""Letters of a name, of what is written out (a block, a note, a spec, checks), and of a series' specs."""

_WRITTEN_OUT = frozenset(
    {
        "checks", "detail", "detail_data", "failed_checks", "launch", "message", "names", "not_measured",
        "note", "plan", "problems", "problems_data", "raw", "spec", "speed_parameters",
        "straggler_ranks", "system", "tester", "text", "warned_checks",
    }
)  # fmt: skip

_BRACKETS = 400
"""JSON with more of them may be nested deeper than Python follows; ours is not, but nobody counts its items."""

_RUN_ID = r"[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]{0,119}"
"""What can name a folder of a run, and nothing above it."""

_Rule = tuple[str, str, str, str]
"""Table, column, the condition of what is wrong, and what is allowed."""


def check_values(cur: Cursor, file: Path) -> None:
    """Raises WarehouseError about the first value that no warehouse of ours holds; `cur` sees the rows alone."""
    _check_lengths(cur, file)
    for table, column, wrong, allowed in _rules():
        asked = f"select run_id, {column}::VARCHAR from {table} where {wrong} limit 1"
        for run_id, value in cur.execute(asked).fetchall():
            found = "empty" if value is None else _shown(value)
            where = "" if column == "run_id" else f", run {_shown(run_id)}"
            raise WarehouseError(f"{file}, table {table}{where}: column {column} is {found}; allowed: {allowed}", HINT)
    _check_nesting(cur, file)
    _check_plans(cur, file)


def count(cur: Cursor) -> None:
    """What follows from the rows is computed here, whatever the file said of it."""
    cur.execute(f"update runs set group_id = {group_statistics.GROUP_ID}")
    group_statistics.count_anew(cur)


def _rules() -> Iterator[_Rule]:
    yield "runs", "run_id", f"not regexp_full_match(run_id, '{_RUN_ID}')", "1 to 120 letters that can name a folder"
    for table, columns in TABLES.items():
        for column, kind in columns.items():
            yield from _rules_of(table, column, kind)
    for table in ("runs", "results"):
        twice = f"run_id in (select run_id from {table} group by run_id having count(*) > 1)"
        yield table, "run_id", twice, "each run once"
    yield "runs", "run_id", "run_id not in (select run_id from results)", "runs with a row in results"
    for table in (name for name in TABLES if name not in ("runs", "remarks")):
        yield table, "run_id", "run_id not in (select run_id from runs)", "runs with a row in runs"


def _rules_of(table: str, column: str, kind: str) -> Iterator[_Rule]:
    may_be_empty = column not in _MEASURED if table == "results" else column in _NULLABLE.get(table, ())
    if not may_be_empty and column != "group_id":
        yield table, column, f"{column} is null", "a value"
    if (table, column) in _WORDS:
        words = [str(word) for word in _WORDS[table, column]]
        listed = ", ".join(f"'{word}'" for word in words)
        yield table, column, f"{column} not in ({listed})", ", ".join(filter(None, words))
    if table == "runs" and column in _SIZES:
        yield table, column, f"{column} < 1", "1 or more"
    if kind == "DOUBLE":
        yield table, column, f"not isfinite({column})", "a finite number"
    if kind == "TIMESTAMP":
        span = "TIMESTAMP '0001-01-02' and TIMESTAMP '9999-12-30'"
        yield table, column, f"{column} not between {span}", "a time of the years 1 to 9999"
    if kind == "JSON":
        yield table, column, _WRONG_SHAPES[_SHAPES[table, column]].replace("{0}", column), _SHAPES[table, column]


def _check_lengths(cur: Cursor, file: Path) -> None:
    """Pages, exports and the verdict read every text; one of 100 MB would fill the memory of each of them."""
    for table, columns in tables_of(LATEST).items():
        texts = {name: _most(name) for name, kind in columns.items() if kind in ("VARCHAR", "JSON")}
        if table == SNAPSHOT or not texts:
            continue
        lengths = ", ".join(f"max(length({name}::VARCHAR))" for name in texts)
        [longest] = cur.execute(f"select {lengths} from {table}").fetchall()
        for (column, most), length in zip(texts.items(), longest, strict=True):
            if length is not None and length > most:
                raise _too_long(cur, file, table, column, length, most)


def _most(column: str) -> int:
    return PLAN_MOST if column == "cells" else TEXT_MOST if column in _WRITTEN_OUT else NAME_MOST


def _too_long(cur: Cursor, file: Path, table: str, column: str, length: int, most: int) -> WarehouseError:
    key = next(iter(tables_of(LATEST)[table]))
    asked = f"select {key}[:{SHOWN_LETTERS}] from {table} where length({column}::VARCHAR) = ? limit 1"
    [(row,)] = cur.execute(asked, [length]).fetchall()
    where = f"{file}, table {table}, {'run' if key == 'run_id' else key} {_shown(row)}"
    return WarehouseError(f"{where}: column {column} has {length:,} letters; allowed: at most {most:,}", HINT)


def _check_nesting(cur: Cursor, file: Path) -> None:
    for table, column in _SHAPES:
        asked = f"""select run_id, text from (select run_id, {column}::VARCHAR as text from {table})
            where length(text) - length(translate(text, '[{{', '')) > {_BRACKETS}"""
        for run_id, value in cur.execute(asked).fetchall():
            try:
                json.loads(value)
            except RecursionError as error:
                where = f"{file}, table {table}, run {_shown(run_id)}"
                raise WarehouseError(f"{where}: column {column} is nested too deep", HINT) from error


def _check_plans(cur: Cursor, file: Path) -> None:
    """What few rows hold is read as it is read later."""
    readers: Mapping[str, Callable[[], object]] = {
        "series": lambda: series_plans.of(cur, [series_id for _, series_id in series_plans.listed(cur)]),
        "baselines": lambda: baselines.by_group(cur),
        "saved_views": lambda: saved_views.of_page(cur),
    }
    for table, read in readers.items():
        try:
            read()
        except (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError, OverflowError) as error:
            said = (str(error).splitlines() or [type(error).__name__])[0]
            raise WarehouseError(f"{file}, table {table}: a row cannot be read: {_shown(said)}", HINT) from error


def _shown(text: str) -> str:
    text = "".join(each if each.isprintable() else "?" for each in str(text))
    return text if len(text) <= SHOWN_LETTERS else text[: SHOWN_LETTERS - 1] + "…"
