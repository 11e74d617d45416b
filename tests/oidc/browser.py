"""A browser without a window: asks an ASGI app, and keeps its cookies."""

import asyncio
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.types import ASGIApp, Message

from tests.oidc.own_provider import CODE, OwnProvider

HOST = "127.0.0.1:8501"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; a web socket that was refused has the status 403."""

    status: int
    headers: list[tuple[str, str]]
    text: str

    def header(self, name: str) -> str:
        """The only header of this name."""
        (found,) = [value for each, value in self.headers if each == name]
        return found

    @property
    def cookies(self) -> list[str]:
        """The Set-Cookie headers."""
        return [value for name, value in self.headers if name == "set-cookie"]


class Browser:
    """Asks for addresses at `host`, over `scheme`."""

    def __init__(self, app: ASGIApp, scheme: str = "http", host: str = HOST) -> None:
        self.cookies: dict[str, str] = {}
        self._app = app
        self._scheme = scheme
        self._host = host

    def get(self, address: str, *, kind: str = "http", accept: str = "text/html", method: str = "GET") -> Answer:
        """What the app answers."""
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": f"{kind}.connect" if kind == "websocket" else "http.request", "body": b""}

        async def call() -> None:
            await self._app(self._scope(address, kind, accept, method), receive, send)

        asyncio.run(call())
        return self._read(sent)

    def _scope(self, address: str, kind: str, accept: str, method: str) -> dict[str, Any]:
        path, _, query = address.partition("?")
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = [(b"host", self._host.encode()), (b"accept", accept.encode()), (b"cookie", cookie.encode())]
        scheme = self._scheme.replace("http", "ws") if kind == "websocket" else self._scheme
        return {
            "type": kind, "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": headers, "scheme": scheme, "server": ("127.0.0.1", 8501), "client": ("127.0.0.1", 50000),
        }  # fmt: skip

    def _read(self, sent: list[Message]) -> Answer:
        start = sent[0]
        if start["type"] == "websocket.close":
            return Answer(403, [], "")
        headers = [(name.decode().lower(), value.decode()) for name, value in start.get("headers", ())]
        for _, value in [pair for pair in headers if pair[0] == "set-cookie"]:
            for name, morsel in SimpleCookie(value).items():
                self.cookies[name] = morsel.value
                if morsel["max-age"] == "0":
                    del self.cookies[name]
        text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
        return Answer(start.get("status", 101), headers, text)


def query_of(address: str) -> dict[str, str]:
    """The parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def sign_in(browser: Browser, provider: OwnProvider, page: str = "/runs", **changes: str) -> Answer:
    """The answer to the provider's redirect, which `changes` alters."""
    asked = query_of(browser.get(f"/sign-in?page={page}").header("location"))
    provider.nonce = asked["nonce"]
    answer = {"code": CODE, "state": asked["state"], **changes}
    return browser.get("/oauth2callback?" + "&".join(f"{name}={value}" for name, value in answer.items() if value))
