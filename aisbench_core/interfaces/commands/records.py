"""The answer to a command: a line of JSON for each thing that happens, which docs/api.md describes."""

import base64
import json
from collections.abc import Mapping
from typing import Any, Literal

from aisbench_core.base.errors import AisbenchError

MEDIA_TYPE = "application/x-ndjson"

# Of content in one record: a line must fit into every buffer on the way.
PIECE_BYTES = 48 * 1024
MOST_LINE = 256 * 1024

Kind = Literal["started", "stdout", "stderr", "file", "ask", "alive", "exit"]


def encode_record(kind: Kind, **fields: Any) -> bytes:
    """One line. `data` is bytes, which become Base64."""
    if "data" in fields:
        fields["data"] = base64.b64encode(fields["data"]).decode()
    return json.dumps({"kind": kind, **fields}).encode() + b"\n"


def parse_record(line: bytes) -> Mapping[str, Any]:
    """A record with `data` as bytes; an empty one for what is none. Records of later versions have other kinds."""
    try:
        fields = json.loads(line)
        data = {"data": base64.b64decode(fields["data"], validate=True)} if "data" in fields else {}
    except (ValueError, TypeError):
        return {}
    return {**fields, **data} if isinstance(fields, dict) else {}


def error_record(error: AisbenchError) -> bytes:
    """An error as the command line prints it."""
    return encode_record("stderr", data=f"error: {error}\n".encode())
