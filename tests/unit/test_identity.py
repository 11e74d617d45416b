"""Who is let in behind a proxy: nobody whom the proxy itself did not name; and what each kind of sign-in needs."""

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Scope

from aisbench_core.base.clock import utc_now
from aisbench_core.base.errors import ConfigError
from aisbench_core.config.console_address import FORWARDED
from aisbench_core.config.credentials import find_client_secret
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access.audit_entry import Act
from aisbench_core.interfaces.web.identity import (
    HEALTH,
    REVOKED,
    IdentityMiddleware,
    ProxyIdentity,
    proxy_identity,
    require_complete,
)
from aisbench_core.people.accounts.sign_in_audit import SignInAudit

PROXY, ELSEWHERE = "10.0.0.2", "10.0.0.3"


def audit(recorded: list[Act] | None = None) -> SignInAudit:
    return SignInAudit((recorded if recorded is not None else []).append, utc_now)


def identity(recorded: list[Act] | None = None, **changes: Any) -> ProxyIdentity:
    settings = Settings(identity=Identity.PROXY, trusted_proxies=f"{PROXY}, fd00::/64", **changes)
    found = proxy_identity(settings, {FORWARDED: ""}, lambda name: REVOKED if name == "bob" else "", audit(recorded))
    assert found
    return found


def scope(client: str | None, *headers: tuple[str, str], path: str = "/runs", kind: str = "http") -> Scope:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    return {"type": kind, "path": path, "headers": raw, "client": (client, 50000) if client else None}


ANN = ("X-Forwarded-User", "ann")


def status_of(asked: Scope, chosen: ProxyIdentity | None = None) -> int | None:
    """The status of a refused request, 403 for a web socket; None for one that reaches the app."""
    sent: list[Message] = []

    async def app(*_: object) -> None:
        sent.append({"status": None})

    async def send(message: Message) -> None:
        sent.append(message)

    middleware = IdentityMiddleware(app, lambda: chosen or identity())
    asyncio.run(middleware({"method": "GET", **asked}, no_body, send))
    found: int | None = sent[0].get("status", 403)
    return found


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (scope(PROXY, ANN), None),
        (scope(f"::ffff:{PROXY}", ANN), None),
        (scope("fd00::7", ANN), None),
        (scope(ELSEWHERE, ANN), 403),
        (scope(ELSEWHERE, ANN, ("X-Forwarded-For", PROXY)), 403),
        (scope("127.0.0.1", ANN), 403),
        (scope("fd01::7", ANN), 403),
        (scope("unix", ANN), 403),
        (scope(None, ANN), 403),
        (scope(PROXY), 401),
        (scope(PROXY, ("X-Forwarded-User", " ")), 401),
        (scope(PROXY, ANN, ("X-Forwarded-User", "root")), 401),  # which of them said the proxy?
        (scope(PROXY, ("X-Forwarded-User", "bob")), 403),
        (scope(PROXY, ("X-Forwarded-User", " bob ")), 403),
        (scope(ELSEWHERE, path=HEALTH), None),
        (scope(ELSEWHERE, path=f"{HEALTH}/more"), 403),
        (scope(ELSEWHERE, path=HEALTH, kind="websocket"), 403),
        (scope(ELSEWHERE, path="/_stcore/stream", kind="websocket"), 403),
        (scope(ELSEWHERE, path="/_stcore/upload_file/a/b"), 403),
        (scope(ELSEWHERE, path="/tensorboard/token/"), 403),
    ],
)
def test_only_whom_the_proxy_names_is_let_in(asked: Scope, status: int | None) -> None:
    assert status_of(asked) == status


def test_the_header_is_a_setting() -> None:
    remote = identity(identity_user_header="Remote-User")

    assert status_of(scope(PROXY, ("Remote-User", "ann")), remote) is None
    assert status_of(scope(PROXY, ANN), remote) == 401


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_what_is_refused_does_not_reach_the_app(kind: str) -> None:
    reached: list[Scope] = []
    sent: list[Message] = []

    async def app(scope: Scope, *_: object) -> None:
        reached.append(scope)

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": f"{kind}.connect"}

    middleware = IdentityMiddleware(app, identity)
    asyncio.run(middleware(scope(ELSEWHERE, ANN, kind=kind), receive, send))
    asyncio.run(middleware({"type": "lifespan"}, receive, send))

    assert [one["type"] for one in reached] == ["lifespan"]
    assert sent[0]["type"] in ("http.response.start", "websocket.close")


