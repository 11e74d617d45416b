"""Lets nobody in whom the OpenID Connect provider has not signed in, to pages, web sockets, files or TensorBoard.

Streamlit's own `st.login` is not used: its pages and web sockets would have to be open to everybody, its cookie says
for 30 days who somebody is, whatever has ended here, it forgets the page that was asked for, and it hides errors.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.base.errors import AisbenchError, DamagedLedger, LedgerUnavailable, SignedOut, SignInFailed
from aisbench_core.base.messages import Message
from aisbench_core.config.credentials import find_client_secret
from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.web.identity import REVOKED, is_health
from aisbench_core.interfaces.web.ledger_checks import LedgerCheck, no_ledger
from aisbench_core.interfaces.web.oidc.account import account_of
from aisbench_core.interfaces.web.oidc.attempt import MOST_SECONDS, Attempts, SignInAttempt, own_page
from aisbench_core.interfaces.web.oidc.page import SIGN_IN, sign_in_page
from aisbench_core.interfaces.web.oidc.session_cookie import is_secure, session_cookie, session_id_of
from aisbench_core.interfaces.web.oidc.strength import Strength
from aisbench_core.interfaces.web.plain_page import answer_later, language_of, wants_page
from aisbench_core.interfaces.web.refusing import address_of, send_refusal
from aisbench_core.people.accounts.browsers import browser_of
from aisbench_core.people.accounts.identities import Account
from aisbench_core.people.accounts.sign_in_audit import SignInAudit
from aisbench_core.people.accounts.sign_ins import SignIns, Visitor, Whose

if TYPE_CHECKING:
    from aisbench_core.interfaces.web.oidc.provider import Provider

LOG = logging.getLogger(__name__)

CALLBACK = "/oauth2callback"
ATTEMPT = "aisbench_sign_in"
_ERROR = re.compile(r"[a-z_]{1,40}")
# A provider that is silent keeps as many threads as this waiting, and no upload or page with them.
AT_ONCE = 8
NOBODY = "Sign in to the console first."


@dataclass(frozen=True)
class SignInDoor:
    """Begins and completes sign-ins, and knows whose request is whose."""

    settings: Settings
    provider: "Provider"
    sign_ins: SignIns
    audit: SignInAudit
    attempts: Attempts = field(default_factory=Attempts)
    at_once: BoundedSemaphore = field(default_factory=partial(BoundedSemaphore, AT_ONCE))

    def answer(self, request: HTTPConnection) -> Response:
        """The response at one of the two addresses of a sign-in."""
        if not self.at_once.acquire(blocking=False):
            busy = SignInFailed(Message("too many people are signing in right now"), Message("try again in a minute"))
            return self._show_failure(request, "/", busy, HTTPStatus.SERVICE_UNAVAILABLE)
        try:
            return self._begin_sign_in(request) if request.url.path == SIGN_IN else self._complete_sign_in(request)
        except (LedgerUnavailable, DamagedLedger) as error:  # the cause can name hosts and accounts
            LOG.warning("nobody can sign in: %s", error)
            return self._show_page(request, "/", no_ledger(), HTTPStatus.SERVICE_UNAVAILABLE)
        finally:
            self.at_once.release()

    def refuse_entry(self, request: HTTPConnection, *, is_revoked: bool) -> Response:
        """What is shown at any address of pages to whoever is not signed in."""
        page = _page_of(request.scope)
        if is_revoked:
            error = SignedOut(Message("your access to this console was revoked"), Message("ask an admin"))
            return self._show_page(request, page, error, HTTPStatus.FORBIDDEN)
        ended = SignedOut(Message("you are signed out")) if session_id_of(request) else None
        return self._show_page(request, page, ended, HTTPStatus.UNAUTHORIZED)

    def _show_page(self, request: HTTPConnection, page: str, error: AisbenchError | None, status: int) -> Response:
        language = self.settings.language
        return sign_in_page(request, page, language, provider=self.provider.name, error=error, status=status)

    def _begin_sign_in(self, request: HTTPConnection) -> Response:
        page, earlier = own_page(request.query_params.get("page", "/")), session_id_of(request)
        again = bool(earlier) and not self.sign_ins.whose(earlier).name
        attempt = SignInAttempt.begin(page, again=again)
        language = language_of(_query_of(page), request.headers, self.settings.language)
        try:
            address = self.provider.address(attempt, _build_callback(request), "zh-CN" if language == "zh" else "en")
        except AisbenchError as error:
            return self._show_failure(request, page, error, HTTPStatus.BAD_GATEWAY)
        response = RedirectResponse(address, HTTPStatus.SEE_OTHER)
        self._set_cookie(
            response, request, ATTEMPT + _to_suffix(attempt.state), self.attempts.text_of(attempt), MOST_SECONDS
        )
        return response

    def _complete_sign_in(self, request: HTTPConnection) -> Response:
        state = request.query_params.get("state", "")
        cookie = _cookie_name(request, ATTEMPT + _to_suffix(state))
        attempt = self.attempts.read(request.cookies.get(cookie, ""), state)
        page = attempt.page if attempt else "/"
        try:
            session = self._begin_session(request, attempt)
        except (LedgerUnavailable, DamagedLedger):
            raise
        except AisbenchError as error:
            response = self._show_failure(request, page, error, HTTPStatus.FORBIDDEN)
        else:
            response = RedirectResponse(page, HTTPStatus.SEE_OTHER)
            response.headers.append("Set-Cookie", session_cookie(request, session))
        self._set_cookie(response, request, ATTEMPT + _to_suffix(state), "", 0)
        return response

    def _begin_session(self, request: HTTPConnection, attempt: SignInAttempt | None) -> str:
        """The id of a new session. Raises AisbenchError."""
        try:
            account = self._find_account(request, attempt)
        except AisbenchError as error:
            self.audit.record_refusal(str(error.message), address_of(request))
            raise
        return self.sign_ins.begin(account, session_id_of(request), _to_visitor(request))

    def _find_account(self, request: HTTPConnection, attempt: SignInAttempt | None) -> Account:
        """Whom the provider signed in. Raises AisbenchError."""
        _require_consent(request)
        if attempt is None:
            raise SignInFailed(
                Message(
                    "this sign-in was started in another browser, was completed before, or took more than ten minutes"
                ),
                Message("sign in from this page"),
            )
        _require_code(request, self.settings.oidc_issuer)
        wanted = (self.settings.oidc_name_claim, self.settings.oidc_groups_claim)
        claims = self.provider.claims(request.query_params.get("code", ""), attempt, _build_callback(request), *wanted)
        return account_of(claims, self.settings)

    def _show_failure(self, request: HTTPConnection, page: str, error: AisbenchError, status: int) -> Response:
        LOG.warning("a sign-in failed: %s", error.message)
        return self._show_page(request, page, error, status)

    def _set_cookie(self, response: Response, request: HTTPConnection, name: str, value: str, seconds: int) -> None:
        response.set_cookie(
            _cookie_name(request, name),
            value,
            max_age=seconds,
            secure=is_secure(request),
            httponly=True,
            samesite="lax",
        )


def open_door(settings: Settings, sign_ins: SignIns, audit: SignInAudit) -> SignInDoor:
    """The door that the settings describe. Raises ConfigError without a client secret."""
    from aisbench_core.interfaces.web.oidc.provider import (  # half a second, for those who need it
        Provider,
        Registration,
    )

    secret = find_client_secret(settings)
    registration = Registration(
        settings.oidc_issuer, settings.oidc_client_id, secret, settings.oidc_scopes, strength_of(settings)
    )
    return SignInDoor(settings, Provider(registration), sign_ins, audit)


def strength_of(settings: Settings) -> Strength:
    """What the settings ask of a sign-in."""
    return Strength(settings.oidc_acr_values.split(), settings.oidc_amr_values.split())


class SignInMiddleware:
    """Answers requests without a session, and passes others to the app. Without `identity: oidc` it passes all."""

    def __init__(self, app: ASGIApp, create_door: Callable[[], SignInDoor | None]) -> None:
        self._app = app
        self._create_door = create_door

    @cached_property
    def _door(self) -> SignInDoor | None:
        return self._create_door()

    @cached_property
    def _whose(self) -> LedgerCheck[Whose]:
        return LedgerCheck(lambda session_id: self._door.sign_ins.whose(session_id) if self._door else Whose())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or pass a request; a web socket is refused before it is accepted."""
        if scope["type"] not in ("http", "websocket") or self._door is None or is_health(scope):
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        if scope["type"] == "http" and scope["path"] in (SIGN_IN, CALLBACK):
            response = await run_in_threadpool(self._door.answer, request)
            await response(scope, receive, send)
            return
        try:
            whose = await self._whose.answer(session_id_of(request))
        except AisbenchError as error:
            await answer_later(error, self._door.settings.language, scope, receive, send)
            return
        if whose.name:
            await self._app(scope, receive, send)
        elif wants_page(scope):
            await self._door.refuse_entry(request, is_revoked=whose.is_revoked)(scope, receive, send)
        else:
            await send_refusal((403, REVOKED) if whose.is_revoked else (401, NOBODY), scope, receive, send)


