"""Signed requests (SDK-HMAC-SHA256) with Python's own library."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

HEADERS = ("content-type", "host", "x-sdk-date")


def signed_request(
    base: str, method: str, path: str, body: dict[str, Any] | None, keys: tuple[str, str]
) -> tuple[int, str, str]:
    """Status, reason and text of the answer."""
    place = urlsplit(base if "://" in base else f"https://{base}")
    kind = http.client.HTTPConnection if place.scheme == "http" else http.client.HTTPSConnection
    connection = kind(place.hostname or "", place.port, timeout=60)
    content = b"" if body is None else json.dumps(body).encode()
    target = quote(path, safe="/?=&")
    try:
        connection.request(method, target, content, _headers(method, target, content, place.netloc, keys))
        answer = connection.getresponse()
        return answer.status, answer.reason, answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def _headers(method: str, target: str, content: bytes, host: str, keys: tuple[str, str]) -> dict[str, str]:
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    told = {"content-type": "application/json", "host": host, "x-sdk-date": now}
    lines = "".join(f"{name}:{told[name]}\n" for name in HEADERS)
    body = hashlib.sha256(content).hexdigest()
    address, _, query = target.partition("?")
    asked = "&".join(sorted(query.split("&")))
    request = "\n".join([method, f"{address}/", asked, lines, ";".join(HEADERS), body])
    to_sign = "\n".join(["SDK-HMAC-SHA256", now, hashlib.sha256(request.encode()).hexdigest()])
    signature = hmac.new(keys[1].encode(), to_sign.encode(), hashlib.sha256).hexdigest()
    signer = f"SDK-HMAC-SHA256 Access={keys[0]}, SignedHeaders={';'.join(HEADERS)}, Signature={signature}"
    return {**told, "Authorization": signer}
