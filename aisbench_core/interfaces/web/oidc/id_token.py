"""Checks ID tokens: the provider's signature, for this console, for this sign-in, now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from aisbench_core.base.errors import SignInFailed
from aisbench_core.base.messages import Message

# Signatures with a key pair only: whoever knows the client secret could forge the others.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
SKEW_SECONDS = 60
_OF_CLOCKS = ("exp", "iat", "nbf")


@dataclass(frozen=True, slots=True)
class Expected:
    """What a token has to say."""

    issuer: str
    client_id: str
    nonce: str
    access_token: str
    algorithms: Sequence[str]


def claims_of(id_token: str, keys: KeySet, expected: Expected) -> Mapping[str, Any]:
    """The claims of a token. Raises SignInFailed, or InvalidKeyIdError if it was signed with a key not among these."""
    allowed = [name for name in ALGORITHMS if name in expected.algorithms]
    token = jwt.decode(id_token, keys, registry=JWSRegistry(algorithms=allowed, strict_check_header=False))
    options = {
        "iss": {"essential": True, "value": expected.issuer},
        "aud": {"essential": True, "value": expected.client_id},
        "sub": {"essential": True},
    }
    values = {"nonce": expected.nonce, "client_id": expected.client_id, "access_token": expected.access_token}
    claims = CodeIDToken(token.claims, token.header, options, values)
    claims.validate(leeway=SKEW_SECONDS)
    return {**claims}


def refusal_of(error: JoseError) -> SignInFailed:
    """Why a token is not accepted, without its content."""
    claim = getattr(error, "claim", "")
    if claim in _OF_CLOCKS:
        return SignInFailed(
            Message("the provider's ID token is not valid at this time: its clock and the console's differ"),
            Message("set both clocks by NTP, then sign in again"),
        )
    return SignInFailed(
        Message("the provider's ID token cannot be trusted: {why}", why=" ".join(filter(None, [error.error, claim]))),
        Message("sign in again; data/console.log has the details"),
    )
