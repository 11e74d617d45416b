"""An OBS client with the standard library only: signed requests, retried when the network fails."""

import atexit
import base64
import calendar
import hmac
import http.client
import os
import ssl
import time
import urllib.parse
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate, parsedate_to_datetime
from typing import IO

CHUNK = 1 << 20
_SUBRESOURCES = ("append", "position")
_PAGE = 1000
_SECONDS = 60


class ObsError(OSError):
    """OBS refused a request; `status` is the HTTP status, `code` the error code."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code


class NotFoundError(FileNotFoundError):
    """There is no such object, directory or bucket."""


@dataclass(frozen=True)
class Auth:
    """The address of OBS and the keys; `server` is host and port."""

    access_key: str
    secret_key: str
    server: str
    is_secure: bool
    verify: bool
    retry: int = 5

    @classmethod
    def of_the_container(cls) -> "Auth":
        """The values of the container's environment variables."""
        # Training guide, table 4-15: S3_ENDPOINT has a scheme, which S3_USE_HTTPS repeats.
        endpoint = urllib.parse.urlsplit(os.environ.get("S3_ENDPOINT", ""), scheme="https")
        secure = os.environ.get("S3_USE_HTTPS", "1" if endpoint.scheme == "https" else "0") == "1"
        keys = (os.environ.get("ACCESS_KEY_ID", ""), os.environ.get("SECRET_ACCESS_KEY", ""))
        server = endpoint.netloc or endpoint.path
        return cls(*keys, server, secure, os.environ.get("S3_VERIFY_SSL", "0") == "1")


@dataclass(frozen=True)
class ObjectInfo:
    """One object of a listing: its key, size in bytes, and time of modification in seconds since the epoch."""

    key: str
    size: int
    modified: float


class Obs:
    """The object store; thread-safe."""

    def __init__(self, auth: Auth) -> None:
        self.auth = auth
        self._idle: list[http.client.HTTPConnection] = []  # list.pop and list.append are thread-safe
        atexit.register(self.close)

    def with_changes(self, **changes: object) -> "Obs":
        """A client of the same store with changed settings."""
        return Obs(replace(self.auth, **changes))  # type: ignore[arg-type]

    def head(self, bucket: str, key: str) -> ObjectInfo | None:
        """One object's size and time, or None."""
        try:
            reply = self._send_request("HEAD", bucket, key)
        except NotFoundError:
            return None
        modified = parsedate_to_datetime(reply.headers["Last-Modified"]).timestamp()
        return ObjectInfo(key, int(reply.headers["Content-Length"]), modified)

    def get(self, bucket: str, key: str, target: IO[bytes]) -> None:
        """Write the object's bytes to `target`, from its current position. NotFoundError."""
        self._send_request("GET", bucket, key, target=target)

    def put(self, bucket: str, key: str, content: bytes | IO[bytes]) -> None:
        """Store an object: bytes, or a file from its beginning."""
        self._send_request("PUT", bucket, key, content=content)

    def append(self, bucket: str, key: str, content: bytes, position: int) -> None:
        """Append to an object that is `position` bytes long."""
        self._send_request("POST", bucket, key, {"append": "", "position": str(position)}, content=content)

    def copy(self, source: tuple[str, str], bucket: str, key: str) -> None:
        """Copy an object inside OBS. NotFoundError."""
        name = urllib.parse.quote("/" + "/".join(source))
        self._send_request("PUT", bucket, key, headers={"x-obs-copy-source": name})

    def delete(self, bucket: str, key: str) -> None:
        """Delete an object; a missing one is fine."""
        self._send_request("DELETE", bucket, key)

    def has_bucket(self, bucket: str) -> bool:
        """Whether there is such a bucket."""
        try:
            self._send_request("HEAD", bucket, "")
        except NotFoundError:
            return False
        return True

    def list(self, bucket: str, prefix: str, delimiter: str = "", most: int = 0) -> Iterator[ObjectInfo | str]:
        """Objects, and common prefixes as strings, below a prefix; `most` limits the number."""
        marker = ""
        while True:
            size = str(most or _PAGE)
            query = {"prefix": prefix, "delimiter": delimiter, "marker": marker, "max-keys": size}
            reply = self._send_request("GET", bucket, "", {name: value for name, value in query.items() if value})
            page = _Page(reply.body)
            yield from page.entries
            if most or not page.next_marker:
                return
            marker = page.next_marker

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _send_request(
        self,
        method: str,
        bucket: str,
        key: str,
        query: Mapping[str, str] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | IO[bytes] = b"",
        target: IO[bytes] | None = None,
    ) -> "_Reply":
        start = target.tell() if target else 0
        # 0.1 s, 0.2 s, … up to 5 s between attempts.
        for attempt in range(self.auth.retry + 1):
            try:
                return self._send_once(method, f"/{bucket}/{key}", query or {}, headers or {}, content, target)
            # Safe to repeat: a put replaces, and an append is refused when its position does not fit any more.
            except (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
                failure: Exception = error
            except ObsError as error:
                if error.status < 500:
                    raise
                failure = error
            if target:
                # What arrived before the connection broke is dropped.
                target.seek(start)
                target.truncate()
            time.sleep(min(0.1 * 2**attempt, 5.0))
        raise failure

    def _send_once(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        content: bytes | IO[bytes],
        target: IO[bytes] | None,
    ) -> "_Reply":
        resource = urllib.parse.quote(path, safe="/~")
        written = {name: urllib.parse.quote(value, safe="") for name, value in query.items()}
        query_string = "&".join(f"{name}={value}" if value else name for name, value in written.items())
        sent = {**headers, "Date": formatdate(usegmt=True), "Content-Length": str(_measure_length(content))}
        sent["Authorization"] = f"OBS {self.auth.access_key}:{self._sign_request(method, resource, query, sent)}"
        # One connection per thread that asks; idle ones are kept, as many files are small.
        connection = self._get_connection()
        try:
            connection.request(
                method, f"{resource}?{query_string}" if query_string else resource, content or None, sent
            )
            response = connection.getresponse()
            reply = _read_response(response, path, target)
        except (NotFoundError, ObsError):
            self._idle.append(connection)  # the answer was read to its end
            raise
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return reply

    def _sign_request(self, method: str, resource: str, query: Mapping[str, str], headers: Mapping[str, str]) -> str:
        # Content-MD5 and Content-Type, the two empty lines below, are not sent.
        own = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers) if name.startswith("x-obs-"))
        names = [name for name in sorted(query) if name in _SUBRESOURCES]
        named = "&".join(f"{name}={query[name]}" if query[name] else name for name in names)
        text = f"{method}\n\n\n{headers['Date']}\n{own}{resource}" + (f"?{named}" if named else "")
        digest = hmac.new(self.auth.secret_key.encode(), text.encode(), "sha1").digest()
        return base64.b64encode(digest).decode()

    def _get_connection(self) -> http.client.HTTPConnection:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        if not self.auth.server:
            raise ObsError(0, "NoServer", "S3_ENDPOINT is not set, and set_auth was not called with a server")
        if not self.auth.is_secure:
            return http.client.HTTPConnection(self.auth.server, timeout=_SECONDS)
        context = ssl.create_default_context()
        if not self.auth.verify:  # S3_VERIFY_SSL is off
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self.auth.server, timeout=_SECONDS, context=context)