def _require_consent(request: HTTPConnection) -> None:
    """Raise SignInFailed if the provider says that it does not sign the person in."""
    error = request.query_params.get("error")
    if error == "access_denied":
        raise SignInFailed(
            Message("access was denied at the provider"),
            Message("sign in again, and agree there; if you cannot, ask an admin of the provider"),
        )
    if error is not None:
        why = error if _ERROR.fullmatch(error) else Message("an unknown error")  # an address can say anything
        raise SignInFailed(Message("the provider refused the sign-in: {why}", why=why), Message("sign in again"))


def _require_code(request: HTTPConnection, issuer: str) -> None:
    """Raise SignInFailed for the answer of another provider, and for none."""
    if request.query_params.get("iss", issuer) != issuer or not request.query_params.get("code"):
        raise SignInFailed(
            Message("this answer does not come from the provider {issuer}", issuer=issuer), Message("sign in again")
        )


def _to_visitor(request: HTTPConnection) -> Visitor:
    return Visitor(address_of(request), browser_of(request.headers.get("user-agent", "")))


def _build_callback(request: HTTPConnection) -> str:
    """Where the provider sends the browser: to this console, under the name that it was asked by, which was checked."""
    return f"{request.url.scheme}://{request.url.netloc}{CALLBACK}"


def _page_of(scope: Scope) -> str:
    path = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
    query = scope.get("query_string", b"")
    return own_page((path + (b"?" + query if query else b"")).decode("latin-1"))


def _query_of(page: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(urlsplit(page).query).items()}


def _to_suffix(state: str) -> str:
    """Tells sign-ins apart that one browser has under way; letters that are allowed in a cookie's name."""
    return "_" + "".join(letter for letter in state[:12] if letter.isalnum() and letter.isascii())


def _cookie_name(request: HTTPConnection, name: str) -> str:
    return f"__Host-{name}" if is_secure(request) else name
