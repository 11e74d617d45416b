"""Whom the claims of a provider name."""

from collections.abc import Mapping
from typing import Any

from aisbench_core.base.errors import SignInFailed
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Settings
from aisbench_core.people.accounts.identities import Account

LONGEST_SUBJECT = 255
EMAIL = "email"


def account_of(claims: Mapping[str, Any], settings: Settings) -> Account:
    """The account that the claims name, with its groups. Raises SignInFailed."""
    name = claims.get(settings.oidc_name_claim)
    if not isinstance(name, str) or not name.strip():
        raise SignInFailed(
            Message(
                "the provider does not say who you are: the claim {claim} is missing", claim=settings.oidc_name_claim
            ),
            Message("ask an admin to set another oidc_name_claim, or to have the provider send this one"),
        )
    if settings.oidc_name_claim == EMAIL and claims.get("email_verified") is not True:
        raise SignInFailed(
            Message("the provider has not verified your e-mail address, so it cannot be your name here"),
            Message("verify it at the provider, then sign in again"),
        )
    return Account(
        settings.oidc_issuer, str(claims["sub"])[:LONGEST_SUBJECT], name.strip(), _read_groups(claims, settings)
    )


def _read_groups(claims: Mapping[str, Any], settings: Settings) -> tuple[str, ...]:
    found = claims.get(settings.oidc_groups_claim, ())
    named = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return tuple(group for group in named if isinstance(group, str))
