"""The ASGI app of the API: tokens, parameters, threads, and errors as problems."""

import asyncio
import hashlib
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from typing import Any

from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from aisbench_core.api import health, metrics
from aisbench_core.api.endpoint import PREFIX, Answered, ApiCall, Endpoint, names_tag
from aisbench_core.api.endpoints import ENDPOINTS
from aisbench_core.api.metrics import CloudLatency, Traffic
from aisbench_core.api.openapi import document
from aisbench_core.api.problems import (
    NoSuchPath,
    ServerBusy,
    SlowBody,
    WrongMethod,
    bug_response,
    code_of,
    problem_response,
    status_of,
)
from aisbench_core.api.requests import MOST_BODY, body_of, query_of, require_size, token_of
from aisbench_core.api.streams import StreamedParts
from aisbench_core.commands.running import RunningCommands
from aisbench_core.errors import AisbenchError, NotAllowed, TokenRefused
from aisbench_core.messages import Message
from aisbench_core.model import WayIn
from aisbench_core.tokens.token import Token
from aisbench_core.wiring import Core

LOG = logging.getLogger(__name__)

THREADS = 8
# Beyond these, who waits longer than a client's patience is told so at once.
MOST_AT_ONCE = 32
MOST_EXCLUSIVE = 4
BODY_SECONDS = 10

OPENAPI = f"{PREFIX}/openapi.json"

Respond = Callable[[Request], Awaitable[Response]]


class ApiServer:
    """Answers requests in threads of its own, so that neither the console's pages nor health checks wait for them."""

    def __init__(self, open_core: Callable[[], Core], sessions: Callable[[], int] | None = None) -> None:
        """`open_core`: called at the first request. `sessions`: the number of open pages; None without a console."""
        self._open = open_core
        self._opening = threading.Lock()
        self._opened: Core | None = None
        self.sessions = sessions
        self._threads = ThreadPoolExecutor(THREADS, "api")
        self._probes = ThreadPoolExecutor(2, "api-probes")
        self._in_flight = {False: 0, True: 0}
        self._latency = CloudLatency(self._probes)
        self.answers: dict[int, int] = {}
        self._commands = RunningCommands()

    def app(self) -> Starlette:
        """The app with its routes."""
        whole = document(ENDPOINTS)
        routes = [
            Route(PREFIX + endpoint.path, self._respond_to(endpoint), methods=[endpoint.method])
            for endpoint in ENDPOINTS
        ]
        routes += [
            Route(OPENAPI, self._counted(_always(whole)), methods=["GET"]),
            Route("/metrics", self._counted(self._metrics), methods=["GET"]),
            Route("/healthz", self._counted(_always({"status": "ok"})), methods=["GET"]),
            Route("/readyz", self._counted(self._readiness), methods=["GET"]),
        ]
        handlers: Any = {HTTPException: _http_problem}
        return Starlette(routes=_joined(routes), exception_handlers=handlers)

    def _open_core(self) -> Core:
        with self._opening:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _respond_to(self, endpoint: Endpoint) -> Respond:
        adapter = TypeAdapter(endpoint.answer) if endpoint.answer else None

        async def respond(request: Request) -> Response:
            with ExitStack() as admission:
                admission.enter_context(self._admitted(exclusive=endpoint.exclusive))
                body = await self._body(request, endpoint.most_body) if endpoint.body else b""
                result = await self._in_thread(self._answer, endpoint, request, body)
                if isinstance(result, StreamedParts):  # it is under way until its last part is sent
                    result.until_sent = admission.pop_all()
                return _response(result, adapter, request)

        return self._counted(respond)

    async def _body(self, request: Request, most: int) -> bytes:
        """The body, of whom a token names: nobody else may keep the server waiting for one."""
        await self._in_thread(self._token, request)
        seconds = BODY_SECONDS * max(1, most // MOST_BODY)  # as much longer as it may be larger
        try:
            async with asyncio.timeout(seconds):
                return await _body(request, most)
        except TimeoutError:
            message = Message("the body did not arrive within {seconds} s", seconds=seconds)
            raise SlowBody(message, Message("send it without pauses")) from None

    def _token(self, request: Request) -> Token:
        """The token of a request. Raises TokenRefused, which is in the audit unless there was no token."""
        core = self._open_core()
        try:
            return token_of(request.headers, core.tokens)
        except TokenRefused as error:
            if "authorization" in request.headers:
                address = request.client.host if request.client else ""
                core.sign_in_audit.refused(str(error.message), address, error.owner, WayIn.API)
            raise

    def _answer(self, endpoint: Endpoint, request: Request, body: bytes) -> Any:
        core = self._open_core()
        token = self._token(request)
        path = {name: str(value) for name, value in request.path_params.items()}
        query = query_of(endpoint.query, request.query_params)
        content = body_of(endpoint.body, body, request.headers) if endpoint.body else None
        return endpoint.handle(ApiCall(core, token, path, query, content, request.headers, self._commands))

    async def _metrics(self, request: Request) -> Response:
        text = await self._in_thread(self._metrics_text, request)
        return PlainTextResponse(text, media_type=metrics.MEDIA_TYPE)

    def _metrics_text(self, request: Request) -> str:
        core = self._open_core()
        self._token(request)
        traffic = Traffic(self.answers, sum(self._in_flight.values()), self.sessions() if self.sessions else None)
        return metrics.text_of(core, traffic, self._latency.last(core.health.services, core.clock()))

    async def _readiness(self, _: Request) -> Response:
        loop = asyncio.get_running_loop()
        return JSONResponse(await loop.run_in_executor(self._probes, lambda: health.readiness(self._open_core())))

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    @contextmanager
    def _admitted(self, *, exclusive: bool) -> Iterator[None]:
        """Count a request that is being answered. Raises ServerBusy beyond the limit."""
        most = MOST_EXCLUSIVE if exclusive else MOST_AT_ONCE
        if self._in_flight[exclusive] >= most:
            raise ServerBusy(
                Message("{count} such requests are already being processed", count=most),
                Message("try again in a moment"),
            )
        self._in_flight[exclusive] += 1
        try:
            yield
        finally:
            self._in_flight[exclusive] -= 1

    def _counted(self, respond: Respond) -> Respond:
        async def counted(request: Request) -> Response:
            response = await _with_problems(respond, request)
            self.answers[response.status_code] = self.answers.get(response.status_code, 0) + 1
            return response

        return counted


async def _with_problems(respond: Respond, request: Request) -> Response:
    try:
        return await respond(request)
    except AisbenchError as error:
        _log_refusal(error, request)
        return problem_response(error, request)
    except (ClientDisconnect, HTTPException):
        raise
    except Exception as error:  # a bug: its traceback goes to the log, and its incident to the client
        return bug_response(error, request)


def _log_refusal(error: AisbenchError, request: Request) -> None:
    """Log who tries what is not possible: in English, and the path without its query, as for requests before these."""
    if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, ServerBusy):
        return  # not of the client's making
    # What was sent may be a secret: of wrong input there is only the kind.
    said = error.message if isinstance(error, TokenRefused | NotAllowed) else code_of(error)
    client = request.client.host if request.client else "an unknown address"
    LOG.warning("refused %s %s from %s: %s", request.method, request.url.path[:200], client, said)


