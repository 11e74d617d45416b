"""People whom an OpenID Connect provider signed in: whose name is whose, and how long a session is open."""

from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import NotAllowed, PersonNotFound, SignedOut, SignInFailed
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings
from aisbench_core.model import Role, WayIn
from aisbench_core.people.accounts.identities import Account
from aisbench_core.people.accounts.sign_ins import Whose
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.stores.test_people import OWN_ACCOUNT, Hands

ISSUER = "https://id.example.org"
ANN = Account(ISSUER, "s-ann", "ann", ("perf",))


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def core(tmp_path: Path, clock: Hands, ledger_url: str) -> Core:
    settings = Settings(
        data_dir=tmp_path / "data", ledger=ledger_url, identity=Identity.OIDC, group_roles="perf=engineer",
        session_idle_minutes=30, session_hours=8,
    )  # fmt: skip
    return open_core(settings, clock)


# --- names ------------------------------------------------------------------------------------------------------


def test_a_name_is_that_of_the_first_sign_in_whatever_the_provider_says_later(core: Core) -> None:
    core.sign_ins.begin(ANN)
    session = core.sign_ins.begin(Account(ISSUER, "s-ann", "root", ()))

    assert core.sign_ins.whose(session) == Whose("ann")
    assert core.people.find("root") is None


@pytest.mark.parametrize(
    "other",
    [
        Account(ISSUER, "s-eve", "ann"),
        Account("https://evil.example", "s-ann", "ann"),
        Account(ISSUER, "s-eve", "Ann"),
        Account(ISSUER, "s-eve", "\uff41nn"),
        Account(ISSUER, "s-eve", "\u0430nn"),
    ],
)
def test_another_account_gets_neither_a_known_name_nor_one_that_looks_like_it(core: Core, other: Account) -> None:
    core.sign_ins.begin(ANN)

    with pytest.raises(SignInFailed, match=r"another account already has the name .*: ann"):
        core.sign_ins.begin(other)

    assert core.people.current("ann").role is Role.ENGINEER  # the groups of the other one changed nothing


def test_a_name_in_another_script_that_is_drawn_like_a_known_one_is_refused(core: Core) -> None:
    core.sign_ins.begin(Account(ISSUER, "s-1", "coco"))

    with pytest.raises(SignInFailed, match="another account already has the name"):
        core.sign_ins.begin(Account(ISSUER, "s-2", "\u0441\u043e\u0441\u043e"))


@pytest.mark.parametrize(
    "name",
    [
        *("console", "aisbench", "AISBench", "root", "c\u043ensole", "follower"),
        *("daemon", "Daemon", "BACKUP", "\u0455\u0443\u0455", OWN_ACCOUNT, OWN_ACCOUNT.upper()),
    ],
)
def test_names_of_the_system_and_of_its_accounts_are_nobodys(core: Core, name: str) -> None:
    core.people.set_role("boss", Role.ADMIN, TESTER)

    with pytest.raises(SignInFailed, match="is reserved for the system"):
        core.sign_ins.begin(Account(ISSUER, "s-eve", name))

    assert core.people.find(name) is None


@pytest.mark.parametrize("name", ["\u0430dmin", "adm\u0456n", "\uff41dmin", "\u03b1dmin", "pau\u217c"])
def test_a_name_with_letters_that_pass_for_others_is_refused(core: Core, name: str) -> None:
    with pytest.raises(SignInFailed, match="has letters that look like others"):
        core.sign_ins.begin(Account(ISSUER, "s-eve", name))


@pytest.mark.parametrize(
    "name", ["Ann-Marie O'Neil", "ann@example.org", "\u738b\u5c0f\u660e wang", "\u0410\u043d\u043d\u0430", "jos\u00e9"]
)
def test_names_of_people_in_their_own_script_are_accepted(core: Core, name: str) -> None:
    session = core.sign_ins.begin(Account(ISSUER, "s-1", name))

    assert core.sign_ins.whose(session) == Whose(name)


def test_an_accent_that_comes_as_a_character_of_its_own_makes_no_other_name(core: Core) -> None:
    core.people.set_role("Jos\u00e9", Role.LEAD, TESTER)

    session = core.sign_ins.begin(Account(ISSUER, "s-1", "Jose\u0301"))

    assert core.sign_ins.whose(session) == Whose("Jos\u00e9")
    assert core.people.current("Jos\u00e9").role is Role.LEAD
    with pytest.raises(SignInFailed, match="another account already has the name"):
        core.sign_ins.begin(Account(ISSUER, "s-2", "Jos\u00e9"))


def test_a_role_that_was_given_before_the_first_sign_in_waits_for_exactly_that_name(core: Core) -> None:
    core.people.set_role("ann", Role.LEAD, TESTER)

    with pytest.raises(SignInFailed, match="another account already has the name"):
        core.sign_ins.begin(Account(ISSUER, "s-eve", "ANN"))
    core.sign_ins.begin(ANN)

    assert core.people.current("ann").role is Role.LEAD


