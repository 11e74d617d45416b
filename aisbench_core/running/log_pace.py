"""How often the logs of running jobs are polled: each request is billed, and most return nothing new."""

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta

# For the logs of all running jobs together; the more jobs, the longer each waits for its turn.
REQUESTS_PER_SECOND = 4.0

# The longest pause for a log that does not grow, unless there are so many jobs that a turn takes longer.
QUIET_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Backoff:
    since: datetime
    seconds: float


class LogPace:
    """Doubles the pause of each log that does not grow, and ends it when the log does. Threads may share it."""

    def __init__(self, first_seconds: float) -> None:
        """`first_seconds`: the pause between two requests for a growing log while there are few jobs."""
        self._first_seconds = first_seconds
        self._pauses: dict[str, _Backoff] = {}
        self._guard = threading.Lock()

    def is_due(self, run_id: str, now: datetime) -> bool:
        """Whether the pause of a run's logs is over. A clock jump ends it, too."""
        with self._guard:
            pause = self._pauses.get(run_id)
            return pause is None or abs(now - pause.since) >= timedelta(seconds=max(pause.seconds, self._turn()))

    def fetched(self, run_id: str, now: datetime, *, grew: bool) -> None:
        """Start the next pause."""
        with self._guard:
            before = self._pauses.get(run_id)
            longer = self._first_seconds if grew or before is None else 2 * before.seconds
            self._pauses[run_id] = _Backoff(now, min(longer, max(QUIET_SECONDS, self._first_seconds)))

    def forget(self, run_id: str) -> None:
        """Drop the state of an ended job."""
        with self._guard:
            self._pauses.pop(run_id, None)

    def _turn(self) -> float:
        return len(self._pauses) / REQUESTS_PER_SECOND
