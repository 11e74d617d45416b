"""People, their roles and their sessions."""

import os
import pwd
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import NotAllowed, SignedOut, SpecError, TokenRefused
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings, load_settings
from aisbench_core.interfaces.web.identity import refuse_name
from aisbench_core.model import Actor, Role, WayIn
from aisbench_core.model.token import TokenRequest
from aisbench_core.people.accounts.people import Person
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER, named

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Hands:
    """A clock that is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def core(tmp_path: Path, clock: Hands, ledger_url: str) -> Core:
    """A console behind a proxy, whose groups give roles."""
    settings = Settings(
        data_dir=tmp_path / "data", ledger=ledger_url, identity=Identity.PROXY,
        group_roles="lab-leads=lead, perf=engineer", session_idle_minutes=30, session_hours=8,
    )  # fmt: skip
    return open_core(settings, clock)


def role_of(core: Core, name: str) -> Role:
    return core.people.current(name).role


# --- roles -----------------------------------------------------------------------------------------------------


def test_a_new_person_is_a_viewer(core: Core) -> None:
    core.sessions.begin("ann", "")

    assert role_of(core, "ann") is Role.VIEWER


def test_groups_of_the_sign_in_give_roles_and_the_highest_counts(core: Core) -> None:
    core.sessions.begin("ann", "unknown, perf ,lab-leads")

    assert role_of(core, "ann") is Role.LEAD


def test_a_role_goes_with_the_group(core: Core) -> None:
    core.sessions.begin("ann", "perf")
    core.sessions.begin("ann", "")

    assert role_of(core, "ann") is Role.VIEWER


def test_an_admin_gives_roles_also_before_the_first_sign_in(core: Core) -> None:
    core.people.set_role("ann", Role.ADMIN, TESTER)
    core.sessions.begin("ann", "perf")

    assert core.people.current("ann").to_actor(WayIn.CONSOLE) == Actor("ann", frozenset(Role), WayIn.CONSOLE)


def test_a_lower_role_than_the_groups_does_not_count(core: Core) -> None:
    core.sessions.begin("ann", "lab-leads")
    core.people.set_role("ann", Role.VIEWER, TESTER)

    assert role_of(core, "ann") is Role.LEAD


@pytest.mark.parametrize("role", [Role.VIEWER, Role.ENGINEER, Role.LEAD])
def test_only_admins_give_roles_and_revoke(core: Core, role: Role) -> None:
    core.people.set_role("ann", role, TESTER)
    ann = core.people.current("ann").to_actor(WayIn.CONSOLE)

    with pytest.raises(NotAllowed):
        core.people.set_role("ann", Role.ADMIN, ann)

    with pytest.raises(NotAllowed):
        core.people.revoke("ann", ann)
    with pytest.raises(NotAllowed):
        core.people.all(ann)
    assert role_of(core, "ann") is role


@pytest.mark.parametrize(
    "change",
    [
        lambda core: core.people.set_role("ann", Role.LEAD, TESTER),
        lambda core: core.people.revoke("ann", TESTER),
    ],
)
def test_the_last_admin_stays(core: Core, change: Callable[[Core], Person]) -> None:
    core.people.set_role("ann", Role.ADMIN, TESTER)

    with pytest.raises(SpecError, match="is the last admin"):
        change(core)

    assert role_of(core, "ann") is Role.ADMIN
    core.people.set_role("bob", Role.ADMIN, TESTER)
    assert not change(core).is_admin


@pytest.mark.every_store
def test_an_admin_whose_access_was_revoked_is_none(core: Core) -> None:
    core.people.set_role("ann", Role.ADMIN, TESTER)
    core.people.set_role("bob", Role.ADMIN, TESTER)
    core.people.revoke("bob", TESTER)

    with pytest.raises(SpecError, match="is the last admin"):
        core.people.revoke("ann", TESTER)


@pytest.mark.parametrize("name", ["", " ", " ann", "an\nn", "\u202eann", "a" * 101])
def test_names_that_cannot_be_told_apart_are_refused(core: Core, name: str) -> None:
    with pytest.raises(SpecError, match="printable"):
        core.people.set_role(name, Role.VIEWER, TESTER)


OWN_ACCOUNT = pwd.getpwuid(os.getuid()).pw_name
RESERVED = ["console", "c\u043ensole", "AISBench", "nobody", "root"]
"""Names of the system."""

ACCOUNTS = ["daemon", "BACKUP", OWN_ACCOUNT]
"""Accounts of this machine that are no person's, and the console's own one."""

LOOKALIKES = [
    *("\u0430dmin", "\uff41dmin", "ANN", "\u0430nn", "\u0251dmin"),
    *("cIoud", "c0nsole", "c1oud", "\u1d04onsole", "\u0251nn"),
    *("console\ufe0f", "console\u034f", "admin\u115f", "con\u180bsole", "\u2800console", "Ann\ufe0f"),
]
"""Letters of two scripts or forms, what nobody sees, and what is read like `ann`, whom everybody knows."""

REFUSED = r"is reserved for the system|letters that look like|already has the name|cannot be seen"


@pytest.mark.parametrize("name", [*RESERVED, *ACCOUNTS, *LOOKALIKES])
def test_a_proxy_brings_nobody_in_under_a_name_of_the_system_or_one_that_reads_like_another(
    core: Core, name: str
) -> None:
    core.sessions.begin("ann", "")

    with pytest.raises(SignedOut, match=REFUSED):
        core.sessions.begin(name, "lab-leads")

    assert refuse_name(core.people, name) != ""
    assert core.people.find(name) is None


@pytest.mark.parametrize("name", [*RESERVED, *ACCOUNTS, *LOOKALIKES])
def test_no_command_makes_a_person_of_such_a_name(core: Core, name: str) -> None:
    core.people.set_role("ann", Role.ENGINEER, TESTER)

    with pytest.raises(SpecError, match=f"name: .*({REFUSED})"):
        core.people.set_role(name, Role.ADMIN, TESTER)


@pytest.mark.parametrize("name", [name for name in (*RESERVED, *LOOKALIKES) if name.isascii()])
def test_no_command_makes_a_token_of_such_a_name(core: Core, name: str) -> None:
    core.people.set_role("ann", Role.ENGINEER, TESTER)

    with pytest.raises(SpecError, match=r"name: .*(is reserved for the system|already has the name)"):
        core.tokens.create(TokenRequest(name=name), TESTER)


def test_a_token_is_called_as_the_account_of_a_service_on_this_machine(core: Core) -> None:
    assert core.tokens.create(TokenRequest(name="daemon", read_only=True), TESTER)[0].name == "daemon"


def test_a_token_is_renewed_under_its_name_whatever_the_name_is(core: Core) -> None:
    core.tokens.create(TokenRequest(name="follower"), named("follower"))  # as an older console made it

    assert core.tokens.create(TokenRequest(name="follower"), TESTER)[0].name == "follower"


def test_names_that_differ_in_more_than_their_looks_are_different(core: Core) -> None:
    for name in ("Eli", "Ell", "bob0", "bob2", "\u0130brahim", "Iris"):
        assert core.sessions.begin(name, "").name == name


def test_the_account_of_the_console_is_told_how_to_sign_in(core: Core) -> None:
    refusal = refuse_name(core.people, OWN_ACCOUNT)

    assert refusal.endswith("(run the console from an account of its own, or use another name)")


@pytest.mark.every_store
def test_who_is_known_already_keeps_the_name(core: Core) -> None:
    for stored, name in (("ann", "nobody"), ("bob", "J\u00c3\u00bcrgen")):  # as an older console stored them
        core.sessions.begin(stored, "")
        with core.ledger.transaction() as con:
            con.execute("update people set name = ? where name = ?", [name, stored])

    assert core.sessions.begin("nobody", "").name == "nobody"
    assert core.sessions.begin("J\u00c3\u00bcrgen", "").name == "J\u00c3\u00bcrgen"


@pytest.mark.parametrize("name", ["J\u00fcrgen", "\u738b\u5c0f\u660e"])
def test_a_name_that_a_proxy_sends_as_utf8_is_that_name(core: Core, name: str) -> None:
    header = name.encode().decode("latin-1")  # as servers read it

    assert core.sessions.begin(header, "").name == name
    assert refuse_name(core.people, header) == ""


def test_a_token_of_the_own_name_is_made_whatever_the_account_of_the_shell_is_called(core: Core) -> None:
    own = named("root")

    assert core.tokens.create(TokenRequest(name="root"), own)[0].name == "root"


@pytest.mark.every_store
def test_a_name_that_nobody_signed_in_with_is_revoked_with_its_tokens(core: Core) -> None:
    _, text = core.tokens.create(TokenRequest(name="ci", role=Role.ENGINEER), TESTER)

    revoked = core.people.revoke("ci", TESTER)

    assert revoked.revoked
    with pytest.raises(TokenRefused, match="the access of ci was revoked"):
        core.tokens.authenticate(text.plain)
    assert core.people.set_role("ci", Role.ENGINEER, TESTER).role is Role.ENGINEER
    assert core.tokens.authenticate(text.plain).name == "ci"


@pytest.mark.every_store
def test_who_is_named_in_another_form_of_letters_is_revoked(core: Core) -> None:
    core.sessions.begin("M\u00fcller", "")

    assert core.people.revoke("Mu\u0308ller", TESTER).name == "M\u00fcller"

    assert core.people.is_revoked("M\u00fcller")
    assert len(core.people.all(TESTER)) == 1


def test_a_name_that_only_looks_like_a_known_one_is_not_revoked(core: Core) -> None:
    core.sessions.begin("ann", "")

    with pytest.raises(SpecError, match=r"already has the name ANN: ann \(?.*"):
        core.people.revoke("ANN", TESTER)

    assert core.people.find("ANN") is None


def test_a_name_that_only_looks_like_that_of_tokens_is_not_revoked(core: Core) -> None:
    core.tokens.create(TokenRequest(name="ann"), TESTER)

    with pytest.raises(SpecError, match="already has the name ANN: ann"):
        core.people.revoke("ANN", TESTER)

    assert core.people.all(TESTER) == []
    assert core.people.revoke("ann", TESTER).revoked


def test_the_last_admin_is_not_released(core: Core) -> None:
    core.people.set_role("Alice", Role.ADMIN, TESTER)

    with pytest.raises(SpecError, match="is the last admin"):
        core.people.release("Alice", TESTER)

    assert role_of(core, "Alice") is Role.ADMIN


@pytest.mark.parametrize("misspell", [
    lambda core: core.people.set_role("Alice", Role.ADMIN, TESTER), lambda core: core.people.revoke("Alice", TESTER),
])  # fmt: skip
def test_a_name_in_the_wrong_case_is_released_for_the_one_that_the_proxy_sends(
    core: Core, misspell: Callable[[Core], Person]
) -> None:
    core.people.set_role("bob", Role.ADMIN, TESTER)
    misspell(core)

    refusal = refuse_name(core.people, "alice")
    core.people.release("Alice", TESTER)

    assert "use the name Alice, or ask an admin to give it free with `aisbench people release`" in refusal
    assert refuse_name(core.people, "alice") == ""
    assert core.sessions.begin("alice", "").name == "alice"
    assert [person.name for person in core.people.all(TESTER)] == ["alice", "bob"]


def test_what_an_admin_changes_is_in_the_audit_with_before_and_after(core: Core) -> None:
    given = core.people.set_role("ann", Role.LEAD, TESTER)
    core.people.revoke("ann", TESTER)

    assert given.last_seen_at is None
    acts = [entry.act for entry in core.audit.entries(AuditQuery(change="person."), TESTER)]
    assert [(act.change, act.object, act.before, act.after) for act in acts] == [
        ("person.revoke", "ann", "lead", "revoked"),
        ("person.set_role", "ann", "", "lead"),
    ]


def test_signing_in_again_and_again_writes_once(core: Core, clock: Hands) -> None:
    core.sessions.begin("ann", "perf")
    first = core.ledger.revision()
    clock.now += timedelta(minutes=1)
    core.sessions.begin("ann", "perf")

    assert core.ledger.revision() == first
    assert core.people.current("ann").last_seen_at == START


def test_a_sign_in_is_in_the_log_with_its_role(core: Core, caplog: pytest.LogCaptureFixture) -> None:
    core.people.set_role("ann", Role.LEAD, TESTER)
    caplog.clear()
    caplog.set_level("INFO", "aisbench_core")

    core.sessions.begin("ann", "")

    assert "ann signed in, as lead" in caplog.messages


# --- sessions --------------------------------------------------------------------------------------------------


def test_a_session_ends_when_nobody_uses_the_page(core: Core, clock: Hands) -> None:
    session = core.sessions.begin("ann", "")
    clock.now += timedelta(minutes=29)
    session = core.sessions.check_session(session, active=True)
    clock.now += timedelta(minutes=29)
    session = core.sessions.check_session(session, active=False)  # a timer is no use
    clock.now += timedelta(minutes=2)

    with pytest.raises(SignedOut, match="the session of ann has ended"):
        core.sessions.check_session(session, active=True)


def test_a_session_ends_however_much_it_is_used(core: Core, clock: Hands) -> None:
    session = core.sessions.begin("ann", "")
    for _ in range(24):
        clock.now += timedelta(minutes=20)
        session = core.sessions.check_session(session, active=True)
    clock.now += timedelta(minutes=1)

    with pytest.raises(SignedOut):
        core.sessions.check_session(session, active=True)


def test_who_was_revoked_has_no_role_and_no_new_session(core: Core) -> None:
    core.sessions.begin("ann", "lab-leads")
    core.people.revoke("ann", TESTER)

    with pytest.raises(SignedOut, match="the access of ann was revoked"):
        core.people.current("ann")

    with pytest.raises(SignedOut):
        core.sessions.begin("ann", "lab-leads")
    core.people.set_role("ann", Role.ENGINEER, TESTER)
    assert role_of(core, "ann") is Role.LEAD


def test_a_proxy_that_names_nobody_begins_no_session(core: Core) -> None:
    with pytest.raises(SignedOut, match="the proxy sent no user name"):
        core.sessions.begin(" ", "lab-leads")


# --- settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("GROUP_ROLES", "perf=boss"),
        ("GROUP_ROLES", "perf"),
        ("TRUSTED_PROXIES", "proxy.example.com"),
        ("TRUSTED_PROXIES", "10.0.0.1/8"),
        ("IDENTITY", "ldap"),
        ("OIDC_ISSUER", "http://id.example.org"),
        ("OIDC_ISSUER", "https://id.example.org?x=1"),
        ("OIDC_SCOPES", "profile"),
        ("IDENTITY_USER_HEADER", "X Forwarded"),
        ("SESSION_IDLE_MINUTES", "0"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name(setting: str, text: str) -> None:
    with pytest.raises(SpecError, match=setting.lower()):
        load_settings({f"AISBENCH_{setting}": text})
