"""Finds jobs that hang: processes that neither read, write nor compute for a long time."""

from dataclasses import dataclass

_IDLE_CORES = 0.01
"""A process that only polls, or sleeps in a loop, uses less than this share of a core."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What all processes of a job have done so far: bytes read and written, and seconds of computing."""

    transferred: int
    cpu_s: float


class HangDetector:
    """Since when nothing has moved; times are seconds of any clock that does not go back."""

    def __init__(self, now: float) -> None:
        self._since = now
        self._last_activity = Activity(0, 0.0)

    def seconds(self, activity: Activity | None, now: float) -> float:
        """For how long the job has done nothing; 0 when that is not known."""
        if activity is None:
            return 0.0
        computed = activity.cpu_s - self._last_activity.cpu_s
        allowed = 0.05 + _IDLE_CORES * (now - self._since)
        if activity.transferred != self._last_activity.transferred or computed > allowed:
            self._last_activity = activity
            self._since = now
        return now - self._since
