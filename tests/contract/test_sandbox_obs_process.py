"""The sandbox's OBS as a process: killed in the middle, under many clients, and with more bytes than it may hold."""

import http.client
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.contract import obs_signer
from tests.contract.obs_load import Place, Wire, run_load
from tests.contract.obs_server import md5
from tests.sandbox_process import SandboxProcess

MB = 1 << 20
LARGE = 256  # MB
LIMIT = 64  # MB that the process may grow while that passes through
PATIENCE = 60.0


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    process = SandboxProcess.start(tmp_path_factory.mktemp("obs-process"))
    yield process
    process.stop()


@pytest.fixture
def place(process: SandboxProcess) -> Place:
    return Place(int(process.obs_url.rpartition(":")[2]), *process.keys, process.bucket)


def begun(place: Place, method: str, resource: str, length: int, body: bytes = b"") -> socket.socket:
    """A signed request that has promised `length` bytes and sent some."""
    headers = obs_signer.v2("OBS", place.access, place.secret, method, resource, datetime.now(UTC))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    wire = socket.create_connection(("127.0.0.1", place.port), timeout=PATIENCE)
    wire.sendall(f"{method} {resource} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n{lines}\r\n".encode())
    wire.sendall(body)
    return wire


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def peak_mb(pid: int) -> float:
    """The most memory that the process has held so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize(
    ("method", "resource"),
    [("PUT", "/half"), ("POST", "/log?append&position=3"), ("PUT", "/part?partNumber=1&uploadId=")],
)
def test_an_upload_in_the_middle_of_which_the_sandbox_is_killed_leaves_no_trace(
    process: SandboxProcess, place: Place, method: str, resource: str
) -> None:
    with Wire(place) as wire:
        wire.ask("PUT", "half", b"old")
        wire.ask("POST", "log?append&position=0", b"old")
        _, _, started = wire.ask("POST", "part?uploads")
    upload_id = started.partition(b"<UploadId>")[2].partition(b"<")[0].decode()
    resource = f"/{place.bucket}{resource}{upload_id if resource.endswith('=') else ''}"
    drafts = process.data_dir / "obs" / ".drafts"

    with begun(place, method, resource, 32 * MB, bytes(16 * MB)):
        wait_until(lambda: any(file.stat().st_size > 4 * MB for file in drafts.iterdir()))
        process.restart()

    with Wire(place) as wire:
        assert [wire.ask("GET", key) for key in ("half", "log")] == [(200, md5(b"old"), b"old")] * 2
        assert wire.ask("GET", "part")[0] == 404
        assert b"<Part>" not in wire.ask("GET", f"part?uploadId={upload_id}")[2]
        assert list(drafts.iterdir()) == []
        for key in ("half", "log", f"part?uploadId={upload_id}"):
            assert wire.ask("DELETE", key)[0] == 204


def test_64_clients_on_their_own_and_on_the_same_keys_get_only_right_answers(place: Place) -> None:
    load = run_load(place, clients=64, seconds=5)

    assert load.wrong == []
    assert set(load.counts) == {"put", "get", "list", "delete"}


def test_a_large_object_does_not_sit_in_memory_on_its_way_in_or_out(process: SandboxProcess, place: Place) -> None:
    resource = f"/{place.bucket}/large"
    process.restart()
    before = peak_mb(process.pid)

    with begun(place, "PUT", resource, LARGE * MB) as wire:
        block = bytes(4 * MB)
        for _ in range(LARGE // 4):
            wire.sendall(block)
        assert wire.recv(4096).startswith(b"HTTP/1.1 200")
    received = 0
    headers = obs_signer.v2("OBS", place.access, place.secret, "GET", resource, datetime.now(UTC))
    connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=PATIENCE)
    connection.request("GET", resource, headers=headers)
    answer = connection.getresponse()
    while data := answer.read(4 * MB):
        received += len(data)
    connection.close()

    assert received == LARGE * MB
    assert peak_mb(process.pid) - before < LIMIT
    with Wire(place) as again:
        assert again.ask("DELETE", "large")[0] == 204


def test_clients_that_do_not_read_their_answers_cost_little_memory(process: SandboxProcess, place: Place) -> None:
    with Wire(place) as wire:
        wire.ask("PUT", "large", bytes(32 * MB))
    process.restart()
    before = peak_mb(process.pid)

    lazy = [begun(place, "GET", f"/{place.bucket}/large", 0) for _ in range(24)]
    starts = [client.recv(12) for client in lazy]
    with Wire(place) as busy:
        answer = busy.ask("GET", "nothing")
    grown = peak_mb(process.pid) - before
    for client in lazy:
        client.close()

    assert set(starts) == {b"HTTP/1.1 200"}
    assert answer[0] == 404
    assert grown < LIMIT
    with Wire(place) as again:
        assert again.ask("DELETE", "large")[0] == 204
