"""What the sandbox's object store tells of buckets and objects, and how it refuses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

Headers = Mapping[str, str]
# The id of what was stored while versioning was not enabled; there is at most one such version of an object.
NULL = "null"
# The name of a version's id among its stored headers; it is sent in the name of the request's family.
VERSION_ID = "x-obs-version-id"


class ObjectError(Exception):
    """OBS refuses a request: its error code (NoSuchKey, BucketNotEmpty, …) and a message.

    `marker`: the id of the delete marker for which it does."""

    def __init__(self, code: str, message: str, marker: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.marker = marker


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object: size in bytes, ETag without quotes, time of modification (UTC), headers with lower-case names.

    User metadata is among the headers as `x-obs-meta-…`, whichever family it was sent in."""

    key: str
    size: int
    etag: str
    modified: datetime
    headers: Headers = field(default_factory=dict)

    @property
    def version_id(self) -> str:
        """`null` if it was stored while the bucket had no versioning."""
        return self.headers.get(VERSION_ID, NULL)


@dataclass(frozen=True, slots=True)
class Listing:
    """One page: objects and common prefixes, each in byte order; `next_marker` asks for the next page."""

    objects: tuple[StoredObject, ...] = ()
    prefixes: tuple[str, ...] = ()
    truncated: bool = False
    next_marker: str = ""


@dataclass(frozen=True, slots=True)
class BucketInfo:
    name: str
    created: datetime


def to_utc(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)
