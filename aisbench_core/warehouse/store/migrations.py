"""Makes the tables of a warehouse, and upgrades those that an earlier version wrote.

An upgrade adds the tables and columns that are declared and not there, then computes what older rows lack, in one
transaction: whoever is killed meanwhile leaves the warehouse as it was. It works in place, so it needs no room for a
copy, and is the same for a file and for a DuckLake. Columns only ever come last, because rows are inserted without
naming them. Plain tables only, without keys, constraints, indexes or sequences, which a DuckLake does not have.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import duckdb

from aisbench_core.base.errors import WarehouseError
from aisbench_core.base.messages import Message
from aisbench_core.model.columns import BASELINE, COLUMNS, list_medians
from aisbench_core.warehouse.queries.group_statistics import regroup_runs
from aisbench_core.warehouse.tables.schema import ALL_TABLES

# Schemas before it are of development versions, which `aisbench upgrade` reads.
RELEASED = BASELINE

Step = str | Callable[[duckdb.DuckDBPyConnection], None]
"""SQL, or a function where the values are not for SQL."""

# By version: what completes rows of the versions before it, when all columns are there.
#
# A version that adds columns to `runs` or `results` is known by them; any other has a step, maybe an empty one.
STEPS: Mapping[int, Step] = {
    RELEASED: "",
    23: "update runs set set_aside = ''",
    24: "update runs set primary_metric = '', primary_better = ''",
    26: "",
}

LATEST = max(
    *STEPS,
    *(column.stored.since for column in COLUMNS if column.stored),
    *(median.median_since for median in list_medians()),
)


MISFITS = (duckdb.BinderException, duckdb.CatalogException)
"""Of a statement that names what is not there."""

REBUILD = Message(
    "move it and its .wal file away and run `aisbench warehouse rebuild`: every run is kept as text in data/runs"
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


def migrate_tables(con: duckdb.DuckDBPyConnection, location: object, schema: Schema = NEWEST) -> None:
    """Make the tables of the warehouse at `location`, or upgrade them.

    Raises WarehouseError when a newer version of this product wrote them, or another program."""
    version = _supported_version(con, location, schema)
    if version == schema.version:
        return
    con.begin()
    try:
        con.execute("create table if not exists schema_version (version INTEGER)")
        add_missing(con, schema.tables, with_columns=bool(version))
        if version:
            for step in (step for number, step in sorted(schema.steps.items()) if number > version):
                con.execute(step) if isinstance(step, str) else step(con)
            regroup_runs(con)
        con.execute("insert into schema_version values (?)", [schema.version])
        con.commit()
    except BaseException:
        con.rollback()
        raise


def is_outdated(con: duckdb.DuckDBPyConnection, location: object) -> bool:
    """Whether there is something to make or upgrade. Raises WarehouseError as `migrate_tables` does."""
    return _supported_version(con, location, NEWEST) < LATEST


def _list_columns(con: duckdb.DuckDBPyConnection) -> Tables:
    con.execute("""
        select table_name, map(list(column_name), list(data_type)) from duckdb_columns()
        where database_name = current_database() group by table_name""")
    return dict(con.fetchall())


def add_missing(con: duckdb.DuckDBPyConnection, declared: Tables, *, with_columns: bool) -> None:
    """Make the tables that are not there; of the others the columns, too, if there may be older tables."""
    for statement in _iter_additions(declared, _list_columns(con) if with_columns else {}):
        con.execute(statement)


def _iter_additions(declared: Tables, there: Tables) -> Iterator[str]:
    for table, columns in declared.items():
        if table in there:
            missing = [f"{name} {kind}" for name, kind in columns.items() if name not in there[table]]
            yield from (f"alter table {table} add column {column}" for column in missing)
        else:
            yield f"create table {table} ({', '.join(f'{name} {kind}' for name, kind in columns.items())})"


def _supported_version(con: duckdb.DuckDBPyConnection, location: object, schema: Schema) -> int:
    version = stored_version(con, location)
    if version > schema.version:
        raise too_new(location, version, schema.version)
    if 0 < version < RELEASED:
        raise too_old(location, version)
    return version


def too_old(location: object, version: int) -> WarehouseError:
    """The error about a warehouse of a development version."""
    return WarehouseError(
        Message("the warehouse {path} is of a development version (schema {version})", path=location, version=version),
        Message("run `aisbench upgrade` where its console is installed"),
    )


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


def find_schema_error(con: duckdb.DuckDBPyConnection, location: object) -> WarehouseError | None:
    """Why a statement of ours does not fit the tables: they were replaced or changed. None if they are ours."""
    version = stored_version(con, location)
    if version > LATEST:
        return too_new(location, version, LATEST)
    if version < LATEST:
        return WarehouseError(
            Message(
                "the warehouse {path} was replaced by an older one (schema {version})", path=location, version=version
            ),
            Message("try again: it is upgraded when it is opened anew"),
        )
    there = _list_columns(con)
    differing = [
        f"{table}.{name}" for table, columns in ALL_TABLES.items() for name in {*columns} ^ {*there.get(table, ())}
    ]
    if not differing:
        return None
    return WarehouseError(
        Message(
            "the warehouse {path} says schema {version}, but these columns are missing or too many: {columns}",
            path=location,
            version=version,
            columns=", ".join(sorted(differing)),
        ),
        REBUILD,
    )


def stored_version(con: duckdb.DuckDBPyConnection, location: object) -> int:
    """The schema of a warehouse; 0 of an empty database. Raises WarehouseError about another program's database."""
    try:
        return _stored_version(con)
    except duckdb.CatalogException:
        return _version_of_new(con, location)
    except duckdb.BinderException as error:
        raise _make_foreign_error(location) from error


def _version_of_new(con: duckdb.DuckDBPyConnection, location: object) -> int:
    if not con.execute("select 1 from duckdb_tables() where database_name = current_database() limit 1").fetchall():
        return 0
    try:
        return _stored_version(con)  # somebody else may have made the tables since we looked first
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise _make_foreign_error(location) from error


def _stored_version(con: duckdb.DuckDBPyConnection) -> int:
    # fetchall, here and above: a result that was not read to its end keeps a transaction open, and with it the log.
    return int(con.execute("select max(version) from schema_version").fetchall()[0][0] or 0)


def _make_foreign_error(location: object) -> WarehouseError:
    return WarehouseError(
        Message("{path} is a database of another program", path=location),
        Message("move it away, or name another warehouse file"),
    )
