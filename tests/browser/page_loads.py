"""What a page costs and shows when somebody loads it: requests, bytes, words in the window, and how much it moves."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from playwright.sync_api import Page, WebSocket
from playwright.sync_api import TimeoutError as TookTooLong

from tests.ports import free_port

BLANK = 'import streamlit as st\n\nst.markdown("One line")\n'
"""The peer: a page of Streamlit that holds one line."""

START_SECONDS, IDLE_MS = 60, 5_000

STREAMLITS = "/static/"
"""Where Streamlit's own scripts, styles and fonts are. All else is ours: the page, its socket, pictures."""

MOST_WORDS = 120
"""In a window of 1280 × 900 pixels."""

WORDS = """height => {
    const no_prose = `[data-testid="stSidebar"], [data-testid="stHeader"], [data-testid="stSkipToContent"],
        [data-testid="stIconMaterial"], [translate="no"], [data-testid="stDataFrame"], nav, aside, tbody, caption,
        [role="gridcell"], [role="cell"], pre, svg, .log-lines`;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
    const seen = {visibilityProperty: true, opacityProperty: true};
    const gap = node => node.previousSibling?.nodeType === Node.TEXT_NODE ? "" : " ";
    let text = "";
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement;
        if (!parent.checkVisibility(seen) || parent.closest(no_prose)) continue;
        range.selectNodeContents(node);
        const at = range.getBoundingClientRect();
        if (at.width > 1 && at.height > 1 && at.bottom > 0 && at.top < height) text += gap(node) + node.textContent;
    }
    return text.split(/\\s+/).filter(each => /[\\p{L}\\p{N}]/u.test(each));
}"""
"""The words in the window that somebody has to read: titles, labels, heads of columns, sentences, numbers of tiles. Not
the menu, which is the same on all pages, the cells of tables and their names for screen readers, lines of logs, the
letters of charts, and icons."""


@dataclass  # Playwright puts attributes on whose methods it calls
class Transfer:
    """What a page asked and was sent so far, as it went over the line: `own` is the part that is not Streamlit's."""

    requests: int = 0
    sent: int = 0
    own: int = 0
    _addresses: dict[str, str] = field(default_factory=dict)
    _has_ended: bool = False

    @classmethod
    def watch(cls, page: Page) -> "Transfer":
        """Count what a page loads from now on."""
        transfer = cls()
        line = page.context.new_cdp_session(page)
        line.send("Network.enable")
        line.on("Network.requestWillBeSent", transfer._ask)
        line.on("Network.loadingFinished", transfer._finish)
        page.on("websocket", transfer._watch_socket)
        return transfer

    def end(self, page: Page) -> None:
        """Count what still comes, fonts among it, and then no more; some pages ask for ever."""
        with suppress(TookTooLong):
            page.wait_for_load_state("networkidle", timeout=IDLE_MS)
        self._has_ended = True

    def _ask(self, event: dict[str, Any]) -> None:
        if event["request"]["url"].startswith("http") and not self._has_ended:
            self.requests += event["requestId"] not in self._addresses
            self._addresses[event["requestId"]] = event["request"]["url"]

    def _finish(self, event: dict[str, Any]) -> None:
        if address := self._addresses.get(event["requestId"]):
            self._add(event["encodedDataLength"], is_own=STREAMLITS not in urlsplit(address).path)

    def _watch_socket(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: self._add(len(frame), is_own=True))

    def _add(self, sent: int, *, is_own: bool) -> None:
        if not self._has_ended:
            self.sent += sent
            self.own += sent if is_own else 0


@contextmanager
def blank_page(folder: Path) -> Iterator[str]:
    """The address of the peer, whose server takes seconds to start."""
    script, port = folder / "blank.py", free_port()
    script.write_text(BLANK, "utf-8")
    settings = ("--server.headless", "true", "--browser.gatherUsageStats", "false", "--server.port", str(port))
    command = [sys.executable, "-m", "streamlit", "run", str(script), *settings, "--server.address", "127.0.0.1"]
    with Popen(command, cwd=folder, stdout=DEVNULL, stderr=DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def open_blank_page(page: Page, address: str) -> None:
    """Show the peer, once its server answers: a page that is asked for before is loaded twice."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            with build_opener(ProxyHandler({})).open(f"{address}/_stcore/health", timeout=5):
                break
        except OSError:
            time.sleep(0.1)
    page.goto(address)
    page.get_by_text("One line").wait_for()
