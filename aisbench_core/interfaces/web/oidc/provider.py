"""An OpenID Connect provider over HTTP: what it says of itself, and whom it has signed in."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from joserfc.errors import InvalidKeyIdError, JoseError, MissingKeyError
from joserfc.jwk import Key, KeySet
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from aisbench_core.base.errors import SignInFailed
from aisbench_core.base.messages import Message
from aisbench_core.config.identity import ISSUER
from aisbench_core.interfaces.web.oidc.attempt import SignInAttempt
from aisbench_core.interfaces.web.oidc.id_token import SKEW_SECONDS, Expected, claims_of, refusal_of
from aisbench_core.interfaces.web.oidc.strength import Strength

LOG = logging.getLogger(__name__)

SECONDS = 10.0
METADATA_SECONDS = 3600.0
METADATA = "/.well-known/openid-configuration"

_AGAIN = Message("sign in again; if that does not help, tell an admin")
_BAD_CLIENT = ("invalid_client", "unauthorized_client")

Address = Annotated[str, Field(min_length=1, pattern=ISSUER.replace("?#", ""))]


class Metadata(BaseModel):
    """What the console needs of what a provider says of itself."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    issuer: str
    authorization_endpoint: Address
    token_endpoint: Address
    jwks_uri: Address
    userinfo_endpoint: Address | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    id_token_signing_alg_values_supported: tuple[str, ...] = ("RS256",)

    @property
    def auth_method(self) -> str:
        """How the console shows its secret: in a header, unless the provider only takes it in the form."""
        methods = self.token_endpoint_auth_methods_supported
        post = "client_secret_post"
        return post if post in methods and "client_secret_basic" not in methods else "client_secret_basic"


ANY = Strength()


@dataclass(frozen=True, slots=True)
class Registration:
    """What the console is to the provider."""

    issuer: str
    client_id: str
    secret: SecretStr
    scopes: str
    strength: Strength = ANY


