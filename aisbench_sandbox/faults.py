"""Injected faults: error responses, broken connections, slow or truncated bodies, clock offsets."""

import asyncio
import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aisbench_sandbox.clocks import set_clock_offset
from aisbench_sandbox.connections import cut_connection, hang_up
from aisbench_sandbox.obs import responses as obs_responses
from aisbench_sandbox.obs.storage.stored import ObjectError
from aisbench_sandbox.service.gateway import build_refusal

Service = Literal["obs", "modelarts"]

# A body that trickles rather than one that comes late: what read timeouts do not notice.
_PIECES = 20
# Default error codes of the training service by HTTP status.
_CODES = {401: "APIGW.0301", 403: "ModelArts.0203", 404: "ModelArts.2836", 405: "ModelArts.2803", 429: "ModelArts.2799"}
_OBS_CODES = {403: "AccessDenied", 404: "NoSuchKey", 429: "SlowDown", 503: "ServiceUnavailable"}


class Route(BaseModel):
    """A matcher for requests: service, method, and a pattern that is searched in the raw target."""

    model_config = ConfigDict(extra="forbid")

    service: Service
    method: str = ""
    path: str = ""

    @field_validator("path")
    @classmethod
    def _is_pattern(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return value

    def means(self, service: Service, method: str, target: str) -> bool:
        """Whether this request matches."""
        return (
            self.service == service and self.method.upper() in ("", method) and re.search(self.path, target) is not None
        )


class Fault(Route):
    """A fault for the next `times` matching requests."""

    times: Annotated[int, Field(ge=0)] = 1
    status: Annotated[int | None, Field(ge=200, le=599)] = None
    code: str = ""
    message: str = "a fault that was asked for"
    body: str | None = None
    drop: Literal["before", "after"] | None = None
    delay_s: Annotated[float, Field(ge=0, le=600)] = 0.0
    truncate: Annotated[int | None, Field(ge=0)] = None
    body_s: Annotated[float, Field(ge=0, le=600)] = 0.0
    clock_s: Annotated[float, Field(ge=-1e9, le=1e9)] = 0.0

    def fits(self, service: Service, method: str, target: str) -> bool:
        """Whether this request matches and the fault has times left."""
        return self.times > 0 and self.means(service, method, target)

    def answer(self, target: str) -> Response:
        """The error in the service's format, or the fault's own body."""
        status = self.status or 500
        if self.body is not None:
            return Response(self.body, status)
        if self.service == "obs":
            error = ObjectError(self.code or _OBS_CODES.get(status, "InternalError"), self.message)
            response = obs_responses.build_error(error, target, obs_responses.new_request_id())
            response.status_code = status
            return response
        code = self.code or _CODES.get(status, "ModelArts.2950")
        return build_refusal(status, code, self.message)


async def inject_fault(fault: Fault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the request with the fault."""
    await asyncio.sleep(fault.delay_s)
    if fault.clock_s:
        set_clock_offset(scope, fault.clock_s)
    if fault.drop:
        # The request was carried out and its answer lost: a client has to look before it repeats it.
        if fault.drop == "after":
            await app(scope, receive, _discard_message)
        return await cut_connection(scope, receive)
    if fault.truncate is not None:
        return await _send_truncated(fault, app, scope, receive, send)
    return await _send_answer(fault, app, scope, receive, _slow_down(send, fault.body_s) if fault.body_s else send)


async def _send_answer(fault: Fault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    if fault.status is None:
        return await app(scope, receive, send)
    await _read_all(receive)
    return await fault.answer(scope["path"])(scope, receive, send)


async def _send_truncated(fault: Fault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """The headers announce the whole body; the connection breaks after `truncate` bytes of it."""
    left = fault.truncate or 0

    async def send_some(message: Message) -> None:
        nonlocal left
        part = message.get("body", b"")[:left]
        left -= len(part)
        # Content-Length stays that of the whole body, so the client can tell that some is missing.
        if message["type"] == "http.response.start":
            await send(message)
        elif part:
            await send({**message, "body": part, "more_body": True})

    await _send_answer(fault, app, scope, receive, send_some)
    await hang_up(scope, receive)


def _slow_down(send: Send, seconds: float) -> Send:
    """Delay every part of a body, which usually has only one, by this many seconds."""

    async def send_slowly(message: Message) -> None:
        body = message.get("body", b"")
        if message["type"] != "http.response.body" or not body:
            return await send(message)
        # Rounded up, so that there are at most as many pieces.
        size = -(-len(body) // _PIECES)
        for start in range(0, len(body), size):
            await asyncio.sleep(seconds / _PIECES)
            await send({**message, "body": body[start : start + size], "more_body": True})
        return await send({**message, "body": b""})

    return send_slowly


async def _discard_message(_: Message) -> None:
    """Discard a response message."""


async def _read_all(receive: Receive) -> None:
    # Most clients would take an answer before the end of their body for a broken connection.
    while (await receive()).get("more_body"):
        pass
