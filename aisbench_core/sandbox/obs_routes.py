"""What exists at the sandbox's OBS: every request that it answers, and the app that answers them over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import unquote_plus

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aisbench_core.sandbox import obs_bucket_calls as on_buckets
from aisbench_core.sandbox import obs_object_calls as on_objects
from aisbench_core.sandbox import obs_responses as responses
from aisbench_core.sandbox.drafts import Draft
from aisbench_core.sandbox.objects import ObjectError, Objects
from aisbench_core.sandbox.obs_auth import Asked, Dialect, authenticate, dialect_of
from aisbench_core.sandbox.obs_bodies import Promises
from aisbench_core.sandbox.obs_calls import Call, decoded
from aisbench_core.sandbox.uploads import Uploads

_BLOCK = 1 << 20
_LARGEST_DOCUMENT = 4 << 20


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked: where, how, with which query parameters, and which function does it."""

    where: str
    method: str
    act: Callable[[Call], Response]
    needs: frozenset[str] = frozenset()
    allows: frozenset[str] = frozenset()
    takes_object: bool = False  # the body is an object's bytes, not a document
    signed: bool = True

    def fits(self, where: str, method: str, query: frozenset[str]) -> bool:
        return (where, method) == (self.where, self.method) and self.needs <= query <= self.needs | self.allows

    def __str__(self) -> str:
        query = "&".join(sorted(self.needs))
        return f"{self.method} {self.where}" + (f"?{query}" if query else "")


