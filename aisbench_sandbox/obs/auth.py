"""Authenticates requests to the sandbox's OBS: v2, OBS and v4 signatures, in headers and in signed URLs."""

# Written from the published signing rules, independent of any client's code, so that it can find a client's bug.

import base64
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal
from urllib.parse import quote, unquote_to_bytes

from aisbench_sandbox.obs.chunks import Seed
from aisbench_sandbox.obs.requests import ObsRequest, http_date, whole_number
from aisbench_sandbox.obs.storage.stored import ObjectError

Dialect = Literal["amz", "obs"]

# OBS refuses dates that are further off with RequestTimeTooSkewed (API reference, Authentication of Signature in a
# Header).
_MAX_SKEW = timedelta(minutes=15)
# AWS's limit for X-Amz-Expires (604,800 s); v2 URLs name the second they expire at, without a limit.
_MAX_URL_AGE = timedelta(days=7)
_UNSIGNED = "UNSIGNED-PAYLOAD"
_V2 = re.compile(r"(AWS|OBS) ([^:\s]+):(\S+)")
# boto3 puts a blank after each comma, esdk-obs-python none.
_V4 = re.compile(
    r"AWS4-HMAC-SHA256 +Credential=(?P<credential>[^,\s]+) *, *SignedHeaders=(?P<signed>[^,\s]+) *,"
    r" *Signature=(?P<signature>[0-9a-f]{64})"
)
# Query parameters covered by a v2 signature, of those that the sandbox supports; all others are left out of it.
_SUBRESOURCES = frozenset(
    {"acl", "append", "delete", "lifecycle", "location", "partnumber", "position", "storageinfo", "tagging"}
    | {"uploadid", "uploads", "versionid", "versioning", "versions"}
    | {f"response-{name}" for name in ("cache-control", "expires")}
    | {f"response-content-{name}" for name in ("disposition", "encoding", "language", "type")}
)


@dataclass(frozen=True, slots=True)
class Sender:
    """Who signed a request, in which family of header names, and what was signed of the body.

    `payload` is the value sent for it, unchecked: a SHA-256, the name of a streaming format, or nonsense; empty if the
    body is not signed. The chunks' signatures continue `seed`."""

    access_key: str
    dialect: Dialect
    payload: str = ""
    seed: Seed | None = None


@dataclass(frozen=True, slots=True)
class _V4Claim:
    credential: str
    signed: str
    signature: str
    instant: datetime
    payload: str


def authenticate_sender(request: ObsRequest, keys: Mapping[str, str], now: datetime) -> Sender:
    """The authenticated sender of a request. Raises ObjectError."""
    authorization = request.headers.get("authorization", "")
    if authorization.startswith("AWS4-HMAC-SHA256"):
        return _v4_header(request, authorization, keys, now)
    # esdk-obs-python signs as AWS at an IP address, and as OBS at a host name whose API version it has asked for.
    if match := _V2.fullmatch(authorization):
        return _v2_header(request, match, keys, now)
    if authorization:
        raise ObjectError("InvalidArgument", "The Authorization header is none of AWS, OBS and AWS4-HMAC-SHA256.")
    if request.value("X-Amz-Signature") is not None:
        return _v4_url(request, keys, now)
    if request.value("Signature") is not None:
        return _v2_url(request, keys, now)
    raise ObjectError("AccessDenied", "The request is not signed.")


def dialect_of(request: ObsRequest) -> Dialect:
    """The family of header names for the answer, also if authentication fails."""
    amz = request.headers.get("authorization", "").startswith("AWS") or any(
        "amz" in name.lower() for name in request.headers
    )
    return "amz" if amz or request.value("AWSAccessKeyId") or request.value("X-Amz-Signature") else "obs"


def _v2_header(request: ObsRequest, match: re.Match[str], keys: Mapping[str, str], now: datetime) -> Sender:
    scheme, access_key, signature = match.groups()
    dialect: Dialect = "obs" if scheme == "OBS" else "amz"
    # A date in the family's own header replaces Date, whose line in the signed text is then empty.
    own_date = request.headers.get(f"x-{dialect}-date", "")
    date = request.headers.get("date", "")
    secret = _find_secret(access_key, keys)
    _check_skew(_http_date(own_date or date), now)
    _check_signature(signature, *_v2_signatures(request, secret, dialect, "" if own_date else date))
    return Sender(access_key, dialect)


