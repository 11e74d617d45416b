"""Signed OBS addresses, which anybody can read for a while."""

import base64
import hashlib
import hmac
from urllib.parse import quote, urlencode


def signed_link(server: str, bucket: str, key: str, access_key: str, secret_key: str, expires: int) -> str:
    """The address of one object, to be read with GET until `expires` (seconds since the epoch)."""
    resource = f"/{bucket}/{quote(key, safe='/~')}"
    to_sign = f"GET\n\n\n{expires}\n{resource}"
    digest = hmac.new(secret_key.encode(), to_sign.encode(), hashlib.sha1).digest()
    query = {"AWSAccessKeyId": access_key, "Expires": expires, "Signature": base64.b64encode(digest).decode()}
    return f"{server}{resource}?{urlencode(query)}"
