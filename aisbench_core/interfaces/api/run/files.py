"""Files of a run's folder: lists, and their content, whole or by range."""

import hashlib
import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO, Annotated

from pydantic import Field
from starlette.responses import Response

from aisbench_core.interfaces.api.cursors import page_of
from aisbench_core.interfaces.api.endpoint import ApiCall, RequestHeader, names_tag
from aisbench_core.interfaces.api.run.ranges import STATUSES, behind_the_end, part_of, range_of
from aisbench_core.interfaces.api.streams import StreamedParts

MEDIA_TYPE = "application/octet-stream"
"""Of every file: what a job wrote is never shown as a page of the console."""

PART_BYTES = 1024 * 1024
IF_RANGE = RequestHeader("If-Range", r'^"[!#-~]{1,100}"$', required=False)
FILE_STATUSES = (*STATUSES, HTTPStatus.NOT_MODIFIED)


@dataclass(frozen=True, slots=True)
class FileSize:
    """A file of a run's folder."""

    name: Annotated[str, Field(description="Its path below the run's folder, such as `logs/worker-0.log`.")]
    size: Annotated[int, Field(description="Bytes.")]


@dataclass(frozen=True, slots=True)
class FileListing:
    """Files by name. `next` is null on the last page."""

    items: Sequence[FileSize]
    next: str | None


def list_files(call: ApiCall) -> FileListing:
    """The files of the run's folder on the server."""
    files = call.core.files.sizes(call.path["run_id"])
    page, following = page_of([FileSize(name, size) for name, size in files.items()], call.query)
    return FileListing(page, following)


def read_file(call: ApiCall) -> Response:
    """A file as it is, whole or the bytes of a `Range` header, which counts while `If-Range` is the file's ETag."""
    with ExitStack() as opened:
        content = opened.enter_context(_open_file(call.core.files.file(call.path["run_id"], call.path["file"])))
        facts = os.fstat(content.fileno())
        tag = _tag_of(facts)
        if names_tag(call.headers, tag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
        is_same = call.headers.get("if-range", tag) == tag
        header = call.headers.get("range", "") if is_same else ""
        first, last = range_of(header, facts.st_size)
        if header and first >= facts.st_size:
            return behind_the_end(facts.st_size)
        status, headers = part_of(header, first, last, facts.st_size)
        opened.pop_all()
        headers |= {"ETag": tag, "Cache-Control": "private, no-cache", "Content-Disposition": "attachment"}
        return StreamedParts(_iterate_parts(content, first, last), MEDIA_TYPE, status, headers)


def _open_file(file: Path) -> IO[bytes]:
    # Of a file that is replaced meanwhile, all parts are the old one's.
    return os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), "rb", buffering=0)


def _tag_of(facts: os.stat_result) -> str:
    state = f"{facts.st_ino} {facts.st_mtime_ns} {facts.st_size}"
    return f'"{hashlib.sha256(state.encode()).hexdigest()[:32]}"'


def _iterate_parts(content: IO[bytes], first: int, last: int) -> Generator[bytes]:
    with content:
        yield b""  # it holds the file from here on
        content.seek(first)
        while first < last and (part := content.read(min(PART_BYTES, last - first))):
            first += len(part)
            yield part
