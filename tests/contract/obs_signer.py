"""Signs OBS requests by the published rules, with no code of the sandbox or of a client."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import quote

REGION = "sandbox"


def v2(
    scheme: str,
    access: str,
    secret: str,
    method: str,
    path: str,
    now: datetime,
    headers: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """All headers of a request signed as `AWS` or `OBS`; `path` is percent-encoded, sub-resources included."""
    sent = {**(headers or {}), "Date": format_datetime(now.replace(microsecond=0), usegmt=True)}
    lower = {name.lower(): value for name, value in sent.items()}
    prefix = "x-obs-" if scheme == "OBS" else "x-amz-"
    own = "".join(f"{name}:{lower[name]}\n" for name in sorted(lower) if name.startswith(prefix))
    date = "" if f"{prefix}date" in lower else lower["date"]
    text = f"{method}\n{lower.get('content-md5', '')}\n{lower.get('content-type', '')}\n{date}\n{own}{path}"
    return sent | {"Authorization": f"{scheme} {access}:{_sha1(secret, text)}"}


def v2_url(scheme: str, access: str, secret: str, path: str, expires: int) -> str:
    """The path with the query of a signed GET."""
    name = "AccessKeyId" if scheme == "OBS" else "AWSAccessKeyId"
    signature = quote(_sha1(secret, f"GET\n\n\n{expires}\n{path}"), safe="")
    return f"{path}?{name}={access}&Expires={expires}&Signature={signature}"


def v4(
    access: str,
    secret: str,
    method: str,
    path: str,
    now: datetime,
    *,
    host: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    payload: str = "",
) -> dict[str, str]:
    """All headers of a request signed as AWS4-HMAC-SHA256, with its body's hash or what `payload` says instead."""
    payload = payload or hashlib.sha256(body).hexdigest()
    stamp = f"{now:%Y%m%dT%H%M%SZ}"
    sent = {"host": host, "x-amz-date": stamp, "x-amz-content-sha256": payload, **(headers or {})}
    names = ";".join(sorted(sent))
    pairs = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted((query or {}).items()))
    lines = "".join(f"{name}:{sent[name].strip()}\n" for name in sorted(sent))
    scope = f"{stamp[:8]}/{REGION}/s3/aws4_request"
    request = hashlib.sha256(
        f"{method}\n{path}\n{pairs}\n{lines}\n{names}\n{payload}".encode("utf-8", "surrogateescape")
    ).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{request}".encode(), hashlib.sha256).hexdigest()
    return sent | {
        "Authorization": f"AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}"
    }


def _sha1(secret: str, text: str) -> str:
    return base64.b64encode(
        hmac.new(secret.encode(), text.encode("utf-8", "surrogateescape"), hashlib.sha1).digest()
    ).decode()
