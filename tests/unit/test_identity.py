"""Who is let in behind a proxy: nobody whom the proxy itself did not name."""

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Scope

from aisbench_core.access.identity import Identity
from aisbench_core.errors import ConfigError
from aisbench_core.settings import Settings
from aisbench_core.web.addresses import FORWARDED
from aisbench_core.web.identity import HEALTH, IdentityMiddleware, ProxyIdentity, proxy_identity

PROXY, ELSEWHERE = "10.0.0.2", "10.0.0.3"


def identity(**changes: Any) -> ProxyIdentity:
    settings = Settings(identity=Identity.PROXY, trusted_proxies=f"{PROXY}, fd00::/64", **changes)
    found = proxy_identity(settings, {FORWARDED: ""}, {"bob"}.__contains__)
    assert found
    return found


def scope(client: str | None, *headers: tuple[str, str], path: str = "/runs", kind: str = "http") -> Scope:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    return {"type": kind, "path": path, "headers": raw, "client": (client, 50000) if client else None}


ANN = ("X-Forwarded-User", "ann")


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
        (scope(ELSEWHERE, path="/_stcore/stream", kind="websocket"), 403),
        (scope(ELSEWHERE, path="/_stcore/upload_file/a/b"), 403),
        (scope(ELSEWHERE, path="/tensorboard/token/"), 403),
    ],
)
def test_only_whom_the_proxy_names_is_let_in(asked: Scope, status: int | None) -> None:
    refusal = identity().refusal(asked)

    assert (refusal and refusal[0]) == status


def test_the_header_is_a_setting() -> None:
    remote = identity(identity_user_header="Remote-User")

    assert remote.refusal(scope(PROXY, ("Remote-User", "ann"))) is None
    assert remote.refusal(scope(PROXY, ANN)) is not None


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


def test_without_sign_in_nobody_is_asked() -> None:
    assert proxy_identity(Settings(), {}, lambda _: True) is None


def test_a_proxy_has_to_be_named() -> None:
    with pytest.raises(ConfigError, match="trusted_proxies"):
        proxy_identity(Settings(identity=Identity.PROXY), {FORWARDED: ""}, lambda _: False)


@pytest.mark.parametrize("variables", [{}, {FORWARDED: "*"}, {FORWARDED: "127.0.0.1"}])
def test_uvicorn_must_not_replace_addresses_by_headers(variables: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="FORWARDED_ALLOW_IPS"):
        proxy_identity(Settings(identity=Identity.PROXY, trusted_proxies=PROXY), variables, lambda _: False)
