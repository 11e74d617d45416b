"""The responses of the sandbox's OBS: XML documents, headers and errors."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import quote
from xml.sax.saxutils import escape

from starlette.responses import Response

from aisbench_sandbox.obs.auth import Dialect
from aisbench_sandbox.obs.calls import TAGGING
from aisbench_sandbox.obs.objects import OBJECT_TYPE, BucketInfo, Listing, ObjectError, StoredObject
from aisbench_sandbox.obs.uploads import Part, UploadPage

REGION = "sandbox"

_OWNER = "sandbox-owner"
_STATUS = {
    "AccessDenied": 403,
    "BucketAlreadyOwnedByYou": 409,
    "BucketNotEmpty": 409,
    "InternalError": 500,
    "InvalidAccessKeyId": 403,
    "InvalidRange": 416,
    "ObjectNotAppendable": 409,
    "NoSuchBucket": 404,
    "NoSuchKey": 404,
    "NoSuchUpload": 404,
    "NotImplemented": 501,
    "PositionNotEqualToLength": 409,
    "PreconditionFailed": 412,
    "RequestTimeTooSkewed": 403,
    "SignatureDoesNotMatch": 403,
}
# A parser turns these into plain spaces or line feeds unless they are escaped.
_ESCAPES = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


_KEYS = frozenset({"Prefix", "Marker", "NextMarker", "StartAfter", "Delimiter", "Key", "KeyMarker", "NextKeyMarker"})


def element(name: str, *content: object) -> str:
    """An XML element; its content is elements made by this function, or text, which is escaped."""
    # The type tells markup from text, so nothing is escaped twice or not at all.
    inside = "".join(part if isinstance(part, _Xml) else escape(str(part), _ESCAPES) for part in content)
    return _Xml(f"<{name}>{inside}</{name}>")


class _Xml(str):
    """Text that is XML already."""

    __slots__ = ()


_OWNER_ELEMENT = element("Owner", element("ID", _OWNER))
_UPLOAD_OWNER = element("Initiator", element("ID", _OWNER)), _OWNER_ELEMENT, element("StorageClass", "STANDARD")


def document(root: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(f'<?xml version="1.0" encoding="UTF-8"?>{root}', 200, headers, "application/xml")


def empty(status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status_code=status, headers=headers)


def error(refusal: ObjectError, resource: str, request_id: str) -> Response:
    status = _STATUS.get(refusal.code, 400)
    facts = {
        "Code": refusal.code,
        "Message": refusal.message,
        "Resource": resource,
        "RequestId": request_id,
        "HostId": REGION,
    }
    answer = document(element("Error", *(element(name, value) for name, value in facts.items())))
    answer.status_code = status
    return answer


def identify(response: Response, dialect: Dialect, request_id: str) -> None:
    """Add the headers that identify a request in both sides' logs."""
    response.headers[f"x-{dialect}-request-id"] = request_id
    response.headers[f"x-{dialect}-id-2"] = REGION


def new_request_id() -> str:
    return f"{random.getrandbits(128):032X}"  # an identifier, not a secret: the system's random bytes cost more


def object_headers(stat: StoredObject, dialect: Dialect) -> dict[str, str]:
    headers = {
        name.replace("x-obs-meta-", f"x-{dialect}-meta-", 1): _as_sent(value) for name, value in stat.headers.items()
    }
    # S3's default for objects that were stored without a type.
    headers.setdefault("content-type", "binary/octet-stream")
    if tags := headers.pop(TAGGING, ""):
        # Clients get the number of tags with an object, the tags themselves only by `?tagging`.
        headers[f"x-{dialect}-tagging-count"] = str(tags.count("&") + 1)
    if OBJECT_TYPE in headers:
        headers["x-obs-next-append-position"] = str(stat.size)
    return headers | {
        "etag": f'"{stat.etag}"',
        "last-modified": _http_date(stat.modified),
        "accept-ranges": "bytes",
        "content-length": str(stat.size),
    }


def tags(pairs: Iterable[tuple[str, str]]) -> Response:
    elements = (element("Tag", element("Key", key), element("Value", value)) for key, value in pairs)
    return document(element("Tagging", element("TagSet", *elements)))


def not_modified(stat: StoredObject) -> Response:
    return empty(304, {"etag": f'"{stat.etag}"', "last-modified": _http_date(stat.modified)})


def header_value(text: str) -> str:
    """A text as a response header. InvalidArgument if it cannot be one."""
    # A line feed in a parameter of a signed URL would let it add headers to the answer.
    if any(character < " " or character == "\x7f" for character in text) or text != text.strip():
        raise ObjectError("InvalidArgument", "A header's value is one line.")
    return _as_sent(text)


def _as_sent(value: str) -> str:
    """The header's value, encoded so that the server sends the original bytes."""
    # Starlette encodes headers as Latin-1.
    return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("latin-1")


def _http_date(instant: datetime) -> str:
    return format_datetime(instant.replace(microsecond=0), usegmt=True)


