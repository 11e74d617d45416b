"""Makes the tables of a warehouse, and upgrades those that an earlier version wrote.

An upgrade adds the tables and columns that are declared and not there, then computes what older rows lack, in one
transaction: whoever is killed meanwhile leaves the warehouse as it was. It works in place, so it needs no room for a
copy, and is the same for a file and for a DuckLake. Columns only ever come last, because rows are inserted without
naming them. Plain tables only, without keys, constraints, indexes or sequences, which a DuckLake does not have.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import duckdb

from aisbench_core.errors import WarehouseError
from aisbench_core.messages import Message
from aisbench_core.model.columns import BASELINE, COLUMNS, medians
from aisbench_core.warehouse.answers.group_statistics import regroup
from aisbench_core.warehouse.store.refingerprinting import recompute_fingerprints
from aisbench_core.warehouse.store.schema import ALL_TABLES

Step = str | Callable[[duckdb.DuckDBPyConnection], None]
"""SQL, or a function where the values are not for SQL."""

# By version: what completes rows of the versions before it, when all columns are there.
#
# A version that adds columns to `runs` or `results` is known by them; any other has a step, maybe an empty one.
STEPS: Mapping[int, Step] = {
    # Files of development versions have the schemas 1 to 11. What each of them lacks is null, or not there.
    BASELINE: """
        update runs set image = coalesce(nullif(spec->>'$.image_url', ''), engine_version, '') where image is null;
        insert into server_results
            select run_id, server, case when count(throughput) = any_value(cards_per_node) then sum(throughput) end,
                null
            from rank_results join runs using (run_id)
            where mode = 'single_server' and run_id not in (select run_id from server_results)
            group by run_id, server;
        update results set ruleset_id = 'aisbench/1', ruleset_sha256 = '',
            problems = case when checks->>'$[0].level' = 'fail' and ranks_expected is not null
                then to_json(string_split(checks->>'$[0].found', '; ')) else '[]' end
            where ruleset_id is null;
        drop table if exists revision;
    """,
    # The table of attempts: runs of before have none.
    13: "",
    # The table of samples of cards: runs of before have none.
    14: "",
    # The table of nodes: which ones earlier runs ran on was not stored in the warehouse; a rebuild fills it.
    15: "",
    # The table of spending: it is computed from all runs.
    17: "",
    # How many runs of a group reached the target of their workload: it is computed from all runs.
    18: "",
    # Fingerprints by the second formula, and what is not known of a run; since this version also an algorithm's code.
    20: recompute_fingerprints,
}

LATEST = max(
    *STEPS,
    *(column.stored.since for column in COLUMNS if column.stored),
    *(median.median_since for median in medians()),
)


Tables = Mapping[str, Mapping[str, str]]
"""The types of columns by table and name."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A version, its tables, and the steps of all versions up to it."""

    version: int
    tables: Tables
    steps: Mapping[int, Step]


NEWEST = Schema(LATEST, ALL_TABLES, STEPS)


def migrate(con: duckdb.DuckDBPyConnection, location: object, schema: Schema = NEWEST) -> None:
    """Make the tables of the warehouse at `location`, or upgrade them.

    Raises WarehouseError when a newer version of this product wrote them, or another program."""
    version = _supported_version(con, location, schema)
    if version == schema.version:
        return
    con.begin()
    try:
        con.execute("create table if not exists schema_version (version INTEGER)")
        for statement in _additions(schema.tables, _columns(con) if version else {}):
            con.execute(statement)
        if version:
            for step in (step for number, step in sorted(schema.steps.items()) if number > version):
                con.execute(step) if isinstance(step, str) else step(con)
            regroup(con)
        con.execute("insert into schema_version values (?)", [schema.version])
        con.commit()
    except BaseException:
        con.rollback()
        raise


def is_outdated(con: duckdb.DuckDBPyConnection, location: object) -> bool:
    """Whether there is something to make or upgrade. Raises WarehouseError as `migrate` does."""
    return _supported_version(con, location, NEWEST) < LATEST


def _columns(con: duckdb.DuckDBPyConnection) -> Tables:
    con.execute("""
        select table_name, map(list(column_name), list(data_type)) from duckdb_columns()
        where database_name = current_database() group by table_name""")
    return dict(con.fetchall())


def _additions(declared: Tables, there: Tables) -> Iterator[str]:
    for table, columns in declared.items():
        if table in there:
            missing = [f"{name} {kind}" for name, kind in columns.items() if name not in there[table]]
            yield from (f"alter table {table} add column {column}" for column in missing)
        else:
            yield f"create table {table} ({', '.join(f'{name} {kind}' for name, kind in columns.items())})"


def _supported_version(con: duckdb.DuckDBPyConnection, location: object, schema: Schema) -> int:
    version = _version(con, location)
    if version > schema.version:
        raise too_new(location, version, schema.version)
    return version


def too_new(location: object, version: int, latest: int) -> WarehouseError:
    """The error about a warehouse that a newer version of this product wrote."""
    return WarehouseError(
        Message(
            "the warehouse {path} has schema {version}, and this version knows schemas up to {latest}",
            path=location,
            version=version,
            latest=latest,
        ),
        Message("update this installation; nothing was changed"),
    )


def _version(con: duckdb.DuckDBPyConnection, location: object) -> int:
    try:
        return _stored_version(con)
    except duckdb.CatalogException:
        return _version_of_new(con, location)
    except duckdb.BinderException as error:
        raise _foreign(location) from error


def _version_of_new(con: duckdb.DuckDBPyConnection, location: object) -> int:
    if not con.execute("select 1 from duckdb_tables() where database_name = current_database() limit 1").fetchall():
        return 0
    try:
        return _stored_version(con)  # somebody else may have made the tables since we looked first
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise _foreign(location) from error


def _stored_version(con: duckdb.DuckDBPyConnection) -> int:
    # fetchall, here and above: a result that was not read to its end keeps a transaction open, and with it the log.
    return int(con.execute("select max(version) from schema_version").fetchall()[0][0] or 0)


def _foreign(location: object) -> WarehouseError:
    return WarehouseError(
        Message("{path} is a database of another program", path=location),
        Message("move it away, or name another warehouse file"),
    )
