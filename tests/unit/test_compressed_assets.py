"""Scripts and styles are sent compressed to whoever takes that, and compressed once."""

import asyncio
import gzip
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aisbench_core.interfaces.web.compression import CompressedAssets

SCRIPT = b"const a = 1;\n" * 500
FILE = "/static/js/index.abc-1.js"


class Files:
    """Answers each request with a script, and counts them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope["path"])
        await Response(SCRIPT, media_type="text/javascript", headers={"ETag": '"1"'})(scope, receive, send)


def ask(app: CompressedAssets, path: str = FILE, method: str = "GET", **headers: str) -> tuple[dict[str, str], bytes]:
    """The headers and the body of an answer."""
    sent: list[dict[str, Any]] = []

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": raw}
    asyncio.run(app(scope, receive, send))
    names = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return names, b"".join(message.get("body", b"") for message in sent[1:])


def test_a_script_is_compressed_once_for_all_who_take_it() -> None:
    files = Files()
    app = CompressedAssets(files)

    answers = [ask(app, accept_encoding="br, gzip;q=0.8") for _ in range(3)]

    for headers, body in answers:
        assert gzip.decompress(body) == SCRIPT
        assert (headers["content-encoding"], headers["etag"]) == ("gzip", 'W/"1"')
        assert headers["content-length"] == str(len(body))
    assert files.asked == [FILE]


@pytest.mark.parametrize("accepted", ["", "br", "gzip;q=0", "gzip; q=0.000", "x-gzip"])
def test_whoever_does_not_take_it_gets_the_file_as_it_is(accepted: str) -> None:
    headers, body = ask(CompressedAssets(Files()), accept_encoding=accepted)

    assert (body, headers.get("content-encoding"), headers["vary"]) == (SCRIPT, None, "Accept-Encoding")


@pytest.mark.parametrize("path", [f"/.{FILE}", f"/.//{FILE}", f"/a/..{FILE}", "/static//js/a.js", "/static/js/a b.js"])
def test_no_other_spelling_of_an_address_is_kept(path: str) -> None:
    files = Files()
    app = CompressedAssets(files)

    assert [ask(app, path, accept_encoding="gzip")[1] for _ in range(2)] == [SCRIPT, SCRIPT]
    assert files.asked == [path, path]


def test_a_part_of_a_file_is_never_compressed() -> None:
    assert ask(CompressedAssets(Files()), accept_encoding="gzip", range="bytes=0-9")[1] == SCRIPT
