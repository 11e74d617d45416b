"""Detects hanging jobs: processes that neither read, write nor compute for a long time."""

from dataclasses import dataclass

# The cloud looks at GPU use instead, and at GPU jobs only (training guide 5.4).
# The share of a core below which a process counts as idle: one that only polls, or sleeps in a loop.
_IDLE_CORES = 0.01


@dataclass(frozen=True, slots=True)
class Activity:
    """Totals of all processes of a job: bytes read and written, and CPU seconds."""

    transferred: int
    cpu_s: float


class HangDetector:
    """How long a job has been idle; times are seconds of any monotonic clock."""

    def __init__(self, now: float) -> None:
        self._since = now
        self._last_activity = Activity(0, 0.0)

    def idle_seconds(self, activity: Activity | None, now: float) -> float:
        """Seconds for which the job has been idle; 0 when unknown."""
        # Where nothing is measured, nothing may be taken for a hang.
        if activity is None:
            return 0.0
        computed = activity.cpu_s - self._last_activity.cpu_s
        # 0.05 s are a few ticks of the clock that processor time is counted in.
        allowed = 0.05 + _IDLE_CORES * (now - self._since)
        if activity.transferred != self._last_activity.transferred or computed > allowed:
            self._last_activity = activity
            self._since = now
        return now - self._since
