"""The tables as they are now: every column and its type, in order. How they came to be is in migrations.py.

Columns that end in _data hold the ids and values of the sentences beside them (aisbench_core/messages): null in rows of
versions that did not know them, and empty where the sentence is somebody else's.
"""

from collections.abc import Sequence
from functools import cache

from duckdb import DuckDBPyConnection, Statement

from aisbench_core.model import columns

RUNS = {column.stored_name: column.sql_type for column in columns.stored_in(columns.RUNS)}

RESULTS = {"run_id": "VARCHAR"} | {column.stored_name: column.sql_type for column in columns.stored_in(columns.RESULTS)}

RANK_RESULTS = {"run_id": "VARCHAR", "server": "BIGINT", "rank": "BIGINT", "throughput": "DOUBLE"}

SERVER_RESULTS = {"run_id": "VARCHAR", "server": "BIGINT", "throughput": "DOUBLE", "accuracy": "DOUBLE"}

METRIC_SAMPLES = {"run_id": "VARCHAR", "at_utc": "TIMESTAMP", "node": "INTEGER", "name": "VARCHAR", "value": "DOUBLE"}

EVENTS = {
    "run_id": "VARCHAR",
    "at_utc": "TIMESTAMP",
    "source": "VARCHAR",
    "level": "VARCHAR",
    "message": "VARCHAR",
    "actor": "VARCHAR",
}

REMARKS = {"run_id": "VARCHAR", "at_utc": "TIMESTAMP", "who": "VARCHAR", "kind": "VARCHAR", "text": "VARCHAR"}

TABLES = {
    "runs": RUNS,
    "results": RESULTS,
    "rank_results": RANK_RESULTS,
    "server_results": SERVER_RESULTS,
    "metric_samples": METRIC_SAMPLES,
    "events": EVENTS,
    "remarks": REMARKS,
}
"""What is kept of runs."""

BASELINES = {
    "group_id": "VARCHAR",
    "grouped": "JSON",
    "version_field": "VARCHAR",
    "names": "JSON",
    "marked_by": "VARCHAR",
    "marked_at": "TIMESTAMP",
}

SAVED_VIEWS = {
    "page": "VARCHAR",
    "name": "VARCHAR",
    "address": "JSON",
    "saved_by": "VARCHAR",
    "saved_at": "TIMESTAMP",
}

SERIES = {
    "series_id": "VARCHAR",
    "plan": "JSON",
    "cells": "JSON",
    "profile": "VARCHAR",
    "created_at": "TIMESTAMP",
    "created_by": "VARCHAR",
}

STANDINGS = {
    "group_id": "BIGINT",
    "region": "VARCHAR",
    "rehearsal": "BOOLEAN",
    "fingerprint": "VARCHAR",
    "framework_version": "VARCHAR",
    "flavor": "VARCHAR",
    "pool_id": "VARCHAR",
    "node_count": "INTEGER",
    "cards_per_node": "INTEGER",
    "synthetic_data": "BOOLEAN",
    "throughput_unit": "VARCHAR",
    "origin": "VARCHAR",
    "workload": "VARCHAR",
    "model": "VARCHAR",
    "mode": "VARCHAR",
    "throughput_definition": "VARCHAR",
    "dataset": "VARCHAR",
    "recorded": "BIGINT",
    "valid": "BIGINT",
    "runs": "BIGINT",
    "invalid": "BIGINT",
    "incomplete": "BIGINT",
    "ruleset_ids": "VARCHAR",
    "throughput": "DOUBLE",
    "best": "DOUBLE",
    "mean": "DOUBLE",
    "sd": "DOUBLE",
    "olympic_mean": "DOUBLE",
    "per_node": "DOUBLE",
    "per_card": "DOUBLE",
    "best_accuracy": "DOUBLE",
    "median_accuracy": "DOUBLE",
    "best_run_id": "VARCHAR",
    "best_by": "VARCHAR",
    "best_at": "TIMESTAMP",
    "latest_run_id": "VARCHAR",
    "latest_at": "TIMESTAMP",
    "title": "VARCHAR",
    "accelerator": "VARCHAR",
    "framework": "VARCHAR",
    "why": "VARCHAR",
    "newest_run_id": "VARCHAR",
    "newest_at": "TIMESTAMP",
    "newest_title": "VARCHAR",
    "image": "VARCHAR",
    "code_sha256": "VARCHAR",
    "dataset_sha256": "VARCHAR",
    "median_run_id": "VARCHAR",
    "accuracy": "DOUBLE",
    **{column.name: "DOUBLE" for column in columns.medians()},
}

ALL_TABLES = TABLES | {
    "baselines": BASELINES,
    "saved_views": SAVED_VIEWS,
    "standings": STANDINGS,
    "standings_due": {"group_id": "BIGINT"},
    "series": SERIES,
}
"""And what is kept beside them."""

FEW = 128
"""Up to so many rows go in as parameters; to register an Arrow table costs more than they do."""

_parsed: dict[str, Statement] = {}


def among(column: str, values: Sequence[object]) -> tuple[str, list[object]]:
    """The condition that a column's value is one of these, and its parameters.

    For a single value it is a comparison, which DuckDB plans three times as quickly as a join."""
    if len(values) == 1:
        return f"{column} = ?", [values[0]]
    kind = "BIGINT" if values and isinstance(values[0], int) else "VARCHAR"
    return f"{column} in (select unnest(?::{kind}[]))", [list(values)]


def insert(cur: DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Add rows, whose values stand in the order of the table's columns, with one statement."""
    if len(rows) == 1:
        cur.execute(parsed(cur, _inserting(table, "?", "?")), list(rows[0]))
    elif 0 < len(rows) <= FEW:
        ids, *columns = (list(column) for column in zip(*rows, strict=True))
        if all(run_id == ids[0] for run_id in ids):
            cur.execute(parsed(cur, _inserting(table, "unnest(?::{}[])", "?")), [ids[0], *columns])
        else:
            cur.execute(parsed(cur, _inserting(table, "unnest(?::{}[])", "unnest(?::{}[])")), [ids, *columns])
    elif rows:
        _insert_many(cur, table, rows)


@cache
def _inserting(table: str, value: str, run_id: str) -> str:
    """`value`: what stands for a column, given its type, and `run_id` for the first one.

    The columns are not named: the engine takes a sixth longer when it has to look for their places."""
    first, *others = TABLES[table].values()
    values = ", ".join([run_id.format(first), *(value.format(kind) for kind in others)])
    return f"insert into {table} select {values}"


def parsed(cur: DuckDBPyConnection, sql: str) -> Statement:
    """One of the statements that each recording needs: reading their long texts once saves a tenth of its time."""
    if sql not in _parsed:
        [_parsed[sql]] = cur.extract_statements(sql)
    return _parsed[sql]


def _insert_many(cur: DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """One Arrow array per column: a thousand times faster than row by row, and every backend understands it."""
    import pyarrow as pa  # a tenth of a second, which nobody waits for who stores nothing

    types = {
        "BIGINT": pa.int64(), "BOOLEAN": pa.bool_(), "DOUBLE": pa.float64(), "INTEGER": pa.int32(),
        "TIMESTAMP": pa.timestamp("us"),
    }  # fmt: skip
    columns = zip(TABLES[table].items(), zip(*rows, strict=True), strict=True)
    arrays = {name: pa.array(column, types.get(kind, pa.string())) for (name, kind), column in columns}
    cur.register("incoming", pa.table(arrays))
    cur.execute(f"insert into {table} ({', '.join(arrays)}) select * from incoming")
    cur.unregister("incoming")
