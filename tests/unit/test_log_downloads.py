"""Whole logs as files: what is sent is what there is, in parts, and nothing else of the data folder."""

import asyncio
import io
import tarfile
import tracemalloc
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import RunNotFound
from aisbench_core.base.messages import Message
from aisbench_core.domain.logs.archive import iterate_archive, iterate_parts
from aisbench_core.interfaces.web.log_downloads import LogDownloadMiddleware

RUN = "r20260101-000000-abcdef"


@pytest.fixture
def logs(tmp_path: Path) -> dict[int, Path]:
    files = {node: tmp_path / f"worker-{node}.log" for node in range(3)}
    files[0].write_bytes(b"\xff\x00 raw \x1b[31m\n" * 100_000)
    files[1].write_bytes(b"")
    files[2].write_text("精度\n" * 513)
    return files


def get(logs: Mapping[int, Path], path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """One request through the middleware; what it passes on is answered with 418."""
    sent: list[MutableMapping[str, Any]] = []

    async def app(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 418, "headers": []})

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(30)
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    def files(run_id: str) -> Mapping[int, Path]:
        if run_id != RUN:
            raise RunNotFound(Message("there is no run {run}", run=run_id))
        return logs

    scope = {"type": "http", "method": method, "path": path, "headers": [], "asgi": {"spec_version": "2.4"}}
    asyncio.run(LogDownloadMiddleware(app, lambda: files)(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:])


def test_a_log_is_sent_as_it_is_and_never_shown_by_the_browser(logs: dict[int, Path]) -> None:
    status, headers, body = get(logs, f"/run-logs/{RUN}/0")

    assert status == 200
    assert body == logs[0].read_bytes()
    assert headers["content-length"] == str(len(body))
    assert headers["content-disposition"] == f'attachment; filename="{RUN}-worker-0.log"'
    assert headers["content-type"] == "application/octet-stream"


def test_an_archive_holds_the_logs_of_all_nodes(logs: dict[int, Path]) -> None:
    status, headers, body = get(logs, f"/run-logs/{RUN}/all")

    assert (status, headers["content-type"]) == (200, "application/gzip")
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        found = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    assert found == {f"{RUN}/{file.name}": file.read_bytes() for file in logs.values()}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/run-logs/{RUN}/9", 404),
        ("/run-logs/nobody/0", 404),
        (f"/run-logs/{RUN}/../../ledger.sqlite3", 418),
        (f"/run-logs/{RUN}/0/", 418),
        (f"/api/run-logs/{RUN}/0", 418),
        (f"//run-logs/{RUN}/0", 418),
        (f"/run-logs/{RUN}/0\n", 418),
        ("/live", 418),
    ],
)
def test_nothing_else_is_sent(logs: dict[int, Path], path: str, status: int) -> None:
    assert get(logs, path)[0] == status
    assert get(logs, f"/run-logs/{RUN}/0", "POST")[0] == 418


def test_a_log_that_changes_while_it_is_archived_leaves_a_whole_archive(logs: dict[int, Path]) -> None:
    content = iterate_archive(logs, "run")
    first = next(content)
    logs[0].write_bytes(b"begun anew\n")
    logs[2].unlink()

    body = first + b"".join(content)

    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        assert [member.name for member in tar] == ["run/worker-0.log", "run/worker-1.log"]


def test_a_download_takes_little_memory(tmp_path: Path) -> None:
    log = tmp_path / "worker-0.log"
    with log.open("wb") as file:
        file.truncate(300 * 1024**2)
    tracemalloc.start()

    sent = sum(len(part) for part in iterate_parts(log, log.stat().st_size))
    packed = sum(len(part) for part in iterate_archive({0: log}, "run"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sent == log.stat().st_size
    assert packed < sent
    assert most < 8 * 1024**2
