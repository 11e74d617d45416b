"""Single requests to the sandbox's OBS, signed by the tests' own signer and sent byte for byte."""

import http.client
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.contract import obs_signer
from tests.contract.obs_server import ACCESS, SECRET, Served

NOW = timedelta()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def code(self) -> str:
        found = re.search(rb"<Code>(\w+)</Code>", self.body)
        return found[1].decode() if found else ""


def ask(
    served: Served, method: str, target: str, headers: Mapping[str, str], body: bytes | Iterator[bytes] | None = None
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    chunked = body is not None and not isinstance(body, bytes)
    connection.request(method, target, body, dict(headers), encode_chunked=chunked)
    response = connection.getresponse()
    answer = Answer(response.status, response.read(), {name.lower(): value for name, value in response.getheaders()})
    connection.close()
    return answer


def ask_v2(served: Served, method: str, target: str, body: bytes = b"", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    signed = obs_signer.v2("OBS", ACCESS, SECRET, method, target, datetime.now(UTC), named)
    return ask(served, method, target, signed, body or None)


def ask_v4(
    served: Served,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    secret: str = SECRET,
    late: timedelta = NOW,
    **headers: str,
) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    host = f"127.0.0.1:{served.port}"
    when = datetime.now(UTC) - late
    signed = obs_signer.v4(ACCESS, secret, method, path, when, host=host, body=body, headers=named)
    return ask(served, method, path, signed, body or None)
