"""What a query may name: our views and tables, and functions that compute. Everything else is refused by its name.

The engine is locked anyway (reading.py), but it shows its own settings, among them the password of a proxy, in views
that need no schema, and PostgreSQL's catalogue in a team's warehouse.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb

from aisbench_core.base.errors import QueryError
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.warehouse.answers.views import VIEWS
from aisbench_core.warehouse.store.engine import NAME
from aisbench_core.warehouse.tables.schema import TABLES

# As docs/open.md and docs/warehouse.md describe them.
RELATIONS = frozenset(
    {
        *(view.name for view in VIEWS),
        *TABLES,
        *(
            "baselines",
            "saved_views",
            "inference_results",
            "series",
            "snapshot",
            "spending",
            "group_statistics",
            "group_statistics_due",
        ),
    }
)

# Table functions that are allowed; all others lead out of the warehouse, or into its engine.
FUNCTIONS = frozenset({"unnest", "range", "generate_series", "repeat_row", "json_each", "json_tree"})

ONLY_WAREHOUSE = Message("only the warehouse can be read: no file, no address, no other database")
TABLES_HINT = Message("`show tables` names the views, `describe v_runs` the columns of one; docs/open.md explains them")

# Functions that tell of the engine, the session or the system, take SQL as text, write to the log, or only wait.
_ENGINE_FUNCTION = re.compile(
    "pg_(?!typeof|size_pretty).*|inet_.*|has_.*_privilege|duckdb_.*|pragma_.*|__internal_.*|(?:col|obj|shobj)_description|"
    "postgres_.*|ducklake_.*|current_(?!date$|time$|timestamp$|localtime$|localtimestamp$).*|format_pg_type|format_type|get_block_size|getenv|"
    "getvariable|in_search_path|nextval|currval|session_user|user|sleep_ms|txid_current|version|which_secret|write_log|"
    "parse_duckdb_log_message|query|query_table|sql_auto_complete|json_(?:serialize|deserialize|execute)_.*"
)
_CATALOGS, _SCHEMAS = ("", NAME), ("", "main", NAME)
_SHOWN = ('"tables"', "tables")
# A query may give any name, and use it where it does not hold: there it must not find a file, or a table of the engine.
_CTE = re.compile(r"(?!(?:pg|duckdb|sqlite|pragma|information)_)\w+")


def check_sql(cur: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raises QueryError unless this is one SELECT over our tables and views."""
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
    try:
        tree = json.loads(text)
    except RecursionError:
        raise QueryError(
            Message("the query is nested too deeply to be checked"),
            Message("shorten its longest expression, or nest fewer subqueries"),
        ) from None
    if tree["error"]:
        raise QueryError(
            Message("this cannot be read: {reason}", reason=tree["error_message"]),
            Message("write it as a plain SELECT"),
        )
    nodes = list(_iter_nodes(tree["statements"]))
    named = {name for node in nodes for name in _named_here(node)}
    for node in nodes:
        _check_node(node, named, sql)


def position_of(sql: str, offset: object) -> str:
    """Line and column of a byte offset, and the line itself with a mark; empty if there is none."""
    if not str(offset).isdigit() or int(str(offset)) > len(sql.encode()):
        return ""
    before = sql.encode()[: int(str(offset))].decode(errors="ignore")
    number, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    line = sql.split("\n")[number - 1]
    mark = " " * (column - 1) + "^"
    return f", at line {number}, column {column}:\n  {line}\n  {mark}\n"


def _check_node(node: Mapping[str, Any], named: set[str], sql: str) -> None:
    position = position_of(sql, node.get("query_location"))
    kind, function = node.get("type"), str(node.get("function_name") or "").lower()
    if kind == "TABLE_FUNCTION":
        name = str((node.get("function") or {}).get("function_name", "")).lower()
        if name not in FUNCTIONS:
            possible = Message("{functions} are possible", functions=", ".join(sorted(FUNCTIONS)))
            raise QueryError(
                Message("the function {name}() cannot be read from{position}", name=name, position=position),
                join_parts("; ", [ONLY_WAREHOUSE, possible]),
            )
    elif kind == "BASE_TABLE":
        _check_relation(node, named, position)
    elif kind == "SHOW_REF" and not node.get("query") and str(node.get("table_name")).lower() not in _SHOWN:
        raise QueryError(
            Message("only `show tables` and `describe` are possible here{position}", position=position), TABLES_HINT
        )
    elif function and _ENGINE_FUNCTION.fullmatch(function):
        raise QueryError(
            Message(
                "the function {name}() describes the engine, not the warehouse{position}",
                name=function, position=position,
            ),
            ONLY_WAREHOUSE,
        )  # fmt: skip


def _check_relation(node: Mapping[str, Any], named: set[str], position: str) -> None:
    catalog, schema, name = (str(node.get(f"{part}_name") or "").lower() for part in ("catalog", "schema", "table"))
    is_ours = name in RELATIONS and catalog in _CATALOGS and schema in _SCHEMAS
    is_named_here = name in named and not (catalog or schema) and _CTE.fullmatch(name)
    if is_ours or is_named_here:
        return
    full = ".".join(filter(None, (catalog, schema, name)))
    close = difflib.get_close_matches(name, sorted(RELATIONS), n=1, cutoff=0.8)
    views = Message("{views} are possible, and the tables of docs/warehouse.md", views=", ".join(v.name for v in VIEWS))
    raise QueryError(
        Message("{name!r} is no view or table of the warehouse{position}", name=full, position=position),
        Message("did you mean {name}?", name=close[0]) if close else join_parts("; ", [ONLY_WAREHOUSE, views]),
    )


def _named_here(node: Mapping[str, Any]) -> Iterator[str]:
    """The names that WITH gives in a query."""
    for entry in (node.get("cte_map") or {}).get("map", ()):
        yield str(entry["key"]).lower()
    if name := node.get("cte_name"):
        yield str(name).lower()


def _iter_nodes(tree: object) -> Iterator[Mapping[str, Any]]:
    stack = [tree]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
