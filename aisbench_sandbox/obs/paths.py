"""OBS directories as written in a job's request: /bucket/key, obs://bucket/key or s3://bucket/key."""

import re

# The documents write all three: the API reference /bucket/key and obs://, scripts of the older API s3://.
_PATH = re.compile(r"(?:/|obs://|s3://)([^/]+)/(.*)", re.DOTALL)


def bucket_and_key(path: str) -> tuple[str, str]:
    """(bucket, key); both empty if the text is not an OBS path."""
    match = _PATH.fullmatch(path)
    return (match[1], match[2]) if match else ("", "")
