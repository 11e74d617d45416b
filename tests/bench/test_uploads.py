"""Memory that uploads take, in a console process of its own, beside Streamlit's own way of keeping them."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import put
from tests.browser.console_process import ConsoleProcess
from tests.console.uploading import UploadSession
from tests.ports import free_port

FILES, FILE_MB = 8, 150
BACK_SECONDS = 10.0
READY_SECONDS = 120.0
LEFT_MB = 50
"""What a process may have gained for other reasons: modules that a first upload loads, threads."""

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Megabytes more than before: while the page holds its uploads, and some seconds after it was closed."""

    accepted: int
    held: float
    left: float


def test_uploads_take_no_memory_and_leave_none(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    console = ConsoleProcess.start(folder)
    try:
        ours = _memory_use(console.url, console.pid, lambda: _whole_files(folder))
    finally:
        console.stop()
    with _streamlit(tmp_path) as (url, pid):
        theirs = _memory_use(url, pid)  # which keeps what it accepts

    put(
        f"uploads: memory {BACK_SECONDS:.0f} s after a page with {FILES} files of {FILE_MB} MB was closed",
        f"{max(ours.left, 0.1):.1f} MB ({ours.held:.0f} MB while it was open, {ours.accepted} of {FILES} accepted)",
        goal=f"{LEFT_MB} MB",
        beside=f"Streamlit's own {theirs.left:,.0f} MB ({theirs.held:,.0f} MB, {theirs.accepted} accepted)",
        ratio=theirs.left / max(ours.left, 1.0),
    )
    assert 1 <= ours.accepted < FILES
    assert ours.held < LEFT_MB
    assert ours.left < LEFT_MB


def _memory_use(url: str, pid: int, kept: Callable[[], int] | None = None) -> MemoryUse:
    """`kept` counts what is stored: of a file that is too much, our page is handed the reason in its place."""
    with UploadSession.open(url):  # whatever a first visit loads
        pass
    before = _memory_mb(pid)
    with UploadSession.open(url) as session:
        accepted = sum(_put(session) for _ in range(FILES))
        held, accepted = _memory_mb(pid) - before, kept() if kept else accepted
    end = time.monotonic() + BACK_SECONDS
    while (left := _memory_mb(pid) - before) > LEFT_MB / 5 and time.monotonic() < end:
        time.sleep(0.1)  # what is measured is whether it is given back by itself
    return MemoryUse(accepted, held, left)


def _put(session: UploadSession) -> bool:
    piece = os.urandom(1024**2)
    try:
        return session.put((piece for _ in range(FILE_MB)), FILE_MB * 1024**2) == 204
    except OSError:  # refused before it was sent
        return False


def _whole_files(folder: Path) -> int:
    return sum(file.stat().st_size >= FILE_MB * 1024**2 for file in folder.rglob("*") if file.is_file())


def _memory_mb(pid: int) -> float:
    [now] = re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text("utf-8"))
    return int(now) / 1024


@contextmanager
def _streamlit(folder: Path) -> Iterator[tuple[str, int]]:
    """Streamlit over a page with an uploader, as one would write it first."""
    script = folder / "naive.py"
    script.write_text("import streamlit as st\nst.file_uploader('logs', accept_multiple_files=True)\n", "utf-8")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script), *options, "--browser.gatherUsageStats", "false"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_it_answers(url)
        yield url, process.pid
    finally:
        process.kill()
        process.wait()


def _wait_until_it_answers(url: str) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        try:
            with DIRECT.open(f"{url}/_stcore/health", timeout=5):
                return
        except OSError:
            time.sleep(0.1)  # a process is starting
    raise AssertionError("Streamlit did not start")
