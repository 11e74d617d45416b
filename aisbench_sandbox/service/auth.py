"""Verifies the signature of ModelArts requests (SDK-HMAC-SHA256), independent of the console's own signing code."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote, unquote

# API Request Signing Guide: the gateway refuses an X-Sdk-Date that is further off.
SKEW = timedelta(minutes=15)

_AUTHORIZATION = re.compile(
    r"SDK-HMAC-SHA256 Access=(?P<access>[^,\s]+), ?SignedHeaders=(?P<signed>[^,\s]+),"
    r" ?Signature=(?P<signature>[0-9a-f]{64})"
)
_UNSIGNED = "UNSIGNED-PAYLOAD"
# The SDK signs more (content-type, user-agent, x-project-id, …), other clients may not.
_MUST_SIGN = frozenset({"host", "x-sdk-date"})


class NotSigned(Exception):
    """The request is not signed correctly; the message is the gateway's."""


class WrongSignature(NotSigned):
    """The key exists, but the signature does not match the request."""


def access_key_of(headers: Mapping[str, str]) -> str:
    """The access key that a request claims to be signed with, or empty."""
    parts = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    return parts["access"] if parts else ""


def verify_request(
    method: str, target: str, headers: Mapping[str, str], body: bytes, keys: Mapping[str, str], now: datetime
) -> str:
    """The access key that signed this request. Raises NotSigned.

    `target` is the raw path with its query, `headers` have lower-case names, `keys` are secrets by access key."""
    parts = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    if parts is None:
        raise NotSigned("Incorrect IAM authentication information: no SDK-HMAC-SHA256 signature")
    _check_date(headers.get("x-sdk-date", ""), now)
    secret = keys.get(parts["access"])
    if secret is None:
        raise NotSigned(f"Incorrect IAM authentication information: the AK {parts['access']} does not exist")
    signed = parts["signed"].split(";")
    # A header that is named as signed and was removed on the way must not count as an empty one.
    if missing := sorted(_MUST_SIGN - set(signed)) + [name for name in signed if name not in headers]:
        raise NotSigned(f"Incorrect IAM authentication information: header {missing[0]} is not signed")
    canonical = _build_canonical_request(method, target, headers, signed)
    expected = [
        _compute_signature(f"{canonical}\n{stated}", headers["x-sdk-date"], secret)
        for stated in _list_hashes(headers, body)
    ]
    if not any(hmac.compare_digest(signature, parts["signature"]) for signature in expected):
        raise WrongSignature("Incorrect IAM authentication information: verify aksk signature fail")
    return parts["access"]


def _check_date(text: str, now: datetime) -> None:
    try:
        sent = datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise NotSigned("Incorrect IAM authentication information: x-sdk-date is missing or malformed") from None
    if abs(now - sent) > SKEW:
        side = "older" if sent < now else "newer"
        message = f"x-sdk-date is more than 15 minutes {side} than the region's time, {now:%Y%m%dT%H%M%SZ}"
        raise NotSigned(f"Incorrect IAM authentication information: {message}")


def _build_canonical_request(method: str, target: str, headers: Mapping[str, str], signed: list[str]) -> str:
    path, _, query = target.partition("?")
    # The signed path ends with a slash, whether or not the request's does, and each segment is encoded anew.
    uri = "/".join(_encode_segment(unquote(segment)) for segment in path.split("/"))
    pairs = sorted(parse_qsl(query, keep_blank_values=True))
    return "\n".join(
        [
            method,
            uri if uri.endswith("/") else f"{uri}/",
            "&".join(f"{_encode_segment(name)}={_encode_segment(value)}" for name, value in pairs),
            "".join(f"{name}:{headers[name].strip()}\n" for name in signed),
            ";".join(signed),
        ]
    )


def _list_hashes(headers: Mapping[str, str], body: bytes) -> list[str]:
    # A client may send UNSIGNED-PAYLOAD; without a body the official SDK does, but signs the hash of the empty body.
    actual = hashlib.sha256(body).hexdigest()
    if headers.get("x-sdk-content-sha256", "") != _UNSIGNED:
        return [actual]
    return [_UNSIGNED] if body else [_UNSIGNED, actual]


def _compute_signature(canonical: str, date: str, secret: str) -> str:
    to_sign = "\n".join(["SDK-HMAC-SHA256", date, hashlib.sha256(canonical.encode()).hexdigest()])
    # Unlike in AWS's v4, the key is the secret itself: nothing is derived from date or region.
    return hmac.new(secret.encode(), to_sign.encode(), hashlib.sha256).hexdigest()


def _encode_segment(text: str) -> str:
    return quote(text, safe="~")
