"""Stores uploads on disk: middleware that streams them there, and passes Streamlit a ticket instead of each file."""

import contextlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message, message_of
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.base.private_files import is_orphan, is_read_only, make_private_folder, process_name

# Subfolder of the data folder, with a folder for each console process.
UPLOADS = "uploads"

MOST_FILE_BYTES = 200 * 1024**2
MOST_SESSION_BYTES = 500 * 1024**2
MOST_SESSION_FILES = 1000
MOST_TEXT_BYTES = 5 * 1024**2
MOST_FORM_BYTES = 64 * 1024  # around a file

_REMOVE_FILES = Message("remove files from the page, or reload it, and upload the file again")

# Prefix of the ticket of a file that was not stored. Files cannot forge it: Streamlit never gets their content.
_REFUSAL = b"aisbench-upload-refused "

_TICKET = re.compile(rb"aisbench-upload (?P<path>[0-9a-f]{8}-[0-9]+-\w+/[0-9a-f-]{36}/[0-9a-f-]{36})")


class UploadRefusedError(Exception):
    """An upload that is answered with an HTTP error, because no page can show the reason."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class UploadLimitError(Exception):
    """A file that is not stored; its page shows the reason after the file's name, and the hint."""

    def __init__(self, reason: Message, hint: Message) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint

    def ticket(self) -> bytes:
        """The content that Streamlit gets instead of the file."""
        texts = {"reason": self.reason, "hint": self.hint}
        return _REFUSAL + json.dumps({name: (text, to_json(text)) for name, text in texts.items()}).encode()


@dataclass(frozen=True, slots=True)
class UploadStore:
    """The uploads of one console process. `is_open`: whether a session is still connected; `person_of`: whose it is.

    `person_bytes`: what all open pages of a person may hold; 0: any size."""

    folder: Path
    is_open: Callable[[str], bool]
    person_of: Callable[[str], str]
    person_bytes: int

    @classmethod
    def create(
        cls, data_dir: Path, is_open: Callable[[str], bool], person_of: Callable[[str], str], person_bytes: int
    ) -> "UploadStore":
        """An empty store; removes folders of killed processes. Creates no folder in a read-only data folder."""
        parent = data_dir / UPLOADS
        if is_read_only(data_dir):
            return cls(parent / f"{process_name()}later", is_open, person_of, person_bytes)
        make_private_folder(parent)
        for folder in parent.iterdir():
            if is_orphan(folder.name):
                shutil.rmtree(folder, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=process_name(), dir=parent))
        return cls(folder, is_open, person_of, person_bytes)

    def reserve(self, session: str, file: str, size: int) -> Path:
        """Create a file of this size. Raises UploadRefusedError, and UploadLimitError when a limit is reached."""
        if not self.is_open(session):
            raise UploadRefusedError(400, "The page is no longer connected: reload it.")
        if size > MOST_FILE_BYTES + MOST_FORM_BYTES:  # browsers check this before they upload, and show both sizes
            raise UploadRefusedError(413, f"The file has {size_text(size)}; allowed: {size_text(MOST_FILE_BYTES)}.")
        if is_read_only(self.folder.parent.parent):
            raise UploadRefusedError(403, "The data folder is read-only: nothing can be stored in it.")
        path = self.folder / session / file
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._require_room(session, size, path)
        with path.open("wb") as reserved:
            os.truncate(reserved.fileno(), size)  # counts towards the limit before its content has arrived
        return path

    def _require_room(self, session: str, size: int, path: Path) -> None:
        sizes = _list_sizes(path.parent, path)
        if len(sizes) >= MOST_SESSION_FILES:
            reason = Message("the page holds {count} files already, and may hold no more", count=len(sizes))
            raise UploadLimitError(reason, _REMOVE_FILES)
        if sum(sizes) + size > MOST_SESSION_BYTES:
            texts = _format_sizes(size, sum(sizes), MOST_SESSION_BYTES)
            reason = Message("it has {size}, and the page holds {held} of at most {most} already", **texts)
            raise UploadLimitError(reason, _REMOVE_FILES)
        of_person = [
            folder for folder in self.folder.iterdir() if self.person_of(folder.name) == self.person_of(session)
        ]
        held = sum(sum(_list_sizes(folder, path)) for folder in of_person)
        if self.person_bytes and held + size > self.person_bytes:
            texts = _format_sizes(size, held, self.person_bytes)
            reason = Message("it has {size}, and your open pages hold {held} of at most {most} already", **texts)
            raise UploadLimitError(reason, _REMOVE_FILES)

    def ticket(self, session: str, file: str) -> bytes:
        """The content that Streamlit gets instead of a stored file."""
        return f"aisbench-upload {self.folder.name}/{session}/{file}".encode()

    def remove(self, session: str, file: str) -> None:
        """Delete a file."""
        (self.folder / session / file).unlink(missing_ok=True)

    def remove_closed(self) -> None:
        """Delete the files of closed sessions."""
        with contextlib.suppress(FileNotFoundError):
            for folder in self.folder.iterdir():
                if not self.is_open(folder.name):
                    shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Delete all files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _list_sizes(folder: Path, but: Path) -> list[int]:
    """The sizes of the files in a folder. Pages delete files meanwhile, once they have read them."""
    sizes = []
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            sizes += [file.stat().st_size] if file != but else []
    return sizes


