"""Tells Streamlit's page where its server is, so that it need not ask below each page's own address first.

Without it each deep link asks `/<page>/_stcore/health` and `…/host-config` in vain, which browsers show as two errors.
The page's own scripts are named relative to it, so what they are relative to is the server: behind a proxy with a path
prefix as well.

What else belongs into the head of each page, such as its style, is put there too: it is there before the first element.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SCRIPT = b'<script>window.__streamlit={BACKEND_BASE_URL:new URL(".",location.href).href}</script>'
HEAD = b"<head>"

MEDIA = "/media/"
"""Files that somebody downloads: a report is HTML, too, and stays as it is."""

# An answer of "not modified" would leave browsers with a page of before; of a part, or compressed, no head is found.
_CONDITIONS = (b"if-none-match", b"if-modified-since", b"range", b"accept-encoding")


class PageBase:
    """Adds the script and `head` to the pages of the app below it; everything else passes unchanged."""

    def __init__(self, app: ASGIApp, head: str) -> None:
        self._app, self._head = app, HEAD + SCRIPT + head.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; what is answered to a browser that opens a page gets the script."""
        if not _asks_for_page(scope):
            await self._app(scope, receive, send)
            return
        headers = [(name, value) for name, value in scope["headers"] if name not in _CONDITIONS]
        start: Message | None = None
        body = bytearray()

        async def send_with_script(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
            elif start is None or message["type"] != "http.response.body":
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    content = bytes(body).replace(HEAD, self._head, 1)
                    await send(_replace_length(start, len(content)))
                    await send({"type": "http.response.body", "body": content})

        await self._app({**scope, "headers": headers}, receive, send_with_script)


def _asks_for_page(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or MEDIA in scope["path"]:
        return False
    return "text/html" in Headers(scope=scope).get("accept", "")


def _is_page(start: Message) -> bool:
    return start["status"] == 200 and Headers(raw=start["headers"]).get("content-type", "").startswith("text/html")


def _replace_length(start: Message, length: int) -> Message:
    """The same start for another content, which has no tag by which it could be asked for again."""
    headers = MutableHeaders(raw=[*start["headers"]])
    headers["content-length"] = str(length)
    for name in ("etag", "last-modified", "accept-ranges"):
        if name in headers:
            del headers[name]
    return {**start, "headers": headers.raw}
