"""The time of a run, or of several, by cause: read back from their metrics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aisbench_core.domain.goodput.metrics import INTERRUPTIONS, LOST, PRODUCTIVE
from aisbench_core.domain.goodput.spans import TimeCause
from aisbench_core.domain.statistics.poisson import count_interval

PER_DEVICE_DAYS = 1000


@dataclass(frozen=True, slots=True)
class TimeAccount:
    """Seconds by cause, training first. `device_days`: cards times days of running; None: not known.

    `unknown_rollbacks`: in how many runs what was trained again counts as training, for want of numbers of steps."""

    runs: int
    parts: Mapping[TimeCause, float]
    interruptions: int
    device_days: float | None = None
    unknown_rollbacks: int = 0

    @property
    def wall_s(self) -> float:
        """Time from submission to end, of all runs."""
        return sum(self.parts.values())

    @property
    def goodput(self) -> float:
        """The share of training that counts."""
        return self.parts[TimeCause.TRAINING] / self.wall_s

    @property
    def interruption_rate(self) -> tuple[float, float, float] | None:
        """Interruptions per 1,000 device days, and the 95 % interval of that rate."""
        if not self.device_days:
            return None
        counts = (float(self.interruptions), *count_interval(self.interruptions))
        rate, lower, upper = (count / self.device_days * PER_DEVICE_DAYS for count in counts)
        return rate, lower, upper


def make_account(
    sums: Iterable[tuple[str, float]], *, runs: int = 1, device_days: float | None = None, unknown_rollbacks: int = 0
) -> TimeAccount | None:
    """The account of these sums of metrics by name; None where no rank reported its time."""
    by_name = dict(sums)
    if PRODUCTIVE not in by_name:
        return None
    lost = {cause: by_name.get(LOST + cause.value, 0.0) for cause in TimeCause if cause is not TimeCause.TRAINING}
    parts = {TimeCause.TRAINING: by_name[PRODUCTIVE]} | {cause: seconds for cause, seconds in lost.items() if seconds}
    interruptions = int(by_name.get(INTERRUPTIONS, 0))
    return TimeAccount(runs, parts, interruptions, device_days, unknown_rollbacks) if sum(parts.values()) else None