_PAGING = frozenset({"prefix", "delimiter", "max-keys", "encoding-type"})
_TOLD = frozenset(
    {"response-cache-control", "response-content-disposition", "response-content-encoding"}
    | {"response-content-language", "response-content-type", "response-expires"}
)
_SIGNATURE = frozenset(
    {"AWSAccessKeyId", "AccessKeyId", "Expires", "Signature", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date"}
    | {"X-Amz-Expires", "X-Amz-Signature", "X-Amz-SignedHeaders"}
)


def _needs(*names: str) -> frozenset[str]:
    return frozenset(names)


OPERATIONS = (
    Operation("/", "HEAD", on_buckets.version, _needs("apiversion"), signed=False),
    Operation("/{bucket}", "HEAD", on_buckets.version, _needs("apiversion"), signed=False),
    Operation("/", "GET", on_buckets.list_buckets),
    Operation("/{bucket}", "PUT", on_buckets.create),
    Operation("/{bucket}", "HEAD", on_buckets.head),
    Operation("/{bucket}", "DELETE", on_buckets.delete),
    Operation("/{bucket}", "GET", on_buckets.list_objects, allows=_PAGING | {"marker"}),
    Operation(
        "/{bucket}",
        "GET",
        on_buckets.list_objects_v2,
        _needs("list-type"),
        _PAGING | {"continuation-token", "start-after", "fetch-owner"},
    ),
    Operation("/{bucket}", "GET", on_buckets.location, _needs("location")),
    Operation("/{bucket}", "GET", on_buckets.storage_info, _needs("storageinfo")),
    Operation("/{bucket}", "GET", on_buckets.list_uploads, _needs("uploads"), _needs("prefix")),
    Operation("/{bucket}", "POST", on_buckets.delete_objects, _needs("delete")),
    Operation("/{bucket}/{key}", "PUT", on_objects.put, takes_object=True),
    Operation("/{bucket}/{key}", "GET", on_objects.get, allows=_TOLD),
    Operation("/{bucket}/{key}", "HEAD", on_objects.head, allows=_TOLD),
    Operation("/{bucket}/{key}", "DELETE", on_objects.delete),
    Operation("/{bucket}/{key}", "POST", on_objects.append, _needs("append", "position"), takes_object=True),
    Operation("/{bucket}/{key}", "POST", on_objects.start_upload, _needs("uploads")),
    Operation("/{bucket}/{key}", "PUT", on_objects.put_part, _needs("partNumber", "uploadId"), takes_object=True),
    Operation("/{bucket}/{key}", "POST", on_objects.complete_upload, _needs("uploadId")),
    Operation("/{bucket}/{key}", "DELETE", on_objects.abort_upload, _needs("uploadId")),
)


def obs_app(
    objects: Objects, keys: Mapping[str, str], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Starlette:
    """OBS over HTTP, path style, for these objects; `keys` maps access keys to secret keys."""
    app = Starlette()
    app.router.default = _Desk(objects, keys, clock)  # a route's pattern would not match a key with a line feed
    return app


class _Desk:
    """Takes every request: finds its operation, checks its sender and body, has it carried out."""

    def __init__(self, objects: Objects, keys: Mapping[str, str], clock: Callable[[], datetime]) -> None:
        self._objects = objects
        self._uploads = Uploads(objects)
        self._keys = keys
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        with suppress(ClientDisconnect):  # nobody is left to answer, and nothing was stored
            response = await self._answer(request)
            await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        asked = _asked(request)
        dialect = dialect_of(asked)
        request_id = responses.new_request_id()
        blocks = _blocks(request)
        try:
            response = await self._carry_out(asked, dialect, blocks)
        except ObjectError as refusal:
            if "expect" not in asked.headers:  # else the client has not begun, and will not
                await _drain(blocks)
            response = responses.error(refusal, asked.path, request_id)
        responses.identify(response, dialect, request_id)
        return response

    async def _carry_out(self, asked: Asked, dialect: Dialect, blocks: AsyncIterator[bytes]) -> Response:
        bucket, key = _bucket_and_key(asked.path)
        operation = _operation(asked, bucket, key)
        sender = authenticate(asked, self._keys, self._clock()) if operation.signed else None
        promises = Promises(asked.headers, sender.body_sha256 if sender else "")
        with self._objects.draft() as draft:
            call = Call(asked, bucket, key, dialect, self._objects, self._uploads, draft)
            if not operation.takes_object:
                call = replace(call, body=await _document(blocks))
                return await asyncio.to_thread(_finish, operation, call, promises, call.body)
            waiting = b""
            async for block in blocks:
                if waiting:
                    await asyncio.to_thread(_receive, waiting, draft, promises)
                waiting = block
            return await asyncio.to_thread(_finish, operation, call, promises, waiting)


def _asked(request: Request) -> Asked:
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    path = request.scope["raw_path"].decode("latin-1")
    return Asked(request.method, path, _query(request.scope["query_string"].decode("latin-1")), headers)


def _query(text: str) -> tuple[tuple[str, str | None], ...]:
    pairs = (pair.partition("=") for pair in text.split("&") if pair)
    return tuple((unquote_plus(name), unquote_plus(value) if equals else None) for name, equals, value in pairs)


def _bucket_and_key(path: str) -> tuple[str, str]:
    bucket, _, key = decoded(path).removeprefix("/").partition("/")
    return bucket, key


def _operation(asked: Asked, bucket: str, key: str) -> Operation:
    where = "/{bucket}/{key}" if key else "/{bucket}" if bucket else "/"
    query = frozenset(name for name, _ in asked.query) - _SIGNATURE
    for operation in OPERATIONS:
        if operation.fits(where, asked.method, query):
            return operation
    known = ", ".join(str(operation) for operation in OPERATIONS)
    raise ObjectError("NotImplemented", f"This sandbox does not answer that. It answers: {known}.")


def _finish(operation: Operation, call: Call, promises: Promises, last: bytes) -> Response:
    """Take the last block of the body, in the same thread as all the rest: most bodies have only one."""
    if operation.takes_object:
        _receive(last, call.draft, promises)
    else:
        promises.update(last)
    promises.check()
    return operation.act(call)


def _receive(block: bytes, draft: Draft, promises: Promises) -> None:
    draft.write(block)
    promises.update(block)


async def _blocks(request: Request) -> AsyncIterator[bytes]:
    """The body in pieces that are worth a change of thread."""
    waiting = bytearray()
    async for piece in request.stream():
        waiting += piece
        if len(waiting) >= _BLOCK:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)


async def _document(blocks: AsyncIterator[bytes]) -> bytes:
    document = b""
    async for block in blocks:
        document += block
        if len(document) > _LARGEST_DOCUMENT:
            raise ObjectError("EntityTooLarge", f"A document has at most {_LARGEST_DOCUMENT} bytes.")
    return document


async def _drain(blocks: AsyncIterator[bytes]) -> None:
    """Take what the client still sends, so that it reads the answer instead of a broken connection."""
    async for _ in blocks:
        pass
