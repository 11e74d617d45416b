"""`aisbench ledger copy`: a ledger goes over into PostgreSQL as a whole, or not at all."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from aisbench_core.base.clock import utc_now
from aisbench_core.domain.access.audit_entry import Act, ActOutcome, AuditEntry
from aisbench_core.model import Event, Level
from aisbench_core.store.audit.audit import Audit
from aisbench_core.store.audit.audit_heads import AuditHeads
from aisbench_core.store.ledger.database.address import ledger_address
from aisbench_core.store.ledger.database.ledger_schema import TABLES
from aisbench_core.store.ledger.database.rows import insert_row
from aisbench_core.store.ledger.ledger import Ledger, as_text
from aisbench_core.store.ledger.ledger_file import copy_database
from tests import records as a
from tests.actors import TESTER
from tests.flow.command_line import CommandLine
from tests.postgres_server import PASSWORD, PostgresServer
from tests.stored_schemas import fill
from tests.team_ledger import PASSWORD_VARIABLE, url_of

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(postgres: PostgresServer, shell: CommandLine) -> Iterator[str]:
    """An empty database."""
    shell.environment[PASSWORD_VARIABLE] = PASSWORD
    postgres.create("copied")
    yield url_of(postgres, "copied")
    postgres.drop("copied")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger that has something in many tables, and an audit of 600 entries."""
    folder = tmp_path_factory.mktemp("filled")
    ledger = Ledger(folder / "ledger.sqlite3")
    fill(ledger)
    audit = Audit(ledger, 0, lambda: a.T0, AuditHeads(folder / "audit-heads.json", ""))
    for number in range(600):
        audit.record(Act("ann", "engineer", "console", "run.tag", f"run-{number}", ActOutcome.DONE, "old", "中文"))
    return folder


@pytest.fixture
def ledger(shell: CommandLine, filled: Path) -> Ledger:
    """A copy of it in the shell's data folder."""
    copy_database(filled / "ledger.sqlite3", shell.data_dir / "ledger.sqlite3")
    shutil.copy(filled / "audit-heads.json", shell.data_dir)
    return Ledger(shell.data_dir / "ledger.sqlite3")


def rows(ledger: Ledger, table: str) -> list[dict[str, object]]:
    return sorted((dict(row) for row in ledger.rows(f"select * from {table}")), key=repr)  # noqa: S608  # names of ours


def test_everything_is_in_the_copy_and_goes_on_there(shell: CommandLine, ledger: Ledger, url: str) -> None:
    before = {table: rows(ledger, table) for table in TABLES}

    copied = shell.type("ledger", "copy", url)

    assert copied.exit_code == 0, copied.output
    assert "with 3 runs; audit entries verified: 600" in copied.stdout
    assert f"set ledger to {url}" in copied.stderr
    assert PASSWORD not in copied.output
    there = Ledger(ledger_address(url, lambda: PASSWORD))
    assert {table: rows(there, table) for table in TABLES} == before
    there.note(Event("r-1", a.T0, "console", Level.INFO, "in PostgreSQL"))
    assert there.events("r-1")[-1].message == "in PostgreSQL"
    audit = Audit(there, 0, lambda: a.T0, AuditHeads(shell.data_dir / "audit-heads.json", url))
    audit.record(Act("ann", "lead", "cli", "run.stop", "r-1", ActOutcome.DONE))
    assert audit.verify(TESTER).entries == 601
    shell.environment["AISBENCH_LEDGER"] = url
    listed = shell.type("runs")
    assert listed.exit_code == 0, listed.output
    assert all(run_id in listed.stdout for run_id in ("r-1", "r-2", "r-3"))


def test_texts_that_postgresql_does_not_store_are_copied_without_those_characters(
    shell: CommandLine, ledger: Ledger, url: str
) -> None:
    ledger.note(Event("r-1", a.T0, "console", Level.INFO, "before\0behind"))
    with ledger.transaction() as con:  # as it was stored when nothing was replaced
        [number, previous] = con.execute("select number, hash from audit order by number desc limit 1").fetchone()
        act = Act("ann", "viewer", "api", "run.approve", "a\0b", ActOutcome.REFUSED)
        entry = AuditEntry(number + 1, a.T0, act, previous)
        row = {"number": number + 1, "at": as_text(a.T0), "previous": previous, "hash": entry.expected_hash()}
        insert_row(con, "audit", row | asdict(act))

    copied = shell.type("ledger", "copy", url)

    assert copied.exit_code == 0, copied.output
    assert "audit entries verified: 601" in copied.stdout
    there = Ledger(ledger_address(url, lambda: PASSWORD))
    assert there.events("r-1")[-1].message == "before\N{REPLACEMENT CHARACTER}behind"


def test_a_database_that_has_a_ledger_is_refused_and_stays_as_it_is(
    shell: CommandLine, ledger: Ledger, url: str
) -> None:
    there = Ledger(ledger_address(url, lambda: PASSWORD))
    there.add(a.run("theirs"))

    refused = shell.type("ledger", "copy", url)

    assert refused.exit_code == 2
    assert "the database has a ledger already, with rows in runs" in refused.stderr
    assert [run.run_id for run in there.page()] == ["theirs"]
    assert ledger.count() == 3


def test_nothing_is_copied_while_somebody_follows(shell: CommandLine, ledger: Ledger, url: str) -> None:
    ledger.beat("ann@lab (process 3)", utc_now())

    refused = shell.type("ledger", "copy", url)

    assert refused.exit_code == 2
    assert "ann@lab (process 3) is following runs" in refused.stderr
    assert Ledger(ledger_address(url, lambda: PASSWORD)).count() == 0


@pytest.mark.usefixtures("ledger")
def test_an_audit_that_was_changed_is_not_copied(shell: CommandLine, url: str) -> None:
    with closing(sqlite3.connect(shell.data_dir / "ledger.sqlite3")) as con:
        con.execute("drop trigger audit_is_not_changed")
        con.execute("update audit set who = 'bob' where number = 7")
        con.commit()

    refused = shell.type("ledger", "copy", url)

    assert refused.exit_code != 0
    assert "entry 7 of" in refused.stderr
    there = Ledger(ledger_address(url, lambda: PASSWORD))
    assert {table: rows(there, table) for table in TABLES} == {table: [] for table in TABLES}


def test_without_a_file_there_is_nothing_to_copy(shell: CommandLine, url: str) -> None:
    refused = shell.type("ledger", "copy", url)

    assert refused.exit_code == 2
    assert "there is no ledger.sqlite3 in the data folder" in refused.stderr


@pytest.mark.parametrize(
    ("command", "address"),
    [
        ("ledger copy", "postgresql://ann:hunter2@127.0.0.1/bench"),
        ("ledger copy", "postgresql://ann@127.0.0.1/bench?password=hunter2"),
        ("warehouse move", "ducklake:postgres:host=127.0.0.1 dbname=bench password='hunter2 x'"),
        ("warehouse move", "ducklake:postgres:postgresql://ann:hunter2@127.0.0.1/bench"),
    ],
)
def test_a_password_in_the_address_is_refused_and_stored_nowhere(
    shell: CommandLine, command: str, address: str
) -> None:
    refused = shell.type(*command.split(), address)

    assert refused.exit_code == 2
    assert "holds a password" in refused.stderr
    assert "hunter2" not in refused.output
    [entry] = shell.answer("audit")
    assert entry["outcome"] == "failed"
    assert not [file for file in shell.data_dir.rglob("*") if file.is_file() and b"hunter2" in file.read_bytes()]
