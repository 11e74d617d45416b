"""The audit: every change by whoever makes it, in a chain that nobody can change unseen."""

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aisbench_core.access.audit_entry import MOST_LETTERS, Act, ActOutcome, AuditEntry
from aisbench_core.accounts.audit import RETENTION, Audit, AuditChanged, AuditCut, AuditQuery
from aisbench_core.accounts.audit_heads import AuditHead, AuditHeads
from aisbench_core.credentials import Credentials
from aisbench_core.errors import AisbenchError, ConfigError, NotAllowed, RunNotFound
from aisbench_core.model import Actor, BudgetScope, Event, Level, Role, WayIn
from aisbench_core.running.ledger import Ledger, as_text
from aisbench_core.running.stores.address import LedgerAddress
from aisbench_core.running.stores.postgres import PostgresConnection, connect
from aisbench_core.running.stores.rows import insert
from aisbench_core.settings import Settings
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.records import run
from tests.team_ledger import IN_A_FILE

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ANN = Actor("ann", frozenset({Role.ENGINEER}), WayIn.CONSOLE)


class Hands:
    """A clock that is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def core(tmp_path: Path, ledger_url: str) -> Core:
    core = open_core(Settings(data_dir=tmp_path / "data", ledger=ledger_url))
    core.ledger.add(run("run-1", created_by="bob"), Event("run-1", START, WayIn.CLI, Level.INFO, "launched"))
    (core.settings.runs_dir / "run-1").mkdir(parents=True)
    return core


def act(change: str = "run.stop", **others: str) -> Act:
    values = {"who": "ann", "role": "engineer", "via": "console", "object": "run-1", **others}
    return Act(change=change, outcome=ActOutcome.DONE, **values)


def acts(core: Core, **query: Any) -> list[Act]:
    return [entry.act for entry in core.audit.entries(AuditQuery(**query), TESTER)]


# --- what is recorded ----------------------------------------------------------------------------------------


def test_a_change_is_recorded_with_who_made_it_and_what_was_there_before(core: Core) -> None:
    core.annotations.tag("run-1", ["old"], [], TESTER)

    core.annotations.tag("run-1", ["new"], ["old"], ANN)

    assert acts(core)[0] == Act("ann", "engineer", "console", "run.tag", "run-1", ActOutcome.DONE, "old", "new")


def test_what_is_not_allowed_is_recorded(core: Core) -> None:
    with pytest.raises(NotAllowed):
        core.runs.stop("run-1", ANN)

    (refused,) = acts(core)
    assert (refused.outcome, refused.object) == (ActOutcome.REFUSED, "run-1")
    assert "needs the role lead" in refused.detail


def test_a_failed_try_is_recorded_with_its_error(core: Core) -> None:
    with pytest.raises(RunNotFound):
        core.runs.collect_again("run-9", TESTER)

    (failed,) = acts(core)
    assert failed.outcome is ActOutcome.FAILED
    assert "there is no run 'run-9'" in failed.detail


def test_of_a_bug_only_its_kind_is_recorded(core: Core) -> None:
    with pytest.raises(AttributeError):
        core.configs.save_keys("team", "secret-of-a-bug", TESTER)  # type: ignore[arg-type]

    (failed,) = acts(core)
    assert (failed.object, failed.outcome) == ("team", ActOutcome.FAILED)
    assert "secret-of-a-bug" not in repr(failed)


@IN_A_FILE
def test_keys_are_no_part_of_the_audit(core: Core) -> None:
    keys = Credentials.model_validate({"access_key": "CANARYACCESSKEY", "secret_key": "canary-secret-key"})

    core.configs.save_keys("team", keys, TESTER)

    assert [one.object for one in acts(core, change="keys.")] == ["team"]
    assert b"canary-secret-key" not in core.settings.ledger_path.read_bytes()


def test_steps_of_a_change_are_no_entries_of_their_own(core: Core) -> None:
    core.imports.add_demo(TESTER)
    core.imports.remove_demo(TESTER)

    assert [one.change for one in acts(core)] == ["demo.remove", "demo.add"]


def test_reading_the_audit_is_no_change_and_needs_an_admin(core: Core) -> None:
    lead = Actor("lead", frozenset({Role.VIEWER, Role.ENGINEER, Role.LEAD}), WayIn.CONSOLE)

    with pytest.raises(NotAllowed):
        core.audit.entries(AuditQuery(), lead)

    with pytest.raises(NotAllowed):
        core.audit.verify(lead)
    assert acts(core) == []


def test_long_values_are_cut_and_stay_on_one_line(core: Core) -> None:
    core.annotations.note("run-1", "one\ntwo " * 400, TESTER, None)

    (noted,) = acts(core)
    assert len(noted.after) == MOST_LETTERS
    assert "\n" not in noted.after


def test_a_budget_is_named_by_whose_it_is_whether_it_was_saved_refused_or_removed(core: Core) -> None:
    budget = {"scope": "person", "name": "ann", "amount": 500, "currency": "CNY"}
    core.budgets.save(budget, TESTER)
    with pytest.raises(AisbenchError):
        core.budgets.save(budget | {"amount": "five"}, TESTER)
    core.budgets.save({"scope": "everybody", "name": "", "amount": 9, "currency": "CNY"}, TESTER)
    core.budgets.remove(BudgetScope.PERSON, "ann", "CNY", TESTER)

    assert [one.object for one in reversed(acts(core, change="budget."))] == [
        "person ann", "person ann", "everybody", "person ann",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("run_id", "stored"),
    [
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        ("a\ud800b", "a\N{REPLACEMENT CHARACTER}b"),
        ("a\x1b[31mb", "a\N{REPLACEMENT CHARACTER}[31mb"),
        ("a\nb", "a b"),
    ],
)
def test_characters_that_no_text_has_are_replaced_before_they_are_hashed(core: Core, run_id: str, stored: str) -> None:
    with pytest.raises(NotAllowed):
        core.approvals.approve(run_id, replace(ANN, roles=frozenset({Role.VIEWER}), read_only=True))

    assert [one.object for one in acts(core)] == [stored]
    assert core.audit.verify(TESTER).entries == 1


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"who": "ann"}, ["run.tag"]),
        ({"change": "run."}, ["run.rename", "run.tag"]),
        ({"change": "run_"}, []),
        ({"via": "cli"}, ["run.rename"]),
        ({"object": "run-"}, ["run.rename", "run.tag"]),
        ({"object": "un-1"}, []),
        ({"outcome": "refused"}, []),
        ({"who": "' or 1=1 --"}, []),
    ],
)
def test_filters_choose_entries(core: Core, query: dict[str, str], found: list[str]) -> None:
    core.annotations.tag("run-1", ["new"], [], ANN)
    core.annotations.rename("run-1", "best", TESTER)

    assert [one.change for one in acts(core, **query)] == found


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


@pytest.mark.parametrize("statement", ["update audit set who = 'bob'", "delete from audit where number = 3"])
def test_the_database_refuses_to_change_entries(audit: Audit, ledger: Ledger, statement: str) -> None:
    with pytest.raises(AisbenchError, match="append-only"), ledger.transaction() as con:
        con.execute(statement)

    assert audit.verify(TESTER).entries == 5


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
        insert(con, "audit", row | asdict(entry.act))


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
    assert "entries 4 to 5" in caplog.text


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
    with pytest.raises(AuditCut):  # a console that keeps everything removed nothing
        Audit(ledger, 0, clock, AuditHeads(tmp_path / "third.json", "")).verify(TESTER, AuditHead(5, "0" * 64, START))
    assert audit.verify(TESTER).last_number == 7


REPLACEMENTS = [
    "insert or replace into audit select number, at, 'bob', role, via, change, object, before, after, outcome, detail,"
    " previous, hash from audit where number = 3",
    "replace into audit select 3, at, 'bob', role, via, change, object, before, after, outcome, detail, previous, hash"
    " from audit where number = 5",
    "truncate audit",
    "insert into audit select * from audit where number = 3 on conflict (number) do update set who = 'bob'",
]


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


def test_a_beginning_that_was_cut_off_by_hand_is_found_after_retention(
    audit: Audit, ledger: Ledger, clock: Hands, heads: AuditHeads
) -> None:
    keeping = Audit(ledger, 30, clock, heads)
    clock.now = START + timedelta(days=40)
    keeping.record(act("run.note"))
    forge(ledger, "delete from audit where number = (select min(number) from audit)")

    with pytest.raises(AuditChanged):
        audit.verify(TESTER)


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
        con = connect(location)
        with con.session:
            con.execute("vacuum audit")


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


# --- trouble ---------------------------------------------------------------------------------------------------


@IN_A_FILE
def test_a_change_stands_if_it_cannot_be_recorded(core: Core, caplog: pytest.LogCaptureFixture) -> None:
    core.settings.ledger_path.unlink()
    core.settings.ledger_path.write_text("no database")

    core.warehouse.unmark_baseline("none", TESTER)

    assert "not in the audit" in caplog.text


@pytest.mark.parametrize("changes", [{"read_only": True}, {"roles": frozenset()}])
def test_who_may_change_nothing_is_recorded(core: Core, changes: dict[str, Any]) -> None:
    with pytest.raises(NotAllowed):
        core.storage.compact(replace(ANN, **changes))

    (refused,) = acts(core)
    assert (refused.change, refused.outcome) == ("warehouse.compact", ActOutcome.REFUSED)
