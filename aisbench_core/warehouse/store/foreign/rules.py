"""What a foreign warehouse file may hold: base tables with exactly our columns, and values that our own can have.

Errors name the file, the table, what was found and what is allowed.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import duckdb

from aisbench_core.base.errors import MAX_SHOWN, WarehouseError, clip_value
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.model import (
    AnnotationKind,
    Api,
    Better,
    Combined,
    Level,
    MetricSource,
    Mode,
    Origin,
    RunState,
    StopKind,
)
from aisbench_core.model.columns import COLUMNS, RESULTS, RUNS, stored_in
from aisbench_core.warehouse.records import baselines, inference_results, saved_views, series_plans
from aisbench_core.warehouse.tables import schema
from aisbench_core.warehouse.tables.schema import TABLES
from aisbench_core.warehouse.values.runs import CheckLevel, Validity

VERSION, SNAPSHOT = "schema_version", "snapshot"
# The tables whose rows are read, with their columns and types.
READ = TABLES | {
    "series": schema.SERIES,
    "baselines": schema.BASELINES,
    "saved_views": schema.SAVED_VIEWS,
    "inference_results": schema.INFERENCE_RESULTS,
    SNAPSHOT: schema.SNAPSHOT,
}

HINT = Message("ask whoever made it for a snapshot: `aisbench warehouse snapshot FILE`")

Cursor = duckdb.DuckDBPyConnection
Columns = Mapping[str, str]


def not_a_warehouse(file: Path) -> WarehouseError:
    """The error about another program's database."""
    return WarehouseError(
        Message("{path} is a database of another program", path=file),
        Message("name a warehouse file, or a snapshot of one"),
    )


# --- tables -------------------------------------------------------------------------------------------


def create(cur: Cursor, database: str, version: int) -> None:
    """Prepare our tables for rows of a schema version, which are upgraded afterwards."""
    cur.execute(f"use {database}")
    cur.execute(f"update {VERSION} set version = ?", [version])
    cur.execute(f"create table {SNAPSHOT} ({', '.join(f'{name} {kind}' for name, kind in READ[SNAPSHOT].items())})")
    cur.execute("use memory")


def list_objects(cur: Cursor, database: str) -> dict[str, str]:
    """What the database's main schema holds under each name: a table or a view."""
    cur.execute(
        """select table_name, 'table' from duckdb_tables() where database_name = $of and schema_name = 'main'
        union all
        select view_name, 'view' from duckdb_views() where database_name = $of and schema_name = 'main'""",
        {"of": database},
    )
    return dict(cur.fetchall())


def known_columns(
    cur: Cursor, file: Path, table: str, existing: Mapping[str, str], known: Columns, required: Collection[str] = ()
) -> list[str]:
    """The columns of a table. Raises WarehouseError if it is no base table, has unknown columns, or lacks required."""
    stored_rows = Message("a table with stored rows")
    match existing.get(table):
        case "table":
            pass
        case "view":
            raise _make_refusal(file, Message("{table} is a view", table=table), stored_rows)
        case _:
            raise _make_refusal(file, Message("{table} is not there", table=table), stored_rows)
    columns = _list_columns(cur, f"theirs.main.{table}")
    for name, kind in columns.items():
        if name not in known:
            problem = Message("there is a column {column}", column=clip_value(name))
            raise _make_refusal(_describe_location(file, table), problem, ", ".join(known))
        if kind != known[name]:
            raise _make_refusal(_describe_location(file, table), _describe_wrong(name, clip_value(kind)), known[name])
    for name in required:
        if name not in columns:
            raise _make_refusal(
                _describe_location(file, table), Message("column {column} is not there", column=name), known[name]
            )
    return [*columns]


def _make_refusal(where: object, problem: Message, allowed: str = "") -> WarehouseError:
    if not allowed:
        return WarehouseError(join_parts(": ", [where, problem]), HINT)
    return WarehouseError(
        Message("{where}: {problem}; allowed: {allowed}", where=where, problem=problem, allowed=allowed), HINT
    )


def _describe_location(file: Path, table: str, row: str = "", key: str = "run_id") -> Message:
    if not row:
        return Message("{file}, table {table}", file=file, table=table)
    if key == "run_id":
        return Message("{file}, table {table}, run {run_id}", file=file, table=table, run_id=clip_value(row))
    return Message("{file}, table {table}, {key} {row}", file=file, table=table, key=key, row=clip_value(row))


def _describe_wrong(column: str, value: str) -> Message:
    return Message("column {column} is {value}", column=column, value=value)


