"""Warehouses that development versions left behind, a file and a team's, are upgraded without a loss."""

import contextlib
import gzip
import json
import os
from collections.abc import Iterator
from itertools import count
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest
from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import WarehouseError
from aisbench_core.maintenance.upgrading.warehouse_tables import FORMER_TABLES, upgrade_tables
from aisbench_core.model import AnnotationChange, AnnotationKind, Series, SeriesPlan
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.measures.fingerprint import first_fingerprint_of
from aisbench_core.warehouse.store.engine import NAME
from aisbench_core.warehouse.store.lake import Lake, attach_lake, set_secrets, start_lake_engine, upgrade_lake
from aisbench_core.warehouse.store.migrations import LATEST, RELEASED
from aisbench_core.warehouse.tables.schema import ALL_TABLES
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.warehouse.values.saved import SavedView
from tests import records as a
from tests.actors import TESTER
from tests.postgres_server import PostgresServer
from tests.processes import FORKED
from tests.sandbox_process import SandboxProcess
from tests.stored_cards import rank_results_of
from tests.stored_schemas import DATABASE, catalogue_of, file_of, runs, unpack_file
from tests.team_warehouse import TeamWarehouse

EVERYTHING = BoardQuery("cn-north-9", include_invalid=True)
VERSIONS = [version for version in range(1, RELEASED) if file_of(version).exists()]
OF_A_FILE = [pytest.param(("file", version), id=f"file-{version}") for version in VERSIONS]
AT_ONCE = (VERSIONS[0], VERSIONS[-1])
"""An upgrade is the same code for a file and a team; `make test` upgrades every file, and the oldest and the newest
catalogue, which take a second each."""
OF_A_TEAM = [
    pytest.param(
        ("team", version),
        id=f"team-{version}",
        marks=[pytest.mark.postgres, *([] if version in AT_ONCE else [pytest.mark.exhaustive])],
    )
    for version in VERSIONS
]

DERIVED = (
    "schema_version",
    "revision",
    "spending",
    "standings",
    "standings_due",
    "group_statistics",
    "group_statistics_due",
)
"""Tables that hold nothing of their own."""

Content = dict[str, tuple[list[str], list[tuple[Any, ...]]]]


@pytest.fixture
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Warehouse]:
    """A copy of the warehouse that a schema version left behind."""
    kind, version = request.param
    if kind == "file":
        yield Warehouse(unpack_file(version, tmp_path / "warehouse.duckdb"))
        return
    postgres: PostgresServer = request.getfixturevalue("postgres")
    obs: SandboxProcess = request.getfixturevalue("obs")
    team = TeamWarehouse.create(postgres, obs, DATABASE)
    postgres.restore(DATABASE, gzip.decompress(catalogue_of(version).read_bytes()).decode())
    yield team.open()
    postgres.drop(DATABASE)


