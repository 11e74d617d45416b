"""The tables: every column and its type, in order. New ones come last, and store/migrations.py adds them.

Columns that end in _data hold template and values of the messages beside them (aisbench_core/base/messages): null in
rows of versions without them, and empty where the text is somebody else's.
"""

from collections.abc import Sequence
from functools import cache

from duckdb import DuckDBPyConnection, Statement

from aisbench_core.model import columns
from aisbench_core.model.columns.statistics import STORED

RUNS = {column.stored_name: column.sql_type for column in columns.stored_in(columns.RUNS)}

RESULTS = {"run_id": "VARCHAR"} | {column.stored_name: column.sql_type for column in columns.stored_in(columns.RESULTS)}


def _split_columns(sql: str) -> dict[str, str]:
    return dict(column.split() for column in sql.split(","))


# Tables with rows of single runs.
TABLES = {
    "runs": RUNS,
    "results": RESULTS,
    "rank_results": _split_columns("run_id VARCHAR, server BIGINT, rank BIGINT, throughput DOUBLE"),
    "server_results": _split_columns("run_id VARCHAR, server BIGINT, throughput DOUBLE, accuracy DOUBLE"),
    "metric_samples": _split_columns("run_id VARCHAR, at_utc TIMESTAMP, node INTEGER, name VARCHAR, value DOUBLE"),
    "events": _split_columns(
        "run_id VARCHAR, at_utc TIMESTAMP, source VARCHAR, level VARCHAR, message VARCHAR, actor VARCHAR"
    ),
    "annotations": _split_columns("run_id VARCHAR, at_utc TIMESTAMP, who VARCHAR, kind VARCHAR, text VARCHAR"),
    "attempts": _split_columns(
        """run_id VARCHAR, number BIGINT, started_at TIMESTAMP, ended_at TIMESTAMP, fault VARCHAR, reason VARCHAR,
        task VARCHAR, host VARCHAR, exit_code BIGINT, recovery VARCHAR, last_event VARCHAR, last_words VARCHAR"""
    ),
    "card_samples": _split_columns(
        "run_id VARCHAR, at_utc TIMESTAMP, node INTEGER, card INTEGER, name VARCHAR, value DOUBLE"
    ),
    "run_metrics": _split_columns(
        """run_id VARCHAR, name VARCHAR, value DOUBLE, unit VARCHAR, better VARCHAR, combined VARCHAR,
        definition VARCHAR, source VARCHAR"""
    ),
    # What a node did in a run, and all that finds slow ones: joins with all runs would cost more each year.
    "node_results": _split_columns(
        """run_id VARCHAR, ended_at TIMESTAMP, region VARCHAR, rehearsal BOOLEAN, host VARCHAR, node BIGINT,
        share DOUBLE, slow_cards BIGINT, differs VARCHAR"""
    ),
}

BASELINES = _split_columns(
    "group_id VARCHAR, grouped JSON, version_field VARCHAR, names JSON, marked_by VARCHAR, marked_at TIMESTAMP"
)
SAVED_VIEWS = _split_columns("page VARCHAR, name VARCHAR, address JSON, saved_by VARCHAR, saved_at TIMESTAMP")
INFERENCE_RESULTS = _split_columns("result_id VARCHAR, stored_at TIMESTAMP, stored_by VARCHAR, result JSON")
SNAPSHOT = _split_columns("taken_at_utc TIMESTAMP, schema_version INTEGER, runs BIGINT")
SERIES = _split_columns(
    "series_id VARCHAR, plan JSON, cells JSON, profile VARCHAR, created_at TIMESTAMP, created_by VARCHAR"
)

# The statistics of each group of runs, see queries/group_statistics.py.
GROUP_STATISTICS = {
    **{name: RUNS[name] for name in ("group_id", *columns.GROUP_KEYS, *columns.FINGERPRINTED, *columns.FOLLOWING)},
    **_split_columns(
        """recorded BIGINT, valid BIGINT, runs BIGINT, invalid BIGINT, incomplete BIGINT, ruleset_ids VARCHAR"""
    ),
    **{statistic.name: "DOUBLE" for statistic in STORED},
    **_split_columns(
        """best_run_id VARCHAR, best_by VARCHAR, best_at TIMESTAMP,
        latest_run_id VARCHAR, latest_at TIMESTAMP, title VARCHAR, framework VARCHAR, why VARCHAR,
        newest_run_id VARCHAR, newest_at TIMESTAMP, newest_title VARCHAR, median_run_id VARCHAR, accuracy DOUBLE,
        currency VARCHAR, accuracy_target DOUBLE, reached BIGINT, missed BIGINT"""
    ),
    **{column.name: "DOUBLE" for column in columns.list_medians()},
    "set_aside": "BIGINT",
}