def test_refused_addresses_and_revoked_people_are_in_the_audit_and_probes_are_not() -> None:
    recorded: list[Act] = []
    middleware = IdentityMiddleware(nothing, lambda: identity(recorded))

    for request in (scope(ELSEWHERE, ANN), scope(PROXY), scope(PROXY, ("X-Forwarded-User", "bob"))):
        asyncio.run(middleware({**request, "method": "GET"}, no_body, nothing))

    assert [(act.change, act.who, act.object, act.outcome) for act in recorded] == [
        ("session.sign_in", "", ELSEWHERE, "refused"),
        ("session.sign_in", "bob", PROXY, "refused"),
    ]


def test_a_refused_name_is_in_the_audit_as_it_is_read() -> None:
    recorded: list[Act] = []
    refusing = replace(identity(recorded), refuse_name=lambda _: REVOKED)

    assert status_of(scope(PROXY, ("X-Forwarded-User", "Mu\u0308ller")), refusing) == 403

    assert [act.who for act in recorded] == ["M\u00fcller"]


async def no_body() -> Message:
    return {"type": "http.request"}


async def nothing(*_: object) -> None:
    """Nobody is reached, and nobody reads the answer."""


def test_without_sign_in_nobody_is_asked() -> None:
    assert proxy_identity(Settings(), {}, lambda _: REVOKED, audit()) is None


def test_a_proxy_has_to_be_named() -> None:
    with pytest.raises(ConfigError, match="trusted_proxies"):
        require_complete(Settings(identity=Identity.PROXY), "127.0.0.1")


@pytest.mark.parametrize(
    ("address", "changes", "missing"),
    [
        ("127.0.0.1", {"oidc_client_id": ""}, "oidc_issuer and oidc_client_id"),
        ("127.0.0.1", {"oidc_issuer": ""}, "oidc_issuer and oidc_client_id"),
        ("127.0.0.1", {}, None),
        ("10.0.0.9", {}, "a public_url with https"),
        ("10.0.0.9", {"public_url": "http://bench.example.com"}, "a public_url with https"),
        ("10.0.0.9", {"public_url": "https://bench.example.com"}, None),
    ],
)
def test_a_provider_has_to_be_known_and_a_network_needs_tls(
    address: str, changes: dict[str, Any], missing: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AISBENCH_OIDC_CLIENT_SECRET", "s")
    known = {"oidc_issuer": "https://id.example.org", "oidc_client_id": "aisbench"}
    settings = Settings(identity=Identity.OIDC, **known | changes)

    with pytest.raises(ConfigError, match=missing) if missing else nullcontext():
        require_complete(settings, address)


def test_the_client_secret_is_in_the_environment_or_in_a_private_file(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with pytest.raises(ConfigError, match="client secret"):
        find_client_secret(settings, {})
    settings.credentials_path.write_text("oidc:\n  client_secret: in-the-file\n", "utf-8")
    settings.credentials_path.chmod(0o644)
    with pytest.raises(ConfigError, match="can be read by others"):
        find_client_secret(settings, {})
    settings.credentials_path.chmod(0o600)

    assert find_client_secret(settings, {}).get_secret_value() == "in-the-file"
    assert find_client_secret(settings, {"AISBENCH_OIDC_CLIENT_SECRET": "s"}).get_secret_value() == "s"
    assert "in-the-file" not in repr(find_client_secret(settings, {}))


@pytest.mark.parametrize("variables", [{}, {FORWARDED: "*"}, {FORWARDED: "127.0.0.1"}])
def test_uvicorn_must_not_replace_addresses_by_headers(variables: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="FORWARDED_ALLOW_IPS"):
        proxy_identity(Settings(identity=Identity.PROXY, trusted_proxies=PROXY), variables, lambda _: "", audit())