@dataclass(frozen=True)
class _Reply:
    headers: http.client.HTTPMessage
    body: bytes


class _Page:
    def __init__(self, body: bytes) -> None:
        root = ET.fromstring(body)  # noqa: S314 - our own region wrote it
        # OBS's answers have a namespace, the sandbox's have none.
        space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
        objects = root.iter(f"{space}Contents")
        self.entries: list[ObjectInfo | str] = [
            ObjectInfo(
                _find_text(entry, space, "Key"),
                int(_find_text(entry, space, "Size")),
                _parse_time(_find_text(entry, space, "LastModified")),
            )
            for entry in objects
        ]
        self.entries += [_find_text(entry, space, "Prefix") for entry in root.iter(f"{space}CommonPrefixes")]
        truncated = _find_text(root, space, "IsTruncated") == "true"
        self.next_marker = _find_text(root, space, "NextMarker") if truncated else ""
        if truncated and not self.next_marker:
            # S3 sends no marker without a delimiter; the last entry serves as one.
            self.next_marker = max(entry if isinstance(entry, str) else entry.key for entry in self.entries)


def _find_text(node: ET.Element, space: str, name: str) -> str:
    child = node.find(f"{space}{name}")
    return (child.text or "") if child is not None else ""


def _parse_time(text: str) -> float:
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


def _measure_length(content: bytes | IO[bytes]) -> int:
    if isinstance(content, bytes):
        return len(content)
    size = content.seek(0, os.SEEK_END)
    content.seek(0)
    return size


def _read_response(response: http.client.HTTPResponse, path: str, target: IO[bytes] | None) -> _Reply:
    if response.status < 300 and target:
        received = 0
        while chunk := response.read(CHUNK):
            received += target.write(chunk)
        # http.client does not complain about a short body when it is read in pieces.
        if received < int(response.headers.get("Content-Length", received)):
            raise http.client.IncompleteRead(b"")
        return _Reply(response.headers, b"")
    body = response.read()
    if response.status < 300:
        return _Reply(response.headers, body)
    if response.status == 404:
        raise NotFoundError(2, "No such object, directory or bucket in OBS", f"obs:/{path}")
    code, message = _parse_reason(body)
    raise ObsError(response.status, code, f"{message} ({path})")


def _parse_reason(body: bytes) -> tuple[str, str]:
    try:
        root = ET.fromstring(body)  # noqa: S314 - our own region wrote it
    except ET.ParseError:
        return "Error", body.decode("utf-8", "replace")[:200]
    return root.findtext("Code") or "Error", root.findtext("Message") or ""
