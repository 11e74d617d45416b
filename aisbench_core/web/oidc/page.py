"""The page of those who are not signed in: nothing of the console, and no script."""

from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse

from aisbench_core.errors import AisbenchError
from aisbench_core.messages import Message, in_chinese

SIGN_IN = "/sign-in"

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


def sign_in_page(
    request: HTTPConnection,
    page: str,
    default_language: str,
    *,
    provider: str,
    error: AisbenchError | None = None,
    status: int = HTTPStatus.UNAUTHORIZED,
) -> HTMLResponse:
    """A link that begins a sign-in and leads to `page`; above it, what went wrong at the last try, or has ended."""
    chinese = language_of(request.query_params, request.headers, default_language) == "zh"

    def shown(message: str) -> str:
        return escape(in_chinese(message) if chinese else message)

    title = shown(Message("Sign in to AISBench Console"))
    what_follows = Message("You sign in at {provider}, and come back to this page.", provider=provider)
    text = f"<p>{shown(error.hint if error and error.hint else what_follows)}</p>"
    if error:
        text = f'<p role="alert">{shown(error.message)}</p>{text}'
    link = escape(f"{SIGN_IN}?{urlencode({'page': page})}")
    return HTMLResponse(
        f'<!doctype html><html lang="{"zh" if chinese else "en"}"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>{text}"
        f'<a href="{link}">{shown(Message("Sign in"))}</a></main></body></html>',
        status,
    )


def language_of(query: Mapping[str, str], headers: Headers, default: str) -> str:
    """The address's language, else Chinese for a Chinese browser, else the settings', as on pages."""
    named = query.get("lang", "")
    if named in ("en", "zh"):
        return named
    return "zh" if headers.get("accept-language", "").lower().startswith("zh") else default