def _v2_url(request: ObsRequest, keys: Mapping[str, str], now: datetime) -> Sender:
    dialect: Dialect = "amz" if request.value("AWSAccessKeyId") else "obs"
    access_key = request.value("AWSAccessKeyId") or request.value("AccessKeyId") or ""
    expires = request.value("Expires") or ""
    secret = _find_secret(access_key, keys)
    # boto3 signs x-amz-… parameters of a URL as the headers that they stand for, the OBS SDK as sub-resources.
    variants = (request.with_headers_of_query(), request) if dialect == "amz" else (request,)
    expected = [each for variant in variants for each in _v2_signatures(variant, secret, dialect, expires)]
    # A URL has no date: the signed text has its expiry time instead.
    _check_signature(request.value("Signature") or "", *expected)
    if (whole_number(expires) or 0) < now.timestamp():
        raise ObjectError("AccessDenied", "Request has expired")
    return Sender(access_key, dialect)


def _v2_signatures(request: ObsRequest, secret: str, dialect: Dialect, date: str) -> list[str]:
    """The signature of a request; of a bucket in the path also with the slash that boto3 signs after its name."""
    is_bucket = request.resource.count("/") == 1 and request.resource != "/"
    resources = [request.resource, *([f"{request.resource}/"] if is_bucket else [])]
    return [_v2_signature(request, resource, secret, dialect, date) for resource in resources]


def _v2_signature(request: ObsRequest, resource: str, secret: str, dialect: Dialect, date: str) -> str:
    prefix = f"x-{dialect}-"
    headers = "".join(
        f"{name}:{value.strip()}\n" for name, value in sorted(request.headers.items()) if name.startswith(prefix)
    )
    covered = (pair for pair in request.query if pair[0].lower() in _SUBRESOURCES or pair[0].lower().startswith(prefix))
    resources = sorted(covered, key=lambda pair: (pair[0], pair[1] or ""))
    # A parameter without a value is signed without an equals sign, even if it is sent with one (`?uploads=`); in v4
    # with one. Values are signed decoded.
    query = "&".join(name if not value else f"{name}={value}" for name, value in resources)
    content = [request.headers.get(name, "") for name in ("content-md5", "content-type")]
    text = "\n".join([request.method, *content, date, headers]) + resource + (f"?{query}" if query else "")
    return base64.b64encode(hmac.new(secret.encode(), _to_bytes(text), "sha1").digest()).decode()


def _v4_header(request: ObsRequest, authorization: str, keys: Mapping[str, str], now: datetime) -> Sender:
    match = _V4.fullmatch(authorization)
    payload = request.headers.get("x-amz-content-sha256", "")
    # S3 requires this header in v4 requests; the chunked formats announce themselves in it.
    if not match or not payload:
        raise ObjectError("InvalidArgument", "A v4 request needs Credential, SignedHeaders, Signature and a hash.")
    # esdk-obs-python sends v4 requests with Date only.
    instant = _iso_date(request.headers.get("x-amz-date", "")) or _http_date(request.headers.get("date", ""))
    claim = _V4Claim(match["credential"], match["signed"], match["signature"], instant, payload)
    _check_skew(instant, now)
    return _v4_sender(request, claim, keys)


def _v4_url(request: ObsRequest, keys: Mapping[str, str], now: datetime) -> Sender:
    names = ("X-Amz-Credential", "X-Amz-SignedHeaders", "X-Amz-Signature", "X-Amz-Date", "X-Amz-Expires")
    credential, signed, signature, date, expires = (request.value(name) or "" for name in names)
    instant, seconds = _iso_date(date), whole_number(expires)
    if not instant or seconds is None or seconds > _MAX_URL_AGE.total_seconds():
        raise ObjectError("AuthorizationQueryParametersError", "X-Amz-Date or X-Amz-Expires cannot be understood.")
    # The signature covers all parameters of the URL but itself.
    unsigned = tuple(pair for pair in request.query if pair[0] != "X-Amz-Signature")
    payload = request.value("X-Amz-Content-Sha256") or _UNSIGNED
    claim = _V4Claim(credential, signed, signature, instant, payload)
    sender = _v4_sender(replace(request, query=unsigned), claim, keys)
    if not -_MAX_SKEW <= now - instant <= timedelta(seconds=seconds):
        raise ObjectError("AccessDenied", "Request has expired")
    return sender