async def _body(request: Request, most: int) -> bytes:
    content = bytearray()
    async for part in request.stream():
        content += part
        require_size(len(content), most)
    return bytes(content)


def _response(result: Any, adapter: TypeAdapter[Any] | None, request: Request) -> Response:
    if isinstance(result, Response) or adapter is None:
        return result  # type: ignore[no-any-return]  # a Response, by the endpoint's declaration
    answered = result if isinstance(result, Answered) else Answered(result, HTTPStatus.OK, {})
    content = adapter.dump_json(answered.content)
    headers = {"Cache-Control": "no-store", **answered.headers}
    if request.method == "GET":
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers |= {"ETag": tag, "Cache-Control": "private, no-cache"}
        if names_tag(request.headers, tag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(content, answered.status, headers, "application/json")


def _always(content: dict[str, Any]) -> Respond:
    async def respond(_: Request) -> Response:
        return JSONResponse(content)

    return respond


async def _http_problem(request: Request, error: HTTPException) -> Response:
    """Starlette's own refusals: an unknown path, or a method that the path does not have."""
    path = request.url.path
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        message = Message("{method} is not possible here", method=request.method)
        response = problem_response(WrongMethod(message, Message("see {path}", path=OPENAPI)), request)
        response.headers.update(error.headers or {})
        return response
    nothing = Message("there is no endpoint {path}", path=path[:200])
    return problem_response(NoSuchPath(nothing, Message("see {path}", path=OPENAPI)), request)


def _joined(routes: Sequence[Route]) -> list[Route]:
    """One route per path: Starlette refuses a method where only a later route of the path has it."""
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    return [same[0] if len(same) == 1 else _merged(path, same) for path, same in by_path.items()]


def _merged(path: str, routes: Sequence[Route]) -> Route:
    by_method = {method: route.endpoint for route in routes for method in route.methods or ()}

    async def respond(request: Request) -> Response:
        response: Response = await by_method[request.method](request)
        return response

    return Route(path, respond, methods=[*by_method])
