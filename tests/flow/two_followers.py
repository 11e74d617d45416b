"""Two followers of one ledger in PostgreSQL: one leads, the other takes over when it is killed."""

import time
from collections.abc import Callable

from aisbench_core.wiring import Core
from tests.flow.command_line import CommandLine
from tests.flow.killable import Killable


class TwoFollowers:
    """As a victim: whoever leads is killed, and started again as the one that waits."""

    def __init__(self, shell: CommandLine, core: Core, other: CommandLine | None = None) -> None:
        """`other`: the shell of another machine, for one that shares no data folder."""
        self._both = (Killable(shell, core), Killable(other or shell, core))
        self._core = core
        self._killed_at: float | None = None
        self.takeovers: list[float] = []
        """Seconds from a kill to the first heartbeat of another."""

    def start(self) -> None:
        """Both, one of which leads: after a kill the other, by itself."""
        for follower in self._both:
            follower.launch()
        self.wait(lambda: self._leader() is not None, "one of two to lead")
        if self._killed_at is not None:
            self.takeovers.append(time.monotonic() - self._killed_at)
            self._killed_at = None

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that they do."""
        self._both[0].wait(condition, what)

    def kill(self) -> None:
        """End the one that leads."""
        leader = self._leader()
        assert leader is not None
        leader.kill()
        self._killed_at = time.monotonic()

    def end(self) -> None:
        """End both."""
        for follower in self._both:
            follower.kill()

    def _leader(self) -> Killable | None:
        beat = self._core.ledger.last_beat()
        return next((one for one in self._both if beat and one.is_named_in(beat.who)), None)