@pytest.fixture(scope="module")
def of_people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of today with what people mark, save and import."""
    file = tmp_path_factory.mktemp("today") / "today.duckdb"
    warehouse = Warehouse(file)
    warehouse.record_many([a.record("marked"), a.imported("claim")])
    warehouse.annotations.add("marked", [AnnotationChange(a.T0, "ann", AnnotationKind.NOTE, "with new cables")], None)
    warehouse.saved_views.save(SavedView("leaderboard", "ours", {"q": ("resnet",)}, "ann", a.T0), TESTER)
    warehouse.mark_baseline(["marked"], None, TESTER, a.T0)
    warehouse.series.keep([Series("s-1", SeriesPlan(spec=a.spec(), name="scaling"), (), "beijing", a.T0, "ann", None)])
    return file


def upgrade(warehouse: Warehouse) -> Warehouse:
    """The same warehouse with the tables of today."""
    if isinstance(warehouse.location, Path):
        with duckdb.connect(warehouse.location) as con:
            upgrade_tables(con, warehouse.location)
    else:
        upgrade_lake(warehouse.location, 60, upgrade_tables)
    return warehouse


@contextlib.contextmanager
def unopened(warehouse: Warehouse) -> Iterator[DuckDBPyConnection]:
    """The tables as they are before anybody opens the warehouse."""
    if isinstance(warehouse.location, Path):
        with duckdb.connect(warehouse.location) as con:
            yield con
        return
    engine, access = start_lake_engine({}), warehouse.location.access()
    set_secrets(engine, access)
    attach_lake(engine, warehouse.location, access)
    engine.execute(f"use {NAME}")
    yield engine
    engine.close()


def content(con: DuckDBPyConnection) -> Content:
    """Every row by table, with the columns that its cells are of."""
    asked = "select table_name from duckdb_tables() where database_name = current_database()"
    tables = [name for (name,) in con.execute(asked).fetchall() if name not in DERIVED]
    columns = {table: [name for name, *_ in con.execute(f"describe {table}").fetchall()] for table in tables}
    return {table: (columns[table], rows(con, table, columns[table])) for table in tables}


def rows(con: DuckDBPyConnection, table: str, columns: list[str]) -> list[tuple[Any, ...]]:
    """Cells of these columns but of groups, fingerprints and hashes, which are computed from others."""
    computed = ("group_id", "fingerprint", "record_sha256") if table == "runs" else ()
    chosen = ", ".join(column for column in columns if column not in computed)
    return sorted(con.execute(f"select {chosen} from {table}").fetchall(), key=repr)


def add_rows(con: DuckDBPyConnection, today: Path) -> None:
    """What people marked, saved and imported, as far as an earlier schema has tables and columns for it."""
    con.execute(f"attach '{today}' as today (read_only)")
    for table, (columns, _) in content(con).items():
        names = ", ".join(columns)
        con.execute(f"insert into {table} ({names}) select {names} from today.{FORMER_TABLES.get(table, table)}")
    con.execute("detach today")


def test_every_schema_since_the_first_release_is_stored() -> None:
    missing = [
        number for number in range(RELEASED, LATEST) if not (file_of(number).exists() and catalogue_of(number).exists())
    ]

    assert missing == [], "store it with the code that wrote it: python -m tests.stored_schemas"


@pytest.mark.parametrize("stored", OF_A_FILE + OF_A_TEAM, indirect=True)
def test_every_row_of_a_development_version_is_there_after_an_upgrade_and_understood(
    stored: Warehouse, of_people: Path
) -> None:
    with unopened(stored) as con:
        add_rows(con, of_people)
        before = content(con)

    with upgrade(stored).cursor() as cur:
        after = {table: rows(cur, FORMER_TABLES.get(table, table), columns) for table, (columns, _) in before.items()}

    assert after == {table: found for table, (_, found) in before.items()}
    assert_people_are_understood(stored, Warehouse(of_people), [*before])
    assert_runs_are_understood(stored)


@pytest.mark.parametrize("stored", OF_A_FILE[-1:], indirect=True)
def test_only_runs_that_were_changed_lack_the_hash_of_today(stored: Warehouse) -> None:
    with unopened(stored) as con:
        con.execute("update results set accuracy_measured = 0.99 where run_id = 'single'")

    damages = upgrade(stored).check([]).damages

    assert [damage.where for damage in damages if "record_sha256" in damage.sentence] == ["runs, run single"]


def assert_people_are_understood(stored: Warehouse, today: Warehouse, tables: list[str]) -> None:
    """What people marked, saved and imported, of the tables that there were."""
    assert stored.runs.list_rows(BoardQuery("imported", include_invalid=True)).total == 1
    assert stored.saved_views.on() == (today.saved_views.on() if "saved_views" in tables else [])
    assert stored.trends.list_baselines() == (today.trends.list_baselines() if "baselines" in tables else [])
    assert stored.series.of(["s-1"]) == (today.series.of(["s-1"]) if "series" in tables else [])
    assert stored.annotations.of(["marked"]) == (
        today.annotations.of(["marked"]) if {"remarks", "annotations"} & {*tables} else {}
    )


def assert_runs_are_understood(stored: Warehouse) -> None:
    """The three runs of every stored warehouse."""
    found = {row.run_id: row for row in stored.runs.list_rows(EVERYTHING).rows if row.run_id != "marked"}
    assert {name: row.throughput for name, row in found.items()} == {"cluster": 16000, "single": 8000, "failed": None}
    assert {name: row.validity.value for name, row in found.items()} == {
        "cluster": "valid",
        "single": "valid",
        "failed": "incomplete",
    }
    assert [card.throughput for card in rank_results_of(stored, "single")] == [900.0] * 8 + [1100.0] * 8
    with stored.cursor() as cur:
        assert cur.execute("select max(version) from schema_version").fetchall() == [(LATEST,)]
        assert cur.execute("select node, value from metric_samples order by node").fetchall() == [(0, 90), (1, 91)]
        assert cur.execute("select run_id, message from events").fetchall() == [("cluster", "collecting: done")]
        columns = {table: [name for name, *_ in cur.execute(f"describe {table}").fetchall()] for table in ALL_TABLES}
        groups = "select run_id, group_id from runs order by run_id"
        upgraded = cur.execute(groups).fetchall()
    assert columns == {table: list(declared) for table, declared in ALL_TABLES.items()}
    stored.record_many(runs())
    with stored.cursor() as cur:
        assert cur.execute(groups).fetchall() == upgraded, "a run that is recorded again is in the group it was in"


@pytest.mark.parametrize("stored", [OF_A_FILE[1], OF_A_TEAM[1]], indirect=True)
def test_whoever_is_killed_on_the_way_leaves_the_old_one_whole(stored: Warehouse) -> None:
    at = stored.location
    place = at if isinstance(at, Path) else TeamWarehouse(DATABASE, at.connection, at.data_path, at.access())
    with unopened(stored) as con:
        before = content(con)
    for statement in count(1, step=9):
        process = FORKED.Process(target=migrate_and_die, args=(place, statement))
        process.start()
        process.join(60)
        if process.exitcode == 0:
            break
        with unopened(stored) as con:
            assert content(con) == before

    assert statement > 18, "it was killed that often"
    assert upgrade(stored).runs.list_rows(EVERYTHING).total == 3


class Dying:
    """A connection whose process is killed before one of its statements."""

    def __init__(self, con: Any, statements: int) -> None:
        self._con, self._left = con, statements

    def __getattr__(self, name: str) -> Any:
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), 9)
        return getattr(self._con, name)


def migrate_and_die(place: Path | TeamWarehouse, statement: int) -> None:
    """Upgrade a warehouse up to a statement."""
    with unopened(Warehouse(place) if isinstance(place, Path) else place.open()) as con:
        upgrade_tables(cast("DuckDBPyConnection", Dying(con, statement)), place)


@pytest.mark.parametrize("stored", OF_A_FILE[:1] + OF_A_TEAM[:1], indirect=True)
def test_an_upgraded_warehouse_is_recorded_into_compacted_and_sound(stored: Warehouse) -> None:
    upgrade(stored).record(a.record("new"))
    stored.record_many(runs())

    stored.compact()

    assert stored.check(runs()).damages == ()
    assert stored.runs.list_rows(EVERYTHING).total == 4


@pytest.mark.parametrize("stored", OF_A_TEAM[:1] + OF_A_TEAM[-1:], indirect=True)
def test_whoever_reads_an_upgraded_warehouse_goes_on_after_another_compacts_it(stored: Warehouse) -> None:
    another = Warehouse(upgrade(stored).location)
    another.record_many(runs())
    before = stored.runs.list_rows(EVERYTHING)

    another.compact()

    assert stored.runs.list_rows(EVERYTHING) == before


@pytest.mark.postgres
def test_a_process_outlives_an_engine_that_has_become_unusable(team: TeamWarehouse) -> None:
    team.open().record_many(runs())
    found = FORKED.Queue()
    reader = FORKED.Process(target=read_before_and_after, args=(team, found))
    reader.start()

    reader.join(120)

    assert reader.exitcode == 0
    assert found.get(timeout=10) == ("the first answer after it is an error of ours", 3)


def read_before_and_after(team: TeamWarehouse, found: "Queue[tuple[str, int]]") -> None:
    """Ask while another engine leaves a former schema, and again after it removed that."""
    reader, other = team.open(), Lake(team.location, 60)
    reader.runs.list_rows(EVERYTHING)
    for change in ("alter table runs add column later INTEGER", "alter table runs drop column later"):
        other.write(lambda cur, change=change: cur.execute(change))  # type: ignore[misc]  # bound
    reader.runs.list_rows(EVERYTHING)
    other.compact()
    said = "nothing happened"
    try:
        reader.runs.list_rows(EVERYTHING)
    except WarehouseError:
        said = "the first answer after it is an error of ours"
    found.put((said, reader.runs.list_rows(EVERYTHING).total))


@pytest.mark.postgres
def test_an_upgrade_that_was_killed_before_its_end_is_completed(team: TeamWarehouse) -> None:
    team.open().record_many(runs())
    with team.open().cursor() as cur:
        cur.execute("alter table runs add column later INTEGER")
        cur.execute("alter table runs drop column later")

    reader = team.open()
    before = reader.runs.list_rows(EVERYTHING)
    team.open().compact()

    assert reader.runs.list_rows(EVERYTHING) == before


def test_the_id_of_a_group_by_the_formula_of_before_leads_to_that_of_today(tmp_path: Path) -> None:
    file = tmp_path / "warehouse.duckdb"
    warehouse = Warehouse(file)
    warehouse.record_many([a.record("plain"), a.record("other", speed_parameters={"epoch_size": 1})])
    today = {row.latest_run_id: row.group.id for row in warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows}
    with duckdb.connect(file) as con:
        for run_id in today:
            found = con.execute("select * from runs where run_id = ?", [run_id])
            names = [column[0] for column in found.description or ()]
            cells = dict(zip(names, found.fetchall()[0], strict=True))
            first = first_fingerprint_of(cells, json.loads(cells["speed_parameters"]))
            for table, name in (("runs", "run_id"), ("group_statistics", "latest_run_id")):
                con.execute(f"update {table} set fingerprint = ? where {name} = ?", [first, run_id])
        con.execute("update runs set not_known = null")
    before = {
        row.latest_run_id: row.group.id for row in Warehouse(file).trends.list_rows(BoardQuery("cn-north-9")).rows
    }
    with duckdb.connect(file) as con:
        con.execute("update schema_version set version = 18")

    upgraded = upgrade(Warehouse(file))

    rows = upgraded.trends.list_rows(BoardQuery("cn-north-9")).rows
    assert {row.latest_run_id: row.group.id for row in rows} == today
    assert upgraded.trends.find_first_ids(rows) == {before[run_id]: today[run_id] for run_id in today}


def test_a_new_formula_of_fingerprints_takes_baselines_and_views_along(tmp_path: Path) -> None:
    file = tmp_path / "warehouse.duckdb"
    warehouse = Warehouse(file)
    records = [a.record("plain"), a.record("tuned", environments={"PRECISION": "int8"})]
    warehouse.record_many(records)
    warehouse.mark_baseline(["plain"], None, TESTER, a.T0)
    now = {run_id: row for run_id in ("plain", "tuned") if (row := warehouse.runs.find_row(run_id))}
    with duckdb.connect(file) as con:
        before = "1" * 64
        con.execute("update runs set fingerprint = ?, not_known = null", [before])
        con.execute(
            "update baselines set grouped = replace(grouped::VARCHAR, ?, ?)", [now["plain"].fingerprint, before]
        )
        con.execute(
            "insert into saved_views values ('leaderboard', 'ours', ?, 'ann', now()::TIMESTAMP)",
            [f'{{"benchmark": ["{before}"]}}'],
        )
        con.execute("update group_statistics set fingerprint = ?", [before])
        con.execute("update schema_version set version = 18")

    upgraded = upgrade(Warehouse(file))

    assert {run_id: upgraded.runs.find_row(run_id) for run_id in now} == now
    assert [baseline.group.fingerprint for baseline in upgraded.trends.list_baselines()] == [now["plain"].fingerprint]
    [view] = upgraded.saved_views.on()
    assert set(view.address["benchmark"]) <= {row.fingerprint for row in now.values()}
    assert upgraded.check(records).damages == ()
