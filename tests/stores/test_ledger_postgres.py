"""A ledger in PostgreSQL: refusals say what to do and no secret, and whatever breaks, nothing is written twice."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from aisbench_core.base.errors import AisbenchError, ConfigError, LedgerUnavailable
from aisbench_core.config.credentials import find_password
from aisbench_core.config.settings import HOME, Settings, load_settings
from aisbench_core.maintenance.upgrading.ledger_tables import upgrade_ledger
from aisbench_core.model import Event, Level, Progress, RunState
from aisbench_core.store.ledger.database.address import LedgerAddress, ledger_address
from aisbench_core.store.ledger.database.ledger_schema import ADDED, RELEASED, TABLES, VERSION
from aisbench_core.store.ledger.database.postgres import DIALECT
from aisbench_core.store.ledger.database.postgres_connection import PostgresConnection, connect_postgres
from aisbench_core.store.ledger.ledger import Ledger
from tests import records as a
from tests.postgres_server import PASSWORD, USER, PostgresServer
from tests.stored_schemas import fill
from tests.team_ledger import url_of

pytestmark = pytest.mark.postgres

_NUMBERS = count(1)


@pytest.fixture
def address(postgres: PostgresServer) -> Iterator[LedgerAddress]:
    """A database of its own, without a ledger yet."""
    database = f"ledger_{next(_NUMBERS)}"
    postgres.create(database)
    yield ledger_address(url_of(postgres, database), lambda: PASSWORD)
    postgres.drop(database)


def database_of(address: LedgerAddress) -> str:
    return address.url.rpartition("/")[2]


# --- the setting ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://host/db", "is not a PostgreSQL address"),
        ("data/ledger.sqlite3", "is not a PostgreSQL address"),
        ("postgresql://ann:hunter2@host/db", "holds a password"),
        ("postgresql://ann@host/db?password=hunter2", "holds a password"),
        ("postgresql://ann@host", "names no database"),
        ("postgresql://[hunter2/db", "cannot be read"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_never_repeated(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ledger_address(url, str)

    assert says in str(refused.value)
    assert refused.value.hint
    assert "hunter2" not in f"{refused.value} {refused.value.hint}"


def test_the_password_is_in_the_environment_or_in_the_private_credentials(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, ledger="postgresql://ann@host/db")
    assert find_password(settings, "ledger", {}) == ""

    settings.credentials_path.write_text("ledger: {password: stored}\nwarehouse: {password: other}\n")
    settings.credentials_path.chmod(0o600)

    assert find_password(settings, "ledger", {}) == "stored"
    assert find_password(settings, "ledger", {"AISBENCH_LEDGER_PASSWORD": "set"}) == "set"
    assert load_settings({"AISBENCH_LEDGER": "postgresql://ann@host/db"}).has_team_ledger


# --- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("postgresql://{user}@127.0.0.1:{port}/postgres", "wrong hunter2"),
        ("postgresql://{user}@127.0.0.1:{port}/nowhere", PASSWORD),
        ("postgresql://{user}@127.0.0.1:1/postgres", PASSWORD),
    ],
)
def test_a_database_that_cannot_be_used_is_named_without_the_password(
    postgres: PostgresServer, url: str, password: str
) -> None:
    ledger = Ledger(ledger_address(url.format(user=USER, port=postgres.port), lambda: password))

    with pytest.raises(LedgerUnavailable) as refused:
        ledger.count()

    assert "cannot be used" in str(refused.value)
    assert refused.value.hint
    assert "hunter2" not in repr(refused.value)
    assert PASSWORD not in f"{refused.value} {refused.value.hint}"


def test_a_ledger_of_the_first_release_gets_the_columns_that_it_lacks(
    address: LedgerAddress, postgres: PostgresServer
) -> None:
    Ledger(address).add(a.run("r-1", state=RunState.RUNNING, ended_at=None))
    for table, column in (added for each in ADDED.values() for added in each):
        lacking = f"alter table {{}} drop column {column.split()[0]}" if column else "drop table {}"
        postgres.sql(lacking.format(f"aisbench_ledger.{table}"), database_of(address))
    postgres.sql(f"update aisbench_ledger.schema_version set version = {RELEASED}", database_of(address))

    ledger = Ledger(address)
    ledger.set_progress(Progress("r-1", RunState.RUNNING, 1, 2, "steps", a.T0, "evaluating"))

    assert [run.run_id for run in ledger.page()] == ["r-1"]
    assert (ledger.progress("r-1") or pytest.fail("it is lost")).stage == "evaluating"
    assert postgres.sql("select version from aisbench_ledger.schema_version", database_of(address)) == [str(VERSION)]


def test_a_ledger_of_a_newer_version_is_left_alone(address: LedgerAddress, postgres: PostgresServer) -> None:
    Ledger(address).count()
    postgres.sql(f"update aisbench_ledger.schema_version set version = {VERSION + 1}", database_of(address))

    with pytest.raises(AisbenchError, match=f"a newer version \\(schema {VERSION + 1}\\)"):
        Ledger(address).add(a.run("r-1"))

    assert postgres.sql("select count(*) from aisbench_ledger.runs", database_of(address)) == ["0"]


def test_the_ledger_lies_in_a_schema_of_its_own_beside_tables_of_others(
    address: LedgerAddress, postgres: PostgresServer
) -> None:
    postgres.sql("create table runs (distance real)", database_of(address))

    Ledger(address).add(a.run("r-1"))

    assert postgres.sql("select count(*) from public.runs", database_of(address)) == ["0"]
    assert Ledger(address).get("r-1").run_id == "r-1"


# --- guarantees -------------------------------------------------------------------------------------------------


def test_whoever_opens_a_new_ledger_at_the_same_time_finds_it_whole(address: LedgerAddress) -> None:
    with ThreadPoolExecutor(8) as threads:
        counts = list(threads.map(lambda _: Ledger(address).count(), range(8)))

    assert counts == [0] * 8


OF_BEFORE = """
    alter table heartbeats rename to beats; alter table series rename column launch_error to trouble;
    alter table series rename column launch_error_data to trouble_data;
    alter table attempts rename column row_index to place; alter table attempts rename column requested_by to asked_by;
    alter table attempts rename column requested_at to asked_at;
    alter table runs drop column currency; drop table people; update schema_version set version = 22;
