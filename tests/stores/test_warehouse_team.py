"""A team's warehouse: what is there when it is opened, what is refused in words, and what nobody gets to see."""

import dataclasses
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import duckdb
import pytest

from aisbench_core.base.errors import WarehouseBusy
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.migrations import LATEST
from aisbench_core.warehouse.tables.schema import TABLES
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.postgres_server import PostgresServer
from tests.processes import FORKED
from tests.stored_cards import rank_results_of
from tests.team_warehouse import TeamWarehouse, at, refused, with_many_samples

pytestmark = pytest.mark.postgres

BOARD = BoardQuery("cn-north-9")


# --- opening ------------------------------------------------------------------------------------------


def test_whoever_comes_first_makes_the_tables_and_the_others_use_them(team: TeamWarehouse) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: team.open().record(a.record(f"run-{number}")), range(4)))

    with team.open().cursor() as cur:
        found = cur.execute("select version from schema_version order by version").fetchall()
        columns = cur.execute(
            "select table_name, column_name, data_type from duckdb_columns() where database_name = current_database() "
            "order by column_index"
        ).fetchall()
    assert found == [(LATEST,)]
    for table, declared in TABLES.items():
        assert [(name, kind) for of, name, kind in columns if of == table] == list(declared.items())
    assert team.open().runs.list_rows(BOARD).total == 4


def test_another_console_sees_what_was_recorded_and_that_something_was(team: TeamWarehouse) -> None:
    ours, theirs = team.open(), team.open()
    before = theirs.revision()

    ours.record(with_many_samples("run-1"))

    assert theirs.revision() != before
    assert [card.throughput for card in rank_results_of(theirs, "run-1")] == [a.CARD_THROUGHPUT] * 8
    with theirs.cursor() as cur:
        assert cur.execute("select count(*), sum(value) from metric_samples").fetchall() == [(600, sum(range(600)))]


def test_answers_given_to_one_borrower_are_of_one_moment(team: TeamWarehouse) -> None:
    ours, theirs = team.open(), team.open()
    ours.record(a.record("run-1"))

    with theirs.cursor() as cur:
        first = cur.execute("select count(*) from runs").fetchall()
        ours.record(a.record("run-2"))
        second = cur.execute("select count(*) from runs").fetchall()

    assert (first, second) == ([(1,)], [(1,)])
    assert theirs.runs.list_rows(BOARD).total == 2


def test_a_failed_transaction_leaves_nothing_behind_and_ends_the_turn(team: TeamWarehouse) -> None:
    warehouse = team.open()

    def half(cur: duckdb.DuckDBPyConnection) -> None:
        cur.execute("insert into events (run_id) values ('half')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Lake(team.location, 60.0).write(half)

    warehouse.record(a.record("run-1"))
    with warehouse.cursor() as cur:
        assert cur.execute("select count(*) from events where run_id = 'half'").fetchall() == [(0,)]


# --- what is refused ----------------------------------------------------------------------------------


def test_a_catalogue_that_does_not_answer_is_named_with_what_to_do(team: TeamWarehouse) -> None:
    said = refused(at(team, address="host=127.0.0.1 port=1 user=aisbench dbname=results"))

    assert "port 1" in said
    assert "check that PostgreSQL runs" in said


def test_a_wrong_password_is_refused_in_words_and_not_shown(team: TeamWarehouse) -> None:
    said = refused(at(team, access=dataclasses.replace(team.access, password="not 'the' password")))

    assert "password authentication failed" in said
    assert "AISBENCH_WAREHOUSE_PASSWORD" in said
    assert "not 'the'" not in said


def test_a_database_that_nobody_made_is_named(team: TeamWarehouse) -> None:
    said = refused(at(team, address=team.address.replace(team.database, "nowhere")))

    assert '"nowhere" does not exist' in said
    assert "createdb" in said


def test_the_database_of_another_program_is_refused_and_left_alone(
    team: TeamWarehouse, postgres: PostgresServer
) -> None:
    postgres.sql("create table sales (amount integer)", team.database)

    assert "another program" in refused(team)
    tables = postgres.sql("select tablename from pg_tables where schemaname = 'public'", team.database)
    assert tables == ["sales"]


def test_the_lake_of_another_program_is_refused(team: TeamWarehouse) -> None:
    with team.open().cursor() as cur:
        for table in (*TABLES, "schema_version"):
            cur.execute(f"drop table {table}")
        cur.execute("create table sales (amount integer)")

    assert "another program" in refused(team)


def test_a_warehouse_of_a_newer_version_is_refused_and_left_alone(team: TeamWarehouse) -> None:
    with team.open().cursor() as cur:
        cur.execute("insert into schema_version values (99)")

    said = refused(team)

    assert "schema 99" in said
    assert "update this installation" in said


def test_files_that_are_kept_elsewhere_are_noticed(team: TeamWarehouse) -> None:
    team.open().record(a.record())

    said = refused(at(team, data_path="s3://another-bucket/results"))

    assert team.data_path in said
    assert "warehouse_data" in said


def test_a_turn_that_does_not_come_ends_in_words(team: TeamWarehouse) -> None:
    team.open().record(a.record())

    with turn_taken(team), pytest.raises(WarehouseBusy, match="another writer"):
        team.open(patience_s=0.3).record(a.record("run-2"))

    team.open().record(a.record("run-3"))
    assert team.open().runs.list_rows(BOARD).total == 2


def test_a_program_that_does_not_wait_for_its_turn_is_outlasted(team: TeamWarehouse) -> None:
    lake, stranger = Lake(team.location, 60.0), team.open()
    stranger.record(a.record("run-1"))
    tried: list[int] = []

    def change(cur: duckdb.DuckDBPyConnection) -> None:
        tried.append(cur.execute("select count(*) from runs").fetchall()[0][0])
        cur.execute("delete from runs where run_id = 'run-1'")
        if len(tried) == 1:
            with stranger.cursor() as theirs:
                theirs.execute("update runs set note = 'seen' where run_id = 'run-1'")

    lake.write(change)

    assert tried == [1, 1]
    assert stranger.runs.find_row("run-1") is None


@contextmanager
def turn_taken(team: TeamWarehouse) -> Iterator[None]:
    """Somebody else records, and readers are not in their way."""
    held, release = FORKED.Event(), FORKED.Event()
    holder = FORKED.Process(target=hold_turn, args=(team, held, release))
    holder.start()
    try:
        assert held.wait(60)
        assert team.open().runs.list_rows(BOARD).total == 1
        yield
    finally:
        release.set()
        holder.join(60)


def hold_turn(
    team: TeamWarehouse, held: "multiprocessing.synchronize.Event", release: "multiprocessing.synchronize.Event"
) -> None:
    def wait(_: duckdb.DuckDBPyConnection) -> None:
        held.set()
        release.wait(60)

    Lake(team.location, 60.0).write(wait)
