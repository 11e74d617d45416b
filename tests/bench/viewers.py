"""Browsers that look at one page, as the console meets them: each redraws the fragments that the page asks it to."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

OPEN_SECONDS = 120.0


@dataclass(slots=True)
class Viewer:
    """One browser: when each fragment was drawn, what went wrong, and how much it was sent."""

    address: str
    query: str
    page: str
    drawn: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    intervals: dict[str, float] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    is_open: asyncio.Event = field(default_factory=asyncio.Event)
    _timers: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _page_hash: str = ""
    _drawing: set[str] = field(default_factory=set)

    async def look(self) -> None:
        """Open the page, and redraw its fragments until the task is cancelled."""
        origin = Origin(self.address)
        socket = self.address.replace("http", "ws") + "/_stcore/stream"
        options = {"subprotocols": [Subprotocol("streamlit")], "max_size": None, "proxy": None, "open_timeout": None}
        async with connect(socket, origin=origin, **options) as line:  # type: ignore[arg-type]  # as it documents them
            asked = BackMsg()
            asked.rerun_script.page_name = self.page
            asked.rerun_script.query_string = self.query
            await line.send(asked.SerializeToString())
            try:
                async for frame in line:
                    self._take(line, ForwardMsg.FromString(frame if isinstance(frame, bytes) else frame.encode()))
            finally:
                for timer in self._timers.values():
                    timer.cancel()

    def ages(self, since: float) -> Iterator[float]:
        """How old each fragment was when it was drawn anew, in seconds, of those that are drawn most often."""
        quickest = min(self.intervals.values())
        for fragment, interval in self.intervals.items():
            times = [at for at in self.drawn[fragment] if at >= since]
            if interval <= max(quickest, 5.0):
                yield from (later - earlier for earlier, later in pairwise(times))

    def _take(self, line: ClientConnection, said: ForwardMsg) -> None:
        match said.WhichOneof("type"):
            case "new_session":
                self._page_hash = said.new_session.page_script_hash
                self._drawing.clear()
            case "auto_rerun":
                fragment = said.auto_rerun.fragment_id
                self.intervals[fragment] = said.auto_rerun.interval
                if fragment not in self._timers:
                    self._timers[fragment] = asyncio.create_task(self._redraw(line, fragment))
            case "delta" if said.delta.new_element.WhichOneof("type") != "exception":
                self._drawing.add(said.delta.fragment_id)
            case "delta":
                self.errors.append(said.delta.new_element.exception.message)
            case "script_finished":
                for fragment in self._drawing:
                    self.drawn[fragment].append(time.monotonic())
                self.is_open.set()

    async def _redraw(self, line: ClientConnection, fragment: str) -> None:
        asked = BackMsg()
        asked.rerun_script.query_string = self.query
        asked.rerun_script.page_script_hash = self._page_hash
        asked.rerun_script.fragment_id = fragment
        asked.rerun_script.is_auto_rerun = True
        while True:
            await asyncio.sleep(self.intervals[fragment])
            await line.send(asked.SerializeToString())


async def look_together(
    address: str,
    page: str,
    query: Mapping[str, str],
    count: int,
    seconds: float,
    others: asyncio.Barrier | None = None,
) -> tuple[list[Viewer], float]:
    """So many viewers of one page, for so many seconds after all have opened it; and when that was.

    `others`: where those of other consoles wait, too, until all have opened it."""
    viewers = [Viewer(address, urlencode(query), page) for _ in range(count)]
    looking = []
    for viewer in viewers:
        looking.append(asyncio.create_task(viewer.look()))
        opening = asyncio.create_task(viewer.is_open.wait())
        await asyncio.wait([looking[-1], opening], timeout=OPEN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        opening.cancel()
        assert viewer.is_open.is_set(), looking[-1]
    if others:
        await others.wait()
    all_open = time.monotonic()
    await asyncio.sleep(seconds)
    for task in looking:
        if task.done() and task.exception():
            raise AssertionError(task.exception())
        task.cancel()
    await asyncio.gather(*looking, return_exceptions=True)
    return viewers, all_open