"""


def test_a_ledger_of_a_development_version_is_upgraded_with_all_of_its_rows(
    address: LedgerAddress, postgres: PostgresServer
) -> None:
    ledger = Ledger(address)
    fill(ledger)
    before = rows(ledger)
    postgres.sql(f"set search_path = aisbench_ledger; {OF_BEFORE}", database_of(address))
    with pytest.raises(AisbenchError, match="development version"):
        Ledger(address).count()

    with contextlib.closing(connect_postgres(address).session) as session:
        assert upgrade_ledger(PostgresConnection(session), DIALECT)

    assert rows(Ledger(address)) == before
    Ledger(address).note(Event("r-1", a.T0, "console", Level.INFO, "numbers go on"))
    assert ledger.events("r-1")[-1].message == "numbers go on"


def rows(ledger: Ledger) -> dict[str, list[dict[str, object]]]:
    return {table: sorted((dict(row) for row in ledger.rows(f"select * from {table}")), key=repr) for table in TABLES}


HOLDER = """
import os, sys, time
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.database.address import ledger_address
from aisbench_core.maintenance.upgrading.ledger_tables import upgrade_ledger
from tests import records as a
from tests.postgres_server import PASSWORD
with Ledger(ledger_address(sys.argv[1], lambda: PASSWORD)).transaction() as con:
    con.execute("update runs set detail = 'half done'")
    print("holding", flush=True)
    time.sleep(60)
"""


def test_a_writer_that_is_killed_frees_its_turn_and_leaves_nothing_half_done(address: LedgerAddress) -> None:
    ledger = Ledger(address)
    ledger.add(replace(a.run("r-1"), detail="whole"))
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, address.url], cwd=HOME, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "holding\n"
        assert ledger.get("r-1").detail == "whole", "readers wait for nobody"
        holder.kill()
        killed = time.monotonic()

        ledger.beat("next", a.T0)

        assert time.monotonic() - killed < 5
    assert ledger.get("r-1").detail == "whole"


def test_events_are_numbered_in_the_order_in_which_others_see_them(address: LedgerAddress) -> None:
    ledger, seen = Ledger(address), list[int]()

    def write(thread: int) -> None:
        for number in range(25):
            ledger.note(Event("r-1", a.T0, "console", Level.INFO, f"{thread}-{number}"))

    with ThreadPoolExecutor(5) as threads:
        writing = [threads.submit(write, thread) for thread in range(4)]
        while not all(future.done() for future in writing) or ledger.events_after(seen[-1] if seen else 0, 1):
            seen += [number for number, _ in ledger.events_after(seen[-1] if seen else 0, 100)]

    assert len(seen) == 100, "a reader that goes on behind the last number misses none"


def test_a_restarted_server_is_found_again(address: LedgerAddress, postgres: PostgresServer) -> None:
    ledger = Ledger(address)
    ledger.add(a.run("r-1"))

    postgres.kill()
    with pytest.raises(LedgerUnavailable):
        ledger.count()
    postgres.resume()

    assert ledger.get("r-1").run_id == "r-1"


def test_another_commit_changes_the_revision_and_reading_does_not(address: LedgerAddress) -> None:
    ledger, other = Ledger(address), Ledger(address)
    before = ledger.revision()
    ledger.page()
    assert ledger.revision() == before

    other.beat("somebody", a.T0)

    assert ledger.revision() != before


def test_a_text_with_a_character_that_postgresql_does_not_store_is_stored_without_it(address: LedgerAddress) -> None:
    ledger = Ledger(address)

    ledger.add(replace(a.run("r-1"), detail="before\0behind"))

    assert ledger.get("r-1").detail == "before\N{REPLACEMENT CHARACTER}behind"
