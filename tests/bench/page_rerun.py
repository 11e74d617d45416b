"""A page as a browser asks the console for it: how long a rerun takes, what the web socket carries, and the memory.

The browser of the bench keeps nothing, so that everything is sent; a real one is sent what has changed."""

import os
import re
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from tests.browser.console_process import ConsoleProcess

RERUNS = 7
SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Rerun:
    """`anew_ms`: the warehouse has changed since, so that everything is asked anew; `again_ms`: it has not.

    `sent` is the most that one rerun sent, in bytes, `memory` the most that the console's process held so far."""

    anew_ms: float
    again_ms: float
    sent: int
    memory: int


class Reruns:
    """A console over one data folder, which is asked for whole pages."""

    def __init__(self, console: ConsoleProcess) -> None:
        self._console = console

    @classmethod
    @contextmanager
    def of(cls, folder: Path) -> Iterator["Reruns"]:
        """A console of its own for these pages."""
        console = ConsoleProcess.start(folder)
        try:
            yield cls(console)
        finally:
            console.stop()

    def page(self, name: str, query: Mapping[str, str | list[str]]) -> Rerun:
        """The medians of several reruns of one page."""
        asked = BackMsg()
        asked.rerun_script.page_name = name
        asked.rerun_script.query_string = urlencode(query, doseq=True)
        socket = self._console.url.replace("http", "ws") + "/_stcore/stream"
        page = Origin(self._console.url)
        with connect(socket, origin=page, subprotocols=[Subprotocol("streamlit")], max_size=None, proxy=None) as line:
            first = _rerun(line, asked)  # whatever is read or compiled once
            again = [_rerun(line, asked) for _ in range(RERUNS)]
            anew = [self._changed(line, asked) for _ in range(RERUNS)]
        return Rerun(
            anew_ms=statistics.median(each for each, _ in anew),
            again_ms=statistics.median(each for each, _ in again),
            sent=max(sent for _, sent in (first, *again, *anew)),
            memory=self._memory(),
        )

    def _changed(self, line: ClientConnection, asked: BackMsg) -> tuple[float, int]:
        """A rerun after the warehouse's file was touched, by which the console tells that it changed."""
        os.utime(self._console.data_dir / "warehouse.duckdb")
        return _rerun(line, asked)

    def _memory(self) -> int:
        status = Path(f"/proc/{self._console.pid}/status").read_text("utf-8")
        [most] = re.findall(r"VmHWM:\s+(\d+) kB", status)
        return int(most) * 1024


def _rerun(line: ClientConnection, asked: BackMsg) -> tuple[float, int]:
    """Milliseconds until all of a rerun was sent, and its bytes."""
    start, sent = time.perf_counter(), 0
    line.send(asked.SerializeToString())
    while True:
        frame = line.recv(SECONDS, decode=False)
        sent += len(frame)
        said = ForwardMsg.FromString(frame)
        if said.WhichOneof("type") == "delta" and said.delta.new_element.WhichOneof("type") == "exception":
            raise AssertionError(said.delta.new_element.exception.message)
        if said.WhichOneof("type") == "script_finished":
            return (time.perf_counter() - start) * 1000, sent
