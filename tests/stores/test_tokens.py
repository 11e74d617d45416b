"""Tokens: they open the API while they last, for whom they name, and nobody can read them from the disk."""

import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle as Values
from hypothesis.stateful import RuleBasedStateMachine, consumes, initialize, invariant, rule

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import NotAllowed, SpecError, TokenNotFound, TokenRefused
from aisbench_core.base.messages import Message
from aisbench_core.model import Actor, Role, WayIn
from aisbench_core.model.token import MOST_DAYS, TokenRequest, TokenState, TokenText
from aisbench_core.people.accounts.people import People
from aisbench_core.people.tokens.service import Tokens
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.tokens import TokenLedger
from tests import records as a
from tests.actors import TESTER

LETTERS = string.ascii_letters + string.digits + "-_"


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = a.T0

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def watch() -> Hands:
    return Hands()


@pytest.fixture
def tokens(tmp_path: Path, watch: Hands) -> Tokens:
    return tokens_in(tmp_path / "data", watch)


def tokens_in(folder: Path, watch: Callable[[], datetime]) -> Tokens:
    """Tokens in a folder, where people may be known, too."""
    ledger = Ledger(folder / "ledger.sqlite3")
    people = People(ledger, watch)
    return Tokens(TokenLedger(ledger), watch, people.role_of, people.require_program_name)


