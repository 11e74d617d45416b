"""Requests to the sandbox's OBS that nobody means: never an answer that the server failed, never a file outside."""

import hashlib
import logging
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract import obs_signer
from tests.contract.obs_nonsense import ASKED, BODIES, HEADERS, Query
from tests.contract.obs_server import ACCESS, BUCKET, SECRET, Served, serving


@dataclass(frozen=True, slots=True)
class Fence:
    """A served OBS, what lies around its folder, and the complaints of the server."""

    served: Served
    outside: Path
    complaints: list[str]

    def around(self) -> dict[str, bytes]:
        """All that is not in the store, by path."""
        found: dict[str, bytes] = {}
        for folder, below, files in os.walk(self.outside):
            below[:] = [name for name in below if Path(folder, name) != self.served.objects.root]
            found |= {str(Path(folder, name)): b"" for name in below}
            found |= {str(Path(folder, name)): Path(folder, name).read_bytes() for name in files}
        return found

    def own_folders(self) -> set[str]:
        """What lies at the top of the store: buckets, and the store's own files."""
        return {path.name for path in self.served.objects.root.iterdir()}


class _Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@pytest.fixture(scope="module")
def fence(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fence]:
    outside = tmp_path_factory.mktemp("fence")
    (outside / "x").write_text("a file that a path with dots would reach")
    handler = _Complaints()
    logging.getLogger().addHandler(handler)
    with serving(outside / "deep" / "obs") as served:
        logging.getLogger("uvicorn.error").addHandler(handler)
        served.objects.create_bucket(BUCKET)
        served.objects.put(BUCKET, "a", b"content")
        yield Fence(served, outside, handler.texts)
    for name in ("", "uvicorn.error"):
        logging.getLogger(name or None).removeHandler(handler)


def sent(served: Served, raw: bytes) -> bytes:
    """All that the server answers to these bytes, which are all that it gets."""
    answer = b""
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as wire:
        try:
            wire.sendall(raw)
            wire.shutdown(socket.SHUT_WR)
            while data := wire.recv(65536):
                answer += data
        except ConnectionError:  # it has had enough
            pass
    return answer


def check(fence: Fence, raw: bytes) -> None:
    before, folders = fence.around(), fence.own_folders()

    answer = sent(fence.served, raw)

    for head in answer.split(b"HTTP/1.1 ")[1:2]:
        assert not head.startswith(b"5") or head.startswith(b"501"), (raw, answer)
    assert fence.complaints == []
    assert fence.around() == before
    assert {name for name in fence.own_folders() - folders if name.startswith(".")} == set()


def written(method: str, path: str, query: Query, headers: dict[str, str], body: bytes) -> bytes:
    pairs = [quote(n) if v is None else f"{quote(n)}={quote(v.encode('utf-8', 'surrogateescape'))}" for n, v in query]
    lines = {"host": "127.0.0.1", "connection": "close", "content-length": str(len(body)), **headers}
    head = f"{method} {path}{'?' if query else ''}{'&'.join(pairs)} HTTP/1.1\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
    return head.encode("utf-8", "surrogateescape") + body


def signed_v2(method: str, path: str, query: Query, headers: dict[str, str]) -> dict[str, str]:
    covered = {"uploads", "uploadId", "partNumber", "append", "position", "delete", "location", "storageinfo"}
    signed = (pair for pair in query if pair[0] in covered or pair[0].startswith("response-"))
    parts = sorted(signed, key=lambda pair: (pair[0], pair[1] or ""))
    text = "&".join(name if value is None else f"{name}={value}" for name, value in parts)
    resource = f"{path}?{text}" if text else path
    return obs_signer.v2("OBS", ACCESS, SECRET, method, resource, datetime.now(UTC), headers)


def signed_v4(method: str, path: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
    payload = headers.get("x-amz-content-sha256", hashlib.sha256(body).hexdigest())
    kept = {name: value for name, value in headers.items() if name != "x-amz-content-sha256"}
    return obs_signer.v4(
        ACCESS, SECRET, method, path, datetime.now(UTC), host="127.0.0.1", headers=kept, payload=payload
    )


fuzzing = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@settings(fuzzing, max_examples=400)
@given(ASKED, HEADERS, BODIES)
def test_requests_that_are_signed_right_but_make_no_sense(
    fence: Fence, ask: tuple[str, str, Query], headers: dict[str, str], body: bytes
) -> None:
    check_signed(fence, ask, headers, body)


@pytest.mark.exhaustive
@settings(fuzzing, max_examples=2000)
@given(ASKED, HEADERS, BODIES)
def test_two_thousand_requests_that_are_signed_right_but_make_no_sense(
    fence: Fence, ask: tuple[str, str, Query], headers: dict[str, str], body: bytes
) -> None:
    check_signed(fence, ask, headers, body)


def check_signed(fence: Fence, ask: tuple[str, str, Query], headers: dict[str, str], body: bytes) -> None:
    method, path, query = ask
    one_line = {name: " ".join(value.split()).replace("\0", "") for name, value in headers.items()}
    wanted = {name: value for name, value in one_line.items() if name not in ("authorization", "date", "host")}

    check(fence, written(method, path, query, signed_v2(method, path, query, wanted), body))
    if not query and body:
        check(fence, written(method, path, query, signed_v4(method, path, wanted, body), body))


@settings(fuzzing, max_examples=200)
@given(ASKED, HEADERS, BODIES)
def test_requests_that_are_not_signed_or_wrongly(
    fence: Fence, ask: tuple[str, str, Query], headers: dict[str, str], body: bytes
) -> None:
    check(fence, written(*ask, headers, body))


@settings(fuzzing, max_examples=200)
@given(st.sampled_from(["GET", "PUT", "POST"]), st.data())
def test_good_requests_with_bytes_changed_on_their_way(fence: Fence, method: str, data: st.DataObject) -> None:
    path = f"/{BUCKET}/a"
    good = written(method, path, [], signed_v2(method, path, [], {"content-type": "text/plain"}), b"content")
    raw = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))

    check(fence, bytes(raw))
