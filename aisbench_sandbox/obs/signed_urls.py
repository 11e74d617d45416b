"""Signed OBS URLs, which anyone can read until they expire."""

import base64
import hashlib
import hmac
from urllib.parse import quote, urlencode


def signed_link(
    server: str, bucket: str, key: str, access_key: str, secret_key: str, expires: int, save_as: str = ""
) -> str:
    """The URL of one object, to be read with GET until `expires` (seconds since the epoch).

    With `save_as`, browsers save it as a file of this name."""
    resource = f"/{bucket}/{quote(key, safe='/~')}"
    extra = {"response-content-disposition": f"attachment; filename={save_as}"} if save_as else {}
    # Sub-resources are signed as they are, and only percent-encoded in the URL.
    signed = "".join(f"?{name}={value}" for name, value in extra.items())
    # A v2 signature: Content-MD5 and Content-Type are empty, and the expiry time stands in the place of the date.
    to_sign = f"GET\n\n\n{expires}\n{resource}{signed}"
    digest = hmac.new(secret_key.encode(), to_sign.encode(), hashlib.sha1).digest()
    query = {"AWSAccessKeyId": access_key, "Expires": expires, "Signature": base64.b64encode(digest).decode(), **extra}
    return f"{server}{resource}?{urlencode(query)}"
