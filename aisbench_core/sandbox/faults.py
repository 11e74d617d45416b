"""What goes wrong on request: answers that are errors, connections that break, requests that take long."""

import asyncio
import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aisbench_core.sandbox import obs_responses
from aisbench_core.sandbox.connections import cut
from aisbench_core.sandbox.objects import ObjectError

Service = Literal["obs", "modelarts"]


class Fault(BaseModel):
    """Something that goes wrong for the next `times` requests that it fits; `path` is searched in the raw target."""

    model_config = ConfigDict(extra="forbid")

    service: Service
    method: str = ""
    path: str = ""
    times: Annotated[int, Field(ge=0)] = 1
    status: Annotated[int | None, Field(ge=200, le=599)] = None
    code: str = ""
    message: str = "a fault that was asked for"
    body: str | None = None
    drop: Literal["before", "after"] | None = None
    delay_s: Annotated[float, Field(ge=0, le=600)] = 0.0

    @field_validator("path")
    @classmethod
    def _is_pattern(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return value

    def fits(self, service: Service, method: str, target: str) -> bool:
        """Whether this request is meant, and it is not over yet."""
        meant = self.service == service and self.method.upper() in ("", method)
        return meant and self.times > 0 and re.search(self.path, target) is not None

    def answer(self, target: str) -> Response:
        """The error as the service would write it, or the body that was asked for."""
        status = self.status or 500
        if self.body is not None:
            return Response(self.body, status)
        if self.service == "obs":
            refusal = ObjectError(self.code or "InternalError", self.message)
            response = obs_responses.error(refusal, target, obs_responses.new_request_id())
            response.status_code = status
            return response
        return JSONResponse({"error_msg": self.message, "error_code": self.code or "ModelArts.2950"}, status)


async def go_wrong(fault: Fault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Carry the request out the wrong way."""
    await asyncio.sleep(fault.delay_s)
    if fault.drop:
        if fault.drop == "after":
            await app(scope, receive, _discard)
        return await cut(scope, receive)
    if fault.status is None:
        return await app(scope, receive, send)
    await _read_all(receive)
    return await fault.answer(scope["path"])(scope, receive, send)


async def _discard(_: Message) -> None:
    """The answer that nobody gets."""


async def _read_all(receive: Receive) -> None:
    # An answer in the middle of a body would be a broken connection for most clients.
    while (await receive()).get("more_body"):
        pass
