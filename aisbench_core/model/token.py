"""A token: who it acts as, with which role, until when. Its text is shown once; only a hash of it is stored."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from aisbench_core.model import Actor, Frozen, Role, WayIn

DAYS = 90
MOST_DAYS = 366

# The prefix lets scanners of repositories recognise a token that was committed by mistake.
_TEXT = re.compile(r"aisb_(?P<id>[0-9a-f]{12})_(?P<secret>[A-Za-z0-9_-]{43})")


class TokenState(StrEnum):
    """Whether a token opens anything."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class TokenRequest(Frozen):
    """What a person chooses for a new token. `name` is recorded as the author of its changes."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,59}$")]
    role: Role = Role.VIEWER
    read_only: bool = False
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = DAYS


@dataclass(frozen=True, slots=True)
class Token:
    """A stored token. `read_only`: it reads what its role may read, and changes nothing."""

    token_id: str
    name: str
    role: Role
    read_only: bool
    created_at: datetime
    created_by: str
    expires_at: datetime
    revoked_at: datetime | None = None
    revoked_by: str = ""
    last_used_at: datetime | None = None

    def state(self, now: datetime) -> TokenState:
        """Whether it opens anything at this moment."""
        if self.revoked_at is not None:
            return TokenState.REVOKED
        return TokenState.ACTIVE if now < self.expires_at else TokenState.EXPIRED

    @property
    def actor(self) -> Actor:
        """Who acts with it through the API: its role, and those below."""
        return self.actor_by(WayIn.API)

    def actor_by(self, via: WayIn) -> Actor:
        """Who acts with it by another way in."""
        return Actor(self.name, self.role.included, via, self.read_only, self.token_id)


@dataclass(frozen=True, slots=True)
class TokenText:
    """The text that a program sends. Never stored, logged or printed, except once after it was made."""

    token_id: str
    secret: str

    @classmethod
    def new(cls) -> "TokenText":
        """A text that nobody can guess: 256 random bits."""
        return cls(secrets.token_hex(6), secrets.token_urlsafe(32))

    @classmethod
    def parse(cls, text: str) -> "TokenText | None":
        """The parts of a text; None for one that was never a token."""
        match = _TEXT.fullmatch(text)
        return cls(match["id"], match["secret"]) if match else None

    @property
    def plain(self) -> str:
        """What the owner keeps."""
        return f"aisb_{self.token_id}_{self.secret}"

    @property
    def hash(self) -> str:
        """What is stored. A fast hash is right here, as the secret is random and as long as the hash."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def matches(self, stored: str) -> bool:
        """Whether this is the text of the stored hash; how long it takes says nothing about the hash."""
        return hmac.compare_digest(self.hash, stored)

    def __repr__(self) -> str:
        """Without the secret: a repr ends in logs and tracebacks."""
        return f"TokenText({self.token_id!r})"
