"""A request as sent to the sandbox's OBS, and its bucket and key, in path style and virtual-host style."""

# Path style has the bucket in the path (`/bucket/key`), virtual-host style in the host name (`bucket.obs.…`).

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import unquote_plus, unquote_to_bytes

from starlette.requests import Request

from aisbench_sandbox.obs.storage.stored import ObjectError

_MAX_DIGITS = 18
_CRC32, _OF_NOTHING = "x-amz-checksum-crc32", "AAAAAA=="
# Newer AWS SDKs move these headers into a URL when they sign it; others stay headers that the client must send.
_MOVED = re.compile(
    r"(x-amz-(checksum-|sdk-checksum-|meta-|tagging|acl|storage-class)|content-(type|md5)$)", re.IGNORECASE
)
_ABSOLUTE = re.compile(r"https?://([^/]*)(/?.*)", re.IGNORECASE | re.DOTALL)  # the request line of a proxy
# The host after a bucket's name: an IPv4 address (and a domain that resolves to it), localhost, obs.<anything>.
_BUCKET_HOST = re.compile(
    r"([a-z0-9][a-z0-9.-]*?)\.(?:\d{1,3}(?:\.\d{1,3}){3}(?:\.[a-z].*)?|localhost|obs[.-].+)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ObsRequest:
    """A request as sent: the path still percent-encoded, the query decoded, header names in lower case.

    Header values are decoded as UTF-8; invalid bytes are kept as surrogate escapes."""

    method: str
    path: str
    query: tuple[tuple[str, str | None], ...]
    headers: Mapping[str, str]
    host_bucket: str = ""

    @property
    def resource(self) -> str:
        """`/bucket/key`, still percent-encoded, in both styles."""
        return f"/{self.host_bucket}{self.path}" if self.host_bucket else self.path

    def value(self, name: str) -> str | None:
        """The first value of a query parameter, `""` if it has none, or None if it is missing."""
        return next((value or "" for key, value in self.query if key == name), None)

    def with_headers_of_query(self) -> "ObsRequest":
        """The request with the headers that a signed URL carries in its query moved to the headers."""
        moved = {name.lower(): value or "" for name, value in self.query if is_header(name)}
        if not moved:
            return self
        left = tuple((name, value) for name, value in self.query if not is_header(name))
        return replace(self, query=left, headers={**moved, **self.headers})

    def without_early_checksum(self) -> "ObsRequest":
        """The request without the CRC-32 of nothing, which AWS SDKs sign into a URL while there is no body yet."""
        if self.headers.get(_CRC32) != _OF_NOTHING:
            return self
        return replace(self, headers={name: value for name, value in self.headers.items() if name != _CRC32})

    def bucket_and_key(self) -> tuple[str, str]:
        """Both decoded; empty if the request has none. InvalidURI."""
        bucket, _, key = decode_path(self.resource).removeprefix("/").partition("/")
        return bucket, key


def is_header(name: str) -> bool:
    """Whether a query parameter is a header that AWS SDKs move there when they sign a URL."""
    return bool(_MOVED.match(name))


def parse_request(request: Request) -> ObsRequest:
    headers: dict[str, str] = {}
    # A header that is sent twice is one with a list (RFC 9110, 5.3), and signed so.
    for raw_name, raw_value in request.scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("utf-8", "surrogateescape")
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    # As sent: signatures cover the encoded path, and once decoded `%2F` could not be told from a slash.
    path, host = request.scope["raw_path"].decode("latin-1"), headers.get("host", "")
    if match := _ABSOLUTE.fullmatch(path):
        host, path = match[1], match[2] or "/"
    query = _parse_query(request.scope["query_string"].decode("latin-1"))
    return ObsRequest(request.method, path, query, headers, _host_bucket(host))


def decode_path(text: str) -> str:
    """Percent-encoded UTF-8, decoded. InvalidURI."""
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeError as error:
        raise ObjectError("InvalidURI", "The path is not UTF-8.") from error


def whole_number(text: str) -> int | None:
    """A decimal number without sign, or None."""
    # `isdigit` accepts `²`, which `int` refuses.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def http_date(text: str) -> datetime | None:
    """An HTTP date in UTC, or None."""
    try:
        date = parsedate_to_datetime(text)
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    # What parsedate_to_datetime raises for odd input, and the conversion to UTC for dates at either end of the
    # calendar.
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _host_bucket(host: str) -> str:
    match = _BUCKET_HOST.fullmatch(re.sub(r":\d*$", "", host))
    return match[1].lower() if match else ""


def _parse_query(text: str) -> tuple[tuple[str, str | None], ...]:
    # Not parse_qsl: it cannot tell `?uploads` from `?uploads=`, which v2 signs differently.
    pairs = (pair.partition("=") for pair in text.split("&") if pair)
    return tuple((unquote_plus(name), unquote_plus(value) if equals else None) for name, equals, value in pairs)
