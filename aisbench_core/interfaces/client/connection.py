"""HTTP with the API of a server: the token, tries, and errors."""

import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit

from aisbench_core.base.errors import AisbenchError, ConfigError, Problem, SpecError
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.config.settings import read_environment, user_config_folder
from aisbench_core.interfaces.client.logins import UNENCRYPTED, Logins

PREFIX = "/api/v1"
TRIES = 5
FIRST_WAIT_S = 0.5
PART_BYTES = 1024 * 1024
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Answers by which a server or a proxy before it says that trying again soon helps.
_BUSY = (502, 503, 504)
# Nothing was begun.
_NOT_BEGUN = ("server-busy", "too-many-operations", "too-many-requests")

Json = Any
"""An answer; docs/api.md and the server's /api/v1/openapi.json describe its fields."""


class ApiProblem(AisbenchError):
    """The server refused a request, or did not answer (`status` 0). `code`: its kind; `problem`: all its fields."""

    def __init__(self, message: Message, status: int, code: str, problem: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.problem = problem

    @property
    def may_pass(self) -> bool:
        """Whether trying again soon helps. Of those with status 429, others are about the launches of an hour."""
        return self.status in (0, *_BUSY) or self.code in _NOT_BEGUN


class Connection:
    """Requests to one server with one token. Every method raises ApiProblem."""

    def __init__(self, server: str = "", token: str = "", *, seconds: float = 60.0, unencrypted: bool = False) -> None:
        """`server`: its address without a path (default: AISBENCH_SERVER, or the only one of `aisbench login`).

        `token` (default: AISBENCH_TOKEN, or that of `aisbench login`). `unencrypted`: allow http to other machines,
        which exposes the token (default: AISBENCH_UNENCRYPTED). Raises ConfigError."""
        logins = Logins(user_config_folder())
        server = server or logins.server(read_environment())
        _require_safe(server, unencrypted=unencrypted or bool(read_environment().get(UNENCRYPTED)))
        self._server = server.rstrip("/")
        self._token = token or logins.token_for(server, read_environment())
        self._seconds = seconds
        self._opener = urllib.request.build_opener(_NoRedirects)

    def __repr__(self) -> str:
        """Without the token."""
        return f"Client({self._server!r})"

    def get(self, path: str, **query: Any) -> Any:
        """The JSON of any endpoint that reads; lists are repeated parameters."""
        return self._json("GET", with_query(path, query))

    def _items(self, path: str, query: Mapping[str, Any]) -> Iterator[Json]:
        cursor: str | None = ""
        while cursor is not None:
            page = self.get(path, **query, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]

    def _save(self, path: str, file: Path) -> None:
        """Write an answer to a file, whole or not at all."""
        draft = file.with_name(f".{file.name[:100]}.{secrets.token_hex(4)}")
        try:
            with self._send("GET", path) as reply, draft.open("wb") as content:
                size = reply.headers.get("Content-Length")
                self._copy_content(reply, content)
                if size is not None and content.tell() != int(size):
                    raise self._half_answer()
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)

    def _copy_content(self, reply: HTTPResponse, content: IO[bytes]) -> None:
        while True:
            try:
                part = reply.read(PART_BYTES)
            except (OSError, HTTPException) as error:
                raise self._half_answer() from error
            if not part:
                return
            content.write(part)

    def _half_answer(self) -> ApiProblem:
        return ApiProblem(
            Message("the answer of {server} is incomplete: the connection broke", server=self._server),
            0,
            "half-answer",
            {},
        )

    def _json(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        repeatable: bool = True,
    ) -> Any:
        with self._send(method, path, body, headers, repeatable=repeatable) as reply:
            return json.load(reply)

    def _send(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        repeatable: bool = True,
    ) -> HTTPResponse:
        """`repeatable`: twice is as once, so that it is sent again if nobody knows whether it arrived."""
        for number in range(TRIES):
            try:
                return self._send_once(method, path, body, headers or {})
            except ApiProblem as problem:
                if number == TRIES - 1 or not (problem.may_pass if repeatable else problem.code in _NOT_BEGUN):
                    raise
                time.sleep(FIRST_WAIT_S * 2**number)
        raise AssertionError("the last try returns or raises")

    def _send_once(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> HTTPResponse:
        content = None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self._token}", **headers}
        if content is not None:
            sent["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{self._server}{PREFIX}{path}", content, sent, method=method)  # noqa: S310  # checked
        try:
            reply: HTTPResponse = self._opener.open(request, timeout=self._seconds)
        except urllib.error.HTTPError as error:
            with error:
                raise _problem_of(error.code, error.read()) from None
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", error)
            message = Message("{server} does not answer: {why}", server=self._server, why=why)
            raise ApiProblem(message, 0, "no-answer", {}) from error
        return reply


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: urllib would send the token to wherever it leads."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none."""


def _require_safe(server: str, *, unencrypted: bool) -> None:
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            Message("{server} is not an address of a server", server=server), Message("such as https://bench.example")
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not unencrypted:
        raise ConfigError(
            Message("http would send the token to {host} unencrypted", host=parts.hostname),
            Message("use https, or allow it: unencrypted=True in Python, AISBENCH_UNENCRYPTED=1 for everything"),
        )


def _problem_of(status: int, content: bytes) -> ApiProblem:
    problem: dict[str, Any] = {}
    with suppress(ValueError):
        parsed = json.loads(content)
        problem = parsed if isinstance(parsed, dict) else {}
    detail, hint = str(problem.get("detail", f"HTTP {status}")), str(problem.get("hint", ""))
    sentence = f"{detail} ({hint})" if hint else detail
    return ApiProblem(make_verbatim(sentence), status, str(problem.get("code", "")), problem)


def part_of(name: str) -> str:
    """A name as a part of a path. Raises SpecError on an empty one."""
    if not name:
        raise SpecError(Message("the request"), [Problem("run_id", Message("is empty"))])
    return quote(name, safe="")


def with_query(path: str, query: Mapping[str, Any]) -> str:
    """A path with the parameters that say something; lists are repeated ones."""
    given = {name: _to_text(value) for name, value in query.items() if value not in (None, "", (), [])}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _to_text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