def test_an_admin_releases_a_name_for_another_account(core: Core) -> None:
    core.sign_ins.begin(ANN)
    moved = Account("https://new.example.org", "7", "ann")

    core.people.release("ann", TESTER)

    assert core.sign_ins.whose(core.sign_ins.begin(moved)) == Whose("ann")
    with pytest.raises(SignInFailed):
        core.sign_ins.begin(ANN)
    with pytest.raises(PersonNotFound, match="nobody has the name 'eve'"):
        core.people.release("eve", TESTER)


@pytest.mark.every_store
def test_a_role_that_was_given_to_a_name_in_the_wrong_case_is_released(core: Core) -> None:
    core.people.set_role("bob", Role.LEAD, TESTER)
    bob = Account(ISSUER, "s-bob", "Bob")
    with pytest.raises(SignInFailed, match="already has the name Bob: bob") as refused:
        core.sign_ins.begin(bob)

    core.people.release("bob", TESTER)

    assert "use the name bob, or ask an admin to give it free" in str(refused.value.hint)
    assert core.sign_ins.whose(core.sign_ins.begin(bob)) == Whose("Bob")
    assert core.people.find("bob") is None


def test_nobody_else_releases_names(core: Core) -> None:
    core.sign_ins.begin(ANN)
    lead = core.people.set_role("eve", Role.LEAD, TESTER).to_actor(WayIn.CONSOLE)

    with pytest.raises(NotAllowed):
        core.people.release("ann", lead)


# --- sessions ---------------------------------------------------------------------------------------------------


def test_a_session_ends_when_nobody_uses_any_of_its_pages(core: Core, clock: Hands) -> None:
    session = core.sign_ins.begin(ANN)
    for _ in range(3):
        clock.now += timedelta(minutes=29)
        core.sign_ins.check_session(session, active=True)
    for _ in range(2):
        clock.now += timedelta(minutes=16)  # timers of open pages are no use
        last = core.sign_ins.whose(session)

    assert last == Whose()
    with pytest.raises(SignedOut):
        core.sign_ins.check_session(session, active=True)


def test_a_session_ends_however_much_it_is_used(core: Core, clock: Hands) -> None:
    session = core.sign_ins.begin(ANN)
    for _ in range(16):
        clock.now += timedelta(minutes=30)
        core.sign_ins.check_session(session, active=True)
    clock.now += timedelta(minutes=1)

    with pytest.raises(SignedOut, match="the session of ann has ended"):
        core.sign_ins.check_session(session, active=True)


def test_signing_out_ends_one_browser_and_revoking_all(core: Core) -> None:
    desk, laptop = core.sign_ins.begin(ANN), core.sign_ins.begin(ANN)

    core.sign_ins.end(desk)

    assert (core.sign_ins.whose(desk), core.sign_ins.whose(laptop)) == (Whose(), Whose("ann"))
    core.people.revoke("ann", TESTER)
    assert core.sign_ins.whose(laptop) == Whose(is_revoked=True)
    core.people.set_role("ann", Role.VIEWER, TESTER)
    assert core.sign_ins.whose(laptop) == Whose()  # it does not come back


@pytest.mark.every_store
def test_sessions_that_ended_are_forgotten(core: Core, clock: Hands) -> None:
    for _ in range(50):
        core.sign_ins.begin(ANN)
    clock.now += timedelta(hours=1)

    core.sign_ins.begin(ANN)

    assert len(core.sign_ins) == 1


def test_a_restart_and_another_console_know_the_session(core: Core, clock: Hands) -> None:
    session = core.sign_ins.begin(ANN)
    elsewhere = open_core(core.settings, clock)
    assert elsewhere.sign_ins.whose(session) == Whose("ann")

    core.sign_ins.end(session)

    assert elsewhere.sign_ins.whose(session) == Whose()
    with pytest.raises(SignedOut):
        elsewhere.sign_ins.check_session(session, active=True)


def test_use_at_one_console_counts_at_another(core: Core, clock: Hands) -> None:
    session, elsewhere = core.sign_ins.begin(ANN), open_core(core.settings, clock)
    clock.now += timedelta(minutes=20)
    core.sign_ins.check_session(session, active=True)
    clock.now += timedelta(minutes=20)

    assert elsewhere.sign_ins.whose(session) == Whose("ann")


@pytest.mark.every_store
def test_use_is_not_stored_at_every_click(core: Core, clock: Hands) -> None:
    session = core.sign_ins.begin(ANN)
    clock.now += timedelta(minutes=4)
    core.sign_ins.check_session(session, active=True)
    before = core.ledger.revision()

    clock.now += timedelta(minutes=2)
    core.sign_ins.check_session(session, active=True)

    assert core.ledger.revision() == before


@pytest.mark.every_store
def test_the_ledger_does_not_know_the_id(core: Core) -> None:
    session = core.sign_ins.begin(ANN)

    (row,) = core.ledger.rows("select * from sign_ins", [])

    assert session not in [str(cell) for cell in row]


@pytest.mark.every_store
def test_an_id_that_is_made_up_opens_nothing(core: Core) -> None:
    core.sign_ins.begin(ANN)
    (row,) = core.ledger.rows("select id_hash from sign_ins", [])

    assert [core.sign_ins.whose(made_up) for made_up in ("", "x", row["id_hash"])] == [Whose(), Whose(), Whose()]
