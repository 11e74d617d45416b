"""The sandbox's unsigned admin API: injected faults, latency, capacity, request counts, scripts."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Address
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aisbench_sandbox.capacity import Capacity, Plan
from aisbench_sandbox.clocks import http_date
from aisbench_sandbox.connections import is_loopback
from aisbench_sandbox.engine.engine import JobEngine
from aisbench_sandbox.engine.scripted import Script
from aisbench_sandbox.faults import Fault, Route, Service, inject_fault
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.gateway import build_refusal, get_target
from aisbench_sandbox.service.lockout import Lockout

# Requests are counted by route, not by job.
_IDS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "{id}"),
    (re.compile(r"worker-\d+"), "{task}"),
    (re.compile(r"(?<=/)\d+(?=/|$)"), "{id}"),
)
_PREFIX = re.compile(r"/v[12]/[^/]*/?")
_FAULTS = TypeAdapter(list[Fault])


class RouteLatency(Route):
    """Added latency of one route, in milliseconds."""

    ms: Annotated[float, Field(ge=0, le=60_000)]


class Latency(BaseModel):
    """Added latency of every request, in milliseconds; the first matching route takes precedence."""

    model_config = ConfigDict(extra="forbid")

    obs_ms: Annotated[float, Field(ge=0, le=60_000)] = 0.0
    modelarts_ms: Annotated[float, Field(ge=0, le=60_000)] = 0.0
    routes: tuple[RouteLatency, ...] = ()

    def seconds(self, service: Service, scope: Scope) -> float:
        """The latency of this request."""
        for route in self.routes:
            if route.means(service, scope["method"], get_target(scope)):
                return route.ms / 1000
        return (self.obs_ms if service == "obs" else self.modelarts_ms) / 1000


class LockoutSwitch(BaseModel):
    """Whether an access key is locked after repeated wrong signatures."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool


class Readings(BaseModel):
    """How an ambiguous sentence of the documents is read."""

    model_config = ConfigDict(extra="forbid")

    offset: Literal["entries", "pages"] = "entries"


class Admin:
    """The state that the admin API changes, and the ASGI middleware that applies it."""

    def __init__(self) -> None:
        self.script = Script()
        self.faults: list[Fault] = []
        self.latency = Latency()
        self.lockout = Lockout(time.monotonic)
        self.readings = Readings()
        self.counts: dict[Service, Counter[str]] = {"obs": Counter(), "modelarts": Counter()}

    def reset(self) -> None:
        """Restore the initial state."""
        self.script = Script()
        self.faults = []
        self.latency = Latency()
        self.lockout.switch(False)
        self.readings = Readings()
        self.forget_counts()

    def forget_counts(self) -> None:
        """Set all request counts to zero."""
        self.counts = {"obs": Counter(), "modelarts": Counter()}

    def wrap(self, app: ASGIApp, service: Service) -> ASGIApp:
        """The application wrapped in counting, latency and fault injection."""

        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return await app(scope, receive, send)
            scope = {**scope, "state": dict(scope.get("state", {}))}  # else a clock offset would outlive its request
            send = _add_date(scope, send)
            # Counted first, so that requests which get a fault are counted, too.
            self.counts[service][_label_request(service, scope)] += 1
            await asyncio.sleep(self.latency.seconds(service, scope))
            fault = self._next_fault(service, scope)
            if fault is None:
                return await app(scope, receive, send)
            return await inject_fault(fault, app, scope, receive, send)

        return handle

    def _next_fault(self, service: Service, scope: Scope) -> Fault | None:
        for fault in self.faults:
            if fault.fits(service, scope["method"], get_target(scope)):
                # Without a lock: all requests meet here in the one event loop.
                fault.times -= 1
                return fault
        return None


def _add_date(scope: Scope, send: Send) -> Send:
    """Add a Date header to every response."""

    async def send_dated(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [(b"date", http_date(scope)), *message.get("headers", ())]}
        await send(message)

    return send_dated


