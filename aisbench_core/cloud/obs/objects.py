"""OBS as an ObjectStore, with the official SDK."""

import hashlib
import weakref
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any

from obs import DeleteObjectsRequest, Object, PutObjectHeader

from aisbench_core.base.clock import utc_now
from aisbench_core.base.errors import CloudNotFound, CloudRejected, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import draft_of, find_abandoned
from aisbench_core.cloud.obs import multipart
from aisbench_core.cloud.obs.client import open_client
from aisbench_core.cloud.ports import ObjectStat, OnProgress
from aisbench_core.cloud.refusals import Refusals
from aisbench_core.cloud.server_clock import ServerClock
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.model import Clock, DirectoryEntry, DirectoryPage

PAGE = 1000
SMALL = 1024 * 1024  # bytes; up to this size, files are sent from memory, which is faster
COPIED_AT_ONCE = 5 * 1024**3  # bytes; OBS copies larger objects in parts only
BIG = 100 * 1024 * 1024  # bytes; larger files are sent in parts, so that an interruption costs one part


class ObsStore:
    """An ObjectStore. Threads may share it; connections stay open between requests."""

    def __init__(
        self,
        profile: Profile,
        credentials: Credentials,
        transfers: int,
        request_seconds: float,
        copied_at_once: int = COPIED_AT_ONCE,
        machine: Clock = utc_now,
    ) -> None:
        """`transfers`: concurrent requests for many objects. `request_seconds`: timeout. `copied_at_once`: bytes of the
        largest object that one request copies. `machine`: this machine's clock. Sends nothing yet."""
        self.clock = ServerClock(machine)
        self._copied_at_once = copied_at_once
        self._client = open_client(profile, credentials, request_seconds)
        self._refusals = Refusals("OBS", profile.obs_server, credentials)
        self._transfers = transfers
        weakref.finalize(self, self._client.close)

    def put(self, path: str, source: Path | bytes) -> ObjectStat:
        """Store an object with its MD5, which OBS verifies."""
        bucket, key = _split_path(path, _describe_storing(path))
        if isinstance(source, bytes):
            return self._put_bytes(bucket, key, source)
        with _translate_read_errors(source):
            size = source.stat().st_size
            if size <= SMALL:
                return self._put_bytes(bucket, key, source.read_bytes())
            if size <= BIG:
                return self._put_file(bucket, key, source)
        return self._put_parts(bucket, key, source, size)

    def put_many(self, pairs: Sequence[tuple[str, Path]], on_progress: OnProgress) -> None:
        for done, _ in enumerate(multipart.run_parallel(lambda pair: self.put(*pair), pairs, self._transfers), start=1):
            on_progress(done, len(pairs))

    def get(self, path: str, target: Path) -> None:
        operation = Message("fetch {path}", path=path)
        bucket, key = _split_path(path, operation)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = draft_of(target)
        try:
            part.touch()
            result = self._send_request(operation, lambda: self._client.getObject(bucket, key, downloadPath=str(part)))
            # The SDK writes a web page or half an object without complaint.
            if result.body.etag is None or result.body.contentLength != part.stat().st_size:
                raise self._refusals.make_unavailable(
                    operation, result.status, Message("no ETag, or not all of its bytes")
                )
            part.replace(target)
        finally:
            for file in (part, *find_abandoned(target.parent)):
                file.unlink(missing_ok=True)

    def read(self, path: str, start: int = 0) -> bytes:
        return self._read_range(path, start, None)

    def read_range(self, path: str, start: int, size: int) -> bytes:
        return self._read_range(path, start, size)

    def _read_range(self, path: str, start: int, size: int | None) -> bytes:
        operation = Message("read {path}", path=path)
        bucket, key = _split_path(path, operation)
        answer = self._send_request(
            operation,
            lambda: self._client.fetch(bucket, key, start, size),
            fine=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        )
        if answer.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return b""
        if answer.etag is None:
            raise self._refusals.make_unavailable(operation, answer.status, Message("no ETag"))
        content: bytes = answer.content
        # A proxy may ignore Range and send the whole object.
        content = content if answer.status == HTTPStatus.PARTIAL_CONTENT else content[start:]
        return content if size is None else content[:size]

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        unique = list(dict.fromkeys(paths))
        contents = dict(multipart.run_parallel(self._read_if_there, unique, self._transfers))
        return {path: content for path in unique if (content := contents[path]) is not None}

    def list(self, prefix: str) -> Sequence[ObjectStat]:
        return [stat for page in self.pages(prefix) for stat in page]

    def pages(self, prefix: str) -> Iterator[Sequence[ObjectStat]]:
        operation = Message("list {path}", path=prefix)
        bucket, start = _split_path(prefix, operation, whole_bucket=True)
        marker: str | None = None
        while True:
            page = self._fetch_page(operation, bucket, start, marker)
            yield [_make_stat(bucket, item.key, item.size, item.etag) for item in page.contents]
            if not page.is_truncated or not page.contents:
                return
            # As in S3, NextMarker may be missing without a delimiter.
            marker = page.next_marker or page.contents[-1].key

    def first(self, prefix: str, most: int) -> Sequence[ObjectStat]:
        operation = Message("list {path}", path=prefix)
        bucket, start = _split_path(prefix, operation, whole_bucket=True)
        page = self._fetch_page(operation, bucket, start, None, most)
        return [_make_stat(bucket, item.key, item.size, item.etag) for item in page.contents]

    def directory(self, path: str, most: int, after: str = "") -> DirectoryPage:
        operation = Message("list {path}", path=path)
        bucket, prefix = _split_path(path, operation, whole_bucket=True)
        page = self._fetch_page(operation, bucket, prefix, _to_marker(bucket, after), most, delimiter="/")
        objects = [DirectoryEntry(f"/{bucket}/{item.key}", item.size) for item in page.contents if item.key != prefix]
        inside = [DirectoryEntry(f"/{bucket}/{item.prefix}") for item in page.commonPrefixs]
        # The reply lists objects and directories apart; the marker is by key order of both.
        entries = tuple(sorted([*objects, *inside], key=lambda entry: entry.path))
        if not page.is_truncated or not (page.next_marker or entries):
            return DirectoryPage(path, entries)
        return DirectoryPage(path, entries, f"/{bucket}/{page.next_marker}" if page.next_marker else entries[-1].path)

    def location(self, bucket: str) -> str:
        operation = Message("get the region of {bucket}", bucket=bucket)
        body = self._fetch_body(operation, lambda: self._client.getBucketLocation(bucket))
        return str(body.location or "").strip()

    def head(self, path: str) -> ObjectStat | None:
        operation = Message("get {path}", path=path)
        bucket, key = _split_path(path, operation)
        result = self._send_request(
            operation, lambda: self._client.getObjectMetadata(bucket, key), fine=HTTPStatus.NOT_FOUND
        )
        if result.status == HTTPStatus.NOT_FOUND:  # without a code: a HEAD has no body
            return None
        if result.body is None or result.body.etag is None or result.body.contentLength is None:
            raise self._refusals.make_unavailable(operation, result.status, Message("no ETag or no length"))
        return _make_stat(bucket, key, result.body.contentLength, result.body.etag)

    def copy(self, path: str, target: str) -> None:
        operation = Message("copy {path}", path=path)
        source, destination = _split_path(path, operation), _split_path(target, Message("copy to {path}", path=target))
        stat = self.head(path)
        if stat is None or stat.size <= self._copied_at_once:
            self._send_request(operation, lambda: self._client.copyObject(*source, *destination))
            return
        multipart.copy_parts(self._client, self._fetch_body, stat, destination, self._copied_at_once)
        copied = self.head(target)
        if copied is None or copied.size != stat.size:
            raise self._refusals.make_unavailable(operation, None, Message("the assembled object has another size"))

    def delete(self, path: str) -> None:
        operation = Message("delete {path}", path=path)
        bucket, key = _split_path(path, operation)
        try:
            self._send_request(operation, lambda: self._client.deleteObject(bucket, key))
        except CloudNotFound as error:
            if error.code != "NoSuchKey":  # a missing bucket is an error
                raise

    def delete_many(self, paths: Sequence[str]) -> None:
        operation = Message("delete {count} objects", count=len(paths))
        targets = [_split_path(path, operation) for path in paths]
        if len({bucket for bucket, _ in targets}) > 1:
            raise ValueError("objects of one request are in one bucket")
        for begin in range(0, len(targets), PAGE):
            part = targets[begin : begin + PAGE]
            self._delete_part(operation, part[0][0], [key for _, key in part])

    def _delete_part(self, operation: Message, bucket: str, keys: Sequence[str]) -> None:
        # URL encoding, because keys may contain characters that XML does not allow.
        request = DeleteObjectsRequest(quiet=False, objects=[Object(key) for key in keys], encoding_type="url")
        body = self._fetch_body(operation, lambda: self._client.deleteObjects(bucket, request))
        refused = body.error or []
        # To the SDK, a web page that is valid XML is an answer without objects.
        if len(body.deleted or []) + len(refused) != len(keys):
            raise self._refusals.make_unavailable(operation, None, Message("some objects are not confirmed"))
        for first in refused:
            named = Message("delete {path}", path=f"/{bucket}/{first.key}")
            raise self._refusals.make_refusal(named, HTTPStatus.FORBIDDEN, first.code or "", first.message or "", "")

    def make_directory(self, path: str) -> None:
        bucket, key = _split_path(path, Message("make directory {path}", path=path), whole_bucket=True)
        if key:
            self._put_bytes(bucket, key.rstrip("/") + "/", b"")

    def _put_bytes(self, bucket: str, key: str, content: bytes) -> ObjectStat:
        path = f"/{bucket}/{key}"
        md5 = hashlib.md5(content, usedforsecurity=False).digest()
        result = self._send_request(
            _describe_storing(path), lambda: self._client.store(bucket, key, content, _encode_base64(md5))
        )
        return self._check_stored(path, result, len(content), md5)

    def _put_file(self, bucket: str, key: str, source: Path) -> ObjectStat:
        path = f"/{bucket}/{key}"
        with source.open("rb") as file:
            md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).digest()
            size = file.tell()
        headers = PutObjectHeader(md5=_encode_base64(md5))
        result = self._send_request(
            _describe_storing(path), lambda: self._client.putFile(bucket, key, str(source), headers=headers)
        )
        return self._check_stored(path, result, size, md5)

    def _put_parts(self, bucket: str, key: str, source: Path, size: int) -> ObjectStat:
        path = f"/{bucket}/{key}"
        multipart.send_parts(self._client, self._fetch_body, bucket, key, source, size)
        stat = self.head(path)
        if stat is None or stat.size != size:
            raise self._refusals.make_unavailable(
                _describe_storing(path), None, Message("the assembled object has another size")
            )
        return stat

    def _check_stored(self, path: str, result: Any, size: int, md5: bytes) -> ObjectStat:
        headers = dict(result.header)
        etag = headers.get("etag", "").strip('"')
        if not etag:
            raise self._refusals.make_unavailable(_describe_storing(path), result.status, Message("no ETag"))
        # With SSE-KMS the ETag is not the MD5, but OBS has already verified ours.
        encrypted = "kms" in headers.get("server-side-encryption", "")
        if etag.lower() != md5.hex() and not encrypted:
            message = Message("the stored object differs from what was sent")
            raise self._refusals.make_unavailable(_describe_storing(path), result.status, message)
        return ObjectStat(path, size, etag)

    def _read_if_there(self, path: str) -> tuple[str, bytes | None]:
        try:
            return path, self.read(path)
        except CloudNotFound as error:
            if error.code == "NoSuchBucket":
                raise
            return path, None

    def _fetch_page(
        self,
        operation: Message,
        bucket: str,
        prefix: str,
        marker: str | None,
        most: int = PAGE,
        delimiter: str | None = None,
    ) -> Any:
        limits = {"marker": marker, "max_keys": most, "delimiter": delimiter}
        # URL encoding, because keys may contain characters that XML does not allow.
        page = self._fetch_body(
            operation, lambda: self._client.listObjects(bucket, prefix, **limits, encoding_type="url")
        )
        if page.name is None:  # to the SDK, a web page that is valid XML is an empty list
            raise self._refusals.make_unavailable(operation, None, Message("no list of objects"))
        return page

    def _fetch_body(self, operation: Message, send: Callable[[], Any]) -> Any:
        """The body of one request's result; None means that the SDK could not parse it, such as a web page."""
        result = self._send_request(operation, send)
        if result.body is None:
            raise self._refusals.make_unavailable(operation, result.status, "")
        return result.body

    def _send_request(self, operation: Message, send: Callable[[], Any], fine: int = HTTPStatus.OK) -> Any:
        """One request. Raises our errors, except for a result with the status `fine`."""
        try:
            result = self.clock.observe(send, _date_of)
        except (OSError, HTTPException) as error:
            raise self._refusals.unreachable(operation, error) from error
        except Exception as error:
            if type(error) is not Exception:  # the SDK raises bare Exceptions for invalid replies; others are bugs
                raise
            raise self._refusals.unreachable(operation, error) from error
        if result.status is not None and (result.status < HTTPStatus.MULTIPLE_CHOICES or result.status == fine):
            return result
        raise self._refusals.make_refusal(
            operation, result.status, result.errorCode or "", result.errorMessage or "", result.requestId or ""
        )


