"""The token of a request, as its owner may see it."""

from dataclasses import dataclass
from datetime import datetime

from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import Role


@dataclass(frozen=True, slots=True)
class OwnToken:
    """Whose it is, what it may do, and until when."""

    token_id: str
    name: str
    role: Role
    read_only: bool
    expires_at: datetime


def show_token(call: ApiCall) -> OwnToken:
    """The token that the request carries."""
    token = call.token
    return OwnToken(token.token_id, token.name, token.role, token.read_only, token.expires_at)
