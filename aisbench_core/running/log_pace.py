"""When the logs of a running job are asked for again: each request is billed, and most find nothing new."""

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta

REQUESTS_PER_SECOND = 4.0
"""For the logs of all running jobs together; the more run, the longer each waits for its turn."""

QUIET_SECONDS = 60.0
"""The longest pause for a log that does not grow, unless so many run that every turn takes longer."""


@dataclass(frozen=True, slots=True)
class _Backoff:
    since: datetime
    seconds: float


class LogPace:
    """Doubles the pause of each log that does not grow, and ends it when the log does. Threads may share it."""

    def __init__(self, first_seconds: float) -> None:
        """`first_seconds`: between two requests for a log that grows, while few jobs run."""
        self._first_seconds = first_seconds
        self._pauses: dict[str, _Backoff] = {}
        self._guard = threading.Lock()

    def is_due(self, run_id: str, now: datetime) -> bool:
        """Whether the pause of a run's logs is over. A clock that jumped ends it."""
        with self._guard:
            pause = self._pauses.get(run_id)
            return pause is None or abs(now - pause.since) >= timedelta(seconds=max(pause.seconds, self._turn()))

    def fetched(self, run_id: str, now: datetime, *, grew: bool) -> None:
        """Begin the next pause."""
        with self._guard:
            before = self._pauses.get(run_id)
            longer = self._first_seconds if grew or before is None else 2 * before.seconds
            self._pauses[run_id] = _Backoff(now, min(longer, max(QUIET_SECONDS, self._first_seconds)))

    def forget(self, run_id: str) -> None:
        """The job has ended."""
        with self._guard:
            self._pauses.pop(run_id, None)

    def _turn(self) -> float:
        return len(self._pauses) / REQUESTS_PER_SECOND