def admin_app(
    admin: Admin,
    wipe: Callable[[], None],
    engine: JobEngine,
    capacity: Capacity,
    of_services: Sequence[Address],
) -> Starlette:
    """The routes under /_sandbox. `wipe` deletes all jobs and objects; `of_services`: those that change a service."""

    async def reset(_: Request) -> Response:
        # It ends processes and waits for them.
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

    async def put_lockout(request: Request) -> Response:
        switch = LockoutSwitch.model_validate_json(await request.body())
        admin.lockout.switch(switch.enabled)
        return JSONResponse(switch.model_dump())

    async def put_readings(request: Request) -> Response:
        admin.readings = Readings.model_validate_json(await request.body())
        return JSONResponse(admin.readings.model_dump())

    async def put_script(request: Request) -> Response:
        admin.script = Script.model_validate_json(await request.body())
        return JSONResponse(admin.script.model_dump())

    async def get_requests(_: Request) -> Response:
        return JSONResponse(admin.counts)

    async def delete_requests(_: Request) -> Response:
        admin.forget_counts()
        return JSONResponse({})

    routes = [
        *of_services,
        Address("/reset", reset, methods=["POST"]),
        Address("/faults", get_faults, methods=["GET"]),
        Address("/faults", put_faults, methods=["PUT"]),
        Address("/lockout", put_lockout, methods=["PUT"]),
        Address("/latency", put_latency, methods=["PUT"]),
        Address("/readings", put_readings, methods=["PUT"]),
        Address("/script", put_script, methods=["PUT"]),
        Address("/requests", get_requests, methods=["GET"]),
        Address("/requests", delete_requests, methods=["DELETE"]),
        *_job_addresses(engine, capacity),
    ]
    return Starlette(routes=routes, exception_handlers={ValidationError: _answer_invalid, Refused: _answer_refusal})


def subscribe_address(subscribe: Callable[[str], Mapping[str, str]]) -> Address:
    """The route by which an account subscribes to an algorithm."""

    async def post_subscription(request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(subscribe, request.path_params["algorithm_id"]))

    return Address("/algorithms/{algorithm_id}/subscribe", post_subscription, methods=["POST"])


def push_address(push: Callable[[str, str, str], Mapping[str, str]]) -> Address:
    """The route by which a tag is moved to another image."""

    async def post_image(request: Request) -> Response:
        names = (request.path_params[key] for key in ("organisation", "repository", "tag"))
        return JSONResponse(await asyncio.to_thread(push, *names))

    return Address("/images/{organisation}/{repository}/{tag}/push", post_image, methods=["POST"])


def _job_addresses(engine: JobEngine, capacity: Capacity) -> list[Address]:
    """Routes that move jobs: stepwise by hand, or by changing the capacity."""

    async def advance(request: Request) -> Response:
        await asyncio.to_thread(engine.advance, request.path_params["job_id"])
        return JSONResponse({})

    async def get_capacity(_: Request) -> Response:
        return JSONResponse(capacity.plan.model_dump(mode="json"))

    async def put_capacity(request: Request) -> Response:
        plan = Plan.model_validate_json(await request.body())
        await asyncio.to_thread(capacity.set, plan)
        # A new plan may let waiting jobs run, or take nodes from running ones.
        await asyncio.to_thread(engine.refresh)
        return await get_capacity(request)

    return [
        Address("/jobs/{job_id}/advance", advance, methods=["POST"]),
        Address("/capacity", get_capacity, methods=["GET"]),
        Address("/capacity", put_capacity, methods=["PUT"]),
    ]


class LocalOnly:
    """ASGI middleware: serves only programs on this machine, and no web pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403 to any other client."""
        if scope["type"] == "http" and not _is_local_program(Request(scope)):
            return await JSONResponse({"error": "local programs only"}, 403)(scope, receive, send)
        return await self._app(scope, receive, send)


def _is_local_program(request: Request) -> bool:
    # A web page can send requests to this port, by DNS rebinding even with a local name; browsers send these headers.
    if "origin" in request.headers or "sec-fetch-site" in request.headers or request.client is None:
        return False
    return is_loopback(request.client.host) and is_loopback(request.url.hostname or "")


def _label_request(service: Service, scope: Scope) -> str:
    """The key to count a request under: `GET training-jobs/{id}`; for OBS the method, or LIST."""
    method: str = scope["method"]
    path: str = scope["path"]
    if service == "obs":
        # A bucket's name without a key; a key contains a slash after it.
        return "LIST" if method == "GET" and "/" not in path.strip("/") else method
    text = _PREFIX.sub("", path, count=1)
    for pattern, name in _IDS:
        text = pattern.sub(name, text)
    return f"{method} {text}"


def _answer_refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 - what the handler is registered for
    return build_refusal(error.status, error.code, error.message)


def _answer_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, ValidationError)  # noqa: S101 - what the handler is registered for
    return JSONResponse(json.loads(error.json(include_url=False, include_context=False)), 422)