def _format_sizes(size: int, held: int, most: int) -> dict[str, str]:
    return {"size": size_text(size), "held": size_text(held), "most": size_text(most)}


def size_text(size: int) -> str:
    """A size in KB or MB."""
    number, unit = (size / 1024**2, "MB") if size >= 1024**2 else (size / 1024, "KB")
    return f"{number:.1f}".removesuffix(".0") + f" {unit}"


def refusal_of(name: str, content: bytes) -> ConfigError | None:
    """Why the file of a ticket was not stored; None if it was."""
    if not content.startswith(_REFUSAL):
        return None
    texts = json.loads(content.removeprefix(_REFUSAL))
    reason, hint = (message_of(from_json(*texts[name])) for name in ("reason", "hint"))
    return ConfigError(Message("{file} was not uploaded: {reason}", file=name, reason=reason), hint)


def open_upload(data_dir: Path, name: str, content: bytes) -> BinaryIO:
    """Open the uploaded file of a ticket; other content is returned as a file.

    Raises ConfigError when the file was deleted, or was not stored."""
    if refusal := refusal_of(name, content):
        raise refusal
    path = _path_of(data_dir, content)
    try:
        return path.open("rb") if path else io.BytesIO(content)
    except FileNotFoundError:
        raise ConfigError(Message("the uploaded file is no longer on the server"), Message("upload it again")) from None


def read_upload(data_dir: Path, name: str, content: bytes) -> bytes:
    """The content of a small uploaded file. Raises ConfigError when it was deleted, or is too large."""
    with open_upload(data_dir, name, content) as file:
        size = file.seek(0, os.SEEK_END)
        if size > MOST_TEXT_BYTES:
            raise ConfigError(
                Message(
                    "{file} is too large: it has {found}; allowed: {most}",
                    file=name,
                    found=size_text(size),
                    most=size_text(MOST_TEXT_BYTES),
                ),
                Message("choose the file with the settings"),
            )
        file.seek(0)
        return file.read(MOST_TEXT_BYTES)


def discard_upload(data_dir: Path, content: bytes) -> None:
    """Delete an uploaded file that is no longer needed."""
    if path := _path_of(data_dir, content):
        path.unlink(missing_ok=True)


def _path_of(data_dir: Path, content: bytes) -> Path | None:
    ticket = _TICKET.fullmatch(content)
    return data_dir / UPLOADS / ticket["path"].decode() if ticket else None


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
                    "on_part_begin": self._begin_part,
                    "on_header_field": _adding_to(self.header),
                    "on_header_value": _adding_to(self._value),
                    "on_header_end": self._end_header,
                    "on_part_data": _adding_to(self._content),
                    "on_end": self._end_parts,
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

    def _begin_part(self) -> None:
        self._parts += 1

    def _end_header(self) -> None:
        self.header += b": " + self._value + b"\r\n"
        self._value.clear()

    def _end_parts(self) -> None:
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
            await self._store_file(self._store(), upload["session"], upload["file"], scope, receive, send)
            return
        if scope["type"] == "http" and upload and scope["method"] == "DELETE":
            self._store().remove(upload["session"], upload["file"])
        try:
            await self._app(scope, receive, send)
        finally:
            if scope["type"] == "websocket":
                self._store().remove_closed()

    async def _store_file(
        self, store: UploadStore, session: str, file: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        is_stored = False
        request = Request(scope, receive)
        try:
            size = _announced_size(scope)
            try:
                path = store.reserve(session, file, size)
            except UploadLimitError as error:
                await self._hand_on(scope, await _skip_file(request, size), error.ticket(), receive, send)
                return
            header = await _write_file(request, path, size)
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
        pending: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
        statuses: list[int] = []

        async def receive_ticket() -> MutableMapping[str, Any]:
            return pending.pop() if pending else await receive()

        async def send_and_record(message: MutableMapping[str, Any]) -> None:
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


async def _write_file(request: Request, path: Path, announced: int) -> bytes:
    """Write the file of the request as it arrives; returns the header of its part."""
    part = OnePart(request.headers.get("content-type", ""))
    size = 0
    with path.open("r+b") as stored:
        async for content in _iterate_chunks(request, part, announced):
            size += len(content)
            await run_in_threadpool(stored.write, content)
        stored.truncate(size)
    return bytes(part.header)


async def _skip_file(request: Request, announced: int) -> bytes:
    """Read the file without storing it, since browsers read no answer before all is sent; returns the part's header."""
    part = OnePart(request.headers.get("content-type", ""))
    async for _ in _iterate_chunks(request, part, announced):
        pass
    return bytes(part.header)


async def _iterate_chunks(request: Request, part: OnePart, announced: int) -> AsyncIterator[bytes]:
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
