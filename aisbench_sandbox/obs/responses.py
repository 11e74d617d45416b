"""The responses of the sandbox's OBS: XML documents, headers and errors."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import quote
from xml.sax.saxutils import escape

from starlette.responses import Response

from aisbench_sandbox.obs.auth import Dialect
from aisbench_sandbox.obs.calls import ACL, STORAGE_CLASS, TAGGING
from aisbench_sandbox.obs.storage.objects import OBJECT_TYPE
from aisbench_sandbox.obs.storage.stored import VERSION_ID, BucketInfo, Listing, ObjectError, StoredObject
from aisbench_sandbox.obs.storage.uploads import Part, UploadPage

REGION = "sandbox"

OWNER = "sandbox-owner"
_STATUS = {
    "AccessDenied": 403,
    "BucketAlreadyOwnedByYou": 409,
    "BucketNotEmpty": 409,
    "InternalError": 500,
    "InvalidAccessKeyId": 403,
    "InvalidRange": 416,
    "MethodNotAllowed": 405,
    "ObjectNotAppendable": 409,
    "NoSuchBucket": 404,
    "NoSuchLifecycleConfiguration": 404,
    "NoSuchVersion": 404,
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


def build_element(name: str, *content: object) -> str:
    """An XML element; its content is elements made by this function, or text, which is escaped."""
    # The type tells markup from text, so nothing is escaped twice or not at all.
    inside = "".join(part if isinstance(part, _Xml) else escape(str(part), _ESCAPES) for part in content)
    return _Xml(f"<{name}>{inside}</{name}>")


class _Xml(str):
    """Text that is XML already."""

    __slots__ = ()


_OWNER_ELEMENT = build_element("Owner", build_element("ID", OWNER))
_UPLOAD_OWNER = (
    build_element("Initiator", build_element("ID", OWNER)),
    _OWNER_ELEMENT,
    build_element("StorageClass", "STANDARD"),
)


def build_document(root: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(f'<?xml version="1.0" encoding="UTF-8"?>{root}', 200, headers, "application/xml")


def build_empty(status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status_code=status, headers=headers)


def build_error(refusal: ObjectError, resource: str, request_id: str, dialect: Dialect = "obs") -> Response:
    status = _STATUS.get(refusal.code, 400)
    facts = {
        "Code": refusal.code,
        "Message": refusal.message,
        "Resource": resource,
        "RequestId": request_id,
        "HostId": REGION,
    }
    answer = build_document(build_element("Error", *(build_element(name, value) for name, value in facts.items())))
    answer.status_code = status
    if refusal.marker:
        answer.headers.update(deleted_headers(refusal.marker, dialect, is_marker=True))
    return answer


def version_header(stat: StoredObject, dialect: Dialect) -> dict[str, str]:
    """The id of a version, if the bucket had versioning when it was stored."""
    return {f"x-{dialect}-version-id": stat.version_id} if VERSION_ID in stat.headers else {}


def deleted_headers(version_id: str, dialect: Dialect, *, is_marker: bool) -> dict[str, str]:
    """What was deleted, or that a delete marker was made."""
    headers = {f"x-{dialect}-version-id": version_id} if version_id else {}
    return headers | ({f"x-{dialect}-delete-marker": "true"} if is_marker else {})


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
    headers.pop(ACL, None)
    headers.pop(VERSION_ID, None)
    if kind := headers.pop(STORAGE_CLASS, ""):
        headers[f"x-{dialect}-storage-class"] = kind
    if tags := headers.pop(TAGGING, ""):
        # Clients get the number of tags with an object, the tags themselves only by `?tagging`.
        headers[f"x-{dialect}-tagging-count"] = str(tags.count("&") + 1)
    if OBJECT_TYPE in headers:
        headers["x-obs-next-append-position"] = str(stat.size)
    return (
        headers
        | version_header(stat, dialect)
        | {
            "etag": f'"{stat.etag}"',
            "last-modified": _http_date(stat.modified),
            "accept-ranges": "bytes",
            "content-length": str(stat.size),
        }
    )


def render_tags(pairs: Iterable[tuple[str, str]]) -> Response:
    elements = (build_element("Tag", build_element("Key", key), build_element("Value", value)) for key, value in pairs)
    return build_document(build_element("Tagging", build_element("TagSet", *elements)))


def render_acl(acl: str, dialect: Dialect) -> Response:
    """The owner's rights, and everybody's if there are any; each family writes everybody in its own way."""
    rows = [_build_grant("CanonicalUser", build_element("ID", OWNER), "FULL_CONTROL", dialect)]
    if acl != "private":
        uri = build_element("URI", "http://acs.amazonaws.com/groups/global/AllUsers")
        everybody = build_element("Canned", "Everyone") if dialect == "obs" else uri
        delivered = build_element("Delivered", "true") if acl.endswith("delivered") else ""
        rows.append(_build_grant("Group", everybody, "READ", dialect, delivered))
    return build_document(
        build_element("AccessControlPolicy", _OWNER_ELEMENT, build_element("AccessControlList", *rows))
    )


def _build_grant(kind: str, grantee: str, permission: str, dialect: Dialect, more: str = "") -> str:
    # boto3 reads the type from this attribute, which OBS does not have.
    schema = "http://www.w3.org/2001/XMLSchema-instance"
    attributes = f' xmlns:xsi="{schema}" xsi:type="{kind}"' if dialect == "amz" else ""
    named = _Xml(f"<Grantee{attributes}>{grantee}</Grantee>")
    return build_element("Grant", named, build_element("Permission", permission), *([more] if more else []))


def render_versioning(status: str) -> Response:
    return build_document(
        build_element("VersioningConfiguration", *([build_element("Status", status)] if status else []))
    )


def version_list(
    versions: Iterable[tuple[StoredObject, bool, bool]],
    prefixes: Iterable[str],
    about: Mapping[str, object],
    encoding: str,
    *,
    truncated: bool,
) -> Response:
    """A page of versions: each with whether it is a delete marker, and the latest one."""
    encoded = _choose_encoder(encoding)
    rows = _build_about(about, encoding, truncated=truncated)
    for stat, is_marker, is_latest in versions:
        facts = [build_element("Key", encoded(stat.key)), build_element("VersionId", stat.version_id)]
        facts.append(build_element("IsLatest", "true" if is_latest else "false"))
        facts += [build_element("LastModified", _format_time(stat.modified)), _OWNER_ELEMENT]
        if not is_marker:
            facts += [_build_etag(stat.etag), build_element("Size", stat.size)]
            facts.append(build_element("StorageClass", stat.headers.get(STORAGE_CLASS, "STANDARD")))
        rows.append(build_element("DeleteMarker" if is_marker else "Version", *facts))
    rows += [build_element("CommonPrefixes", build_element("Prefix", encoded(prefix))) for prefix in prefixes]
    return build_document(build_element("ListVersionsResult", *rows))


def not_modified(stat: StoredObject) -> Response:
    return build_empty(304, {"etag": f'"{stat.etag}"', "last-modified": _http_date(stat.modified)})


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
        build_element(
            "Bucket",
            build_element("Name", bucket.name),
            build_element("CreationDate", _format_time(bucket.created)),
            build_element("Location", REGION),
        )
        for bucket in buckets
    ]
    return build_document(build_element("ListAllMyBucketsResult", _OWNER_ELEMENT, build_element("Buckets", *rows)))


def object_list(listing: Listing, about: Mapping[str, object], encoding: str) -> Response:
    """A page of objects; `about` has the elements in which the two list versions differ."""
    encoded = _choose_encoder(encoding)
    rows = _build_about(about, encoding, truncated=listing.truncated)
    rows += [_build_contents(stat, encoded(stat.key)) for stat in listing.objects]
    rows += [build_element("CommonPrefixes", build_element("Prefix", encoded(prefix))) for prefix in listing.prefixes]
    return build_document(build_element("ListBucketResult", *rows))


def upload_list(page: UploadPage, about: Mapping[str, object], encoding: str) -> Response:
    encoded = _choose_encoder(encoding)
    if page.truncated:
        about = {**about, "NextKeyMarker": page.next_key, "NextUploadIdMarker": page.next_id}
    rows = _build_about(about, encoding, truncated=page.truncated)
    rows += [
        build_element(
            "Upload",
            build_element("Key", encoded(upload.key)),
            build_element("UploadId", upload.upload_id),
            *_UPLOAD_OWNER,
            build_element("Initiated", _format_time(upload.started)),
        )
        for upload in page.uploads
    ]
    rows += [build_element("CommonPrefixes", build_element("Prefix", encoded(prefix))) for prefix in page.prefixes]
    return build_document(build_element("ListMultipartUploadsResult", *rows))


def part_list(parts: Sequence[Part], about: Mapping[str, object], encoding: str, *, truncated: bool) -> Response:
    if truncated:
        about = {**about, "NextPartNumberMarker": parts[-1].number if parts else 0}
    rows = [*_build_about(about, encoding, truncated=truncated), *_UPLOAD_OWNER]
    rows += [
        build_element(
            "Part",
            build_element("PartNumber", part.number),
            build_element("LastModified", _format_time(part.modified)),
            _build_etag(part.etag),
            build_element("Size", part.size),
        )
        for part in parts
    ]
    return build_document(build_element("ListPartsResult", *rows))


def upload_started(bucket: str, key: str, upload_id: str) -> Response:
    facts = build_element("Bucket", bucket), build_element("Key", key), build_element("UploadId", upload_id)
    return build_document(build_element("InitiateMultipartUploadResult", *facts))


def upload_completed(bucket: str, stat: StoredObject, dialect: Dialect) -> Response:
    location = f"/{bucket}/{_encode_key(stat.key)}"
    facts = build_element("Location", location), build_element("Bucket", bucket), build_element("Key", stat.key)
    root = build_element("CompleteMultipartUploadResult", *facts, _build_etag(stat.etag))
    return build_document(root, version_header(stat, dialect))


def render_posted(bucket: str, stat: StoredObject) -> Response:
    location = f"/{bucket}/{_encode_key(stat.key)}"
    facts = build_element("Location", location), build_element("Bucket", bucket), build_element("Key", stat.key)
    answer = build_document(build_element("PostResponse", *facts, _build_etag(stat.etag)), {"etag": f'"{stat.etag}"'})
    answer.status_code = 201
    return answer


def build_copied(etag: str, modified: datetime, root: str, headers: Mapping[str, str] | None = None) -> Response:
    inside = build_element("LastModified", _format_time(modified)), _build_etag(etag)
    return build_document(build_element(root, *inside), headers)


def build_deleted(
    done: Sequence[tuple[str, str, str, bool]], errors: Sequence[tuple[str, ObjectError]], encoding: str
) -> Response:
    """`done`: key, the version that was named, the id of a delete marker, and whether there is one."""
    encoded = _choose_encoder(encoding)
    rows = [build_element("EncodingType", encoding)] if encoding else []
    for key, version_id, marker, is_marker in done:
        facts = [build_element("Key", encoded(key))]
        facts += [build_element("VersionId", version_id)] if version_id else []
        if is_marker:
            facts += [build_element("DeleteMarker", "true"), build_element("DeleteMarkerVersionId", marker)]
        rows.append(build_element("Deleted", *facts))
    rows += [
        build_element(
            "Error",
            build_element("Key", encoded(key)),
            build_element("Code", why.code),
            build_element("Message", why.message),
        )
        for key, why in errors
    ]
    return build_document(build_element("DeleteResult", *rows))


def render_location(dialect: Dialect) -> Response:
    if dialect == "obs":
        # esdk-obs-python reads the root's text where it signs as OBS, and LocationConstraint where it signs as v2.
        return build_document(build_element("Location", REGION))
    return build_document(build_element("CreateBucketConfiguration", build_element("LocationConstraint", REGION)))


def storage_info(size: int, count: int) -> Response:
    return build_document(
        build_element("GetBucketStorageInfoResult", build_element("Size", size), build_element("ObjectNumber", count))
    )


def _build_about(about: Mapping[str, object], encoding: str, *, truncated: bool) -> list[str]:
    """The elements about a listing; keys in it are URL-encoded on request."""
    encoded = _choose_encoder(encoding)
    rows = [build_element(name, encoded(str(value)) if name in _KEYS else value) for name, value in about.items()]
    if encoding:
        rows.append(build_element("EncodingType", encoding))
    return [*rows, build_element("IsTruncated", "true" if truncated else "false")]


def _build_contents(stat: StoredObject, key: str) -> str:
    """Formatted as one string for speed: a page has a thousand of them."""
    return _Xml(
        f"<Contents><Key>{escape(key, _ESCAPES)}</Key><LastModified>{_format_time(stat.modified)}</LastModified>"
        f"<ETag>&quot;{stat.etag}&quot;</ETag><Size>{stat.size}</Size>{_OWNER_ELEMENT}"
        f"<StorageClass>{escape(stat.headers.get(STORAGE_CLASS, 'STANDARD'))}</StorageClass></Contents>"
    )


def _build_etag(etag: str) -> str:
    return build_element("ETag", f'"{etag}"')


def _format_time(instant: datetime) -> str:
    # Always with a fraction and Z: esdk-obs-python parses `%Y-%m-%dT%H:%M:%S.%fZ` and nothing else.
    return instant.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _choose_encoder(encoding: str) -> Callable[[str], str]:
    """How keys are written in a listing with this encoding-type."""
    return _encode_key if encoding == "url" else str


def _encode_key(key: str) -> str:
    return quote(key, safe="/")
