"""What the sandbox's OBS puts on the wire: XML documents, headers and errors."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import quote
from xml.sax.saxutils import escape

from starlette.responses import Response

from aisbench_core.sandbox.objects import Bucket, Listing, ObjectError, Stat
from aisbench_core.sandbox.obs_auth import Dialect
from aisbench_core.sandbox.uploads import Upload

REGION = "sandbox"

_OWNER = "sandbox-owner"
_STATUS = {
    "AccessDenied": 403,
    "BucketAlreadyOwnedByYou": 409,
    "BucketNotEmpty": 409,
    "InternalError": 500,
    "InvalidAccessKeyId": 403,
    "InvalidRange": 416,
    "NoSuchBucket": 404,
    "NoSuchKey": 404,
    "NoSuchUpload": 404,
    "NotImplemented": 501,
    "PositionNotEqualToLength": 409,
    "PreconditionFailed": 412,
    "RequestTimeTooSkewed": 403,
    "SignatureDoesNotMatch": 403,
}
# A parser turns these into plain spaces or line feeds unless they are spelled out.
_KEPT = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


def element(name: str, *content: object) -> str:
    """An element with elements in it, which are texts of this function, or with a text that is escaped."""
    inside = "".join(part if isinstance(part, _Xml) else escape(str(part), _KEPT) for part in content)
    return _Xml(f"<{name}>{inside}</{name}>")


class _Xml(str):
    """Text that is XML already."""

    __slots__ = ()


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
    """Add the headers by which a person finds a request again in both sides' logs."""
    response.headers[f"x-{dialect}-request-id"] = request_id
    response.headers[f"x-{dialect}-id-2"] = REGION


def new_request_id() -> str:
    return uuid.uuid4().hex.upper()


def object_headers(stat: Stat, dialect: Dialect) -> dict[str, str]:
    headers = {name.replace("x-obs-meta-", f"x-{dialect}-meta-", 1): value for name, value in stat.headers.items()}
    headers.setdefault("content-type", "binary/octet-stream")
    return headers | {
        "etag": f'"{stat.etag}"',
        "last-modified": format_datetime(stat.modified.replace(microsecond=0), usegmt=True),
        "accept-ranges": "bytes",
        "content-length": str(stat.size),
    }


def bucket_list(buckets: Iterable[Bucket]) -> Response:
    rows = [
        element(
            "Bucket",
            element("Name", bucket.name),
            element("CreationDate", _iso(bucket.created)),
            element("Location", REGION),
        )
        for bucket in buckets
    ]
    return document(element("ListAllMyBucketsResult", _owner(), element("Buckets", *rows)))


def object_list(listing: Listing, about: Mapping[str, object], encoding: str) -> Response:
    """A page of objects; `about` is what the two list versions differ in."""
    encoded = _url if encoding == "url" else str
    rows = [element(name, encoded(str(value)) if name in _KEYS else value) for name, value in about.items()]
    if encoding:
        rows.append(element("EncodingType", encoding))
    rows.append(element("IsTruncated", _bool(listing.truncated)))
    rows += [_contents(stat, encoded(stat.key)) for stat in listing.objects]
    rows += [element("CommonPrefixes", element("Prefix", encoded(prefix))) for prefix in listing.prefixes]
    return document(element("ListBucketResult", *rows))


_KEYS = frozenset({"Prefix", "Marker", "NextMarker", "StartAfter", "Delimiter"})


def upload_list(bucket: str, uploads: Sequence[Upload]) -> Response:
    rows = [
        element(
            "Upload",
            element("Key", upload.key),
            element("UploadId", upload.upload_id),
            element("Initiated", _iso(upload.started)),
            element("StorageClass", "STANDARD"),
        )
        for upload in uploads
    ]
    about = [element("Bucket", bucket), element("MaxUploads", len(rows)), element("IsTruncated", "false")]
    return document(element("ListMultipartUploadsResult", *about, *rows))


def upload_started(bucket: str, key: str, upload_id: str) -> Response:
    facts = element("Bucket", bucket), element("Key", key), element("UploadId", upload_id)
    return document(element("InitiateMultipartUploadResult", *facts))


def upload_completed(bucket: str, stat: Stat) -> Response:
    location = f"/{bucket}/{_url(stat.key)}"
    facts = element("Location", location), element("Bucket", bucket), element("Key", stat.key)
    return document(element("CompleteMultipartUploadResult", *facts, _etag(stat.etag)))


def copied(etag: str, modified: datetime, root: str) -> Response:
    return document(element(root, element("LastModified", _iso(modified)), _etag(etag)))


def deleted(keys: Sequence[str], errors: Sequence[tuple[str, ObjectError]], encoding: str) -> Response:
    encoded = _url if encoding == "url" else str
    rows = [element("EncodingType", encoding)] if encoding else []
    rows += [element("Deleted", element("Key", encoded(key))) for key in keys]
    rows += [
        element("Error", element("Key", encoded(key)), element("Code", why.code), element("Message", why.message))
        for key, why in errors
    ]
    return document(element("DeleteResult", *rows))


def location(dialect: Dialect) -> Response:
    if dialect == "obs":
        return document(element("Location", REGION))
    return document(element("CreateBucketConfiguration", element("LocationConstraint", REGION)))


def storage_info(size: int, count: int) -> Response:
    return document(element("GetBucketStorageInfoResult", element("Size", size), element("ObjectNumber", count)))


def _contents(stat: Stat, key: str) -> str:
    return element(
        "Contents",
        element("Key", key),
        element("LastModified", _iso(stat.modified)),
        _etag(stat.etag),
        element("Size", stat.size),
        _owner(),
        element("StorageClass", "STANDARD"),
    )


def _owner() -> str:
    return element("Owner", element("ID", _OWNER))


def _etag(etag: str) -> str:
    return element("ETag", f'"{etag}"')


def _iso(instant: datetime) -> str:
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03}Z"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _url(key: str) -> str:
    return quote(key, safe="/")
