"""HTTP ranges and conditional requests: Range, If-Match, If-None-Match, If-Modified-Since and their like."""

import re
from collections.abc import Mapping
from datetime import datetime

from aisbench_sandbox.obs.requests import http_date
from aisbench_sandbox.obs.storage.stored import ObjectError, StoredObject

# 18 digits are more than any size has; `int` refuses more than 4,300 with a ValueError.
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


def parse_range(text: str, size: int) -> tuple[int, int] | None:
    """(start, end) of a single range, end exclusive; None for the whole object. InvalidRange if it has no byte.

    Several ranges are answered with the whole object, as S3 does and HTTP allows."""
    match = _RANGE.fullmatch(text)
    first, last = match.groups() if match else ("", "")
    if not (first or last) or (first and last and int(last) < int(first)):
        return None  # not a valid range: HTTP says to ignore it
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last) + 1, size) if first and last else size
    # Also `bytes=-0`, and any range of an empty object.
    if start >= end:
        raise ObjectError("InvalidRange", f"The range holds no byte of an object of {size} bytes.")
    return start, end


def range_still_holds(headers: Mapping[str, str], stat: StoredObject) -> bool:
    """False if If-Range names another version: then the whole object is the answer."""
    text = headers.get("if-range", "")
    if not text:
        return True
    date = http_date(text)
    # If-Range has an ETag or a date (RFC 9110, 13.1.5); what is no date is an ETag.
    return _has_etag(text, stat.etag) if date is None else _round_to_second(stat) == date


def is_not_modified(headers: Mapping[str, str], stat: StoredObject, prefix: str = "") -> bool:
    """Whether the client already has this version (304). PreconditionFailed if it requires another one.

    `prefix` precedes the headers' names, for the conditions on a copy's source. An ETag precedes a date."""
    # The order of RFC 9110, 13.2.2: first what the client requires, then what it has already.
    wanted, since = headers.get(f"{prefix}if-match"), headers.get(f"{prefix}if-unmodified-since", "")
    if not (_has_etag(wanted, stat.etag) if wanted is not None else not _changed_after(since, stat)):
        raise _make_failed_error()
    cached, since = headers.get(f"{prefix}if-none-match"), headers.get(f"{prefix}if-modified-since", "")
    if cached is not None:
        return _has_etag(cached, stat.etag)
    return http_date(since) is not None and not _changed_after(since, stat)


def check_source(headers: Mapping[str, str], stat: StoredObject) -> None:
    """PreconditionFailed if the source of a copy does not meet the conditions."""
    for family in ("amz", "obs"):
        # There is no 304 for a copy: S3 answers 412 to whatever condition fails.
        if is_not_modified(headers, stat, f"x-{family}-copy-source-"):
            raise _make_failed_error()


def _changed_after(text: str, stat: StoredObject) -> bool:
    date = http_date(text) if text else None
    return date is not None and _round_to_second(stat) > date


def _round_to_second(stat: StoredObject) -> datetime:
    # HTTP dates have whole seconds, and clients send back the Last-Modified that they got.
    return stat.modified.replace(microsecond=0)


def _has_etag(tags: str, etag: str) -> bool:
    # W/ is ignored: an ETag here is a hash of all bytes, so there are no weaker ones.
    return tags.strip() == "*" or etag in [tag.strip().removeprefix("W/").strip('"') for tag in tags.split(",")]


def _make_failed_error() -> ObjectError:
    return ObjectError("PreconditionFailed", "At least one of the conditions that were given does not hold.")
