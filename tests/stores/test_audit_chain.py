"""The audit is a chain of hashes: what was changed, cut or replaced is found, and retention removes old entries."""

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.domain.access.audit_entry import Act, ActOutcome, AuditEntry
from aisbench_core.store.audit.audit import RETENTION, Audit, AuditChanged, AuditCut, AuditQuery
from aisbench_core.store.audit.audit_heads import AuditHead, AuditHeads
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.database.postgres_connection import PostgresConnection, connect_postgres
from aisbench_core.store.ledger.database.rows import insert_row
from aisbench_core.store.ledger.ledger import Ledger, as_text
from tests.actors import TESTER

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Hands:
    """A clock that is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def act(change: str = "run.stop", **others: str) -> Act:
    values = {"who": "ann", "role": "engineer", "via": "console", "object": "run-1", **others}
    return Act(change=change, outcome=ActOutcome.DONE, **values)


# --- the chain -------------------------------------------------------------------------------------------------


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def ledger(ledger_location: Path | LedgerAddress) -> Ledger:
    return Ledger(ledger_location)


@pytest.fixture
def heads(tmp_path: Path) -> AuditHeads:
    return AuditHeads(tmp_path / "audit-heads.json", "")


@pytest.fixture
def audit(ledger: Ledger, clock: Hands, heads: AuditHeads) -> Audit:
    """Five entries."""
    audit = Audit(ledger, 0, clock, heads)
    for number in range(5):
        audit.record(act(object=f"run-{number}"))
    return audit


def test_an_untouched_audit_is_verified(audit: Audit) -> None:
    assert audit.verify(TESTER).entries == 5
    assert audit.verify(TESTER).last_hash == audit.entries(AuditQuery(), TESTER)[0].hash


@pytest.mark.every_store
@pytest.mark.parametrize("statement", ["update audit set who = 'bob'", "delete from audit where number = 3"])
def test_the_database_refuses_to_change_entries(audit: Audit, ledger: Ledger, statement: str) -> None:
    with pytest.raises(AisbenchError, match="append-only"), ledger.transaction() as con:
        con.execute(statement)

    assert audit.verify(TESTER).entries == 5


@pytest.mark.every_store
@pytest.mark.parametrize(
    ("forgery", "number"),
    [
        ("update audit set who = 'bob' where number = 3", 3),
        ("update audit set at = '2020-01-01 00:00:00.000000+00:00' where number = 5", 5),
        ("delete from audit where number = 3", 4),
        ("delete from audit where number = 1", 2),
        ("update audit set outcome = 'refused' where number = 1", 1),
        ("update audit set number = 9 where number = 5", 9),
    ],
)
def test_a_forgery_is_found_where_it_begins(audit: Audit, ledger: Ledger, forgery: str, number: int) -> None:
    forge(ledger, forgery)

    with pytest.raises(AuditChanged, match=f"entry {number} of"):
        audit.verify(TESTER)


@pytest.mark.every_store
def test_an_entry_of_before_with_a_character_that_postgresql_does_not_store_is_verified(
    audit: Audit, ledger: Ledger
) -> None:
    add_earlier(ledger, "a\0b")
    audit.record(act())
    assert audit.verify(TESTER).entries == 7

    forge(ledger, "update audit set who = 'bob' where number = 6")
    with pytest.raises(AuditChanged, match="entry 6 of"):
        audit.verify(TESTER)


def add_earlier(ledger: Ledger, subject: str) -> None:
    """Append an entry as it was stored when nothing was replaced."""
    with ledger.transaction() as con:
        last = con.execute("select number, hash from audit order by number desc limit 1").fetchone()
        entry = AuditEntry(last["number"] + 1, START, act(object=subject), last["hash"])
        row = {"number": entry.number, "at": as_text(START), "previous": entry.previous, "hash": entry.expected_hash()}
        insert_row(con, "audit", row | asdict(entry.act))


def forge(ledger: Ledger, statement: str) -> None:
    """What somebody with access to the database can do."""
    with ledger.transaction() as con:
        for trigger in ("audit_is_not_changed", "audit_is_not_thinned"):
            con.execute(f"drop trigger {trigger}{' on audit' * isinstance(con, PostgresConnection)}")
        con.execute(statement)


# --- what is missing at the end ----------------------------------------------------------------------------------


CUTS = {
    "delete from audit": "the audit is empty, but it had 5 entries",
    "delete from audit where number > 3": "it ends with entry 3 of .*; entries 4 to 5 .* are missing",
}


@pytest.mark.every_store
@pytest.mark.parametrize("cut", CUTS)
def test_an_audit_that_was_cut_is_found(audit: Audit, ledger: Ledger, cut: str) -> None:
    forge(ledger, cut)

    with pytest.raises(AuditCut, match=CUTS[cut]):
        audit.verify(TESTER)


def test_an_audit_that_was_cut_is_found_after_it_has_grown_again(
    audit: Audit, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    forge(ledger, "delete from audit where number > 3")
    for _ in range(9):
        audit.record(act("run.note"))

    with pytest.raises(AuditCut, match="the audit was replaced: its entry 5 is not the one that was there"):
        audit.verify(TESTER)
    assert "entries 5 to 5" in caplog.text


def test_each_console_finds_a_cut_of_what_it_saw(audit: Audit, ledger: Ledger, clock: Hands, tmp_path: Path) -> None:
    other = Audit(ledger, 0, clock, AuditHeads(tmp_path / "other.json", ""))
    other.record(act("run.tag"))
    assert audit.verify(TESTER).last_number == 6
    forge(ledger, "delete from audit where number = 6")

    for console in (audit, other):
        with pytest.raises(AuditCut, match="entries 6 to 6"):
            console.verify(TESTER)


def test_a_head_that_is_older_than_the_audit_is_no_false_alarm(
    audit: Audit, ledger: Ledger, clock: Hands, heads: AuditHeads, tmp_path: Path
) -> None:
    killed = Audit(ledger, 0, clock, AuditHeads(tmp_path / "never-written.json", ""))
    killed.record(act("run.tag"))
    seen = heads.read()

    assert audit.verify(TESTER).last_number == 6
    assert seen == AuditHead(5, seen.hash, START) if seen else False
    newest = heads.read()
    assert newest
    assert newest.number == 6, "verifying notes what it saw"


def test_a_head_that_was_noted_elsewhere_is_looked_for(audit: Audit, heads: AuditHeads) -> None:
    noted = AuditHead(4, audit.entries(AuditQuery(), TESTER)[1].hash)

    assert audit.verify(TESTER, noted).entries == 5
    with pytest.raises(AuditCut):
        audit.verify(TESTER, replace(noted, hash="0" * 64))
    with pytest.raises(AuditCut):
        audit.verify(TESTER, replace(noted, number=6))
    heads.file.write_text("{", "utf-8")
    with pytest.raises(ConfigError, match=r"audit-heads.json cannot be read"):
        audit.verify(TESTER)


def test_retention_removes_what_was_noted_without_an_alarm(
    audit: Audit, ledger: Ledger, clock: Hands, heads: AuditHeads, tmp_path: Path
) -> None:
    keeping = Audit(ledger, 30, clock, AuditHeads(tmp_path / "other.json", ""))
    clock.now = START + timedelta(days=40)
    keeping.record(act("run.note"))

    assert Audit(ledger, 30, clock, heads).verify(TESTER).entries == 2
    with pytest.raises(
        AuditCut, match=r"entry 5 .*was deleted by the retention of another console"
    ):  # a console that keeps everything removed nothing
        Audit(ledger, 0, clock, AuditHeads(tmp_path / "third.json", "")).verify(TESTER, AuditHead(5, "0" * 64, START))
    assert audit.verify(TESTER).last_number == 7


def test_what_others_removed_by_retention_is_told_from_a_replaced_audit(
    audit: Audit, ledger: Ledger, clock: Hands, heads: AuditHeads, tmp_path: Path
) -> None:
    assert audit.verify(TESTER).entries == 5
    idle, brief = Audit(ledger, 365, clock, heads), Audit(ledger, 30, clock, AuditHeads(tmp_path / "other.json", ""))
    clock.now = START + timedelta(days=40)
    brief.record(act("run.note"))

    with pytest.raises(
        AuditCut, match=r"entry 5 .*was deleted by the retention of another console, last on 2026-02-11 03:04:05"
    ):
        idle.verify(TESTER)
    assert Audit(ledger, 30, clock, heads).verify(TESTER).last_number == 7, "with the setting of the other console"


REPLACEMENTS = [
    "insert or replace into audit select number, at, 'bob', role, via, change, object, before, after, outcome, detail,"
    " previous, hash from audit where number = 3",
    "replace into audit select 3, at, 'bob', role, via, change, object, before, after, outcome, detail, previous, hash"
    " from audit where number = 5",
    "truncate audit",
    "insert into audit select * from audit where number = 3 on conflict (number) do update set who = 'bob'",
]


@pytest.mark.every_store
@pytest.mark.parametrize("statement", REPLACEMENTS)
def test_the_database_refuses_to_replace_entries(audit: Audit, ledger: Ledger, statement: str) -> None:
    with pytest.raises(AisbenchError), ledger.transaction() as con:
        con.execute(statement)

    assert [entry.act.who for entry in audit.entries(AuditQuery(), TESTER)] == ["ann"] * 5
    assert audit.verify(TESTER).entries == 5


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=5))
def test_any_text_is_stored_as_it_was_hashed(texts: list[tuple[str, str, str]]) -> None:
    with TemporaryDirectory() as folder:
        audit = Audit(Ledger(Path(folder) / "ledger.sqlite3"), 0, Hands(), AuditHeads(Path(folder) / "heads.json", ""))
        for who, subject, detail in texts:
            audit.record(act(who=who, object=subject, detail=detail))

        assert audit.verify(TESTER).entries == len(texts)


# --- retention -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("audit")
def test_retention_removes_old_entries_and_says_so(ledger: Ledger, clock: Hands, heads: AuditHeads) -> None:
    keeping = Audit(ledger, 30, clock, heads)
    clock.now = START + timedelta(days=20)
    keeping.record(act("run.tag"))

    clock.now = START + timedelta(days=40)
    keeping.record(act("run.note"))

    entries = keeping.entries(AuditQuery(), TESTER)
    assert [entry.act.change for entry in entries] == ["run.note", RETENTION, "run.tag"]
    assert entries[1].act.object == "5 entries"
    assert keeping.verify(TESTER).entries == 3


def test_retention_removes_at_most_once_a_day(ledger: Ledger, clock: Hands, heads: AuditHeads) -> None:
    keeping = Audit(ledger, 1, clock, heads)
    for _ in range(24 * 5):
        keeping.record(act())
        clock.now += timedelta(hours=1)

    removals = keeping.entries(AuditQuery(change=RETENTION), TESTER)
    assert 1 <= len(removals) <= 4
    assert keeping.verify(TESTER).entries <= 24 * 2 + 4


@pytest.mark.every_store
def test_a_beginning_that_was_cut_off_by_hand_is_found_after_retention(
    audit: Audit, ledger: Ledger, clock: Hands, heads: AuditHeads
) -> None:
    keeping = Audit(ledger, 30, clock, heads)
    clock.now = START + timedelta(days=40)
    keeping.record(act("run.note"))
    forge(ledger, "delete from audit where number = (select min(number) from audit)")

    with pytest.raises(AuditChanged):
        audit.verify(TESTER)


@pytest.mark.every_store
@pytest.mark.usefixtures("audit")
def test_entries_are_removed_in_their_order_wherever_the_database_has_put_them(
    ledger: Ledger, ledger_location: Path | LedgerAddress, clock: Hands, heads: AuditHeads
) -> None:
    keeping = Audit(ledger, 30, clock, heads)
    for _ in range(100):  # some pages
        keeping.record(act(detail="long " * 50))
    clock.now = START + timedelta(days=40)
    keeping.record(act("run.note"))
    vacuum(ledger_location)
    for _ in range(100):  # the first ones lie where the removed ones did
        keeping.record(act(detail="long " * 50))

    clock.now = START + timedelta(days=80)
    keeping.record(act("run.tag"))

    assert [entry.act.change for entry in keeping.entries(AuditQuery(), TESTER)] == ["run.tag", RETENTION]
    assert keeping.verify(TESTER).entries == 2


def vacuum(location: Path | LedgerAddress) -> None:
    """Let a database use again what removed rows took."""
    if isinstance(location, LedgerAddress):
        con = connect_postgres(location)
        with con.session:
            con.execute("vacuum audit")


@pytest.mark.every_store
@pytest.mark.usefixtures("audit")
def test_an_entry_is_stored_even_if_old_ones_cannot_be_removed(
    ledger: Ledger, clock: Hands, heads: AuditHeads, caplog: pytest.LogCaptureFixture
) -> None:
    with ledger.transaction() as con:
        if isinstance(con, PostgresConnection):
            body = "begin raise exception 'not today'; end"
            con.execute(f"create function not_today() returns trigger language plpgsql as $${body}$$")
            con.execute("create trigger not_today before delete on audit for each row execute function not_today()")
        else:
            con.execute("create trigger not_today before delete on audit begin select raise(abort, 'not today'); end")
    clock.now = START + timedelta(days=40)
    keeping = Audit(ledger, 30, clock, heads)

    keeping.record(act("run.note"))

    assert keeping.entries(AuditQuery(), TESTER)[0].act.change == "run.note"
    assert keeping.verify(TESTER).entries == 6
    assert "not today" in caplog.text
