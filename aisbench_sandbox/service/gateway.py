"""The gateway of the training service: reads the whole request, verifies its signature, assigns a request id."""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_sandbox.clocks import clock_offset_s
from aisbench_sandbox.jobs import Clock
from aisbench_sandbox.service.auth import NotSigned, WrongSignature, access_key_of, verify_request
from aisbench_sandbox.service.lockout import Lockout

# The signature needs the whole body in memory. A create request with 100 variables of 4,096 characters has 0.4 MB.
MAX_BYTES = 10 * 1024 * 1024


class Gateway:
    """ASGI middleware: passes only signed requests on, with their body as `request.state.body`."""

    def __init__(self, app: ASGIApp, keys: Mapping[str, str], clock: Clock, lockout: Lockout) -> None:
        self._app = app
        self._keys = keys
        self._clock = clock
        self._lockout = lockout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 as the cloud's gateway does, or pass the request on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request = Request(scope, receive)
        body = bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BYTES:
                    return await build_refusal(413, "APIGW.0201", "Request entity too large")(scope, receive, send)
        except ClientDisconnect:  # the client is gone
            return None
        try:
            self._check_signature(request, bytes(body))
        except NotSigned as error:
            # Some documents spell it APIG.0301; clients should look at the status.
            return await build_refusal(401, "APIGW.0301", str(error))(scope, receive, send)
        scope.setdefault("state", {})["body"] = bytes(body)
        return await self._app(scope, receive, send)

    def _check_signature(self, request: Request, body: bytes) -> None:
        """Raises NotSigned."""
        claimed = access_key_of(request.headers)
        # Before the signature is looked at: a locked key is refused even when it signs correctly.
        if self._lockout.is_locked(claimed):
            raise NotSigned(f"AK access failed to reach the limit, forbidden: access={claimed}; locked for 5 minutes")
        now = datetime.fromtimestamp(self._clock() + clock_offset_s(request.scope), UTC)
        try:
            verify_request(request.method, get_target(request.scope), request.headers, body, self._keys, now)
        # Only a key that exists counts up: an unknown one cannot be locked, and neither can a clock that is off.
        except WrongSignature:
            self._lockout.note_failure(claimed)
            raise
        self._lockout.note_success(claimed)


def get_target(scope: Scope) -> str:
    """The raw path with its query, as in the request line."""
    # The signature covers the path as it was encoded by the client.
    path: str = scope["raw_path"].decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def make_response(status: int, content: object, request_id: str = "") -> Response:
    """A JSON response with a request id; without a body for 204 and for None."""
    # The SDK shows this header as the request_id of its exceptions.
    headers = {"X-Request-Id": request_id or uuid.uuid4().hex}
    if content is None:
        return Response(status_code=status, headers=headers)
    return JSONResponse(content, status, headers)


def build_refusal(status: int, code: str, message: str) -> Response:
    """An error in the gateway's format; the service's own (ModelArts.…) have the request id in a header only."""
    request_id = uuid.uuid4().hex
    body = {"error_msg": message, "error_code": code}
    # Gateway and service have different error bodies; the SDK reads both.
    if not code.startswith("ModelArts."):
        body["request_id"] = request_id
    return make_response(status, body, request_id)
