"""The page of those who are not signed in: nothing of the console, and no script."""

from functools import partial
from html import escape
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.web.plain_page import as_html, language_of, plain_page

SIGN_IN = "/sign-in"


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
    shown = partial(as_html, chinese=chinese)
    title = shown(Message("Sign in to AISBench Console"))
    what_follows = Message("You sign in at {provider} and then return to this page.", provider=provider)
    text = f"<p>{shown(error.hint if error and error.hint else what_follows)}</p>"
    if error:
        text = f'<p role="alert">{shown(error.message)}</p>{text}'
    link = escape(f"{SIGN_IN}?{urlencode({'page': page})}")
    button = f'<a href="{link}">{shown(Message("Sign in"))}</a>'
    return plain_page(title, text + button, status, chinese=chinese)
