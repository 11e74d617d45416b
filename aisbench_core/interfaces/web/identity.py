"""Lets nobody in whom the reverse proxy does not name: its headers count from named addresses only.

Every request is checked, before Streamlit and the console's own endpoints get it. Whoever connects from elsewhere is
refused, whatever headers are sent, so that nobody can pose as somebody.
"""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.config.console_address import FORWARDED, is_loopback
from aisbench_core.config.credentials import find_client_secret
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.web.ledger_checks import LedgerCheck
from aisbench_core.interfaces.web.plain_page import answer_later
from aisbench_core.interfaces.web.refusing import Refusal, address_of, send_refusal
from aisbench_core.people.accounts.names import compose_name, decode_header
from aisbench_core.people.accounts.people import OTHER_NAME, People
from aisbench_core.people.accounts.sign_in_audit import SignInAudit

HEALTH = "/_stcore/health"
LOOPBACK = tuple(map(ipaddress.ip_network, ("127.0.0.0/8", "::1/128")))

NOT_THE_PROXY = Message("The console answers only through its proxy (trusted_proxies in docs/settings.md).")
NO_NAME = Message("The proxy sent no user name: sign in there.")
REVOKED = Message("Your access to this console was revoked. Ask an admin.")


def is_health(scope: Scope) -> bool:
    """Whether a request is answered without sign-in, as the answer only says "ok". Those of programs come before."""
    return bool(scope["type"] == "http" and scope["path"] == HEALTH)


@dataclass(frozen=True)
class ProxyIdentity:
    """Whom a request is from. `refuse_name`: why somebody of this name is not let in; empty for everybody else."""

    proxies: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]
    user_header: str
    refuse_name: Callable[[str], str]
    audit: SignInAudit
    language: str

    def refusal(self, scope: Scope) -> Refusal | None:
        """HTTP status and message for a request that names nobody, or comes from elsewhere; else None."""
        client = scope.get("client")
        if not client or not self._is_proxy(client[0]):
            return 403, NOT_THE_PROXY
        return None if self.name(scope) else (401, NO_NAME)

    def name(self, scope: Scope) -> str:
        """Whom the request names; empty if that is nobody, or not clear."""
        names = Headers(scope=scope).getlist(self.user_header)
        return names[0].strip() if len(names) == 1 else ""

    def record(self, refusal: Refusal, request: HTTPConnection) -> None:
        """Write a refusal to the audit, unless nobody was named: probes name nobody."""
        status, message = refusal
        if status == HTTPStatus.FORBIDDEN:
            who = compose_name(decode_header(self.name(request.scope))) if message != NOT_THE_PROXY else ""
            self.audit.record_refusal(message, address_of(request), who)

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return any((mapped or address) in network for network in self.proxies)


def require_complete(settings: Settings, address: str) -> None:
    """Raise ConfigError if the settings lack what their sign-in needs on a console that listens on this address."""
    if settings.identity is Identity.PROXY and not settings.proxy_networks:
        raise ConfigError(
            Message("identity: proxy needs trusted_proxies: the addresses from which the proxy connects"),
            Message("name them in the settings, such as trusted_proxies: 10.0.0.2"),
        )
    if settings.identity is Identity.OIDC:
        _require_registration(settings)
        _require_tls(settings, address)


def require_remote_proxy(settings: Settings) -> None:
    """Raise ConfigError if programs of this machine, such as jobs of a sandbox, could pose as the proxy."""
    if settings.identity is not Identity.PROXY:
        return
    for network in settings.proxy_networks:
        if any(network.version == own.version and network.overlaps(own) for own in LOOPBACK):
            raise ConfigError(
                Message(
                    "trusted_proxies has {network}: jobs of the sandbox run on this machine, and could sign in as"
                    " anybody",
                    network=network,
                ),
                Message("run the sandbox on another machine, or set identity: oidc"),
            )


def _require_registration(settings: Settings) -> None:
    if not settings.oidc_issuer or not settings.oidc_client_id:
        raise ConfigError(
            Message("identity: oidc needs oidc_issuer and oidc_client_id"),
            Message("the provider says both when the console is registered there"),
        )
    find_client_secret(settings)


def _require_tls(settings: Settings, address: str) -> None:
    """The id of a session must not cross a network without TLS."""
    if not is_loopback(address) and not settings.public_url.startswith("https://"):
        raise ConfigError(
            Message("identity: oidc needs a public_url with https to listen on {address}", address=address),
            Message("put a proxy with TLS before the console (docs/deploy.md), or listen on 127.0.0.1"),
        )


def proxy_identity(
    settings: Settings, variables: Mapping[str, str], refuse_name: Callable[[str], str], audit: SignInAudit
) -> ProxyIdentity | None:
    """The identity that the settings ask for; None for a console without a proxy that signs people in.

    Raises ConfigError if uvicorn would replace the address of a connection by what it says."""
    if settings.identity is not Identity.PROXY:
        return None
    if variables.get(FORWARDED) != "":
        raise ConfigError(
            Message("with identity: proxy, {variable} must be set, and empty", variable=FORWARDED),
            Message("start the console with `aisbench serve`, which sets it"),
        )
    return ProxyIdentity(settings.proxy_networks, settings.identity_user_header, refuse_name, audit, settings.language)


class IdentityMiddleware:
    """Answers refused requests, and passes others to the app."""

    def __init__(self, app: ASGIApp, create_identity: Callable[[], ProxyIdentity | None]) -> None:
        self._app = app
        self._create_identity = create_identity

    @cached_property
    def _identity(self) -> ProxyIdentity | None:
        return self._create_identity()

    @cached_property
    def _refuse_name(self) -> LedgerCheck[str]:
        return LedgerCheck(lambda name: self._identity.refuse_name(name) if self._identity else "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or pass a request; a web socket is refused before it is accepted."""
        identity = self._identity
        if scope["type"] not in ("http", "websocket") or identity is None or is_health(scope):
            await self._app(scope, receive, send)
            return
        try:
            refusal = identity.refusal(scope) or await self._refusal_of(identity.name(scope))
        except AisbenchError as error:
            await answer_later(error, identity.language, scope, receive, send)
            return
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await run_in_threadpool(identity.record, refusal, HTTPConnection(scope))
            await send_refusal(refusal, scope, receive, send, identity.language)

    async def _refusal_of(self, name: str) -> Refusal | None:
        message = await self._refuse_name.answer(name)
        return (403, message) if message else None


def refuse_name(people: People, header: str) -> str:
    """Why somebody whom a proxy names is not let in; empty for everybody else."""
    name = people.named_by(header)
    if person := people.find(name):
        return REVOKED if person.revoked else ""
    problem = people.name_problem(name)
    return Message("{message} ({hint})", message=problem.message, hint=problem.hint or OTHER_NAME) if problem else ""