def files_in(folder: Path) -> Iterator[bytes]:
    return (file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_token_comes_back_as_it_was_made_and_acts_in_its_role(tokens: Tokens) -> None:
    created, text = tokens.create(TokenRequest(name="ci", role=Role.ENGINEER, read_only=True, days=7), TESTER)

    found = tokens.authenticate(text.plain)

    assert found == created
    assert found.expires_at == a.T0 + timedelta(days=7)
    assert found.created_by == "tester"
    assert found.actor == Actor(
        "ci", frozenset({Role.VIEWER, Role.ENGINEER}), WayIn.API, read_only=True, token_id=found.token_id
    )


def test_no_secret_is_stored_or_shown_in_a_repr(tokens: Tokens, tmp_path: Path) -> None:
    created, text = tokens.create(TokenRequest(name="ci"), TESTER)
    tokens.authenticate(text.plain)

    stored = list(files_in(tmp_path))

    assert stored
    assert not any(text.secret.encode() in content for content in stored)
    assert text.secret not in repr((created, text, tokens.all()))


@settings(deadline=None)
@given(role=st.sampled_from(Role), own=st.sampled_from(Role))
def test_nobody_makes_or_revokes_a_token_above_his_own_role(role: Role, own: Role) -> None:
    with TemporaryDirectory() as folder:
        tokens = tokens_in(Path(folder), Hands())
        theirs, _ = tokens.create(TokenRequest(name="ann", role=role), TESTER)
        person = Actor("ann", own.included, WayIn.CONSOLE)
        order = list(Role)

        if order.index(role) <= order.index(own):
            assert tokens.create(TokenRequest(name="ann", role=role), person)[0].role is role
            assert tokens.revoke(theirs.token_id, person).revoked_by == "ann"
        else:
            with pytest.raises(NotAllowed, match=f"ann may not create or revoke a token of ann with role {role}"):
                tokens.create(TokenRequest(name="ann", role=role), person)
            with pytest.raises(NotAllowed):
                tokens.revoke(theirs.token_id, person)
            assert [one.revoked_at for one in tokens.all()] == [None]


def test_only_an_admin_makes_or_revokes_tokens_of_other_names(tokens: Tokens) -> None:
    lead = Actor("ann", Role.LEAD.included, WayIn.CONSOLE)
    bobs, _ = tokens.create(TokenRequest(name="bob"), TESTER)

    with pytest.raises(NotAllowed, match="token of bob with role viewer"):
        tokens.create(TokenRequest(name="bob"), lead)
    with pytest.raises(NotAllowed):
        tokens.revoke(bobs.token_id, lead)
    assert tokens.create(TokenRequest(name="ann"), lead)[0].name == "ann"
    assert [one.revoked_at for one in tokens.all()] == [None, None]


def test_a_read_only_token_makes_no_token(tokens: Tokens) -> None:
    with pytest.raises(NotAllowed):
        tokens.create(TokenRequest(name="ci"), replace(TESTER, read_only=True))

    assert tokens.all() == []


@settings(deadline=None, max_examples=60)
@given(position=st.integers(0, 59), letter=st.sampled_from(LETTERS))
def test_a_text_with_one_other_letter_opens_nothing(position: int, letter: str) -> None:
    with TemporaryDirectory() as folder:
        tokens = tokens_in(Path(folder), Hands())
        plain = tokens.create(TokenRequest(name="ci"), TESTER)[1].plain
        wrong = plain[:position] + letter + plain[position + 1 :]
        if wrong == plain or position >= len(plain):
            return

        with pytest.raises(TokenRefused, match="this token is not valid"):
            tokens.authenticate(wrong)
        assert tokens.all()[0].last_used_at is None


@given(st.text())
def test_any_text_is_a_token_or_is_refused(text: str) -> None:
    parsed = TokenText.parse(text)

    assert parsed is None or parsed.plain == text


def test_texts_differ_and_are_recognised() -> None:
    texts = [TokenText.new() for _ in range(500)]

    assert len({text.plain for text in texts}) == 500
    assert all(TokenText.parse(text.plain) == text for text in texts)


def test_only_the_holder_of_the_secret_learns_that_a_token_is_over(tokens: Tokens) -> None:
    created, text = tokens.create(TokenRequest(name="ci"), TESTER)
    tokens.revoke(created.token_id, TESTER)
    guess = replace(text, secret=TokenText.new().secret)

    with pytest.raises(TokenRefused, match="revoked by tester"):
        tokens.authenticate(text.plain)
    with pytest.raises(TokenRefused, match="misspelt"):
        tokens.authenticate(guess.plain)


def test_whoever_loses_access_loses_it_for_every_token_too(tokens: Tokens, watch: Hands, tmp_path: Path) -> None:
    people = People(Ledger(tmp_path / "data" / "ledger.sqlite3"), watch)
    people.sign_in("bob", None)
    bobs, cis = (tokens.create(TokenRequest(name=name), TESTER)[1].plain for name in ("bob", "ci"))
    assert tokens.authenticate(bobs).name == "bob"

    people.revoke("bob", TESTER)

    with pytest.raises(TokenRefused, match="the access of bob was revoked"):
        tokens.authenticate(bobs)
    assert tokens.authenticate(cis).name == "ci"
    people.set_role("bob", Role.VIEWER, TESTER)
    assert tokens.authenticate(bobs).name == "bob"


def test_a_token_has_no_higher_role_than_its_person_has_now(tokens: Tokens, watch: Hands, tmp_path: Path) -> None:
    people = People(Ledger(tmp_path / "data" / "ledger.sqlite3"), watch)
    people.set_role("bob", Role.LEAD, TESTER)
    text = tokens.create(TokenRequest(name="bob", role=Role.ENGINEER), TESTER)[1].plain
    roles = [tokens.authenticate(text).role]

    for role in (Role.VIEWER, Role.ENGINEER, Role.ADMIN):
        people.set_role("bob", role, TESTER)
        roles.append(tokens.authenticate(text).role)

    assert roles == [Role.ENGINEER, Role.VIEWER, Role.ENGINEER, Role.ENGINEER]
    assert tokens.all()[0].role is Role.ENGINEER, "a promotion gives back what was chosen"


def test_a_token_for_a_program_ends_with_the_rights_of_who_made_it(
    tokens: Tokens, watch: Hands, tmp_path: Path
) -> None:
    people = People(Ledger(tmp_path / "data" / "ledger.sqlite3"), watch)
    people.set_role("boss", Role.ADMIN, TESTER)
    admin = people.set_role("ann", Role.ADMIN, TESTER).to_actor(WayIn.CONSOLE)
    text = tokens.create(TokenRequest(name="ci", role=Role.ADMIN), admin)[1].plain
    assert tokens.authenticate(text).role is Role.ADMIN

    people.set_role("ann", Role.ENGINEER, TESTER)
    demoted = tokens.authenticate(text)
    people.revoke("ann", TESTER)

    assert demoted.actor == Actor("ci", frozenset({Role.VIEWER, Role.ENGINEER}), WayIn.API, token_id=demoted.token_id)
    with pytest.raises(TokenRefused, match="the access of ann was revoked"):
        tokens.authenticate(text)


def test_a_running_command_has_the_role_of_its_token_now(tokens: Tokens, watch: Hands, tmp_path: Path) -> None:
    people = People(Ledger(tmp_path / "data" / "ledger.sqlite3"), watch)
    people.set_role("boss", Role.ADMIN, TESTER)
    admin = people.set_role("ann", Role.ADMIN, TESTER).to_actor(WayIn.CONSOLE)
    token, _ = tokens.create(TokenRequest(name="ci", role=Role.ADMIN), admin)

    before = tokens.active(token.token_id).actor_by(WayIn.CLI)
    people.set_role("ann", Role.VIEWER, TESTER)
    demoted = tokens.active(token.token_id).actor_by(WayIn.CLI)
    tokens.revoke(token.token_id, TESTER)

    assert before == Actor("ci", frozenset(Role), WayIn.CLI, token_id=token.token_id)
    assert demoted == Actor("ci", frozenset({Role.VIEWER}), WayIn.CLI, token_id=token.token_id)
    for unknown in (token.token_id, "0" * 12):
        with pytest.raises(TokenRefused):
            tokens.active(unknown)


def test_a_use_is_stored_once_a_minute(tokens: Tokens, watch: Hands) -> None:
    _, text = tokens.create(TokenRequest(name="ci"), TESTER)

    used = []
    for seconds in (0, 59, 1):
        watch.now += timedelta(seconds=seconds)
        tokens.authenticate(text.plain)
        used.append(tokens.all()[0].last_used_at)

    assert used == [a.T0, a.T0, a.T0 + timedelta(minutes=1)]


def test_a_use_is_in_the_log_by_the_tokens_id(tokens: Tokens, caplog: pytest.LogCaptureFixture) -> None:
    token, text = tokens.create(TokenRequest(name="ci", role=Role.LEAD), TESTER)
    caplog.clear()
    caplog.set_level("INFO", "aisbench_core")

    tokens.authenticate(text.plain)

    assert caplog.messages == [f"token {token.token_id} of ci, role lead, was used"]
    assert text.secret not in caplog.text


def test_a_token_is_revoked_by_the_beginning_of_its_id_if_that_is_one(tokens: Tokens) -> None:
    created = [tokens.create(TokenRequest(name=f"ci-{number}"), TESTER)[0] for number in range(20)]

    assert tokens.revoke(created[3].token_id[:11], TESTER).name == "ci-3"
    for start in ("", "zz"):
        with pytest.raises(TokenNotFound):
            tokens.revoke(start, TESTER)
    assert sum(one.revoked_at is not None for one in tokens.all()) == 1


def test_a_wrong_request_names_its_fields() -> None:
    answers = {"name": "two words", "role": "boss", "days": MOST_DAYS + 1, "scope": "all"}

    with pytest.raises(SpecError) as caught:
        parse_document(TokenRequest, answers, Message("the token"))

    assert {problem.field for problem in caught.value.problems} == {"name", "role", "days", "scope"}


class TokenLives(RuleBasedStateMachine):
    """Tokens that are made, used and revoked in any order while time passes."""

    texts = Values("texts")

    @initialize()
    def open(self) -> None:
        self.folder = TemporaryDirectory()
        self.watch = Hands()
        self.tokens = tokens_in(Path(self.folder.name), self.watch)
        self.ends: dict[str, datetime] = {}
        self.revoked: set[str] = set()

    @rule(target=texts, days=st.integers(1, 5), role=st.sampled_from(Role))
    def create(self, days: int, role: Role) -> TokenText:
        token, text = self.tokens.create(TokenRequest(name="ci", role=role, days=days), TESTER)
        self.ends[token.token_id] = self.watch.now + timedelta(days=days)
        return text

    @rule(hours=st.integers(1, 60))
    def wait(self, hours: int) -> None:
        self.watch.now += timedelta(hours=hours)

    @rule(text=texts)
    def revoke(self, text: TokenText) -> None:
        self.tokens.revoke(text.token_id, TESTER)
        self.revoked.add(text.token_id)

    @rule(text=texts)
    def use(self, text: TokenText) -> None:
        is_good = text.token_id not in self.revoked and self.watch.now < self.ends[text.token_id]
        try:
            assert self.tokens.authenticate(text.plain).token_id == text.token_id
        except TokenRefused:
            assert not is_good
        else:
            assert is_good

    @rule(text=consumes(texts))
    def forget(self, text: TokenText) -> None:
        """The owner loses it: the list still has it."""
        assert text.token_id in {one.token_id for one in self.tokens.all()}

    @invariant()
    def list_is_whole(self) -> None:
        if not hasattr(self, "tokens"):
            return
        now = self.watch.now
        active = {one.token_id for one in self.tokens.all() if one.state(now) is TokenState.ACTIVE}
        assert active == {name for name, end in self.ends.items() if now < end and name not in self.revoked}

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestTokenLives = TokenLives.TestCase
TestTokenLives.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
