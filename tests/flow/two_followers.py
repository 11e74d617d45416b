"""Two followers of one ledger in PostgreSQL: they share the profiles, and one takes over what the other followed."""

import time
from collections.abc import Callable

from aisbench_core.running.following.beats import Beats
from aisbench_core.wiring import Core
from tests.flow.command_line import CommandLine
from tests.flow.killable import Killable


class TwoFollowers:
    """As a victim: whoever follows the runs of a profile is killed, and started again as the one that waits."""

    def __init__(self, shell: CommandLine, core: Core, other: CommandLine | None = None, profile: str = "lab") -> None:
        """`other`: the shell of another machine, for one that shares no data folder."""
        self.both = (Killable(shell, core), Killable(other or shell, core))
        self._core, self._profile = core, profile
        self._killed_at: float | None = None
        self.takeovers: list[float] = []
        """Seconds from a kill to the first heartbeat of another one that follows the profile."""

    def start(self) -> None:
        """Both, one of which follows the profile's runs: after a kill the other, by itself."""
        for follower in self.both:
            follower.launch()
        self.wait(lambda: self.of(self._profile) is not None, "one of two to follow")
        if self._killed_at is not None:
            self.takeovers.append(time.monotonic() - self._killed_at)
            self._killed_at = None

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that they do."""
        self.both[0].wait(condition, what)

    def kill(self) -> None:
        """End the one that follows the profile's runs, or leads while there are none."""
        victim = self.of(self._profile)
        assert victim is not None
        victim.kill()
        self._killed_at = time.monotonic()

    def end(self) -> None:
        """End both."""
        for follower in self.both:
            follower.kill()

    def of(self, profile: str) -> Killable | None:
        """Who follows a profile; while it has no active runs, who leads."""
        if not any(run.profile == profile for run in self._core.ledger.active()):
            beat = self._core.ledger.last_beat()
            return next((one for one in self.both if beat and one.is_named_in(beat.who)), None)
        beats = [
            each.beat.who
            for each in Beats(self._core.ledger).list_shared(self._core.clock())
            if profile in each.profiles
        ]
        return next((one for one in self.both for who in beats if one.is_named_in(who)), None)
