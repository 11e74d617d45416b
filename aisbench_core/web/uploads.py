"""Middleware that streams uploads to disk, and passes Streamlit a ticket instead of each file."""

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aisbench_core.web.upload_store import UploadLimitError, UploadRefusedError, UploadStore

UPLOAD = re.compile(r".*/_stcore/upload_file/(?P<session>[0-9a-f-]{36})/(?P<file>[0-9a-f-]{36})")
NO_CONTENT = 204
BOUNDARY = "aisbench-upload-ticket"


class NotOneFileError(ValueError):
    """The body is not a form with exactly one part."""


class OnePart:
    """Parses a body in chunks; `header` has the raw header lines of the part."""

    def __init__(self, content_type: str) -> None:
        self.header = bytearray()
        self._parts = 0
        self._has_ended = False
        self._content = bytearray()
        self._value = bytearray()
        _, options = parse_options_header(content_type)
        try:
            self._parser = MultipartParser(
                options.get(b"boundary") or b"",
                {
                    "on_part_begin": self._begin,
                    "on_header_field": _adding_to(self.header),
                    "on_header_value": _adding_to(self._value),
                    "on_header_end": self._end_header,
                    "on_part_data": _adding_to(self._content),
                    "on_end": self._end,
                },
            )
        except FormParserError as error:
            raise NotOneFileError(str(error)) from error

    def feed(self, chunk: bytes) -> bytes:
        """The part of the file in this chunk of the body. Raises NotOneFileError."""
        self._content.clear()
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise NotOneFileError(str(error)) from error
        if self._parts > 1:
            raise NotOneFileError("the form has more than one part")
        return bytes(self._content)

    def finish(self) -> None:
        """Raise NotOneFileError if the body is incomplete."""
        if not (self._parts and self._has_ended):
            raise NotOneFileError("the form has no end")

    def _begin(self) -> None:
        self._parts += 1

    def _end_header(self) -> None:
        self.header += b": " + self._value + b"\r\n"
        self._value.clear()

    def _end(self) -> None:
        self._has_ended = True


def _adding_to(target: bytearray) -> Callable[[bytes, int, int], None]:
    return lambda data, start, end: target.extend(data[start:end])


class UploadMiddleware:
    """Stores uploads in place of Streamlit; other requests are passed on."""

    def __init__(self, app: ASGIApp, store: Callable[[], UploadStore]) -> None:
        self._app = app
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Store or delete an upload; delete a session's uploads when its web socket ends."""
        upload = UPLOAD.fullmatch(scope.get("path", ""))
        if scope["type"] == "http" and upload and scope["method"] == "PUT":
            await self._put(self._store(), upload["session"], upload["file"], scope, receive, send)
            return
        if scope["type"] == "http" and upload and scope["method"] == "DELETE":
            self._store().remove(upload["session"], upload["file"])
        try:
            await self._app(scope, receive, send)
        finally:
            if scope["type"] == "websocket":
                self._store().remove_closed()

    async def _put(
        self, store: UploadStore, session: str, file: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        is_stored = False
        request = Request(scope, receive)
        try:
            size = _announced_size(scope)
            try:
                path = store.reserve(session, file, size)
            except UploadLimitError as error:
                await self._hand_on(scope, await _skip(request, size), error.ticket(), receive, send)
                return
            header = await _write(request, path, size)
            is_stored = await self._hand_on(scope, header, store.ticket(session, file), receive, send)
        except UploadRefusedError as error:
            await PlainTextResponse(f"{error}\n", error.status)(scope, receive, send)
        except NotOneFileError as error:
            await PlainTextResponse(f"{error}\n", 400)(scope, receive, send)
        except ClientDisconnect:
            pass  # nobody to answer
        except OSError as error:
            await PlainTextResponse(f"The file cannot be stored: {error.strerror}\n", 507)(scope, receive, send)
        finally:
            if not is_stored:
                store.remove(session, file)

    async def _hand_on(self, scope: Scope, header: bytes, ticket: bytes, receive: Receive, send: Send) -> bool:
        """Upload the ticket to Streamlit under the file's name; returns whether it was accepted."""
        delimiter = f"--{BOUNDARY}".encode()
        body = b"\r\n".join((delimiter, header, ticket, delimiter + b"--", b""))
        headers = [pair for pair in scope["headers"] if pair[0] not in (b"content-type", b"content-length")]
        headers += [
            (b"content-type", f"multipart/form-data; boundary={BOUNDARY}".encode()),
            (b"content-length", str(len(body)).encode()),
        ]
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        statuses: list[int] = []

        async def receive_ticket() -> Message:
            return pending.pop() if pending else await receive()

        async def send_and_record(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        await self._app({**scope, "headers": headers}, receive_ticket, send_and_record)
        return statuses == [NO_CONTENT]


def _announced_size(scope: Scope) -> int:
    size = Headers(scope=scope).get("content-length", "")
    if not size.isdecimal():
        raise UploadRefusedError(411, "An upload has to say how long it is.")
    return int(size)


async def _write(request: Request, path: Path, announced: int) -> bytes:
    """Write the file of the request as it arrives; returns the header of its part."""
    part = OnePart(request.headers.get("content-type", ""))
    size = 0
    with path.open("r+b") as stored:
        async for content in _chunks(request, part, announced):
            size += len(content)
            await run_in_threadpool(stored.write, content)
        stored.truncate(size)
    return bytes(part.header)


async def _skip(request: Request, announced: int) -> bytes:
    """Read the file without storing it, since browsers read no answer before all is sent; returns the part's header."""
    part = OnePart(request.headers.get("content-type", ""))
    async for _ in _chunks(request, part, announced):
        pass
    return bytes(part.header)


async def _chunks(request: Request, part: OnePart, announced: int) -> AsyncIterator[bytes]:
    """The content of the file as it arrives.

    Raises UploadRefusedError beyond the announced size: a chunked body can have any size."""
    size = 0
    async for chunk in request.stream():
        content = part.feed(chunk)
        size += len(content)
        if size > announced:
            raise UploadRefusedError(413, "The file is larger than announced.")
        if content:
            yield content
    part.finish()
