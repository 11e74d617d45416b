"""Warehouses that every earlier schema left behind, a file and a team's, are brought up to date without a loss."""

import gzip
from collections.abc import Iterator
from multiprocessing.queues import Queue
from pathlib import Path

import pytest

from aisbench_core.errors import WarehouseError
from aisbench_core.warehouse import BoardQuery, Warehouse
from aisbench_core.warehouse.store.compacting import compact_lake
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.migrations import LATEST
from aisbench_core.warehouse.store.schema import TABLES
from tests import records as a
from tests.postgres_server import PostgresServer
from tests.processes import FORKED
from tests.sandbox_process import SandboxProcess
from tests.stored_schemas import DATABASE, catalogue_of, file_of, runs
from tests.team_warehouse import TeamWarehouse

EVERYTHING = BoardQuery("cn-north-9", include_invalid=True)
VERSIONS = [version for version in range(1, LATEST + 1) if file_of(version).exists()]
OF_A_FILE = [pytest.param(("file", version), id=f"file-{version}") for version in VERSIONS]
OF_A_TEAM = [pytest.param(("team", version), id=f"team-{version}", marks=pytest.mark.postgres) for version in VERSIONS]


@pytest.fixture
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Warehouse]:
    """A copy of the warehouse that a schema version left behind."""
    kind, version = request.param
    if kind == "file":
        file = tmp_path / "warehouse.duckdb"
        file.write_bytes(gzip.decompress(file_of(version).read_bytes()))
        yield Warehouse(file)
        return
    postgres: PostgresServer = request.getfixturevalue("postgres")
    obs: SandboxProcess = request.getfixturevalue("obs")
    team = TeamWarehouse.create(postgres, obs, DATABASE)
    postgres.restore(DATABASE, gzip.decompress(catalogue_of(version).read_bytes()).decode())
    yield team.open()
    postgres.drop(DATABASE)


def test_every_earlier_schema_is_stored() -> None:
    missing = [
        number for number in range(1, LATEST) if not (file_of(number).exists() and catalogue_of(number).exists())
    ]

    assert missing == [], "store it with the code that wrote it: python -m tests.stored_schemas"


@pytest.mark.parametrize("stored", OF_A_FILE + OF_A_TEAM, indirect=True)
def test_what_an_earlier_schema_holds_is_there(stored: Warehouse) -> None:
    page = stored.runs(EVERYTHING)

    found = {row.run_id: row for row in page.rows}
    assert {name: row.throughput for name, row in found.items()} == {"cluster": 16000, "single": 8000, "failed": None}
    assert {name: row.validity.value for name, row in found.items()} == {
        "cluster": "valid",
        "single": "valid",
        "failed": "incomplete",
    }
    assert [card.throughput for card in stored.rank_results("single")] == [900.0] * 8 + [1100.0] * 8
    with stored.cursor() as cur:
        assert cur.execute("select max(version) from schema_version").fetchall() == [(LATEST,)]
        assert cur.execute("select node, value from metric_samples order by node").fetchall() == [(0, 90), (1, 91)]
        assert cur.execute("select run_id, message from events").fetchall() == [("cluster", "collecting: done")]
        columns = {table: [name for name, *_ in cur.execute(f"describe {table}").fetchall()] for table in TABLES}
        groups = "select run_id, group_id from runs order by run_id"
        upgraded = cur.execute(groups).fetchall()
    assert columns == {table: list(declared) for table, declared in TABLES.items()}
    stored.record_many(runs())
    with stored.cursor() as cur:
        assert cur.execute(groups).fetchall() == upgraded, "a run that is recorded again is in the group it was in"


@pytest.mark.parametrize("stored", OF_A_FILE[:1] + OF_A_TEAM[:1], indirect=True)
def test_an_upgraded_warehouse_is_recorded_into_compacted_and_sound(stored: Warehouse) -> None:
    stored.record(a.record("new"))
    stored.record_many(runs())

    stored.compact()

    assert stored.check(runs()).damages == ()
    assert stored.runs(EVERYTHING).total == 4


@pytest.mark.parametrize("stored", OF_A_TEAM[:1] + OF_A_TEAM[-1:], indirect=True)
def test_whoever_reads_an_upgraded_warehouse_goes_on_after_another_compacts_it(stored: Warehouse) -> None:
    another = Warehouse(stored.place)
    another.record_many(runs())
    before = stored.runs(EVERYTHING)

    another.compact()

    assert stored.runs(EVERYTHING) == before


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
    reader, other = team.open(), Lake(team.place, 60)
    reader.runs(EVERYTHING)
    for change in ("alter table runs add column later INTEGER", "alter table runs drop column later"):
        other.write(lambda cur, change=change: cur.execute(change))  # type: ignore[misc]  # bound
    reader.runs(EVERYTHING)
    compact_lake(other)
    said = "nothing happened"
    try:
        reader.runs(EVERYTHING)
    except WarehouseError:
        said = "the first answer after it is an error of ours"
    found.put((said, reader.runs(EVERYTHING).total))


@pytest.mark.postgres
def test_an_upgrade_that_was_killed_before_its_end_is_completed(team: TeamWarehouse) -> None:
    team.open().record_many(runs())
    with team.open().cursor() as cur:
        cur.execute("alter table runs add column later INTEGER")
        cur.execute("alter table runs drop column later")

    reader = team.open()
    before = reader.runs(EVERYTHING)
    team.open().compact()

    assert reader.runs(EVERYTHING) == before
