"""What goes wrong on request: answers that are errors, connections that break, bodies and clocks that are wrong."""

import asyncio
import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aisbench_sandbox.clocks import set_clock_offset
from aisbench_sandbox.connections import cut, hang_up
from aisbench_sandbox.obs import responses as obs_responses
from aisbench_sandbox.obs.objects import ObjectError
from aisbench_sandbox.service.gateway import refusal

Service = Literal["obs", "modelarts"]

_PIECES = 20
# What the training service's errors are called, unless the fault says otherwise.
_CODES = {401: "APIGW.0301", 403: "ModelArts.0203", 404: "ModelArts.2836", 405: "ModelArts.2803", 429: "ModelArts.2799"}
_OBS_CODES = {403: "AccessDenied", 404: "NoSuchKey", 429: "SlowDown", 503: "ServiceUnavailable"}


class Route(BaseModel):
    """Which requests are meant: of a service, by method and by a pattern that is searched in the raw target."""

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
        """Whether this request is meant."""
        return (
            self.service == service and self.method.upper() in ("", method) and re.search(self.path, target) is not None
        )


class Fault(Route):
    """Something that goes wrong for the next `times` requests that it means."""

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
        """Whether this request is meant, and it is not over yet."""
        return self.times > 0 and self.means(service, method, target)

    def answer(self, target: str) -> Response:
        """The error as the service would write it, or the body that was asked for."""
        status = self.status or 500
        if self.body is not None:
            return Response(self.body, status)
        if self.service == "obs":
            error = ObjectError(self.code or _OBS_CODES.get(status, "InternalError"), self.message)
            response = obs_responses.error(error, target, obs_responses.new_request_id())
            response.status_code = status
            return response
        code = self.code or _CODES.get(status, "ModelArts.2950")
        return refusal(status, code, self.message)


async def inject_fault(fault: Fault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Carry the request out the wrong way."""
    await asyncio.sleep(fault.delay_s)
    if fault.clock_s:
        set_clock_offset(scope, fault.clock_s)
    if fault.drop:
        if fault.drop == "after":
            await app(scope, receive, _discard)
        return await cut(scope, receive)
    if fault.truncate is not None:
        return await _truncated(fault, app, scope, receive, send)
    return await _answer(fault, app, scope, receive, _slowly(send, fault.body_s) if fault.body_s else send)


async def _answer(fault: Fault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    if fault.status is None:
        return await app(scope, receive, send)
    await _read_all(receive)
    return await fault.answer(scope["path"])(scope, receive, send)


async def _truncated(fault: Fault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """The headers promise the whole body; the connection breaks after `truncate` bytes of it."""
    left = fault.truncate or 0

    async def send_some(message: Message) -> None:
        nonlocal left
        part = message.get("body", b"")[:left]
        left -= len(part)
        if message["type"] == "http.response.start":
            await send(message)
        elif part:
            await send({**message, "body": part, "more_body": True})

    await _answer(fault, app, scope, receive, send_some)
    await hang_up(scope, receive)


def _slowly(send: Send, seconds: float) -> Send:
    """Takes so long for every part of a body, most of which have only one."""

    async def send_slowly(message: Message) -> None:
        body = message.get("body", b"")
        if message["type"] != "http.response.body" or not body:
            return await send(message)
        size = -(-len(body) // _PIECES)
        for start in range(0, len(body), size):
            await asyncio.sleep(seconds / _PIECES)
            await send({**message, "body": body[start : start + size], "more_body": True})
        return await send({**message, "body": b""})

    return send_slowly


async def _discard(_: Message) -> None:
    """The answer that nobody gets."""


async def _read_all(receive: Receive) -> None:
    # An answer in the middle of a body would be a broken connection for most clients.
    while (await receive()).get("more_body"):
        pass
