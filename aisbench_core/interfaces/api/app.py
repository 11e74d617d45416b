"""The ASGI app of the API: tokens, parameters, threads, and errors as problems."""

import asyncio
import hashlib
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from http import HTTPStatus
from typing import Any

from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from aisbench_core.base.errors import AisbenchError, DamagedLedger, NotAllowed, TokenRefused
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.api import health, metrics
from aisbench_core.interfaces.api.admission import Slots, UnderWay
from aisbench_core.interfaces.api.document.openapi import build_document
from aisbench_core.interfaces.api.endpoint import PREFIX, Answered, ApiCall, Endpoint, names_tag
from aisbench_core.interfaces.api.endpoints import ENDPOINTS
from aisbench_core.interfaces.api.metrics import CloudLatency, Traffic
from aisbench_core.interfaces.api.problems import (
    ApiError,
    NoSuchPath,
    ServerBusy,
    SlowBody,
    WrongMethod,
    bug_response,
    code_of,
    problem_response,
    status_of,
)
from aisbench_core.interfaces.api.requests import body_of, query_of, require_size, token_of
from aisbench_core.interfaces.api.streams import StreamedParts
from aisbench_core.interfaces.commands.running import RunningCommands
from aisbench_core.interfaces.web.ledger_checks import no_ledger
from aisbench_core.model import WayIn
from aisbench_core.model.token import Token
from aisbench_core.warehouse.open.process import QueryProcesses
from aisbench_core.wiring import Core

LOG = logging.getLogger(__name__)

# Requests that are answered at once, each in a thread, and those of one person among them.
MOST_AT_ONCE, MOST_OF_PERSON = 16, 4
# Of those that take long, such as exports and queries in SQL.
MOST_EXCLUSIVE, MOST_EXCLUSIVE_OF_PERSON = 4, 2
# A body must arrive at this rate, and may pause for so long in all.
BODY_BYTES_PER_SECOND = 100_000
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
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, "api")
        self._long_threads = ThreadPoolExecutor(MOST_EXCLUSIVE, "api-long")
        self._probes = ThreadPoolExecutor(2, "api-probes")
        self._under_way = UnderWay()
        self._slots = Slots(MOST_AT_ONCE, MOST_OF_PERSON)
        self._long_slots = Slots(MOST_EXCLUSIVE, MOST_EXCLUSIVE_OF_PERSON)
        self._warehouse = health.WarehouseProbe()
        self._latency = CloudLatency(self._probes)
        self.answers: dict[int, int] = {}
        self._commands = RunningCommands()
        self._queries = QueryProcesses()

    def app(self) -> Starlette:
        """The app with its routes."""
        whole = build_document(ENDPOINTS)
        routes = [
            Route(PREFIX + endpoint.path, self._respond_to(endpoint), methods=[endpoint.method])
            for endpoint in ENDPOINTS
        ]
        routes += [
            Route(OPENAPI, self._count_answers(_make_responder(whole)), methods=["GET"]),
            Route("/metrics", self._count_answers(self._serve_metrics), methods=["GET"]),
            Route("/healthz", self._count_answers(_make_responder({"status": "ok"})), methods=["GET"]),
            Route("/readyz", self._count_answers(self._serve_readiness), methods=["GET"]),
        ]
        handlers: Any = {HTTPException: _http_problem}
        return Starlette(routes=_join_routes(routes), exception_handlers=handlers)

    def _open_core(self) -> Core:
        with self._opening:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _respond_to(self, endpoint: Endpoint) -> Respond:
        adapter = TypeAdapter(endpoint.answer) if endpoint.answer else None
        slots = self._long_slots if endpoint.exclusive else self._slots
        threads = self._long_threads if endpoint.exclusive else self._threads

        async def respond(request: Request) -> Response:
            token = await self._in_thread(self._check_token, request)
            async with AsyncExitStack() as admission:
                await admission.enter_async_context(self._under_way.request(token.name))
                body = await _read_body(request, endpoint.most_body) if endpoint.body else b""
                await admission.enter_async_context(slots.slot(token.name))
                loop = asyncio.get_running_loop()
                result = await loop.run_in_executor(threads, self._call_endpoint, endpoint, request, token, body)
                if isinstance(result, StreamedParts):  # it is under way until its last part is sent
                    result.until_sent = admission.pop_all()
                return _build_response(result, adapter, request)

        return self._count_answers(respond)

    def _check_token(self, request: Request) -> Token:
        """The token of a request. Raises TokenRefused, which is in the audit unless there was no token."""
        with _causes_logged():
            core = self._open_core()
        try:
            with _causes_logged():
                return token_of(request.headers, core.tokens)
        except TokenRefused as error:
            if "authorization" in request.headers:
                address = request.client.host if request.client else ""
                core.sign_in_audit.record_refusal(str(error.message), address, error.owner, WayIn.API)
            raise

    def _call_endpoint(self, endpoint: Endpoint, request: Request, token: Token, body: bytes) -> Any:
        core = self._open_core()
        if endpoint.body:  # which took its time: the token may have been revoked meanwhile
            token = self._check_token(request)
        path = {name: str(value) for name, value in request.path_params.items()}
        query = query_of(endpoint.query, request.query_params)
        content = body_of(endpoint.body, body, request.headers) if endpoint.body else None
        return endpoint.handle(
            ApiCall(core, token, path, query, content, request.headers, self._commands, self._queries)
        )

    async def _serve_metrics(self, request: Request) -> Response:
        token = await self._in_thread(self._check_token, request)
        in_flight = self._slots.in_use + self._long_slots.in_use
        async with self._under_way.request(token.name), self._slots.slot(token.name):
            text = await self._in_thread(self._metrics_text, in_flight)
        return PlainTextResponse(text, media_type=metrics.MEDIA_TYPE)

    def _metrics_text(self, in_flight: int) -> str:
        core = self._open_core()
        traffic = Traffic(self.answers, in_flight, self.sessions() if self.sessions else None)
        return metrics.text_of(core, traffic, self._latency.last(core.health.services, core.clock()))

    async def _serve_readiness(self, _: Request) -> Response:
        loop = asyncio.get_running_loop()

        def state() -> dict[str, str]:
            with _causes_logged():
                return health.check_readiness(self._open_core(), self._warehouse)

        return JSONResponse(await loop.run_in_executor(self._probes, state))

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def _count_answers(self, respond: Respond) -> Respond:
        async def count_answer(request: Request) -> Response:
            response = await _with_problems(respond, request)
            self.answers[response.status_code] = self.answers.get(response.status_code, 0) + 1
            return response

        return count_answer


