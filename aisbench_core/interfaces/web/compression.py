"""Sends scripts and styles compressed, a third of their bytes: each is compressed when it is first asked for, and kept.

Streamlit sends them as they are, since it would compress them anew for each visitor."""

import gzip
import re

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Their names hold the hash of their content, and there are 7 MB of them at most: each has one address only.
ASSET = re.compile(r"(?:/\w[\w.-]*)*/static/(js|css)/[\w.-]+\.(js|css)", re.ASCII)
REFUSED = re.compile(r"gzip\s*;\s*q=0(?:\.0*)?\s*", re.I)
KINDS = ("text/javascript", "application/javascript", "text/css")

# With these, an answer may be another one than the whole file: it passes as it is.
_CONDITIONS = ("range", "if-none-match", "if-modified-since")


class CompressedAssets:
    """Compresses what the app below it answers to requests for scripts and styles; everything else passes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: dict[str, tuple[Message, Message]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: with a compressed file to whoever takes it."""
        if scope["type"] != "http" or not ASSET.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
        elif not _takes_compressed(scope):
            await self._app(scope, receive, _say_that_it_varies(send))
        elif kept := self._kept.get(scope["path"]):
            for message in kept:
                await send(message)
        else:
            await self._answer_first(scope, receive, send)

    async def _answer_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The first answer for a file: it is kept if it is one, and not the page that answers any other address."""
        start: Message | None = None
        content = bytearray()

        async def send_compressed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_whole_asset(message):
                start = message
            elif start is None or message["type"] != "http.response.body":
                await send(message)
            else:
                content.extend(message.get("body", b""))
                if not message.get("more_body"):
                    self._kept[scope["path"]] = kept = await _compress_answer(start, bytes(content))
                    for part in kept:
                        await send(part)

        await self._app(scope, receive, _say_that_it_varies(send_compressed))


async def _compress_answer(start: Message, content: bytes) -> tuple[Message, Message]:
    """The answer with its content compressed, outside the event loop: a large script takes 50 ms."""
    body = await to_thread.run_sync(gzip.compress, content)
    headers = MutableHeaders(raw=[*start["headers"]])
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(body))
    if "etag" in headers:
        headers["ETag"] = f"W/{headers['etag'].removeprefix('W/')}"  # not the same bytes, but the same file
    del headers["accept-ranges"]
    return {**start, "headers": headers.raw}, {"type": "http.response.body", "body": body}


def _takes_compressed(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    whole = scope["method"] == "GET" and not any(name in headers for name in _CONDITIONS)
    accepted = [part.strip() for part in headers.get("accept-encoding", "").lower().split(",")]
    return whole and any(part.partition(";")[0] == "gzip" and not REFUSED.fullmatch(part) for part in accepted)


def _is_whole_asset(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    kind = headers.get("content-type", "").partition(";")[0]
    return start["status"] == 200 and kind in KINDS and "content-encoding" not in headers


def _say_that_it_varies(send: Send) -> Send:
    """Whoever stores answers for others has to know that there are two."""

    async def send_varying(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).add_vary_header("Accept-Encoding")
        await send(message)

    return send_varying