def bucket_list(buckets: Iterable[BucketInfo]) -> Response:
    rows = [
        element(
            "Bucket",
            element("Name", bucket.name),
            element("CreationDate", _iso(bucket.created)),
            element("Location", REGION),
        )
        for bucket in buckets
    ]
    return document(element("ListAllMyBucketsResult", _OWNER_ELEMENT, element("Buckets", *rows)))


def object_list(listing: Listing, about: Mapping[str, object], encoding: str) -> Response:
    """A page of objects; `about` has the elements in which the two list versions differ."""
    encoded = _encoder(encoding)
    rows = _about(about, encoding, truncated=listing.truncated)
    rows += [_contents(stat, encoded(stat.key)) for stat in listing.objects]
    rows += [element("CommonPrefixes", element("Prefix", encoded(prefix))) for prefix in listing.prefixes]
    return document(element("ListBucketResult", *rows))


def upload_list(page: UploadPage, about: Mapping[str, object], encoding: str) -> Response:
    encoded = _encoder(encoding)
    if page.truncated:
        about = {**about, "NextKeyMarker": page.next_key, "NextUploadIdMarker": page.next_id}
    rows = _about(about, encoding, truncated=page.truncated)
    rows += [
        element(
            "Upload",
            element("Key", encoded(upload.key)),
            element("UploadId", upload.upload_id),
            *_UPLOAD_OWNER,
            element("Initiated", _iso(upload.started)),
        )
        for upload in page.uploads
    ]
    rows += [element("CommonPrefixes", element("Prefix", encoded(prefix))) for prefix in page.prefixes]
    return document(element("ListMultipartUploadsResult", *rows))


def part_list(parts: Sequence[Part], about: Mapping[str, object], encoding: str, *, truncated: bool) -> Response:
    if truncated:
        about = {**about, "NextPartNumberMarker": parts[-1].number if parts else 0}
    rows = [*_about(about, encoding, truncated=truncated), *_UPLOAD_OWNER]
    rows += [
        element(
            "Part",
            element("PartNumber", part.number),
            element("LastModified", _iso(part.modified)),
            _etag(part.etag),
            element("Size", part.size),
        )
        for part in parts
    ]
    return document(element("ListPartsResult", *rows))


def upload_started(bucket: str, key: str, upload_id: str) -> Response:
    facts = element("Bucket", bucket), element("Key", key), element("UploadId", upload_id)
    return document(element("InitiateMultipartUploadResult", *facts))


def upload_completed(bucket: str, stat: StoredObject) -> Response:
    location = f"/{bucket}/{_url(stat.key)}"
    facts = element("Location", location), element("Bucket", bucket), element("Key", stat.key)
    return document(element("CompleteMultipartUploadResult", *facts, _etag(stat.etag)))


def copied(etag: str, modified: datetime, root: str) -> Response:
    return document(element(root, element("LastModified", _iso(modified)), _etag(etag)))


def deleted(keys: Sequence[str], errors: Sequence[tuple[str, ObjectError]], encoding: str) -> Response:
    encoded = _encoder(encoding)
    rows = [element("EncodingType", encoding)] if encoding else []
    rows += [element("Deleted", element("Key", encoded(key))) for key in keys]
    rows += [
        element("Error", element("Key", encoded(key)), element("Code", why.code), element("Message", why.message))
        for key, why in errors
    ]
    return document(element("DeleteResult", *rows))


def location(dialect: Dialect) -> Response:
    if dialect == "obs":
        # esdk-obs-python reads the root's text where it signs as OBS, and LocationConstraint where it signs as v2.
        return document(element("Location", REGION))
    return document(element("CreateBucketConfiguration", element("LocationConstraint", REGION)))


def storage_info(size: int, count: int) -> Response:
    return document(element("GetBucketStorageInfoResult", element("Size", size), element("ObjectNumber", count)))


def _about(about: Mapping[str, object], encoding: str, *, truncated: bool) -> list[str]:
    """The elements about a listing; keys in it are URL-encoded on request."""
    encoded = _encoder(encoding)
    rows = [element(name, encoded(str(value)) if name in _KEYS else value) for name, value in about.items()]
    if encoding:
        rows.append(element("EncodingType", encoding))
    return [*rows, element("IsTruncated", "true" if truncated else "false")]


def _contents(stat: StoredObject, key: str) -> str:
    """Formatted as one string for speed: a page has a thousand of them."""
    return _Xml(
        f"<Contents><Key>{escape(key, _ESCAPES)}</Key><LastModified>{_iso(stat.modified)}</LastModified>"
        f"<ETag>&quot;{stat.etag}&quot;</ETag><Size>{stat.size}</Size>{_OWNER_ELEMENT}"
        "<StorageClass>STANDARD</StorageClass></Contents>"
    )


def _etag(etag: str) -> str:
    return element("ETag", f'"{etag}"')


def _iso(instant: datetime) -> str:
    # Always with a fraction and Z: esdk-obs-python parses `%Y-%m-%dT%H:%M:%S.%fZ` and nothing else.
    return instant.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _encoder(encoding: str) -> Callable[[str], str]:
    """How keys are written in a listing with this encoding-type."""
    return _url if encoding == "url" else str


def _url(key: str) -> str:
    return quote(key, safe="/")
