"""Pages of the console that come before Streamlit: nothing of its contents, and no script."""

from collections.abc import Mapping
from html import escape
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import in_chinese

# Seconds after which a program tries again.
_LATER = {"Retry-After": "5"}

# Colours as in .streamlit/config.toml.
_STYLE = """
:root { color-scheme: light dark; --back: #f2f5fa; --card: #fff; --text: #000; --dim: #4b5160; --line: #c9d1dc;
  --button: #0b57d0; --error: #a3141a }
@media (prefers-color-scheme: dark) { :root { --back: #0f131a; --card: #1a2130; --text: #fff; --dim: #c3cad6;
  --line: #3a4457; --button: #2a6fd6; --error: #ff9a94 } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--back); color: var(--text);
  font: 16px/1.5 "Source Sans", system-ui, sans-serif }
main { box-sizing: border-box; width: min(26rem, 92vw); padding: 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 6px }
h1 { margin: 0 0 .5rem; font-size: 1.35rem }
p { margin: 0 0 1rem; color: var(--dim); overflow-wrap: anywhere }
p[role=alert] { color: var(--error) }
a { display: block; padding: .6rem; border-radius: 6px; background: var(--button); color: #fff; text-align: center;
  text-decoration: none; font-weight: 600 }
a:focus-visible { outline: 3px solid var(--text); outline-offset: 2px }
"""


def plain_page(
    title: str, body: str, status: int, *, chinese: bool, headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    """A page of one card; `title` and `body` are HTML."""
    return HTMLResponse(
        f'<!doctype html><html lang="{"zh" if chinese else "en"}"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>{body}</main></body></html>",
        status,
        headers,
    )


def as_html(message: str, *, chinese: bool) -> str:
    """A sentence as HTML, in the page's language."""
    return escape(in_chinese(message) if chinese else message)


async def answer_later(error: AisbenchError, default_language: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer that the console cannot decide about a request now; a web socket is refused before it is accepted."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1013, "reason": str(error.message)})
        return
    response = _later_page(error, default_language, scope) if wants_page(scope) else None
    response = response or PlainTextResponse(f"{error}\n", HTTPStatus.SERVICE_UNAVAILABLE, _LATER)
    await response(scope, receive, send)


def _later_page(error: AisbenchError, default_language: str, scope: Scope) -> Response:
    request = HTTPConnection(scope)
    chinese = language_of(request.query_params, request.headers, default_language) == "zh"
    hint = f"<p>{as_html(error.hint, chinese=chinese)}</p>" if error.hint else ""
    body = f'<p role="alert">{as_html(error.message, chinese=chinese)}</p>{hint}'
    return plain_page("AISBench Console", body, HTTPStatus.SERVICE_UNAVAILABLE, chinese=chinese, headers=_LATER)


def wants_page(scope: Scope) -> bool:
    """Whether a browser shows the answer as a page."""
    is_page = scope["type"] == "http" and scope.get("method") == "GET"
    return is_page and "text/html" in Headers(scope=scope).get("accept", "")


def language_of(query: Mapping[str, str], headers: Headers, default: str) -> str:
    """The address's language, else Chinese for a Chinese browser, else the settings', as on pages."""
    named = query.get("lang", "")
    if named in ("en", "zh"):
        return named
    return "zh" if headers.get("accept-language", "").lower().startswith("zh") else default
