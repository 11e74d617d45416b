"""Files of somebody else, broken in ways that depend on a seed alone: warehouses and MLflow stores.

`python -m tests.foreign_files --seconds 300` reads as many of them as there is time for, and names the seeds of those
that end in anything but runs or an error in words, take too long, or give away the secret."""

import argparse
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

import aisbench_core
from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.exchange.mlflow.exporting import MlflowExport
from aisbench_core.exchange.mlflow.store import REQUIRED
from aisbench_core.exchange.mlflow.tracking import TrackingServer
from aisbench_core.exchange.readers.reading import columns_of, read_path
from aisbench_core.exchange.readers.results import Unread
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.reading import make_reader
from aisbench_core.warehouse.store.foreign.copying import copy_rows
from aisbench_core.warehouse.tables.schema import TABLES
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.mlflow_server import tracking_server
from tests.team_warehouse import with_many_samples

SECRET = "AK-OF-SOMEBODY"
MOST_SECONDS = 30.0

_NAMES = [*TABLES, "schema_version", "series", "baselines", "saved_views", "spending", "group_statistics", "snapshot"]
_KINDS = [
    "BLOB",
    "VARCHAR[]",
    "STRUCT(a INTEGER)",
    "HUGEINT",
    "DATE",
    "TIMESTAMPTZ",
    "UUID",
    "INTERVAL",
    "BIGINT",
    "JSON",
]
_VALUES = [
    "null", "''", "'..'", "'a/b'", "chr(0)", "repeat('x', 100000)", "'[' || repeat('[', 5000)", "'{}'", "'[]'",
    "'null'", "'[1, {}]'", "-1", "0", "9223372036854775807", "'nan'::DOUBLE", "'inf'::DOUBLE", "1e308",
    "'infinity'::TIMESTAMP", "'290000-01-01'::TIMESTAMP", "'valid'", "'\U0001f600'", "'=1+1'", "true",
]  # fmt: skip
_FUNCTIONS = ["count", "max", "coalesce", "json_type", "isfinite", "len", "upper", "concat_ws", "md5_number_lower"]


@dataclass(frozen=True, slots=True)
class Kind:
    """How files of one kind are made from a good one, and read."""

    name: str
    make: Callable[[Path], object]
    break_it: Callable[[Path, random.Random, Path], None]
    read: Callable[[Path, Path], str]


def changed(file: Path, *statements: str) -> Path:
    """The file, after its owner has done this to it."""
    with duckdb.connect(file) as con:
        for statement in statements:
            con.execute(statement)
    return file


# --- warehouses ---------------------------------------------------------------------------------------


def _make_warehouse(file: Path) -> None:
    warehouse = Warehouse(file)
    for record in (*a.records([8000.0, 8100.0, 8200.0]), with_many_samples("long")):
        warehouse.record(record)
    warehouse.compact()


def _break_warehouse(file: Path, chance: random.Random, secret: Path) -> None:
    if chance.random() < 0.15:
        _flip(file, chance)
        return
    for _ in range(chance.randint(1, 3)):
        with duckdb.connect(file) as con:
            try:
                for statement in chance.choice(_BREAKS)(chance, secret):
                    con.execute(statement)
            except duckdb.Error:
                continue  # the engine does not let everything be done that somebody thinks of


def _view(chance: random.Random, secret: Path) -> list[str]:
    table = chance.choice(_NAMES)
    endless = "(with recursive n(i) as (select 1 union all select i + 1 from n) select max(i)::VARCHAR from n)"
    within = chance.choice([f"(select content from read_text('{secret}'))", endless, "getvariable('x')", "uuid()"])
    return [
        f"alter table {table} rename to before_it",
        f"create view {table} as select *, {within} as more from before_it"
        if chance.random() < 0.3
        else f"create view {table} as select * replace ({within} as run_id) from before_it",
    ]


def _retyped(chance: random.Random, _: Path) -> list[str]:
    table = chance.choice([*TABLES])
    column, kind = chance.choice([*TABLES[table]]), chance.choice(_KINDS)
    return [f"alter table {table} alter {column} type {kind} using null"]


def _valued(chance: random.Random, _: Path) -> list[str]:
    table = chance.choice([*TABLES])
    return [f"update {table} set {chance.choice([*TABLES[table]])} = {chance.choice(_VALUES)}"]


def _defaulted(chance: random.Random, _: Path) -> list[str]:
    table = chance.choice([*TABLES])
    column = chance.choice([*TABLES[table]])
    return [f"alter table {table} alter {column} set default {chance.choice(['random()', 'uuid()', '1 + 1', 'now()'])}"]


def _generated(chance: random.Random, _: Path) -> list[str]:
    table = chance.choice([*TABLES])
    computed = chance.choice([*TABLES[table]])
    columns = [
        f"{name} {kind} generated always as (repeat('x', 1000000)::{kind})" if name == computed else f"{name} {kind}"
        for name, kind in TABLES[table].items()
    ]
    return [f"drop table {table}", f"create table {table} ({', '.join(columns)})"]


def _shadowed(chance: random.Random, secret: Path) -> list[str]:
    name = chance.choice(_FUNCTIONS)
    return [
        f"create macro {name}(x) as (select content from read_text('{secret}'))",
        f"create macro duckdb_tables() as table from read_text('{secret}')",
    ]


