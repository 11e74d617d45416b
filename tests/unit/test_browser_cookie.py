"""The cookie by which a browser finds its drafts again."""

import asyncio
import re

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from aisbench_core.interfaces.web.front_door import COOKIE, COOKIE_OVER_TLS, BrowserCookie

OWN = "A-_z" * 10 + "123"


def given(sent: str) -> str:
    """The id that the answer to a page gives to a browser that has sent these cookies."""
    [own] = re.findall(rf"^{COOKIE}=([^;]+);.*; HttpOnly; SameSite=Lax$", cookie_given(sent))
    return str(own)


def cookie_given(sent: str, scheme: str = "http") -> str:
    """The cookie of that answer."""
    answers: list[Message] = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "scheme": scheme,
        "headers": [(b"accept", b"text/html"), (b"cookie", sent.encode("latin-1"))],
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        answers.append(message)

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("page")(scope, receive, send)

    asyncio.run(BrowserCookie(page)(scope, receive, send))
    [cookie] = [value.decode() for name, value in answers[0]["headers"] if name == b"set-cookie"]
    return str(cookie)


@pytest.mark.parametrize(
    "beside",
    [
        *("", "_xsrf=2|a|b; ", 'username-localhost-8888="2|1:0|10:17"; '),
        *('settings={"columns": [1, 2]}; ', "flag; ", "list[]=1; ", "a,b=c d; ", "name=\xe9; ", "=; "),
    ],
)
def test_a_browser_keeps_its_id_whatever_other_programs_of_this_machine_give_it(beside: str) -> None:
    assert given(f"{beside}{COOKIE}={OWN}") == OWN
    assert given(f"{COOKIE}={OWN}; {beside}") == OWN


@pytest.mark.parametrize("sent", ["", f"{COOKIE}=short", f"{COOKIE}={OWN}A", f"{COOKIE}={OWN[:-1]}%", f"other={OWN}"])
def test_an_id_that_is_none_of_ours_is_replaced(sent: str) -> None:
    assert given(sent) not in (OWN, "short")


def test_over_tls_no_other_server_can_set_the_cookie() -> None:
    planted = OWN[::-1]

    first = cookie_given(f"{COOKIE}={planted}", "https")
    again = cookie_given(f"{COOKIE}={planted}; {COOKIE_OVER_TLS}={OWN}", "https")

    assert first.startswith("__Host-aisbench_browser=")
    assert {"Path=/", "HttpOnly", "SameSite=Lax", "Secure"} <= set(first.split("; "))
    assert "Domain" not in first
    assert planted not in first
    assert f"={OWN};" in again
