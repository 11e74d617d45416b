"""The supported operations of the sandbox's OBS, and the ASGI app that serves them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aisbench_sandbox.clocks import clock_offset_s
from aisbench_sandbox.obs import access, forms, responses, tagging
from aisbench_sandbox.obs import bucket_calls as on_buckets
from aisbench_sandbox.obs import configuration_calls as on_configuration
from aisbench_sandbox.obs import object_calls as on_objects
from aisbench_sandbox.obs import version_calls as on_versions
from aisbench_sandbox.obs.auth import Dialect, authenticate_sender, dialect_of
from aisbench_sandbox.obs.bodies import OF_A_DOCUMENT, OF_AN_OBJECT, BodyVerifier
from aisbench_sandbox.obs.calls import Call
from aisbench_sandbox.obs.requests import ObsRequest, is_header, parse_request
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.staging import StagedObject
from aisbench_sandbox.obs.storage.stored import ObjectError
from aisbench_sandbox.obs.storage.uploads import Uploads

log = logging.getLogger(__name__)

_BLOCK = 1 << 20
_SMALL = 64 << 10
# A deletion of 1,000 keys of 1,024 bytes fits, even if every byte is percent-encoded.
_LARGEST_DOCUMENT = 4 << 20


@dataclass(frozen=True, slots=True)
class Operation:
    """One supported operation: path, method, query parameters, and the function that implements it."""

    where: str
    method: str
    act: Callable[[Call], Response]
    needs: frozenset[str] = frozenset()
    allows: frozenset[str] = frozenset()
    takes_object: bool = False  # the body is an object's bytes, not a document
    signed: bool = True
    readable: bool = False  # without a signature, where everybody may read
    versioned: bool = False  # of the version that the request names
    quick: bool = False  # faster than handing it to another thread, if its body is small

    def fits(self, where: str, method: str, query: frozenset[str]) -> bool:
        # A parameter that is not understood is refused, not ignored: `GET …?acl` must not answer with the object.
        return (where, method) == (self.where, self.method) and self.needs <= query <= self.needs | self.allows

    def __str__(self) -> str:
        query = "&".join(sorted(self.needs))
        return f"{self.method} {self.where}" + (f"?{query}" if query else "")


_PAGING = frozenset({"prefix", "delimiter", "max-keys", "encoding-type"})
_UPLOAD_PAGING = frozenset({"prefix", "delimiter", "max-uploads", "key-marker", "upload-id-marker", "encoding-type"})
_VERSION_PAGING = _PAGING | {"key-marker", "version-id-marker"}
_PART_PAGING = frozenset({"max-parts", "part-number-marker", "encoding-type"})
# Headers that a signed URL may set for its answer, so that a browser saves the object under a name, for example.
_READING = frozenset(
    {"response-cache-control", "response-content-disposition", "response-content-encoding"}
    | {"response-content-language", "response-content-type", "response-expires"}
)
_ANYWHERE = frozenset(  # signed URLs, and the operation's name that some clients add
    {
        "versionId",
        "AWSAccessKeyId",
        "AccessKeyId",
        "Expires",
        "Signature",
        "X-Amz-Algorithm",
        "X-Amz-Credential",
        "X-Amz-Date",
    }
    | {"X-Amz-Expires", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Content-Sha256", "x-id"}
)


def _require_names(*names: str) -> frozenset[str]:
    return frozenset(names)


OPERATIONS = (
    Operation("/", "HEAD", on_buckets.show_api_version, _require_names("apiversion"), signed=False),
    Operation("/{bucket}", "HEAD", on_buckets.show_api_version, _require_names("apiversion"), signed=False),
    Operation("/", "GET", on_buckets.list_buckets),
    Operation("/{bucket}", "PUT", on_buckets.create),
    Operation("/{bucket}", "HEAD", on_buckets.head),
    Operation("/{bucket}", "DELETE", on_buckets.delete),
    Operation("/{bucket}", "GET", on_buckets.list_objects, allows=_PAGING | {"marker"}, readable=True),
    Operation(
        "/{bucket}",
        "GET",
        on_buckets.list_objects_v2,
        _require_names("list-type"),
        _PAGING | {"continuation-token", "start-after", "fetch-owner"},
        readable=True,
    ),
    Operation("/{bucket}", "GET", on_buckets.show_location, _require_names("location")),
    Operation("/{bucket}", "GET", on_buckets.storage_info, _require_names("storageinfo")),
    Operation("/{bucket}", "GET", on_buckets.list_uploads, _require_names("uploads"), _UPLOAD_PAGING),
    Operation("/{bucket}", "POST", on_buckets.delete_objects, _require_names("delete")),
    Operation("/{bucket}", "POST", forms.post, takes_object=True, signed=False),
    Operation("/{bucket}", "GET", access.get_bucket, _require_names("acl")),
    Operation("/{bucket}", "PUT", access.put_bucket, _require_names("acl")),
    Operation("/{bucket}", "GET", on_configuration.get_lifecycle, _require_names("lifecycle")),
    Operation("/{bucket}", "PUT", on_configuration.put_lifecycle, _require_names("lifecycle")),
    Operation("/{bucket}", "DELETE", on_configuration.delete_lifecycle, _require_names("lifecycle")),
    Operation("/{bucket}", "GET", on_versions.get_versioning, _require_names("versioning")),
    Operation("/{bucket}", "PUT", on_versions.put_versioning, _require_names("versioning")),
    Operation("/{bucket}", "GET", on_versions.list_versions, _require_names("versions"), _VERSION_PAGING),
    Operation("/{bucket}/{key}", "PUT", on_objects.put, takes_object=True, quick=True),
    Operation("/{bucket}/{key}", "GET", on_objects.get, allows=_READING, versioned=True, quick=True, readable=True),
    Operation("/{bucket}/{key}", "HEAD", on_objects.head, allows=_READING, versioned=True, quick=True, readable=True),
    Operation("/{bucket}/{key}", "DELETE", on_objects.delete, versioned=True, quick=True),
    Operation("/{bucket}/{key}", "GET", access.get_object, _require_names("acl")),
    Operation("/{bucket}/{key}", "PUT", access.put_object, _require_names("acl")),
    Operation("/{bucket}/{key}", "GET", tagging.get, _require_names("tagging")),
    Operation("/{bucket}/{key}", "PUT", tagging.put, _require_names("tagging")),
    Operation("/{bucket}/{key}", "DELETE", tagging.delete, _require_names("tagging")),
    Operation("/{bucket}/{key}", "POST", on_objects.append, _require_names("append", "position"), takes_object=True),
    Operation("/{bucket}/{key}", "POST", on_objects.start_upload, _require_names("uploads")),
    Operation(
        "/{bucket}/{key}", "PUT", on_objects.put_part, _require_names("partNumber", "uploadId"), takes_object=True
    ),
    Operation("/{bucket}/{key}", "POST", on_objects.complete_upload, _require_names("uploadId")),
    Operation("/{bucket}/{key}", "GET", on_objects.list_parts, _require_names("uploadId"), _PART_PAGING),
    Operation("/{bucket}/{key}", "DELETE", on_objects.abort_upload, _require_names("uploadId")),
)


def obs_app(
    objects: Objects, keys: Mapping[str, str], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Starlette:
    """OBS over HTTP, in both address styles, for these objects; `keys` maps access keys to secret keys."""
    app = Starlette()
    app.router.default = _ObsApp(objects, keys, clock)  # a route's pattern would not match a key with a line feed
    return app


class _ObsApp:
    """Serves every request: finds its operation, authenticates it, verifies its body, runs the operation."""

    def __init__(self, objects: Objects, keys: Mapping[str, str], clock: Callable[[], datetime]) -> None:
        self._objects = objects
        self._uploads = Uploads(objects)
        self._keys = keys
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        with suppress(ClientDisconnect):  # the client is gone, and nothing was stored
            response = await self._answer_request(request)
            await response(scope, receive, send)

    async def _answer_request(self, request: Request) -> Response:
        sent = parse_request(request)
        dialect = dialect_of(sent)
        request_id = responses.new_request_id()
        blocks = _iterate_blocks(request)
        try:
            response = await self._carry_out(sent, dialect, blocks, self._read_clock(request))
        except (ObjectError, OSError) as refusal:
            response = responses.build_error(_as_object_error(refusal), sent.resource, request_id, dialect)
            if "expect" in sent.headers:
                # The client waits for 100 Continue and sends nothing: what it sent next would be taken for the body.
                response.headers["connection"] = "close"
            else:
                await _drain_blocks(blocks)
        responses.identify(response, dialect, request_id)
        return response

    def _read_clock(self, request: Request) -> datetime:
        return self._clock() + timedelta(seconds=clock_offset_s(request.scope))

    async def _carry_out(
        self, sent: ObsRequest, dialect: Dialect, blocks: AsyncIterator[bytes], now: datetime
    ) -> Response:
        bucket, key = sent.bucket_and_key()
        operation = _find_operation(sent, bucket, key)
        # Before the body is read: nothing of it is stored for a sender who is unknown.
        is_public = operation.readable and not _is_signed(sent) and not sent.value("versionId")
        is_open = is_public and access.is_open(self._objects, bucket, key)
        sender = authenticate_sender(sent, self._keys, now) if operation.signed and not is_open else None
        _check_unsupported(sent, operation)
        if _is_signed_url(sent):
            # After the signature, which covers the URL as it is.
            sent = sent.with_headers_of_query().without_early_checksum()
        verifier = BodyVerifier(sent.headers, sender, OF_AN_OBJECT if operation.takes_object else OF_A_DOCUMENT)
        with self._objects.stage() as staged:
            call = Call(sent, bucket, key, dialect, self._objects, self._uploads, staged, keys=self._keys, now=now)
            if not operation.takes_object:
                call = replace(call, body=await _read_document(blocks))
                # Without metadata an object's MD5 has to be computed, which would hold up all other requests.
                if operation.quick and self._objects.has_metadata(bucket, key):
                    return _finish_request(operation, call, verifier, call.body)
                return await asyncio.to_thread(_finish_request, operation, call, verifier, call.body)
            if "expect" in sent.headers:  # check the key before 100 Continue is sent
                await asyncio.to_thread(self._objects.require_storable, bucket, key)
            # The last block is kept back and handled by `_finish` with the operation: one change of threads less, and
            # none for a small body.
            waiting = b""
            async for block in blocks:
                if waiting:
                    await asyncio.to_thread(_receive_block, waiting, staged, verifier)
                waiting = block
            if operation.quick and staged.size == 0 and len(waiting) <= _SMALL and not call.copy_source():
                return _finish_request(operation, call, verifier, waiting)
            return await asyncio.to_thread(_finish_request, operation, call, verifier, waiting)


def _is_signed_url(sent: ObsRequest) -> bool:
    return "authorization" not in sent.headers and bool(sent.value("X-Amz-Signature") or sent.value("AWSAccessKeyId"))


def _is_signed(sent: ObsRequest) -> bool:
    return "authorization" in sent.headers or bool(sent.value("X-Amz-Signature") or sent.value("Signature"))


def _check_unsupported(sent: ObsRequest, operation: Operation) -> None:
    """Raises ObjectError for what would be silently ignored otherwise."""
    if sent.value("versionId") not in (None, "null") and not operation.versioned:
        raise ObjectError("NotImplemented", f"{operation} of a version is not implemented here: leave versionId out.")
    if encrypted := [name for name in sent.headers if "-server-side-encryption" in name]:
        raise ObjectError("NotImplemented", f"Objects are not encrypted here: leave {encrypted[0]} out.")


def _as_object_error(refusal: ObjectError | OSError) -> ObjectError:
    """The error to send; a full disk, for example, must not break the connection."""
    if isinstance(refusal, ObjectError):
        return refusal
    log.error("the sandbox's machine fails", exc_info=refusal)
    return ObjectError("InternalError", f"The sandbox's machine fails: {refusal.strerror or refusal}")


def _find_operation(sent: ObsRequest, bucket: str, key: str) -> Operation:
    where = "/{bucket}/{key}" if key else "/{bucket}" if bucket else "/"
    moved = is_header if _is_signed_url(sent) else lambda _: False
    query = frozenset(name for name, _ in sent.query if not moved(name)) - _ANYWHERE
    for operation in OPERATIONS:
        if operation.fits(where, sent.method, query):
            return operation
    asked = f"{sent.method} {where}" + (f"?{'&'.join(sorted(query))}" if query else "")
    supported = ", ".join(str(operation) for operation in OPERATIONS if operation.where == where)
    raise ObjectError("NotImplemented", f"{asked} is not implemented here. Of {where} there are: {supported}.")


def _finish_request(operation: Operation, call: Call, verifier: BodyVerifier, last: bytes) -> Response:
    """Take the last block of the body and run the operation, in one step: most bodies have only one block."""
    if operation.takes_object:
        _receive_block(last, call.staged, verifier)
    else:
        for _ in verifier.take(last):
            pass
    verifier.check()
    return operation.act(call)


def _receive_block(block: bytes, staged: StagedObject, verifier: BodyVerifier) -> None:
    for piece in verifier.take(block):
        staged.write(piece)


async def _iterate_blocks(request: Request) -> AsyncIterator[bytes]:
    """The body in blocks that are large enough to switch threads for."""
    waiting = bytearray()
    async for piece in request.stream():
        waiting += piece
        # asyncio reads at most 256 KB from a socket at once, and a thread switch for each of these pieces is slow.
        if len(waiting) >= _BLOCK:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)


async def _read_document(blocks: AsyncIterator[bytes]) -> bytes:
    document = b""
    async for block in blocks:
        document += block
        if len(document) > _LARGEST_DOCUMENT:
            raise ObjectError("EntityTooLarge", f"A document has at most {_LARGEST_DOCUMENT} bytes.")
    return document


async def _drain_blocks(blocks: AsyncIterator[bytes]) -> None:
    """Read the rest of the body, so that the client reads the answer instead of seeing a broken connection."""
    async for _ in blocks:
        pass
