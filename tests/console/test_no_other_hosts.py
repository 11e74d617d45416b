"""A real console, and all that it looks up or connects to: nothing beyond this machine, whoever asks it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from tests.browser.console_process import ConsoleProcess
from tests.console.outgoing import OutgoingWatch

SECONDS = 120


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OutgoingWatch:
    """Watches the processes that a test starts."""
    folder = tmp_path / "watch"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return OutgoingWatch(folder)


@pytest.fixture
def console(tmp_path: Path, watch: OutgoingWatch) -> Iterator[ConsoleProcess]:
    """A console that is watched from its start on."""
    (tmp_path / "data").mkdir()
    process = ConsoleProcess.start(tmp_path / "data")
    assert watch.tried == []
    yield process
    process.stop()


def test_the_watch_sees_what_a_process_tries(watch: OutgoingWatch) -> None:
    code = "import socket; socket.create_connection(('checkip.example', 80))"

    tried = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, check=False)

    assert tried.returncode == 1
    assert watch.tried == ["socket.getaddrinfo checkip.example"]


def test_a_console_asks_no_other_host_whoever_knocks(console: ConsoleProcess, watch: OutgoingWatch) -> None:
    foreign = ["http://evil.example", "https://10.1.2.3:8501", "http://127.0.0.1:9999", "null", None]

    refusals = [_status(console, origin) for origin in foreign]
    read = _page_title(console)

    assert refusals == [403] * len(foreign)
    assert read == "Health"
    assert watch.tried == []


def _status(console: ConsoleProcess, origin: str | None) -> int:
    with pytest.raises(InvalidStatus) as refusal, _socket(console, origin):
        pass
    return refusal.value.response.status_code


def _page_title(console: ConsoleProcess) -> str:
    """The heading of Health, as a page of the console gets it."""
    asked = BackMsg()
    asked.rerun_script.page_name = "health"
    with _socket(console, console.url) as line:
        line.send(asked.SerializeToString())
        title = ""
        while True:
            message = ForwardMsg.FromString(line.recv(SECONDS, decode=False))
            if message.WhichOneof("type") == "script_finished":
                return title
            heading = message.delta.new_element.heading
            title = title or heading.body


def _socket(console: ConsoleProcess, origin: str | None) -> ClientConnection:
    return connect(
        console.url.replace("http", "ws") + "/_stcore/stream",
        origin=None if origin is None else Origin(origin),
        subprotocols=[Subprotocol("streamlit")],
        max_size=None,
        proxy=None,
    )
