"""Makes, lists, revokes and checks tokens."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from aisbench_core.base.errors import AisbenchError, NotAllowed, SignedOut, TokenNotFound, TokenRefused
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.model import Actor, Clock, Grant, Role, WayIn
from aisbench_core.model.token import Token, TokenRequest, TokenState, TokenText
from aisbench_core.store.ledger.tokens import TokenLedger

LOG = logging.getLogger(__name__)

# Each use would be a write that waits for the disk, and would empty what pages have cached of the ledger.
USE_EVERY = timedelta(minutes=1)

REFUSED = Message("this token is not valid: it is misspelt, or belongs to another console")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of this console. Threads may share it. `role_of`: a person's role now, None for whom nobody knows.

    It raises SignedOut for somebody whose access was revoked. `require_name` raises SpecError for a name that no
    new token may have."""

    ledger: TokenLedger
    clock: Clock
    role_of: Callable[[str], Role | None]
    require_name: Callable[[str], None]

    @permitted
    def create(self, request: TokenRequest, actor: Actor) -> tuple[Token, TokenText]:
        """Store a new token. Its text is returned this once.

        Raises NotAllowed for other names and higher roles, SpecError for a name that nobody may have."""
        _require_own(request.name, request.role, actor)
        if request.name not in {actor.name, *(token.name for token in self.all())}:
            self.require_name(request.name)
        now, text = self.clock(), TokenText.new()
        expires_at = now + timedelta(days=request.days)
        token = Token(text.token_id, request.name, request.role, request.read_only, now, actor.name, expires_at)
        self.ledger.add(token, text.hash)
        log_change(actor, f"create token {token.token_id} of role {token.role} for {token.name}")
        return token, text

    def all(self) -> list[Token]:
        """Every token, the newest first."""
        return self.ledger.all()

    @permitted
    def visible(self, actor: Actor) -> list[Token]:
        """The tokens of one's own name, the newest first; all of them for an admin."""
        return [token for token in self.all() if token.name == actor.name or Role.ADMIN in actor.roles]

    @permitted
    def revoke(self, token_id: str, actor: Actor) -> Token:
        """End a token for good, by its id or a unique prefix of it; one that was revoked stays as it is.

        Raises TokenNotFound, and NotAllowed for other names and higher roles."""
        found = self.ledger.starting_with(token_id)
        if len(found) != 1:
            many = Message("several tokens start with {start!r}", start=token_id)
            none = Message("there is no token {start!r}", start=token_id)
            raise TokenNotFound(many if found else none, Message("`aisbench token list` lists them"))
        _require_own(found[0].name, found[0].role, actor)
        self.ledger.revoke(found[0].token_id, self.clock(), actor.name)
        log_change(actor, f"revoke token {found[0].token_id}")
        return self.ledger.starting_with(found[0].token_id)[0]

    def authenticate(self, text: str) -> Token:
        """The token of a text that a program sent, with the role that it has now.

        Raises TokenRefused, which says why only to who has the secret."""
        sent = TokenText.parse(text)
        stored = self.ledger.get(sent.token_id) if sent else None
        if sent is None or stored is None or not sent.matches(stored[1]):
            raise TokenRefused(REFUSED, Message("`aisbench token create` creates a new one"))
        token = self._as_now(stored[0])
        self._record_use(token)
        return token

    def active(self, token_id: str) -> Token:
        """The token of a command that is running, as `authenticate` returns it. Raises TokenRefused."""
        stored = self.ledger.get(token_id)
        if stored is None:
            raise TokenRefused(REFUSED, Message("`aisbench token create` creates a new one"))
        return self._as_now(stored[0])

    def find_actor(self, name: str, grant: Grant, hint: Message) -> Actor:
        """Who acts for somebody who asked for it earlier, in the least role of then and now.

        Raises NotAllowed if the token was revoked since, or somebody's access that it depends on."""
        token = self._find_granted(grant)
        try:
            role = self._find_least(grant.role, name, *([token.created_by] if token else []))
        except SignedOut as error:
            raise NotAllowed(error.message, hint) from None
        if token and token.revoked_at:
            revoked = Message("token {token_id} was revoked by {who}", token_id=token.token_id, who=token.revoked_by)
            raise NotAllowed(revoked, hint)
        return Actor(name, role.included, WayIn.FOLLOWER, token_id=grant.token_id)

    def require_unexpired(self, grant: Grant, hint: Message) -> None:
        """Raise NotAllowed if the token of a grant has expired."""
        token = self._find_granted(grant)
        if token and token.state(self.clock()) is TokenState.EXPIRED:
            day = f"{token.expires_at:%Y-%m-%d}"
            raise NotAllowed(Message("token {token_id} expired on {day}", token_id=token.token_id, day=day), hint)

    def _find_granted(self, grant: Grant) -> Token | None:
        stored = self.ledger.get(grant.token_id) if grant.token_id else None
        return stored[0] if stored else None

    def _as_now(self, token: Token) -> Token:
        self._require_active(token)
        return replace(token, role=self._role_now(token))

    def _role_now(self, token: Token) -> Role:
        """The least of its role and those that the person in whose name it acts and the one who made it have now."""
        try:
            return self._find_least(token.role, token.name, token.created_by)
        except SignedOut as error:
            raise TokenRefused(error.message, Message("ask an admin for access"), token.name) from None

    def _find_least(self, role: Role, *names: str) -> Role:
        """The least of a role and those of these people now. Raises SignedOut for one whose access was revoked."""
        roles = (self.role_of(name) for name in names)
        return min((role, *(known for known in roles if known)), key=list(Role).index)

    def _require_active(self, token: Token) -> None:
        hint = Message("`aisbench token create` creates a new one")
        match token.state(self.clock()):
            case TokenState.EXPIRED:
                expired = Message("this token expired on {day}", day=f"{token.expires_at:%Y-%m-%d}")
                raise TokenRefused(expired, hint, token.name)
            case TokenState.REVOKED:
                raise TokenRefused(Message("this token was revoked by {who}", who=token.revoked_by), hint, token.name)

    def _record_use(self, token: Token) -> None:
        now = self.clock()
        if token.last_used_at is None or now - token.last_used_at >= USE_EVERY:
            LOG.info("token %s of %s, role %s, was used", token.token_id, token.name, token.role)
            with suppress(AisbenchError):  # a full or read-only disk must not lock readers out
                self.ledger.use(token.token_id, now)


def _require_own(name: str, role: Role, actor: Actor) -> None:
    """What somebody launched is theirs by name, so only an admin may make a token that acts in another name."""
    if role not in actor.roles or actor.read_only or (name != actor.name and Role.ADMIN not in actor.roles):
        raise NotAllowed(
            Message(
                "{who} may not create or revoke a token of {name} with role {role}",
                who=actor.name,
                name=name,
                role=role,
            ),
            Message(
                "you may create and revoke tokens in your own name with at most your own role;"
                " an admin may create and revoke any"
            ),
        )