# What was spent, see queries/stored_spending.py. A row has one currency; empty: no price is known, and `amount` is
# NULL.
SPENDING = _split_columns(
    """group_id BIGINT, month DATE, person VARCHAR, workload VARCHAR, profile VARCHAR, series VARCHAR, currency VARCHAR,
    runs BIGINT, completed BIGINT, node_hours DOUBLE, amount DOUBLE"""
)

ALL_TABLES = TABLES | {
    "baselines": BASELINES,
    "saved_views": SAVED_VIEWS,
    "inference_results": INFERENCE_RESULTS,
    "group_statistics": GROUP_STATISTICS,
    "group_statistics_due": {"group_id": "BIGINT"},
    "spending": SPENDING,
    "series": SERIES,
}

# Up to so many rows are inserted as parameters; registering an Arrow table takes longer than that.
FEW = 128

_parsed: dict[str, Statement] = {}


def sql_text(value: object) -> str:
    """A text or path as SQL literal, for statements that take no parameters."""
    return "'" + str(value).replace("'", "''") + "'"


def build_in_condition(column: str, values: Sequence[object]) -> tuple[str, list[object]]:
    """The condition that a column's value is one of these, and its parameters."""
    if len(values) == 1:  # DuckDB plans a comparison in a third of the time of a join
        return f"{column} = ?", [values[0]]
    kind = "BIGINT" if values and isinstance(values[0], int) else "VARCHAR"
    return f"{column} in (select unnest(?::{kind}[]))", [list(values)]


def insert_rows(cur: DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Add rows, with values in the order of the table's columns, in one statement."""
    if len(rows) == 1:
        cur.execute(parse_once(cur, _build_insertion(table, "?", "?")), list(rows[0]))
    elif 0 < len(rows) <= FEW:
        ids, *columns = (list(column) for column in zip(*rows, strict=True))
        if all(run_id == ids[0] for run_id in ids):
            cur.execute(parse_once(cur, _build_insertion(table, "unnest(?::{}[])", "?")), [ids[0], *columns])
        else:
            cur.execute(parse_once(cur, _build_insertion(table, "unnest(?::{}[])", "unnest(?::{}[])")), [ids, *columns])
    elif rows:
        _insert_many(cur, table, rows)


@cache
def _build_insertion(table: str, value: str, run_id: str) -> str:
    """The statement; `value` is a template for the type of a column, `run_id` for that of the first one."""
    # Columns are not named: DuckDB takes a sixth longer if it has to resolve their names.
    first, *rest = TABLES[table].values()
    values = ", ".join([run_id.format(first), *(value.format(kind) for kind in rest)])
    return f"insert into {table} select {values}"


def parse_once(cur: DuckDBPyConnection, sql: str) -> Statement:
    """A statement that is needed for each recording; parsing their long texts only once saves a tenth of its time."""
    if sql not in _parsed:
        [_parsed[sql]] = cur.extract_statements(sql)
    return _parsed[sql]


def _insert_many(cur: DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]) -> None:
    # An Arrow array per column is a thousand times faster than inserting row by row.
    import pyarrow as pa  # takes 100 ms, which only those wait for who need it

    types = {
        "BIGINT": pa.int64(), "BOOLEAN": pa.bool_(), "DOUBLE": pa.float64(), "INTEGER": pa.int32(),
        "TIMESTAMP": pa.timestamp("us"),
    }  # fmt: skip
    columns = zip(TABLES[table].items(), zip(*rows, strict=True), strict=True)
    arrays = {name: pa.array(column, types.get(kind, pa.string())) for (name, kind), column in columns}
    cur.register("incoming", pa.table(arrays))
    cur.execute(f"insert into {table} ({', '.join(arrays)}) select * from incoming")
    cur.unregister("incoming")
