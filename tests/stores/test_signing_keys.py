"""The console's signing key: made once, kept private, replaced with its own consent; and keys of others, trusted."""

import base64
import stat
import string
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import pytest

from aisbench_core.base.errors import AisbenchError, ConfigError, NotAllowed
from aisbench_core.domain.access.guard import record_with
from aisbench_core.model import Actor, Role, WayIn
from aisbench_core.store.audit.audit import Audit, AuditQuery
from aisbench_core.store.audit.audit_heads import AuditHeads
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.signing.private_key import KeyFile
from aisbench_core.store.signing.public_key import PublicKey, parse_signature
from aisbench_core.store.signing.service import MADE, SigningKeys, endorsed_text
from tests import records as a
from tests.actors import TESTER

# Written by ssh-keygen.
THEIRS = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGD679aUvlYj26dKqKhNVmV7jKm9/aLgwdheSpe1Ff9n"
THEIR_FINGERPRINT = "SHA256:3d/lTKsOyfFLNLgOPABHef5j4fqd/i1mPNG3/osIXqk"
THEIR_PEM = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAYPrv1pS+ViPbp0qoqE1WZXuMqb39ouDB2F5Kl7UV/2c=
-----END PUBLIC KEY-----
"""
LETTERS = f"{string.ascii_letters}{string.digits}+/"
PAYLOAD = b"what was measured"

ENGINEER = Actor("bob", Role.ENGINEER.included, WayIn.CONSOLE)
LEAD = Actor("ann", Role.LEAD.included, WayIn.CONSOLE)


class Console:
    """A data folder of a machine that uses the ledger."""

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        folder.mkdir(exist_ok=True)
        self.file, self.time = folder / "signing-key.pem", a.T0
        self.audit = Audit(ledger, 0, self.clock, AuditHeads(folder / "audit-heads.json", ""))
        record_with(self.audit.record)
        self.keys = SigningKeys(KeyFile(self.file), ledger, self.audit, self.clock)

    def clock(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time

    def changes(self) -> list[str]:
        """What the audit says happened, the oldest first."""
        return [entry.act.change for entry in reversed(self.audit.entries(AuditQuery(), TESTER))]


class OpenConsole(Protocol):
    """Opens the data folder with this name."""

    def __call__(self, name: str = "here") -> Console: ...


@pytest.fixture
def open_console(ledger_location: Path | LedgerAddress, tmp_path: Path) -> OpenConsole:
    ledger = Ledger(ledger_location)
    return lambda name="here": Console(tmp_path / name, ledger)


# --- the key ---------------------------------------------------------------------------------------------------


def test_the_first_signature_makes_a_key_that_only_its_owner_can_read(open_console: OpenConsole) -> None:
    console = open_console()

    signature = console.keys.sign(PAYLOAD)

    assert signature.verifies(PAYLOAD)
    assert not signature.verifies(PAYLOAD + b".")
    assert stat.S_IMODE(console.file.stat().st_mode) == 0o600
    assert console.keys.sign(PAYLOAD) == signature, "the same key, and the same signature of the same text"
    assert [(key.fingerprint, key.is_ours) for key in console.keys.list_keys()] == [(signature.key.fingerprint, True)]
    assert console.changes() == [MADE]
    assert console.audit.verify(TESTER).entries == 1


def test_a_key_has_the_fingerprint_that_openssh_prints() -> None:
    assert PublicKey.parse(f"{THEIRS} them@elsewhere\n").fingerprint == THEIR_FINGERPRINT
    assert str(PublicKey.parse(THEIR_PEM)) == THEIRS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ssh-ed25519",
        THEIRS[:-9],
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQM=",
        THEIR_PEM.replace("MCow", "MCox"),
        "\0",
    ],
    ids=["nothing", "name", "cut", "RSA", "damaged PEM", "NUL"],
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a public Ed25519 key"):
        PublicKey.parse(text)


def test_a_signature_has_one_form_in_base64(open_console: OpenConsole) -> None:
    signature = open_console().keys.sign(PAYLOAD)
    digits, last = signature.text[:-3], signature.text[-3]
    others = [f"{digits}{letter}==" for letter in LETTERS if letter != last]
    same_bytes = [text for text in others if base64.b64decode(text) == signature.content]

    assert parse_signature(signature.key, signature.text) == signature
    assert len(same_bytes) == 15
    for text in (*same_bytes, digits, f"{signature.text}\n", "", "AA==", "…"):
        assert parse_signature(signature.key, text) is None


def test_processes_that_sign_first_at_the_same_time_have_one_key(open_console: OpenConsole) -> None:
    consoles = [open_console() for _ in range(4)]

    with ThreadPoolExecutor(len(consoles)) as threads:
        signatures = set(threads.map(lambda console: console.keys.sign(PAYLOAD), consoles))

    assert len(signatures) == 1
    assert consoles[0].changes() == [MADE]


# --- loss ------------------------------------------------------------------------------------------------------


def test_another_machine_of_the_ledger_signs_with_a_copy_and_makes_no_key(open_console: OpenConsole) -> None:
    here, there = open_console("here"), open_console("there")
    signature = here.keys.sign(PAYLOAD)

    with pytest.raises(ConfigError, match=r"the signing key SHA256:\S+ of this console is not in its data folder"):
        there.keys.sign(PAYLOAD)
    assert not there.file.exists()
    there.file.write_bytes(here.file.read_bytes())
    there.file.chmod(0o600)

    assert there.keys.sign(PAYLOAD) == signature


def test_a_key_that_others_can_read_or_that_is_damaged_signs_nothing(open_console: OpenConsole) -> None:
    console = open_console()
    console.keys.sign(PAYLOAD)

    console.file.chmod(0o640)
    with pytest.raises(ConfigError, match=r"can be read by others \(mode 0640\)"):
        console.keys.sign(PAYLOAD)
    console.file.chmod(0o600)
    console.file.write_text("nothing")
    with pytest.raises(ConfigError, match="does not hold an Ed25519 key in PEM"):
        console.keys.sign(PAYLOAD)


@pytest.mark.parametrize("content", [None, b"damaged"], ids=["missing", "damaged"])
def test_a_lost_key_is_replaced_without_its_consent(open_console: OpenConsole, content: bytes | None) -> None:
    console = open_console()
    before = console.keys.sign(PAYLOAD).key
    console.file.unlink()
    if content:
        console.file.write_bytes(content)
        console.file.chmod(0o600)

    new = console.keys.rotate(TESTER, is_lost=True)

    known = console.keys.find(new.fingerprint)
    assert known is not None
    assert known.endorsement == ""
    assert console.keys.sign(PAYLOAD).key == new != before
    entry = console.audit.entries(AuditQuery(), TESTER)[0]
    assert (entry.act.before, entry.act.after) == (before.fingerprint, str(new))
    assert "the key before was lost" in entry.act.detail


def test_a_key_that_is_there_is_not_lost(open_console: OpenConsole) -> None:
    console = open_console()
    before = console.keys.sign(PAYLOAD)

    with pytest.raises(ConfigError, match=r"is in signing-key\.pem") as refused:
        console.keys.rotate(TESTER, is_lost=True)

    assert "omit --lost" in str(refused.value.hint)
    assert console.keys.sign(PAYLOAD) == before


# --- rotation --------------------------------------------------------------------------------------------------


def test_the_old_key_signs_the_new_one_and_stays_known(open_console: OpenConsole) -> None:
    console = open_console()
    signed = console.keys.sign(PAYLOAD)

    new = console.keys.rotate(TESTER)

    old, current = console.keys.find(signed.key.fingerprint), console.keys.find(new.fingerprint)
    assert old is not None
    assert current is not None
    assert (old.is_active, old.ended_by, current.is_active) == (False, TESTER.name, True)
    endorsement = parse_signature(PublicKey.parse(old.public_key), current.endorsement)
    assert endorsement is not None
    assert endorsement.verifies(endorsed_text(new))
    entry = console.audit.entries(AuditQuery(), TESTER)[0]
    assert (entry.act.change, entry.act.object) == ("signing_key.rotate", new.fingerprint)
    assert entry.act.after == f"{new} {endorsement.text}", "the entry has the old key's signature"
    assert console.keys.sign(PAYLOAD).key == new


def test_whoever_is_killed_before_the_new_key_is_in_place_finds_it_later(open_console: OpenConsole) -> None:
    console = open_console()
    console.keys.sign(PAYLOAD)
    old = console.file.read_bytes()
    new = console.keys.rotate(TESTER)
    waiting = console.file.with_name("signing-key-next.pem")
    waiting.write_bytes(console.file.read_bytes())
    waiting.chmod(0o600)
    console.file.write_bytes(old)

    assert console.keys.sign(PAYLOAD).key == new

    assert not waiting.exists()
    assert console.keys.sign(PAYLOAD).key == new


def test_a_key_that_the_ledger_never_knew_is_not_used_after_a_kill(open_console: OpenConsole) -> None:
    console = open_console()
    before = console.keys.sign(PAYLOAD)
    KeyFile(console.file).next.create()

    assert console.keys.sign(PAYLOAD) == before
    assert console.keys.rotate(TESTER) == console.keys.sign(PAYLOAD).key != before.key


# --- keys of others --------------------------------------------------------------------------------------------


def test_a_lead_trusts_another_consoles_key_and_withdraws_it(open_console: OpenConsole) -> None:
    console = open_console()

    console.keys.trust(f"{THEIRS} them\n", " Lab  of Shenzhen", LEAD)

    known = console.keys.find(THEIR_FINGERPRINT)
    assert known is not None
    assert (known.owner, known.public_key, known.is_active, known.added_by) == (
        "Lab of Shenzhen",
        THEIRS,
        True,
        "ann",
    )
    console.keys.withdraw(THEIR_FINGERPRINT, LEAD)
    withdrawn = console.keys.find(THEIR_FINGERPRINT)
    assert withdrawn is not None
    assert not withdrawn.is_active
    assert console.changes() == ["signing_key.trust", "signing_key.withdraw"]
    console.keys.trust(THEIR_FINGERPRINT, "Lab of Shenzhen", LEAD)
    again = console.keys.find(THEIR_FINGERPRINT)
    assert again is not None
    assert (again.is_active, again.public_key) == (True, THEIRS)


def test_a_fingerprint_can_be_trusted_before_the_key_is_known(open_console: OpenConsole) -> None:
    console = open_console()

    known = console.keys.trust(THEIR_FINGERPRINT, "them", LEAD)

    assert (known.fingerprint, known.public_key, known.is_active) == (THEIR_FINGERPRINT, "", True)
    assert console.keys.trust(THEIRS, "them", LEAD).public_key == THEIRS


def test_an_engineer_decides_nothing_about_keys(open_console: OpenConsole) -> None:
    console = open_console()
    console.keys.sign(PAYLOAD)

    for attempt in (
        lambda: console.keys.trust(THEIRS, "them", ENGINEER),
        lambda: console.keys.withdraw(THEIR_FINGERPRINT, ENGINEER),
        lambda: console.keys.rotate(ENGINEER),
        lambda: console.keys.rotate(LEAD),
    ):
        with pytest.raises(NotAllowed):
            attempt()

    assert len(console.keys.list_keys()) == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\u202eb"], ids=["empty", "blank", "long", "turned"])
def test_a_key_needs_a_name_that_can_be_read(open_console: OpenConsole, name: str) -> None:
    with pytest.raises(AisbenchError, match="1 to 80 printable characters"):
        open_console().keys.trust(THEIRS, name, LEAD)


def test_keys_of_this_console_and_unknown_ones_are_neither_trusted_nor_withdrawn(open_console: OpenConsole) -> None:
    console = open_console()
    ours = console.keys.sign(PAYLOAD).key

    with pytest.raises(AisbenchError, match="is a key of this console"):
        console.keys.trust(str(ours), "us", LEAD)
    for fingerprint in (ours.fingerprint, THEIR_FINGERPRINT):
        with pytest.raises(AisbenchError, match="is not trusted"):
            console.keys.withdraw(fingerprint, LEAD)

    assert console.keys.sign(PAYLOAD).key == ours
