"""TensorBoard below the console's own address: requests that passed the front door go on to its port on this machine.

So whoever reaches the console reaches it, also from another machine or through a proxy, and nobody else: its port is
open to this machine only, and its path has a token.
"""

import re
from collections.abc import Callable, Iterator

import urllib3
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PATH = re.compile(r"/tensorboard/(?P<token>[A-Za-z0-9_-]{43})(?P<rest>/.*)?", re.DOTALL)
METHODS = ("GET", "HEAD", "POST")
MOST_BODY = 1024 * 1024
BLOCK = 64 * 1024
SECONDS = 60.0

# Cookies and everything else stay here.
SENT = ("accept", "accept-encoding", "content-type", "if-none-match", "if-modified-since", "range")
RETURNED = (
    *("content-type", "content-encoding", "content-length", "content-range", "content-disposition"),
    *("cache-control", "etag", "expires", "last-modified"),
)

ENDED = "This TensorBoard has ended. Start it again on the run's page."


class TensorBoardProxy:
    """Passes requests below /tensorboard/ on, and all others to the app. `port_of`: by token, None if it has ended."""

    def __init__(self, app: ASGIApp, port_of: Callable[[str], int | None]) -> None:
        self._app = app
        self._port_of = port_of
        self._pools = urllib3.PoolManager(num_pools=8, maxsize=8, retries=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of TensorBoard's pages."""
        match = PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if match is None:
            await self._app(scope, receive, send)
            return
        try:
            response = await self._build_response(Request(scope, receive), match["token"], match["rest"])
        except ClientDisconnect:
            return  # nobody to answer
        await response(scope, receive, send)

    async def _build_response(self, request: Request, token: str, rest: str | None) -> Response:
        port = self._port_of(token)
        if port is None:
            return PlainTextResponse(f"{ENDED}\n", 404)
        if not _get_target(request).startswith(f"/tensorboard/{token}"):
            return PlainTextResponse("Not found.\n", 404)
        if request.method not in METHODS:
            return PlainTextResponse("Not allowed.\n", 405, {"Allow": ", ".join(METHODS)})
        if not rest:
            return RedirectResponse(f"/tensorboard/{token}/")
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_BODY:
                return PlainTextResponse("The request is too large.\n", 413)
        try:
            return await run_in_threadpool(self._forward_request, request, port, bytes(body))
        except urllib3.exceptions.HTTPError:
            return PlainTextResponse("TensorBoard does not answer.\n", 502)

    def _forward_request(self, request: Request, port: int, body: bytes) -> Response:
        pool = self._pools.connection_from_host("127.0.0.1", port)
        answer = pool.urlopen(
            request.method,
            _get_target(request),
            body=body or None,
            headers={name: request.headers[name] for name in SENT if name in request.headers},
            redirect=False,
            retries=False,
            preload_content=False,
            decode_content=False,
            timeout=SECONDS,
        )
        headers = {name: value for name in RETURNED if (value := answer.headers.get(name)) is not None}
        return StreamingResponse(iterate_in_threadpool(_iterate_blocks(answer)), answer.status, headers)


def _get_target(request: Request) -> str:
    """Path and query as they were sent. It may begin otherwise than the decoded path: with a host, as `%2F…@host/`."""
    raw_path = request.scope.get("raw_path") or request.scope["path"].encode()
    query = request.scope.get("query_string", b"")
    return str((raw_path.partition(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1"))


def _iterate_blocks(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    try:
        yield from answer.stream(BLOCK, decode_content=False)
    finally:
        answer.release_conn()
