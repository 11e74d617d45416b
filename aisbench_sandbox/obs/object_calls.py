"""The operations on objects of the sandbox's OBS."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO

from starlette.responses import Response, StreamingResponse

from aisbench_sandbox.obs import access, responses, tagging
from aisbench_sandbox.obs.calls import ACL, STORAGE_CLASS, TAGGING, Call
from aisbench_sandbox.obs.ranges import check_source, is_not_modified, parse_range, range_still_holds
from aisbench_sandbox.obs.requests import whole_number
from aisbench_sandbox.obs.storage.objects import MAX_PAGE, OBJECT_TYPE
from aisbench_sandbox.obs.storage.stored import ObjectError, StoredObject

_AT_ONCE = 1 << 20  # bytes; larger answers are streamed
_BLOCK = 1 << 20


def put(call: Call) -> Response:
    # S3 has had conditional writes since 2024, the OBS documents leave them open. Ignoring a condition could
    # overwrite what the client wants to keep.
    if "if-match" in call.request.headers or "if-none-match" in call.request.headers:
        raise ObjectError("NotImplemented", "Conditions on a PUT are not understood here.")
    source = call.copy_source()
    if source:
        return _copy_object(call, source)
    headers = call.stored_headers() | tagging.of_request(call) | access.of_request(call)
    stat = call.objects.commit(call.bucket, call.key, call.staged, headers)
    return responses.build_empty(headers={"etag": f'"{stat.etag}"'} | responses.version_header(stat, call.dialect))


def append(call: Call) -> Response:
    position = call.number("position", 0)
    with call.staged.open_reader() as added:
        stat = call.objects.append(call.bucket, call.key, position, added, call.stored_headers())
    # esdk-obs-python reads the position for the next append from this header.
    headers = {"etag": f'"{stat.etag}"', "x-obs-next-append-position": str(stat.size)}
    return responses.build_empty(headers=headers)


def head(call: Call) -> Response:
    with call.objects.open(call.bucket, call.key, call.text("versionId")) as (stat, _):
        if is_not_modified(call.request.headers, stat):
            return responses.not_modified(stat)
        part = _wanted_range(call, stat)
        # The documents do not say whether HEAD minds a range; S3 does.
        return responses.build_empty(206 if part else 200, _build_headers(call, stat, part))


def get(call: Call) -> Response:
    """The object or the requested range, from one version throughout."""
    with ExitStack() as stack:
        stat, file = stack.enter_context(call.objects.open(call.bucket, call.key, call.text("versionId")))
        if is_not_modified(call.request.headers, stat):
            return responses.not_modified(stat)
        part = _wanted_range(call, stat)
        start, end = part or (0, stat.size)
        status, headers = 206 if part else 200, _build_headers(call, stat, part)
        file.seek(start)
        # A streamed answer switches to another thread and back for every block.
        if end - start <= _AT_ONCE:
            return Response(file.read(end - start), status, headers)
        # The file has to stay open until the last block is sent, which is after this `with` statement.
        return StreamingResponse(_iterate_blocks(stack.pop_all(), file, end - start), status, headers)


def delete(call: Call) -> Response:
    version_id = call.text("versionId")
    if version_id:
        is_marker = call.objects.delete_version(call.bucket, call.key, version_id)
    else:
        version_id = call.objects.delete(call.bucket, call.key)
        is_marker = bool(version_id)
    return responses.build_empty(204, responses.deleted_headers(version_id, call.dialect, is_marker=is_marker))


def start_upload(call: Call) -> Response:
    call.objects.require_storable(call.bucket, call.key)
    headers = call.stored_headers() | tagging.of_request(call) | access.of_request(call)
    upload_id = call.uploads.start(call.bucket, call.key, headers)
    return responses.upload_started(call.bucket, call.key, upload_id)


def put_part(call: Call) -> Response:
    number, upload_id = call.number("partNumber", 0), call.text("uploadId")
    source = call.copy_source()
    if not source:
        etag = call.uploads.part(call.bucket, call.key, upload_id, number, call.staged)
        return responses.build_empty(headers={"etag": f'"{etag}"'})
    with call.objects.open(*source) as (stat, file):
        check_source(call.request.headers, stat)
        start, end = parse_range(call.header("copy-source-range"), stat.size) or (0, stat.size)
        _check_copied(call, end - start)
        file.seek(start)
        # Through the staged file rather than by a system copy, because a part's ETag is the MD5 of its bytes.
        for block in _iterate_blocks(ExitStack(), file, end - start):
            call.staged.write(block)
    etag = call.uploads.part(call.bucket, call.key, upload_id, number, call.staged)
    return responses.build_copied(etag, stat.modified, "CopyPartResult")


def complete_upload(call: Call) -> Response:
    parts = call.xml().findall("Part")
    # An ETag is quoted in headers; clients send it back with or without the quotes.
    wanted = [(_part_number(part.findtext("PartNumber", "")), part.findtext("ETag", "").strip('"')) for part in parts]
    stat = call.uploads.complete(call.bucket, call.key, call.text("uploadId"), wanted)
    return responses.upload_completed(call.bucket, stat, call.dialect)


def list_parts(call: Call) -> Response:
    limit, marker = min(call.number("max-parts", MAX_PAGE), MAX_PAGE), call.number("part-number-marker", 0)
    later = [p for p in call.uploads.parts(call.bucket, call.key, call.text("uploadId")) if p.number > marker]
    about = {"Bucket": call.bucket, "Key": call.key, "UploadId": call.text("uploadId")}
    about |= {"PartNumberMarker": str(marker), "MaxParts": str(limit)}
    return responses.part_list(later[:limit], about, call.read_encoding(), truncated=len(later) > limit)


def abort_upload(call: Call) -> Response:
    call.uploads.abort(call.bucket, call.key, call.text("uploadId"))
    return responses.build_empty(204)


def _copy_object(call: Call, source: tuple[str, str, str]) -> Response:
    directive = call.header("metadata-directive") or "COPY"
    # REPLACE_NEW is OBS's own, the others are S3's too.
    if directive not in ("COPY", "REPLACE", "REPLACE_NEW"):
        raise ObjectError("InvalidArgument", f"A metadata directive is COPY or REPLACE, not {directive[:100]!r}.")
    with call.objects.open(*source) as (original, _):
        check_source(call.request.headers, original)
    _check_copied(call, original.size)
    chosen = {} if directive == "COPY" else call.stored_headers()
    if directive in ("COPY", "REPLACE_NEW"):  # OBS: named headers are replaced, the others are kept
        chosen = {**original.headers, **chosen}
    # Tags have a directive of their own, a copy of an appendable object is a normal one, and who may read it and how
    # it is stored is what the request says.
    left = {name: value for name, value in chosen.items() if name not in (TAGGING, OBJECT_TYPE, ACL, STORAGE_CLASS)}
    headers = left | tagging.of_copy(call, original.headers) | access.of_request(call) | call.storage_class()
    stat = call.objects.copy(source, call.bucket, call.key, headers)
    return responses.build_copied(
        stat.etag, stat.modified, "CopyObjectResult", responses.version_header(stat, call.dialect)
    )


def _check_copied(call: Call, size: int) -> None:
    if size > call.objects.largest_copy:
        message = f"One request copies at most {call.objects.largest_copy} bytes; copy larger objects in parts."
        raise ObjectError("EntityTooLarge", message)


def _part_number(text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise ObjectError("MalformedXML", "A PartNumber is not a number.")
    return number


def _wanted_range(call: Call, stat: StoredObject) -> tuple[int, int] | None:
    headers = call.request.headers
    return parse_range(headers.get("range", ""), stat.size) if range_still_holds(headers, stat) else None


def _build_headers(call: Call, stat: StoredObject, part: tuple[int, int] | None) -> dict[str, str]:
    """The headers of the object or of a part of it, with those that the query overrides."""
    headers = responses.object_headers(stat, call.dialect)
    for name, value in call.request.query:
        if name.startswith("response-"):
            headers[name.removeprefix("response-")] = responses.header_value(value or "")
    if part:
        start, end = part
        headers |= {"content-length": str(end - start), "content-range": f"bytes {start}-{end - 1}/{stat.size}"}
    return headers


def _iterate_blocks(stack: ExitStack, file: BinaryIO, length: int) -> Iterator[bytes]:
    with stack:
        while length > 0 and (block := file.read(min(_BLOCK, length))):
            length -= len(block)
            yield block
