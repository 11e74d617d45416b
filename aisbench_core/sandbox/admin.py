"""The admin side of the sandbox: faults to come, latency, counts, scripts, reset. It asks for no signature."""

import asyncio
import ipaddress
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.sandbox.faults import Fault, Service, go_wrong
from aisbench_core.sandbox.gateway import target
from aisbench_core.sandbox.scripted import Script

_IDS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "{id}"),
    (re.compile(r"worker-\d+"), "{task}"),
)
_FAULTS = TypeAdapter(list[Fault])


class Latency(BaseModel):
    """Milliseconds that every request waits before it is carried out."""

    model_config = ConfigDict(extra="forbid")

    obs_ms: Annotated[float, Field(ge=0, le=60_000)] = 0.0
    modelarts_ms: Annotated[float, Field(ge=0, le=60_000)] = 0.0


class Admin:
    """What tests and curious people change about the sandbox, and the ASGI layer that makes it happen."""

    def __init__(self) -> None:
        self.script = Script()
        self.faults: list[Fault] = []
        self.latency = Latency()
        self.counts: dict[Service, Counter[str]] = {"obs": Counter(), "modelarts": Counter()}

    def reset(self) -> None:
        """Everything as it was at the start."""
        self.script = Script()
        self.faults = []
        self.latency = Latency()
        self.forget_counts()

    def forget_counts(self) -> None:
        """Count from zero."""
        self.counts = {"obs": Counter(), "modelarts": Counter()}

    def wrap(self, app: ASGIApp, service: Service) -> ASGIApp:
        """The application behind counting, latency and faults."""

        async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return await app(scope, receive, send)
            self.counts[service][_label(service, scope)] += 1
            await asyncio.sleep((self.latency.obs_ms if service == "obs" else self.latency.modelarts_ms) / 1000)
            fault = self._next_fault(service, scope)
            if fault is None:
                return await app(scope, receive, send)
            return await go_wrong(fault, app, scope, receive, send)

        return wrapped

    def _next_fault(self, service: Service, scope: Scope) -> Fault | None:
        for fault in self.faults:
            if fault.fits(service, scope["method"], target(scope)):
                fault.times -= 1
                return fault
        return None


def admin_app(admin: Admin, wipe: Callable[[], None], advance: Callable[[str], None]) -> Starlette:
    """The addresses under /_sandbox. `wipe` forgets all jobs and objects, `advance` moves a job one phase on."""

    async def reset(_: Request) -> Response:
        await asyncio.to_thread(wipe)
        admin.reset()
        return JSONResponse({})

    async def get_faults(_: Request) -> Response:
        return JSONResponse(_FAULTS.dump_python(admin.faults))

    async def put_faults(request: Request) -> Response:
        admin.faults = _FAULTS.validate_json(await request.body())
        return await get_faults(request)

    async def put_latency(request: Request) -> Response:
        admin.latency = Latency.model_validate_json(await request.body())
        return JSONResponse(admin.latency.model_dump())

    async def put_script(request: Request) -> Response:
        admin.script = Script.model_validate_json(await request.body())
        return JSONResponse(admin.script.model_dump())

    async def get_requests(_: Request) -> Response:
        return JSONResponse(admin.counts)

    async def delete_requests(_: Request) -> Response:
        admin.forget_counts()
        return JSONResponse({})

    async def advance_job(request: Request) -> Response:
        await asyncio.to_thread(advance, request.path_params["job_id"])
        return JSONResponse({})

    routes = [
        Route("/reset", reset, methods=["POST"]),
        Route("/faults", get_faults, methods=["GET"]),
        Route("/faults", put_faults, methods=["PUT"]),
        Route("/latency", put_latency, methods=["PUT"]),
        Route("/script", put_script, methods=["PUT"]),
        Route("/requests", get_requests, methods=["GET"]),
        Route("/requests", delete_requests, methods=["DELETE"]),
        Route("/jobs/{job_id}/advance", advance_job, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={ValidationError: _explain})


class LocalOnly:
    """ASGI: answers only programs on this machine; a page in a browser is not one of them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403 to everybody else."""
        if scope["type"] == "http" and not _is_local_program(Request(scope)):
            return await JSONResponse({"error": "local programs only"}, 403)(scope, receive, send)
        return await self._app(scope, receive, send)


def _is_local_program(request: Request) -> bool:
    # A web page could send requests to this port, by name tricks even with a local address: browsers say who asks.
    if "origin" in request.headers or "sec-fetch-site" in request.headers or request.client is None:
        return False
    name = request.url.hostname or ""
    return ipaddress.ip_address(request.client.host).is_loopback and (name == "localhost" or _is_loopback(name))


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _label(service: Service, scope: Scope) -> str:
    """What is counted: `GET training-jobs/{id}`, and for OBS the method, or LIST."""
    method: str = scope["method"]
    path: str = scope["path"]
    if service == "obs":
        return "LIST" if method == "GET" and "/" not in path.strip("/") else method
    text = path.removeprefix("/v2/").partition("/")[2]
    for pattern, name in _IDS:
        text = pattern.sub(name, text)
    return f"{method} {text}"


def _explain(_: Request, error: Exception) -> Response:
    assert isinstance(error, ValidationError)  # noqa: S101 - what the handler is registered for
    return JSONResponse(json.loads(error.json(include_url=False, include_context=False)), 422)