def _date_of(result: Any) -> str | None:
    """The Date header; parts of objects are read without any."""
    return dict(getattr(result, "header", None) or ()).get("date")


def _describe_storing(path: str) -> Message:
    return Message("store {path}", path=path)


def _split_path(path: str, operation: Message, whole_bucket: bool = False) -> tuple[str, str]:
    bucket, _, key = path.removeprefix("/").partition("/")
    if not path.startswith("/") or not bucket or not (key or whole_bucket):
        message = Message("{path!r} is not an OBS path", path=path)
        raise CloudRejected(message, operation=operation, hint=Message("write /bucket/key"))
    return bucket, key


def _make_stat(bucket: str, key: str, size: int, etag: str) -> ObjectStat:
    return ObjectStat(f"/{bucket}/{key}", size, etag.strip('"'))


def _to_marker(bucket: str, after: str) -> str | None:
    return after.removeprefix(f"/{bucket}/") or None


@contextmanager
def _translate_read_errors(source: Path) -> Iterator[None]:
    """Turns an unreadable local file into a ConfigError: retrying it like an error of the cloud would not help."""
    try:
        yield
    except OSError as error:
        message = Message("{file} cannot be read: {why}", file=source, why=error.strerror)
        raise ConfigError(message, Message("was it moved or changed?")) from error


def _encode_base64(digest: bytes) -> str:
    return b64encode(digest).decode()