def _list_columns(cur: Cursor, table: str) -> dict[str, str]:
    """Types by name; that of a generated column, or one with a default, says so and so equals none of ours."""
    cur.execute("select name, type, dflt_value from pragma_table_info(?)", [table])
    return {
        name: kind if default is None else f"{kind} computed as {default}" for name, kind, default in cur.fetchall()
    }


# --- values -------------------------------------------------------------------------------------------

_NULLABLE = {
    **{table: {column.stored_name for column in stored_in(table) if column.nullable} for table in (RUNS, RESULTS)},
    "rank_results": {"throughput"},
    "server_results": {"throughput", "accuracy"},
    "attempts": {"ended_at", "exit_code"},
}

_WORDS = {
    ("runs", "state"): RunState,
    ("runs", "mode"): Mode,
    ("runs", "origin"): Origin,
    ("runs", "api"): ("", *Api),
    ("results", "validity"): Validity,
    ("events", "level"): Level,
    ("annotations", "kind"): AnnotationKind,
    ("runs", "primary_better"): Better,
    ("run_metrics", "better"): Better,
    ("run_metrics", "combined"): Combined,
    ("run_metrics", "source"): MetricSource,
}

_SIZES = ("node_count", "cards_per_node", "card_count")

_OBJECT, _OBJECT_OR_NULL = Message("an object"), Message("an object or null")
_TEXTS, _CHECKS = Message("a list of texts"), Message("a list of checks")
_STOP_CAUSE = Message("a kind and a value")
_SHAPES = {
    ("runs", "spec"): _OBJECT,
    ("runs", "speed_parameters"): _OBJECT_OR_NULL,
    ("runs", "tags"): _TEXTS,
    ("runs", "system"): _OBJECT,
    ("runs", "system_from_job"): _TEXTS,
    ("runs", "tester"): _OBJECT,
    ("runs", "launch"): _OBJECT,
    ("runs", "resolved"): _OBJECT,
    ("runs", "passport"): _OBJECT,
    ("runs", "stop_cause"): _STOP_CAUSE,
    ("results", "not_measured"): _TEXTS,
    ("results", "problems"): _TEXTS,
    ("results", "checks"): _CHECKS,
}
_CHECK = """'[{"id":"VARCHAR","level":"VARCHAR","expected":"VARCHAR","found":"VARCHAR"}]'"""
_WRONG_SHAPES = {
    _OBJECT: "json_type({0}) <> 'OBJECT'",
    _OBJECT_OR_NULL: "json_type({0}) not in ('OBJECT', 'NULL')",
    _TEXTS: """case when json_type({0}) <> 'ARRAY' then true
        else len(list_filter(json_extract({0}, '$[*]'), lambda text: json_type(text) <> 'VARCHAR')) > 0 end""",
    _CHECKS: """case when json_type({0}) <> 'ARRAY' then true when json_array_length({0}) = 0 then false
        else try(json_transform_strict({0}, CHECK)) is null or len(list_filter(json_extract_string({0},
            '$[*].level'), lambda level: level not in (LEVELS))) > 0 end""".replace("CHECK", _CHECK).replace(
        "LEVELS", ", ".join(f"'{level}'" for level in CheckLevel)
    ),
    _STOP_CAUSE: """case when {0} is null then false when json_type({0}) <> 'OBJECT' then true
        else coalesce(json_extract_string({0}, '$.kind') not in (KINDS), true)
            or coalesce(json_type({0}, '$.value') not in ('VARCHAR', 'UBIGINT'), true) end""".replace(
        "KINDS", ", ".join(f"'{kind}'" for kind in StopKind)
    ),
}

# Characters of a name, of a longer text (a block, a note, a spec, checks), and of a series' specs.
MAX_NAME, MAX_TEXT, MAX_PLAN = 64 * 1024, 4 * 1024**2, 16 * 1024**2

_LONG_TEXTS = {column.stored_name for column in COLUMNS if column.stored and column.stored.long} | {
    *("last_words", "message", "names", "plan", "text")
}

# Only JSON with more of them can be nested deeper than Python's parser follows, so only that is parsed here.
_BRACKETS = 400

# What can name a run's folder, and nothing above it.
_RUN_ID = r"[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]{0,119}"

_Rule = tuple[str, str, str, str]
"""Table, column, the SQL condition of a wrong row, and what is allowed: a Message, or words that are values."""


def check_values(cur: Cursor, file: Path) -> None:
    """Raises WarehouseError about the first value that no warehouse of ours holds; `cur` sees the copied rows."""
    _check_lengths(cur, file)
    for table, column, wrong, allowed in _iter_rules():
        query = f"select run_id, {column}::VARCHAR from {table} where {wrong} limit 1"
        for run_id, value in cur.execute(query).fetchall():
            where = _describe_location(file, table, "" if column == "run_id" else run_id)
            raise _make_refusal(
                where, _describe_wrong(column, Message("empty") if value is None else clip_value(value)), allowed
            )
    _check_nesting(cur, file)
    _check_plans(cur, file)


