"""Open sessions: people see and end their own, and admins those of everybody."""

from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import NotAllowed, SessionNotFound
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings
from aisbench_core.model import Actor, Role, WayIn
from aisbench_core.people.accounts.browsers import browser_of
from aisbench_core.people.accounts.identities import Account
from aisbench_core.people.accounts.sign_ins import Visitor, Whose, hash_of
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.stores.test_people import Hands

ISSUER = "https://id.example.org"
ANN, BOB = Account(ISSUER, "s-ann", "ann"), Account(ISSUER, "s-bob", "bob")
LAPTOP, PHONE = Visitor("192.0.2.7", "Firefox, Linux"), Visitor("192.0.2.8", "Safari, iOS")


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def core(tmp_path: Path, clock: Hands, ledger_url: str) -> Core:
    settings = Settings(
        data_dir=tmp_path / "data", ledger=ledger_url, identity=Identity.OIDC, session_idle_minutes=30, session_hours=8
    )
    return open_core(settings, clock)


def viewer(name: str) -> Actor:
    return Actor(name, frozenset({Role.VIEWER}), WayIn.CONSOLE)


def shown(session_id: str) -> str:
    return hash_of(session_id)[:12]


def test_people_see_and_end_their_own_sessions(core: Core, clock: Hands) -> None:
    laptop = core.sign_ins.begin(ANN, visitor=LAPTOP)
    clock.now += timedelta(minutes=10)
    phone = core.sign_ins.begin(ANN, visitor=PHONE)
    core.sign_ins.begin(BOB)

    on_phone, on_laptop = core.open_sessions.visible(viewer("ann"))
    ended = core.open_sessions.end(on_laptop.session_id, viewer("ann"))

    assert (on_phone.browser, on_phone.address, on_phone.session_id) == ("Safari, iOS", "192.0.2.8", shown(phone))
    assert (on_laptop.browser, on_laptop.began_at) == ("Firefox, Linux", clock.now - timedelta(minutes=10))
    assert ended == on_laptop
    assert (core.sign_ins.whose(laptop), core.sign_ins.whose(phone)) == (Whose(), Whose("ann"))


def test_all_other_sessions_end_at_once_and_those_of_others_stay(core: Core) -> None:
    own, *others = [core.sign_ins.begin(ANN) for _ in range(3)]
    bob = core.sign_ins.begin(BOB)

    ended = core.open_sessions.end_all("ann", viewer("ann"), besides=shown(own))

    assert {one.session_id for one in ended} == {shown(other) for other in others}
    assert [core.sign_ins.whose(each).name for each in (own, *others, bob)] == ["ann", "", "", "bob"]


def test_nobody_ends_the_sessions_of_others(core: Core) -> None:
    session = core.sign_ins.begin(ANN)

    with pytest.raises(NotAllowed, match=r"session\.end of what others own needs the role admin"):
        core.open_sessions.end(shown(session), viewer("bob"))
    with pytest.raises(NotAllowed, match=r"session\.end_all of what others own"):
        core.open_sessions.end_all("ann", viewer("bob"))

    assert core.open_sessions.visible(viewer("bob")) == []
    assert core.sign_ins.whose(session) == Whose("ann")


@pytest.mark.every_store
def test_an_admin_sees_and_ends_the_sessions_of_everybody(core: Core) -> None:
    ann, bob = core.sign_ins.begin(ANN), core.sign_ins.begin(BOB)

    names = {one.name for one in core.open_sessions.visible(TESTER)}
    core.open_sessions.end(shown(ann)[:6], TESTER)
    core.open_sessions.end_all("bob", TESTER)

    assert names == {"ann", "bob"}
    assert (core.sign_ins.whose(ann), core.sign_ins.whose(bob)) == (Whose(), Whose())
    entries = core.audit.entries(AuditQuery(change="session.end", who="tester"), TESTER)
    assert [(entry.act.change, entry.act.object, entry.act.detail) for entry in reversed(entries)] == [
        ("session.end", shown(ann)[:6], f"end session {shown(ann)} of ann"),
        ("session.end_all", "bob", "end all sessions of bob: 1"),
    ]


@pytest.mark.parametrize("start", ["", "no-such-session", "%"])
def test_a_session_that_is_not_there_is_not_ended(core: Core, start: str) -> None:
    core.sign_ins.begin(ANN)

    with pytest.raises(SessionNotFound, match="no open session starts with"):
        core.open_sessions.end(start, viewer("ann"))


def test_sessions_that_ended_are_not_listed(core: Core, clock: Hands) -> None:
    core.sign_ins.begin(ANN)
    clock.now += timedelta(minutes=31)

    assert core.open_sessions.visible(TESTER) == []


@pytest.mark.parametrize(
    ("user_agent", "browser"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox, Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/126.0 Safari/537.36 Edg/126.0",
            "Edge, Windows",
        ),
        ("Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36", "Chrome, Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1", "Safari, iOS"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1 Version/17.5 Safari/605.1", "Safari, macOS"),
        ("curl/8.5.0", ""),
        ("<script>alert(1)</script>", ""),
        ("", ""),
    ],
)
def test_a_browser_is_known_by_its_family_and_nothing_else_of_what_it_says_is_kept(
    user_agent: str, browser: str
) -> None:
    assert browser_of(user_agent) == browser
