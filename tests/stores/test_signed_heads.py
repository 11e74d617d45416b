"""The signed head of the audit: kept elsewhere, it proves what was cut, replaced or changed since."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import AisbenchError, ConfigError, NotAllowed
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access.audit_entry import Act, ActOutcome, AuditEntry
from aisbench_core.model import Actor, Role, WayIn
from aisbench_core.store.audit.audit import AuditChanged
from aisbench_core.store.ledger.ledger import as_time
from aisbench_core.store.signing.heads import SignedHead
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """A console with five changes."""
    core = open_core(Settings(data_dir=tmp_path / "data"))
    for number in range(5):
        core.audit.record(Act("ann", "engineer", "console", "run.stop", f"run-{number}", ActOutcome.DONE))
    return core


def edit(core: Core, *statements: str) -> None:
    """Whoever can write to the file first drops the triggers, and forgets the head that this console noted."""
    with closing(sqlite3.connect(core.settings.ledger_path)) as con:
        for name in ("changed", "thinned", "replaced"):
            con.execute(f"drop trigger if exists audit_is_not_{name}")
        for statement in statements:
            con.execute(statement)
        con.commit()
    core.settings.audit_heads_path.unlink(missing_ok=True)


def rehash(core: Core) -> None:
    """Number and hash all entries anew, as somebody does who knows how."""
    with core.ledger.connection() as con:
        rows = con.execute("select * from audit order by number").fetchall()
    previous, statements = "", []
    for number, row in enumerate(rows, start=1):
        act = {name: row[name] for name in Act.__dataclass_fields__} | {"outcome": ActOutcome(row["outcome"])}
        entry = AuditEntry(number, as_time(row["at"]), Act(**act), previous)
        before, previous = previous, entry.expected_hash()
        values = f"number = {number}, previous = '{before}', hash = '{previous}'"
        statements.append(f"update audit set {values} where number = {row['number']}")
    edit(core, *statements)


def cut(core: Core) -> None:
    edit(core, "delete from audit where number > 4")


def empty(core: Core) -> None:
    edit(core, "delete from audit")


def rewrite(core: Core) -> None:
    edit(core, "update audit set object = 'run-9' where number = 3")
    rehash(core)


def thin(core: Core) -> None:
    edit(core, "delete from audit where number = 2")
    rehash(core)


def test_the_head_is_the_newest_entry_signed_by_the_console(core: Core) -> None:
    head = core.heads.sign()

    checked = core.heads.check(SignedHead.find_in(f"{head}\n") or head, TESTER)

    assert (checked.head, checked.audit.last_number, checked.audit.last_hash) == (head, head.number, head.hash)
    active = core.signing_keys.find_active()
    assert active is not None
    assert head.key == active.fingerprint
    assert head.number == 6, "making the key is an entry"


def test_a_head_is_found_in_what_holds_it_and_nowhere_else(core: Core) -> None:
    head = core.heads.sign()

    assert SignedHead.find_in(f'"a","{head}","b"\n') == head
    assert SignedHead.find_in(f"<p>{head}</p>") == head
    unsigned = SignedHead.find_in(f"x,{head.entry},y")
    assert unsigned == SignedHead(head.number, head.hash, None)
    for text in ("", f"sha256:{head.hash}", f"1:{head.hash}0", head.hash, f"a1:{head.hash}"):
        assert SignedHead.find_in(text) is None


def test_the_audit_goes_on_from_a_head_after_more_changes_and_a_rotation(core: Core) -> None:
    head = core.heads.sign()
    core.signing_keys.rotate(TESTER)

    assert core.heads.check(head, TESTER).audit.last_number == head.number + 1
    assert core.heads.sign().key != head.key


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (cut, "the audit was cut: it ends with entry 4"),
        (empty, "the audit is empty, but it had 6 entries"),
        (rewrite, "the audit was replaced: its entry 6 is not the one that was there"),
        (thin, "the audit was cut: it ends with entry 5"),
    ],
    ids=["cut", "emptied", "rewritten", "thinned"],
)
def test_whoever_rewrites_all_hashes_is_found_by_a_head_kept_elsewhere(
    core: Core, tamper: Callable[[Core], None], named: str
) -> None:
    head = core.heads.sign()
    tamper(core)
    assert core.audit.verify(TESTER).entries < 7, "the chain by itself does not say"

    with pytest.raises(AuditChanged) as found:
        core.heads.check(head, TESTER)

    assert named in str(found.value)


@pytest.mark.parametrize("field", ["number", "hash", "at", "signature"])
def test_a_head_that_was_changed_is_no_evidence(core: Core, field: str) -> None:
    head = core.heads.sign()
    assert head.at is not None
    others: dict[str, Any] = {
        "number": head.number - 1,
        "hash": head.hash[::-1],
        "at": head.at - timedelta(days=1),
        "signature": head.signature[:10] + head.signature[:10].swapcase() + head.signature[20:],
    }

    with pytest.raises(AuditChanged, match="its signature does not fit"):
        core.heads.check(replace(head, **{field: others[field]}), TESTER)


def test_the_head_of_another_console_is_named_as_such(core: Core, tmp_path: Path) -> None:
    other = open_core(Settings(data_dir=tmp_path / "other"))
    theirs = other.heads.sign()

    with pytest.raises(ConfigError, match=r"no key of this console \(unknown\)"):
        core.heads.check(theirs, TESTER)
    core.signing_keys.trust(str(other.signing_keys.get_public_key()), "Lab of Shenzhen", TESTER)

    with pytest.raises(ConfigError, match=r"no key of this console \(of Lab of Shenzhen\)"):
        core.heads.check(theirs, TESTER)


def test_without_the_key_an_export_has_the_head_unsigned(core: Core) -> None:
    signed = core.heads.sign()
    core.settings.signing_key_path.unlink()

    head = core.heads.attach()

    assert head is not None
    assert str(head) == signed.entry
    with pytest.raises(AisbenchError, match="is not in its data folder"):
        core.heads.sign()


def test_only_an_admin_checks_a_head(core: Core) -> None:
    head = core.heads.sign()

    with pytest.raises(NotAllowed):
        core.heads.check(head, Actor("bob", Role.LEAD.included, WayIn.CONSOLE))
