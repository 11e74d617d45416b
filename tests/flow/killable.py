"""Followers in processes of their own that tests end as `kill -9` does, and start again without a second's delay."""

import os
import time
from collections.abc import Callable, Mapping
from multiprocessing.context import ForkServerProcess

from aisbench_core.wiring import Core
from tests.flow.command_line import CommandLine
from tests.processes import FORKED

LONGEST_SECONDS = 120.0
LOOK_SECONDS = 0.01


def _follow(environment: Mapping[str, str]) -> None:
    """`aisbench follow`, in this process."""
    from aisbench_core.interfaces.cli import main

    os.environ.update(environment)
    main(["follow"])


class Killable:
    """One follower at a time. Each is forked from a process that has loaded the program already."""

    def __init__(self, shell: CommandLine, core: Core) -> None:
        self._environment = shell.environment
        self._core = core
        self._process: ForkServerProcess | None = None

    def start(self) -> None:
        """A follower that has begun to follow."""
        self.launch()
        self.wait(lambda: self.is_named_in(getattr(self._core.ledger.last_beat(), "who", "")), "the follower to begin")

    def launch(self) -> None:
        """A follower that may have to wait for another one; one that is there already goes on."""
        if self._process is None:
            self._process = FORKED.Process(target=_follow, args=(self._environment,))
            self._process.start()

    def is_named_in(self, beat: str) -> bool:
        """Whether a heartbeat is its own."""
        return self._process is not None and f"(process {self._process.pid})" in beat

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for the follower, at most so long."""
        deadline = time.monotonic() + LONGEST_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"waited {LONGEST_SECONDS} s in vain for: {what}"
            time.sleep(LOOK_SECONDS)

    def kill(self) -> None:
        """End it without a warning."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = None