def _iter_rules() -> Iterator[_Rule]:
    yield (
        "runs",
        "run_id",
        f"not regexp_full_match(run_id, '{_RUN_ID}')",
        Message("1 to 120 characters that can name a folder"),
    )
    for table, columns in TABLES.items():
        for column, kind in columns.items():
            yield from _rules_of(table, column, kind)
    for table in ("runs", "results"):
        twice = f"run_id in (select run_id from {table} group by run_id having count(*) > 1)"
        yield table, "run_id", twice, Message("each run once")
    yield "runs", "run_id", "run_id not in (select run_id from results)", Message("runs with a row in results")
    for table in (name for name in TABLES if name not in ("runs", "annotations")):
        yield table, "run_id", "run_id not in (select run_id from runs)", Message("runs with a row in runs")


def _rules_of(table: str, column: str, kind: str) -> Iterator[_Rule]:
    if column not in _NULLABLE.get(table, ()):
        yield table, column, f"{column} is null", Message("a value")
    if (table, column) in _WORDS:
        words = [str(word) for word in _WORDS[table, column]]
        listed = ", ".join(f"'{word}'" for word in words)
        yield table, column, f"{column} not in ({listed})", ", ".join(filter(None, words))
    if table == "runs" and column in _SIZES:
        yield table, column, f"{column} < 1", Message("1 or more")
    if kind == "DOUBLE":
        yield table, column, f"not isfinite({column})", Message("a finite number")
    if kind == "TIMESTAMP":
        span = "TIMESTAMP '0001-01-02' and TIMESTAMP '9999-12-30'"
        yield table, column, f"{column} not between {span}", Message("a time of the years 1 to 9999")
    if kind == "JSON":
        yield table, column, _WRONG_SHAPES[_SHAPES[table, column]].replace("{0}", column), _SHAPES[table, column]


def _check_lengths(cur: Cursor, file: Path) -> None:
    # Pages, exports and checks read every text; one of 100 MB would fill the memory of each of them.
    for table, columns in READ.items():
        limits = {
            name: MAX_PLAN if name == "cells" else MAX_TEXT if name in _LONG_TEXTS else MAX_NAME
            for name, kind in columns.items()
            if kind in ("VARCHAR", "JSON")
        }
        if table == SNAPSHOT or not limits:
            continue
        lengths = ", ".join(f"max(length({name}::VARCHAR))" for name in limits)
        [longest] = cur.execute(f"select {lengths} from {table}").fetchall()
        for (column, limit), length in zip(limits.items(), longest, strict=True):
            if length is not None and length > limit:
                key = next(iter(columns))
                query = f"select {key}[:{MAX_SHOWN}] from {table} where length({column}::VARCHAR) = ? limit 1"
                [(row,)] = cur.execute(query, [length]).fetchall()
                problem = Message("column {column} has {length:,} characters", column=column, length=length)
                raise _make_refusal(
                    _describe_location(file, table, row, key), problem, Message("at most {limit:,}", limit=limit)
                )


def _check_nesting(cur: Cursor, file: Path) -> None:
    for table, column in _SHAPES:
        # A fifth of the time of `translate`, which goes letter by letter.
        query = f"""select run_id, text from (select run_id, {column}::VARCHAR as text from {table})
            where strlen(text) > {_BRACKETS}
                and strlen(text) - strlen(replace(replace(text, '[', ''), '{{', '')) > {_BRACKETS}"""
        for run_id, text in cur.execute(query).fetchall():
            try:
                json.loads(text)
            except RecursionError as error:
                problem = Message("column {column} is nested too deep", column=column)
                raise _make_refusal(_describe_location(file, table, run_id), problem) from error


def _check_plans(cur: Cursor, file: Path) -> None:
    """Tables of few rows are read once by the code that reads them later."""
    readers: Mapping[str, Callable[[], object]] = {
        "series": lambda: series_plans.get_plans(cur, [series_id for _, series_id in series_plans.list_plans(cur)]),
        "baselines": lambda: baselines.by_trend(cur),
        "saved_views": lambda: saved_views.select(cur),
        "inference_results": lambda: inference_results.select(cur),
    }
    for table, read in readers.items():
        try:
            read()
        except (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError, OverflowError) as error:
            reason = clip_value((str(error).splitlines() or [type(error).__name__])[0])
            raise _make_refusal(
                _describe_location(file, table), Message("a row cannot be read: {reason}", reason=reason)
            ) from error