def _v4_sender(request: ObsRequest, claim: _V4Claim, keys: Mapping[str, str]) -> Sender:
    access_key, _, scope = claim.credential.partition("/")
    secret = _find_secret(access_key, keys)
    stamp = f"{claim.instant:%Y%m%dT%H%M%SZ}"
    parts = scope.split("/")
    # The region's name is not compared: the OBS documents do not say which names v4 requests may use.
    fits = len(parts) == 4 and parts[0] == stamp[:8] and parts[3] == "aws4_request"  # date/region/service/aws4_request
    if not fits or not scope.isascii():
        raise ObjectError("AuthorizationHeaderMalformed", "The credential's scope does not fit the request's date.")
    _check_signed_headers(request, claim.signed.split(";"))
    text = "\n".join(
        ["AWS4-HMAC-SHA256", stamp, scope, sha256(_to_bytes(_build_canonical_request(request, claim))).hexdigest()]
    )
    key = f"AWS4{secret}".encode()
    # Date, region, service and a constant, each keying the HMAC of the next (AWS Signature Version 4).
    for part in parts:
        key = hmac.digest(key, _to_bytes(part), "sha256")
    _check_signature(claim.signature, hmac.digest(key, _to_bytes(text), "sha256").hex())
    payload = "" if claim.payload == _UNSIGNED else claim.payload
    return Sender(access_key, "amz", payload, Seed(key, stamp, scope, claim.signature))


def _check_signed_headers(request: ObsRequest, signed: list[str]) -> None:
    # An unsigned header could be added on the way: with x-amz-copy-source, a signed upload would become a copy.
    must = {"host"} | {name for name in request.headers if name.startswith("x-amz-")}
    if missing := sorted(must - set(signed)):
        raise ObjectError("AccessDenied", f"Headers that must be signed are not: {', '.join(missing)}")


def _build_canonical_request(request: ObsRequest, claim: _V4Claim) -> str:
    # Clients encode different characters; decoding first brings every path to one form. Unlike elsewhere in AWS, S3
    # paths are not normalised: `//` and `..` are parts of keys.
    path = quote(unquote_to_bytes(request.path), safe="/~")
    query = "&".join(sorted(f"{quote(name, safe='~')}={quote(value or '', safe='~')}" for name, value in request.query))
    # v4 folds runs of blanks in a value; v2 only strips its ends.
    headers = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in claim.signed.split(";"))
    return "\n".join([request.method, path, query, headers, claim.signed, claim.payload])


def _find_secret(access_key: str, keys: Mapping[str, str]) -> str:
    if access_key not in keys:
        raise ObjectError("InvalidAccessKeyId", "The access key id that was provided does not exist.")
    return keys[access_key]


def _check_signature(signature: str, *expected: str) -> None:
    """SignatureDoesNotMatch if the signature is none of the expected ones."""
    if not any(hmac.compare_digest(each.encode(), _to_bytes(signature)) for each in expected):
        message = (
            "The signature that was calculated does not match the one that was provided. Check the key and method."
        )
        raise ObjectError("SignatureDoesNotMatch", message)


def _check_skew(instant: datetime, now: datetime) -> None:
    if abs(now - instant) > _MAX_SKEW:
        message = "The difference between the request time and the current time is too large."
        raise ObjectError("RequestTimeTooSkewed", message)


def _iso_date(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _http_date(text: str) -> datetime:
    date = (_iso_date(text) if text[:1].isdigit() else None) or http_date(text)
    if date is None:
        raise ObjectError("AccessDenied", "A signed request needs a Date or x-amz-date header.")
    return date


def _to_bytes(text: str) -> bytes:
    """The bytes as they were sent: header values may contain invalid UTF-8."""
    return text.encode("utf-8", "surrogateescape")