def _reshaped(chance: random.Random, _: Path) -> list[str]:
    table = chance.choice(_NAMES)
    choices = [
        f"drop table {table}",
        f"alter table {table} add column more VARCHAR",
        f"create schema {table}",
        f"insert into {table} from {table}",
        f"delete from {table}",
        f"create index theirs on {table} ({next(iter(TABLES.get(table, {'run_id': ''})))})",
        f"insert into schema_version values ({chance.choice([-1, 0, 1, 5, 99])})",
        "delete from schema_version",
    ]
    return [chance.choice(choices)]


_BREAKS = [_view, _retyped, _valued, _valued, _defaulted, _generated, _shadowed, _reshaped]


def _read_warehouse(file: Path, folder: Path) -> str:
    """Copy its rows, and read all of them as every page does; then ask it as a snapshot."""
    copy_rows(file, folder / "ours.duckdb")
    warehouse = Warehouse(folder / "ours.duckdb")
    query = BoardQuery("cn-north-9", include_invalid=True)
    told = [repr(warehouse.board.list_rows(query)), repr(warehouse.runs.list_rows(query)), repr(warehouse.check([]))]
    with aisbench_core.open_warehouse(file) as opened:
        told.append(opened.sql("from v_runs").to_csv())
        told.append(opened.sql("from v_groups").to_csv())
    return "".join(told)


# --- MLflow stores ------------------------------------------------------------------------------------


def _make_store(file: Path) -> None:
    warehouse = Warehouse(file.with_suffix(".duckdb"))
    warehouse.record_many([*a.records([8000.0, 8100.0]), with_many_samples("long")])
    found = make_reader(warehouse.location)
    try:
        with tracking_server(file) as server:
            MlflowExport(found).export(BoardQuery("cn-north-9"), TrackingServer(server.address, {}))
    finally:
        found.close()


_SQLITE_VALUES = [
    "null", "x'00ff'", "'text'", "-1", "1e400", "9223372036854775807", "''", "zeroblob(1000000)", "char(0)", "1.5",
]  # fmt: skip


def _break_store(file: Path, chance: random.Random, _: Path) -> None:
    if chance.random() < 0.15:
        _flip(file, chance)
        return
    con = sqlite3.connect(file)
    try:
        con.execute("pragma ignore_check_constraints = on")
        for _number in range(chance.randint(1, 4)):
            try:
                con.executescript(";".join(_sqlite(chance)))
            except (sqlite3.Error, sqlite3.Warning):
                continue
    finally:
        con.close()


def _sqlite(chance: random.Random) -> Sequence[str]:
    table = chance.choice([*REQUIRED, "alembic_version"])
    column = chance.choice(REQUIRED.get(table, ("version_num",)))
    columns = ", ".join(REQUIRED.get(table, ("version_num",)))
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
    drop = [f"create table before_it as select {columns} from {table}", f"drop table {table}"]
    return chance.choice(
        [
            [f"update {table} set {column} = {chance.choice(_SQLITE_VALUES)}"],
            [*drop, f"create table {table} as select {columns} from before_it", f"update {table} set {column} = x'00'"],
            [*drop, f"create view {table} as select {columns} from before_it"],
            [*drop, f"create view {table} as select {columns} from before_it, ({endless})"],
            [
                *drop,
                f"create table {table} ({columns}, more as (hex(zeroblob(1e9))))",
            ],
            [f"drop table {table}"],
            ["delete from tags"],
            [f"create trigger theirs after update on {table} begin delete from runs; end"],
        ]
    )


def _read_store(file: Path, _: Path) -> str:
    results = list(read_path(file))
    told = [repr(list(columns_of(file))), *map(repr, results)]
    if all(isinstance(each, Unread) for each in results):
        raise AisbenchError(make_verbatim(f"{results}"))
    return "".join(told)


# --- both ---------------------------------------------------------------------------------------------


def _flip(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 16, 400])):
        content[chance.randrange(len(content))] = chance.randrange(256)
    file.write_bytes(bytes(content[: chance.choice([len(content), chance.randrange(len(content))])]))


KINDS = (
    Kind("warehouse.duckdb", _make_warehouse, _break_warehouse, _read_warehouse),
    Kind("mlflow.db", _make_store, _break_store, _read_store),
)


def failure(kind: Kind, good: Path, seed: int, folder: Path) -> str:
    """What is wrong with how the file of this seed is read; nothing, as it should be."""
    file, secret = folder / kind.name, folder / "secret.txt"
    shutil.copyfile(good, file)
    secret.write_text(SECRET, "utf-8")
    kind.break_it(file, random.Random(seed), secret)
    start, said = time.monotonic(), ""
    try:
        said = kind.read(file, folder)
    except AisbenchError as error:
        said = str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - start
    if SECRET in said:
        return "the secret came along"
    return f"it took {seconds:.0f} s" if seconds > MOST_SECONDS else ""


def main() -> int:
    """Read files until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    end, seed, failed = time.monotonic() + asked.seconds, asked.first, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        goods = {kind: folder / f"good-{kind.name}" for kind in KINDS}
        for kind, good in goods.items():
            kind.make(good)
        while time.monotonic() < end:
            for kind, good in goods.items():
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    wrong = failure(kind, good, seed, Path(place))
                if wrong:
                    failed += 1
                    print(f"{kind.name}, seed {seed}: {wrong}", flush=True)
            seed += 1
    print(f"{seed - asked.first} files of each of {len(KINDS)} kinds, {failed} failures")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
