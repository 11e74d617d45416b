"""A page that another server on this machine serves replays what a person's browser sent to launch a run."""

import base64
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocket

from aisbench_core.store.ledger.ledger import Ledger
from tests.browser.console_process import ConsoleProcess
from tests.browser.test_story import ask_to_launch, type_into
from tests.browser.visit import OpenWindow

REPLAY = """
([address, frames]) => new Promise(done => {
  const socket = new WebSocket(address, ['streamlit'])
  const seen = {opened: false, received: 0}
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => {
    seen.opened = true
    frames.forEach(each => socket.send(Uint8Array.from(atob(each), letter => letter.charCodeAt(0))))
    setTimeout(() => socket.close(), 5000)
  }
  socket.onmessage = () => seen.received++
  socket.onclose = () => done(seen)
})
"""
"""Sends what was recorded over a web socket of its own, and says what became of it."""


@pytest.fixture
def foreign_page() -> Iterator[str]:
    """The address of an empty page on another port of this machine."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


class Recording:
    """What a page sends over its web sockets."""

    def __init__(self, page: Page) -> None:
        self.frames: list[str] = []
        page.on("websocket", self._follow)

    def _follow(self, socket: WebSocket) -> None:
        socket.on("framesent", self._keep)

    def _keep(self, frame: str | bytes) -> None:
        self.frames.append(base64.b64encode(frame if isinstance(frame, bytes) else frame.encode()).decode())


def test_a_page_of_another_port_cannot_replay_a_recorded_launch(
    console: ConsoleProcess, window: OpenWindow, foreign_page: str
) -> None:
    visit = window(console)
    recording = Recording(visit.page)
    visit.open("/configure")
    type_into(visit, "epochs †", 1)
    ask_to_launch(visit)
    visit.keyed("launch-yes").get_by_role("button").click()
    visit.page.wait_for_url("**/live?**run=**")
    visit.rest()
    launched = Ledger(console.data_dir / "ledger.sqlite3").count()
    socket = console.url.replace("http", "ws") + "/_stcore/stream"

    own = _replay(visit.page, socket, recording)
    other = visit.page.context.new_page()  # with the cookies of the console's own pages
    other.goto(foreign_page)
    before = Ledger(console.data_dir / "ledger.sqlite3").count()
    foreign = _replay(other, socket, recording)
    other.close()

    assert launched == 1
    assert recording.frames
    assert own["opened"]
    assert own["received"] > 0
    assert foreign == {"opened": False, "received": 0}
    assert Ledger(console.data_dir / "ledger.sqlite3").count() == before


def _replay(page: Page, socket: str, recording: Recording) -> dict[str, Any]:
    seen: dict[str, Any] = page.evaluate(REPLAY, [socket, recording.frames])
    return seen
