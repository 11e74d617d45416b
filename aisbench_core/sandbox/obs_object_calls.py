"""What the sandbox's OBS does with objects."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import BinaryIO

from starlette.responses import Response, StreamingResponse

from aisbench_core.sandbox import obs_responses as responses
from aisbench_core.sandbox.objects import ObjectError, Stat
from aisbench_core.sandbox.obs_calls import Call

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
_AT_ONCE = 4 << 20  # bytes; larger answers are streamed
_BLOCK = 1 << 20


def put(call: Call) -> Response:
    if "if-match" in call.asked.headers or "if-none-match" in call.asked.headers:
        raise ObjectError("NotImplemented", "Conditions on a PUT are not understood here.")
    source = call.copy_source()
    if source:
        return _copy(call, source)
    stat = call.objects.commit(call.bucket, call.key, call.draft, call.stored_headers())
    return responses.empty(headers={"etag": f'"{stat.etag}"'})


def append(call: Call) -> Response:
    position = call.number("position", 0)
    with call.draft.opened() as added:
        stat = call.objects.append(call.bucket, call.key, position, added, call.stored_headers())
    headers = {"etag": f'"{stat.etag}"', "x-obs-next-append-position": str(stat.size)}
    return responses.empty(headers=headers)


def head(call: Call) -> Response:
    with call.objects.open(call.bucket, call.key) as (stat, _):
        return _unwanted(call, stat) or responses.empty(headers=_headers(call, stat))


def get(call: Call) -> Response:
    """The whole object or the range that was asked for, of one version from the first byte to the last."""
    with ExitStack() as stack:
        stat, file = stack.enter_context(call.objects.open(call.bucket, call.key))
        unwanted = _unwanted(call, stat)
        if unwanted:
            return unwanted
        part = _asked_range(call.asked.headers.get("range", ""), stat.size)
        start, end = part or (0, stat.size)
        headers = _headers(call, stat) | {"content-length": str(end - start)}
        if part:
            headers["content-range"] = f"bytes {start}-{end - 1}/{stat.size}"
        status = 206 if part else 200
        file.seek(start)
        if end - start <= _AT_ONCE:
            return Response(file.read(end - start), status, headers)
        return StreamingResponse(_blocks(stack.pop_all(), file, end - start), status, headers)


def delete(call: Call) -> Response:
    call.objects.delete(call.bucket, call.key)
    return responses.empty(204)


def start_upload(call: Call) -> Response:
    upload_id = call.uploads.start(call.bucket, call.key, call.stored_headers())
    return responses.upload_started(call.bucket, call.key, upload_id)


def put_part(call: Call) -> Response:
    number, upload_id = call.number("partNumber", 0), call.text("uploadId")
    source = call.copy_source()
    if not source:
        etag = call.uploads.part(call.bucket, call.key, upload_id, number, call.draft)
        return responses.empty(headers={"etag": f'"{etag}"'})
    with call.objects.open(*source) as (stat, file):
        start, end = _asked_range(call.header("copy-source-range"), stat.size) or (0, stat.size)
        file.seek(start)
        for block in _blocks(ExitStack(), file, end - start):
            call.draft.write(block)
    etag = call.uploads.part(call.bucket, call.key, upload_id, number, call.draft)
    return responses.copied(etag, stat.modified, "CopyPartResult")


def complete_upload(call: Call) -> Response:
    parts = call.xml().findall("Part")
    numbers = [part.findtext("PartNumber", "") for part in parts]
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise ObjectError("MalformedXML", "A PartNumber is not a number.")
    etags = [part.findtext("ETag", "").strip('"') for part in parts]
    wanted = [(int(number), etag) for number, etag in zip(numbers, etags, strict=True)]
    stat = call.uploads.complete(call.bucket, call.key, call.text("uploadId"), wanted)
    return responses.upload_completed(call.bucket, stat)


def abort_upload(call: Call) -> Response:
    call.uploads.abort(call.bucket, call.key, call.text("uploadId"))
    return responses.empty(204)


def _copy(call: Call, source: tuple[str, str]) -> Response:
    replaced = call.stored_headers() if call.header("metadata-directive") == "REPLACE" else None
    stat = call.objects.copy(source, call.bucket, call.key, replaced)
    return responses.copied(stat.etag, stat.modified, "CopyObjectResult")


def _headers(call: Call, stat: Stat) -> dict[str, str]:
    """The object's headers, with those that the query asks to be told otherwise."""
    told = {
        name.removeprefix("response-"): value or "" for name, value in call.asked.query if name.startswith("response-")
    }
    return responses.object_headers(stat, call.dialect) | told


def _unwanted(call: Call, stat: Stat) -> Response | None:
    """304 or 412 when the request's conditions do not hold; None when it is to be answered."""
    headers = call.asked.headers
    if "if-match" in headers:
        met = _names(headers["if-match"], stat.etag)
    else:
        since = _date(headers.get("if-unmodified-since", ""))
        met = since is None or stat.modified.replace(microsecond=0) <= since
    if not met:
        raise ObjectError("PreconditionFailed", "At least one of the conditions that were given does not hold.")
    if "if-none-match" in headers:
        known = _names(headers["if-none-match"], stat.etag)
    else:
        since = _date(headers.get("if-modified-since", ""))
        known = since is not None and stat.modified.replace(microsecond=0) <= since
    return responses.empty(304, {"etag": f'"{stat.etag}"'}) if known else None


def _names(tags: str, etag: str) -> bool:
    return tags.strip() == "*" or etag in [tag.strip().strip('"') for tag in tags.split(",")]


def _date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text) if text else None
    except ValueError:
        return None


def _asked_range(text: str, size: int) -> tuple[int, int] | None:
    """(start, end) of the one range asked for, end excluded; None for the whole. InvalidRange when it has no byte."""
    found = _RANGE.fullmatch(text)
    first, last = found.groups() if found else ("", "")
    if not (first or last) or (first and last and int(last) < int(first)):
        return None  # not a range: HTTP has it ignored
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last) + 1, size) if first and last else size
    if start >= end:
        raise ObjectError("InvalidRange", f"The range holds no byte of an object of {size} bytes.")
    return start, end


def _blocks(stack: ExitStack, file: BinaryIO, length: int) -> Iterator[bytes]:
    with stack:
        while length > 0 and (block := file.read(min(_BLOCK, length))):
            length -= len(block)
            yield block
