"""Errors as `application/problem+json` (RFC 9457), with the core's own sentences."""

import logging
import re
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse

from aisbench_core.base import errors
from aisbench_core.base.errors import AisbenchError, CloudError, SpecError
from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.interfaces.commands.process import InputRefused
from aisbench_core.interfaces.commands.running import CommandKeyReused, CommandNotFound, TooManyCommands

LOG = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 2


class ApiError(AisbenchError):
    """A request that is wrong as HTTP, before the core sees it."""

    status = HTTPStatus.BAD_REQUEST


class NoSuchPath(ApiError):
    """Nothing is served under this path."""

    status = HTTPStatus.NOT_FOUND


class WrongMethod(ApiError):
    """The path exists, but not with this method."""

    status = HTTPStatus.METHOD_NOT_ALLOWED


class TooLarge(ApiError):
    """The body is longer than any request needs."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class SlowBody(ApiError):
    """The body did not arrive in time."""

    status = HTTPStatus.REQUEST_TIMEOUT


class WrongMediaType(ApiError):
    """The body is not declared as JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class ServerBusy(ApiError):
    """As many requests are being answered as this server takes at once."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class TooManyRequests(ApiError):
    """A person has as many requests under way as one may; trying again helps."""

    status = HTTPStatus.TOO_MANY_REQUESTS


class KeyReused(ApiError):
    """An idempotency key was used for another launch before."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


# The first class that an error is an instance of decides.
STATUSES: Mapping[type[AisbenchError], HTTPStatus] = {
    errors.TokenRefused: HTTPStatus.UNAUTHORIZED,
    errors.NotAllowed: HTTPStatus.FORBIDDEN,
    errors.TooManyRuns: HTTPStatus.TOO_MANY_REQUESTS,
    errors.TooManyOperations: HTTPStatus.TOO_MANY_REQUESTS,
    errors.RunNotFound: HTTPStatus.NOT_FOUND,
    errors.SeriesNotFound: HTTPStatus.NOT_FOUND,
    errors.ScheduleNotFound: HTTPStatus.NOT_FOUND,
    errors.StaleRun: HTTPStatus.CONFLICT,
    errors.ScheduleExists: HTTPStatus.CONFLICT,
    CommandNotFound: HTTPStatus.NOT_FOUND,
    CommandKeyReused: HTTPStatus.CONFLICT,
    InputRefused: HTTPStatus.CONFLICT,
    TooManyCommands: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ReadOnlyFolder: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.SpecError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.QueryError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.ConfigError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.WarehouseBusy: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.DamagedLedger: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.LedgerUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.DiskError: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.CloudUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.CloudError: HTTPStatus.BAD_GATEWAY,
}
_TRY_AGAIN = (
    *(errors.TooManyOperations, errors.WarehouseBusy, errors.LedgerUnavailable, errors.CloudUnavailable),
    *(ServerBusy, TooManyCommands, TooManyRequests),
)


def status_of(error: AisbenchError) -> HTTPStatus:
    """The HTTP status of an error."""
    if isinstance(error, ApiError):
        return error.status
    found = (status for kind, status in STATUSES.items() if isinstance(error, kind))
    return next(found, HTTPStatus.INTERNAL_SERVER_ERROR)


def code_of(error: AisbenchError) -> str:
    """The error's class as programs compare it: RunNotFound is `run-not-found`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", type(error).__name__).lower()


def language_of(headers: Headers) -> Callable[[str], str]:
    """What puts sentences into the language that a program asks for: Chinese, or else English."""
    return in_chinese if headers.get("accept-language", "").lower().startswith("zh") else str


def problem_response(error: AisbenchError, request: Request) -> JSONResponse:
    """The answer for an error that a person can act on, in Chinese for who prefers that."""
    say = language_of(request.headers)
    status, content = status_of(error), problem_of(error, say)
    headers = {"Retry-After": str(RETRY_SECONDS)} if isinstance(error, _TRY_AGAIN) else {}
    if status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="aisbench"'
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def problem_of(error: AisbenchError, say: Callable[[str], str]) -> dict[str, object]:
    """The fields of the answer; `say` puts sentences into a language."""
    status = status_of(error)
    content: dict[str, object] = {
        "type": "about:blank", "title": status.phrase, "status": int(status), "code": code_of(error),
        "detail": say(error.description), "hint": say(error.hint),
    }  # fmt: skip
    if isinstance(error, SpecError):
        content["problems"] = [
            {"field": problem.field, "message": say(problem.message), "found": say(problem.value)}
            for problem in error.problems
        ]
    if isinstance(error, CloudError):
        content["cloud"] = {"status": error.status, "code": error.code, "request_id": error.request_id}
    return content


def bug_response(error: Exception, request: Request) -> JSONResponse:
    """The answer for a bug: a number under which its traceback is in the log, and nothing of it."""
    incident = secrets.token_hex(4)
    LOG.error("API incident %s", incident, exc_info=error)
    message = Message("the server failed; incident {incident}", incident=incident)
    return problem_response(
        AisbenchError(message, Message("its traceback is in the server's data/console.log")), request
    )
