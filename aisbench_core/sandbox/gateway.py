"""The door of the training service: reads the request as a whole, checks its signature, names it."""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.sandbox.jobs import Clock
from aisbench_core.sandbox.modelarts_auth import NotSigned, verify

MOST_BYTES = 10 * 1024 * 1024


class Gateway:
    """ASGI: lets only signed requests pass, with their body as `request.state.body`."""

    def __init__(self, app: ASGIApp, keys: Mapping[str, str], clock: Clock) -> None:
        self._app = app
        self._keys = keys
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 as the cloud's gateway does, or pass the request on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request = Request(scope, receive)
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return await _answer(413, "APIGW.0201", "Request entity too large")(scope, receive, send)
        try:
            verify(request.method, target(scope), request.headers, bytes(body), self._keys, self._now())
        except NotSigned as error:
            return await _answer(401, "APIGW.0301", str(error))(scope, receive, send)
        scope.setdefault("state", {})["body"] = bytes(body)
        return await self._app(scope, receive, send)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def target(scope: Scope) -> str:
    """The raw path with its query, as it stood in the request line."""
    path: str = scope["raw_path"].decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def answer(status: int, content: object, request_id: str = "") -> Response:
    """A JSON answer with a request id; without a body for 204 and for None."""
    headers = {"X-Request-Id": request_id or uuid.uuid4().hex}
    if content is None:
        return Response(status_code=status, headers=headers)
    return JSONResponse(content, status, headers)


def _answer(status: int, code: str, message: str) -> Response:
    request_id = uuid.uuid4().hex
    return answer(status, {"error_msg": message, "error_code": code, "request_id": request_id}, request_id)