class Provider:
    """One provider. Threads may share it: what two of them fetch at once is the same."""

    def __init__(self, registration: Registration) -> None:
        self._registration = registration
        self._metadata: tuple[float, Metadata] | None = None
        self._keys: KeySet | None = None

    @property
    def name(self) -> str:
        """The provider's host, as people read it."""
        return urlsplit(self._registration.issuer).netloc

    def address(self, attempt: SignInAttempt, callback: str, language: str) -> str:
        """Where the browser has to go. Raises SignInFailed if the provider does not answer."""
        again = {"prompt": "login", "max_age": 0} if attempt.again else {}
        with self._open_session(callback) as session:
            address, _ = session.create_authorization_url(
                self.metadata().authorization_endpoint,
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
                ui_locales=language,
                **again,
                **self._registration.strength.requested,
            )
        return str(address)

    def claims(self, code: str, attempt: SignInAttempt, callback: str, *wanted: str) -> Mapping[str, Any]:
        """What the provider says of whom it signed in. Raises SignInFailed.

        `wanted`: claims that are asked for at another endpoint if the ID token does not hold them."""
        token = self._fetch_token(code, attempt, callback)
        try:
            claims = self._check_claims(token, attempt)
        except JoseError as error:
            raise refusal_of(error) from None
        _require_fresh(claims, attempt)
        self._registration.strength.require(claims)  # of the signed ID token only
        if all(name in claims for name in wanted):
            return claims
        return {**self._user_info(token, str(claims["sub"])), **claims}

    def metadata(self) -> Metadata:
        """What the provider says of itself; asked for once an hour. Raises SignInFailed."""
        found = self._metadata
        if found is None or time.monotonic() - found[0] > METADATA_SECONDS:
            self._metadata = found = (time.monotonic(), self._fetched_metadata())
        return found[1]

    def _fetched_metadata(self) -> Metadata:
        issuer = self._registration.issuer
        try:
            found = Metadata.model_validate(self._fetch_document(issuer.rstrip("/") + METADATA))
        except ValidationError:
            found = None
        if found is None or found.issuer != issuer:
            raise SignInFailed(
                Message(
                    "the metadata of {provider} does not name the issuer {issuer}", provider=self.name, issuer=issuer
                ),
                Message("ask an admin to correct oidc_issuer and restart the console"),
            )
        return found

    def _fetch_token(self, code: str, attempt: SignInAttempt, callback: str) -> Mapping[str, Any]:
        """The tokens for a code. Raises SignInFailed."""
        with self._open_session(callback) as session:
            try:
                token: Mapping[str, Any] = session.fetch_token(
                    self.metadata().token_endpoint,
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=attempt.verifier,
                    allow_redirects=False,
                )
            except OAuthError as error:
                raise self._make_refusal(error.error) from None
            except (requests.RequestException, ValueError) as error:
                raise self._make_silence_error(error) from None
        return token

    def _check_claims(self, token: Mapping[str, Any], attempt: SignInAttempt) -> Mapping[str, Any]:
        algorithms = self.metadata().id_token_signing_alg_values_supported
        access = str(token.get("access_token", ""))
        expected = Expected(self._registration.issuer, self._registration.client_id, attempt.nonce, access, algorithms)
        id_token = str(token.get("id_token", ""))
        try:
            return claims_of(id_token, self._key_set(renewed=False), expected)
        except InvalidKeyIdError:  # the provider has new keys
            return claims_of(id_token, self._key_set(renewed=True), expected)

    def _key_set(self, *, renewed: bool) -> KeySet:
        keys = None if renewed else self._keys
        self._keys = keys = keys or _keys_in(self._fetch_document(self.metadata().jwks_uri))
        return keys

    def _user_info(self, token: Mapping[str, Any], subject: str) -> Mapping[str, Any]:
        """What another endpoint says of the same person; nothing without one."""
        endpoint = self.metadata().userinfo_endpoint
        if endpoint is None:
            return {}
        found = self._fetch_document(endpoint, {"Authorization": f"Bearer {token.get('access_token', '')}"})
        if found.get("sub") != subject:
            raise SignInFailed(
                Message("{provider} returned two different users in one sign-in", provider=self.name), _AGAIN
            )
        return found

    def _fetch_document(self, address: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """A document of the provider's. Raises SignInFailed."""
        try:
            with requests.get(address, headers=headers, timeout=SECONDS, allow_redirects=False) as answer:
                answer.raise_for_status()
                found = answer.json()
        except (requests.RequestException, ValueError) as error:
            raise self._make_silence_error(error) from None
        return found if isinstance(found, dict) else {}

    def _open_session(self, callback: str) -> OAuth2Session:
        metadata, known = self.metadata(), self._registration
        return OAuth2Session(
            known.client_id,
            known.secret.get_secret_value(),
            token_endpoint_auth_method=metadata.auth_method,
            scope=known.scopes,
            redirect_uri=callback,
            code_challenge_method="S256",
            default_timeout=SECONDS,
        )

    def _make_refusal(self, code: str) -> SignInFailed:
        if code in _BAD_CLIENT:
            return SignInFailed(
                Message("{provider} does not accept the console's client id and secret", provider=self.name),
                Message(
                    "ask an admin to correct oidc_client_id and AISBENCH_OIDC_CLIENT_SECRET and restart the console"
                ),
            )
        return SignInFailed(
            Message("{provider} did not complete the sign-in: {why}", provider=self.name, why=str(code)[:60]), _AGAIN
        )

    def _make_silence_error(self, error: Exception) -> SignInFailed:
        LOG.warning("no usable answer from %s: %s", self.name, type(error).__name__)  # its text may hold a token
        return SignInFailed(
            Message("unexpected answer from the identity provider {provider}", provider=self.name),
            Message("try again in a minute; people who are signed in are not affected"),
        )


def _keys_in(document: Mapping[str, Any]) -> KeySet:
    """All that can be used: one of a new kind must not keep everybody out. Raises JoseError without any."""
    listed = document.get("keys")
    found = [key for each in (listed if isinstance(listed, list) else []) for key in _import_key(each)]
    if not found:
        raise MissingKeyError
    return KeySet(found)


def _import_key(described: Any) -> Sequence[Key]:
    try:
        return KeySet.import_key_set({"keys": [described]}).keys
    except (JoseError, AttributeError, LookupError, TypeError, ValueError) as error:  # also of the libraries below
        LOG.warning("a key of the provider cannot be used: %s", type(error).__name__)
        return ()


def _require_fresh(claims: Mapping[str, Any], attempt: SignInAttempt) -> None:
    """Refuse a password of earlier where one of now was asked for; providers that do not say when are believed."""
    at = claims.get("auth_time")
    if attempt.again and isinstance(at, int | float) and at < attempt.began_at - SKEW_SECONDS:
        raise SignInFailed(Message("your session has ended, and the provider did not authenticate you again"), _AGAIN)
