"""When a training ends, by how fast it was so far. Pure functions of its points."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median

from aisbench_core.model import TrainingPoint

# A first interval that took so many times as long per step as the usual one held a compilation.
WARM_UP_RATIO = 2.0

# After a silence of so many usual intervals, and of so many seconds, nobody knows when it ends.
SILENT_INTERVALS, SILENT_SECONDS = 5, 120.0

# Cards print at slightly different steps; a training that goes back further was restarted.
RESTART = 0.05

# A training that would go on for ten years more will not: its log said hardly anything yet, or something wrong.
MOST_SECONDS = 10 * 365 * 86_400.0

Shares = list[tuple[datetime, float]]


def remaining_seconds(points: Sequence[TrainingPoint], now: datetime) -> float | None:
    """Seconds until all of the training is done; None while that is not known.

    By the later half of what is done since the warm-up: a compilation before the first point never counts, one between
    the first two only if it does not stand out, and evaluations count as often as they come. What the log
    itself says counts until then."""
    shares = _since_last_start([(point.at, point.share) for point in points if point.share is not None])
    if not shares:
        return _say_remaining(points, now)
    last_at, done = shares[-1]
    if done >= 1:
        return 0.0
    measured = _later_half(_without_warm_up(shares))
    if len(measured) < 3:
        return _say_remaining(points, now)
    if _is_silent(measured, now):
        return None
    (first_at, first), (_, last) = measured[0], measured[-1]
    seconds = (last_at - first_at).total_seconds()
    if seconds <= 0:
        return None
    remaining = (1 - done) * seconds / (last - first) - (now - last_at).total_seconds()
    return remaining if 0 < remaining <= MOST_SECONDS else None  # it takes longer than its speed said


def _say_remaining(points: Sequence[TrainingPoint], now: datetime) -> float | None:
    """As the log itself says it, as long as that is new."""
    last = points[-1] if points else None
    if last is None or last.left_s is None:
        return None
    age = (now - last.at).total_seconds()
    return last.left_s - age if age <= min(SILENT_SECONDS, last.left_s) else None


def _since_last_start(points: Shares) -> Shares:
    """Growing shares since the training, if it was restarted, began again; of equal ones the first."""
    growing: Shares = []
    for at, share in points:
        if growing and share < growing[-1][1] - RESTART:
            growing = []
        if not growing or share > growing[-1][1]:
            growing.append((at, share))
    return growing


def _without_warm_up(shares: Shares) -> Shares:
    paces = [(after - before).total_seconds() / (more - less) for (before, less), (after, more) in pairwise(shares)]
    return shares[1:] if len(paces) > 2 and paces[0] > WARM_UP_RATIO * median(paces[1:]) else shares


def _later_half(shares: Shares) -> Shares:
    middle = (shares[0][1] + shares[-1][1]) / 2
    later = [point for point in shares if point[1] >= middle]
    return later if len(later) >= 3 else shares


def _is_silent(shares: Shares, now: datetime) -> bool:
    usual = median((after - before).total_seconds() for (before, _), (after, _) in pairwise(shares))
    return (now - shares[-1][0]).total_seconds() > max(SILENT_SECONDS, SILENT_INTERVALS * usual)
