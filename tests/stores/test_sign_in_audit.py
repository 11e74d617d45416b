"""Sign-ins in the audit: who came in, who was refused and how sessions ended, without floods."""

from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import SignedOut, SignInFailed
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings
from aisbench_core.people.accounts.identities import Account
from aisbench_core.people.accounts.sign_in_audit import MOST_OF_ADDRESS, MOST_REFUSALS
from aisbench_core.people.accounts.sign_ins import Visitor
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.stores.test_people import Hands

ISSUER = "https://id.example.org"
ANN = Account(ISSUER, "s-ann", "ann", ("perf",))
ADDRESS = "192.0.2.7"


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


def acts(core: Core, change: str = "session.") -> list[tuple[str, ...]]:
    """What is recorded of sessions, the oldest first."""
    entries = [entry.act for entry in core.audit.entries(AuditQuery(change=change), TESTER, limit=1000)]
    return [(act.change, act.who, act.role, act.object, act.outcome, act.detail) for act in reversed(entries)]


# --- who comes and goes ----------------------------------------------------------------------------------------


def test_a_sign_in_and_a_sign_out_are_recorded_without_the_session(core: Core) -> None:
    session = core.sign_ins.begin(ANN, visitor=Visitor(ADDRESS))
    core.sign_ins.end(session)
    core.sign_ins.end(session)

    assert acts(core) == [
        ("session.sign_in", "ann", "engineer", ADDRESS, "done", ISSUER),
        ("session.sign_out", "ann", "", "", "done", ""),
    ]
    assert session not in str(core.audit.entries(AuditQuery(), TESTER))
    assert core.audit.verify(TESTER).entries == 2


def test_a_revoked_person_who_signs_in_is_recorded_by_name(core: Core) -> None:
    session = core.sign_ins.begin(ANN)
    core.people.revoke("ann", TESTER)
    core.sign_ins.whose(session)
    core.sign_ins.whose(session)
    with pytest.raises(SignedOut):
        core.sign_ins.begin(ANN, visitor=Visitor(ADDRESS))

    assert acts(core)[1:] == [
        ("session.end", "ann", "", "", "done", "the access was revoked"),
        ("session.sign_in", "ann", "", ADDRESS, "refused", "the access of ann was revoked"),
    ]


def test_a_name_of_another_account_is_recorded(core: Core) -> None:
    core.sign_ins.begin(ANN)
    with pytest.raises(SignInFailed):
        core.sign_ins.begin(Account(ISSUER, "s-eve", "Ann"), visitor=Visitor(ADDRESS))

    assert acts(core)[1:] == [
        ("session.sign_in", "Ann", "", ADDRESS, "refused", "another account already has the name Ann: ann")
    ]


@pytest.mark.parametrize("minutes", [60, 600])
def test_a_session_that_nobody_used_is_recorded_at_the_next_sign_in(core: Core, clock: Hands, minutes: int) -> None:
    core.sign_ins.begin(ANN)
    clock.now += timedelta(minutes=minutes)
    core.sign_ins.begin(ANN)

    why = "at 2026-01-02 03:34 UTC by session_idle_minutes"
    assert acts(core, "session.end") == [("session.end", "ann", "", "", "done", why)]


def test_a_session_that_was_used_to_its_end_is_recorded_with_the_limit(core: Core, clock: Hands) -> None:
    session = core.sign_ins.begin(ANN)
    for _ in range(23):
        clock.now += timedelta(minutes=20)
        core.sign_ins.check_session(session, active=True)
    clock.now += timedelta(minutes=25)
    core.sign_ins.begin(ANN)

    (ended,) = acts(core, "session.end")
    assert ended[-1] == "at 2026-01-02 11:04 UTC by session_hours"


def test_pages_behind_a_proxy_are_one_sign_in_an_hour_for_a_role(tmp_path: Path, clock: Hands) -> None:
    settings = Settings(data_dir=tmp_path / "other", identity=Identity.PROXY, group_roles="perf=engineer")
    core = open_core(settings, clock)
    for groups in ("", "", "perf", "perf", ""):
        core.sessions.begin("ann", groups)
    clock.now += timedelta(minutes=61)
    core.sessions.begin("ann", "")

    assert [act[1:] for act in acts(core)] == [
        ("ann", role, "", "done", "proxy") for role in ("viewer", "engineer", "viewer")
    ]


# --- floods ----------------------------------------------------------------------------------------------------


def test_the_same_refusal_is_one_entry_and_the_next_one_says_how_many_there_were(core: Core, clock: Hands) -> None:
    for _ in range(500):
        core.sign_in_audit.record_refusal("no token", ADDRESS)
    core.sign_in_audit.record_refusal("no token", "192.0.2.8")
    clock.now += timedelta(minutes=11)
    core.sign_in_audit.record_refusal("no token", ADDRESS)

    assert [(act[3], act[5]) for act in acts(core)] == [
        (ADDRESS, "no token"),
        ("192.0.2.8", "no token"),
        (ADDRESS, "no token; 499 more since the last entry"),
    ]


def test_whoever_varies_what_is_refused_fills_no_ledger_and_hides_no_other_address(core: Core, clock: Hands) -> None:
    for number in range(1000):
        core.sign_in_audit.record_refusal(f"no token {number}", ADDRESS)
    core.sign_in_audit.record_refusal("no token", "192.0.2.8")

    assert len(acts(core)) == MOST_OF_ADDRESS + 1
    for number in range(1000):
        core.sign_in_audit.record_refusal("no token", f"2001:db8::{number:x}")
    assert len(acts(core)) == MOST_REFUSALS
    clock.now += timedelta(hours=1)
    core.sign_in_audit.record_refusal("no token 1", ADDRESS)
    assert len(acts(core)) == MOST_REFUSALS + 1