@contextmanager
def _causes_logged() -> Iterator[None]:
    """For requests of anybody: why the ledger cannot be read may name hosts and accounts, and is only logged."""
    try:
        yield
    except (ApiError, TokenRefused, DamagedLedger):
        raise
    except AisbenchError as error:
        LOG.warning("requests cannot be answered: %s", error)
        raise no_ledger() from error


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


async def _read_body(request: Request, most: int) -> bytes:
    """The body. Raises TooLarge, and SlowBody once it is behind the slowest rate that is waited for."""
    content, start = bytearray(), asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(BODY_SECONDS) as limit:
            async for part in request.stream():
                content += part
                require_size(len(content), most)
                limit.reschedule(start + BODY_SECONDS + len(content) / BODY_BYTES_PER_SECOND)
    except TimeoutError:
        seconds = asyncio.get_running_loop().time() - start
        message = Message(
            "only {size:,} bytes of the body arrived in {seconds:.0f} s", size=len(content), seconds=seconds
        )
        rate = Message("send it without pauses, at {rate} kB/s or faster", rate=BODY_BYTES_PER_SECOND // 1000)
        raise SlowBody(message, rate) from None
    return bytes(content)


def _build_response(result: Any, adapter: TypeAdapter[Any] | None, request: Request) -> Response:
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


def _make_responder(content: dict[str, Any]) -> Respond:
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


def _join_routes(routes: Sequence[Route]) -> list[Route]:
    """One route per path: Starlette refuses a method where only a later route of the path has it."""
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    return [same[0] if len(same) == 1 else _merge_routes(path, same) for path, same in by_path.items()]


def _merge_routes(path: str, routes: Sequence[Route]) -> Route:
    by_method = {method: route.endpoint for route in routes for method in route.methods or ()}

    async def respond(request: Request) -> Response:
        response: Response = await by_method[request.method](request)
        return response

    return Route(path, respond, methods=[*by_method])
