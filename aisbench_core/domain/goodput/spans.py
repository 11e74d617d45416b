"""Time of a job, painted with causes: later paint covers earlier one, and nothing is painted twice."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise


class TimeCause(StrEnum):
    """What time was spent on. Only training counts as productive."""

    TRAINING = "training"
    EVALUATION = "evaluation"
    QUEUE = "queue"
    START = "start"
    COMPILE = "compile"
    DATA = "data"
    CHECKPOINT = "checkpoint"
    RESTART = "restart"
    ROLLED_BACK = "rolled_back"
    STALLED = "stalled"
    END = "end"


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Time from `began` to `ended` that was spent on `cause`."""

    began: datetime
    ended: datetime
    cause: TimeCause


def paint_time(began: datetime, ended: datetime, spans: Iterable[TimeSpan]) -> list[TimeSpan]:
    """The time between two moments without gaps or overlaps: of spans that overlap, the later one in order counts.

    The first span covers all of it. Raises ValueError otherwise."""
    painted = [span for span in spans if span.began < span.ended and span.ended > began and span.began < ended]
    edges = sorted({began, ended, *(edge for span in painted for edge in (span.began, span.ended))})
    edges = [edge for edge in edges if began <= edge <= ended]
    if not painted or painted[0].began > began or painted[0].ended < ended:
        raise ValueError("the first span must cover all of the time")
    starts: dict[datetime, list[int]] = defaultdict(list)
    ends: dict[datetime, list[int]] = defaultdict(list)
    for number, span in enumerate(painted):
        starts[max(span.began, began)].append(number)
        ends[span.ended].append(number)
    return list(_join_equal(_iter_topmost(edges, painted, starts, ends)))


def _iter_topmost(
    edges: list[datetime],
    painted: list[TimeSpan],
    starts: Mapping[datetime, list[int]],
    ends: Mapping[datetime, list[int]],
) -> Iterator[TimeSpan]:
    live: set[int] = set()
    for edge, following in pairwise(edges):
        live.update(starts.get(edge, ()))
        live.difference_update(ends.get(edge, ()))
        yield TimeSpan(edge, following, painted[max(live)].cause)


def _join_equal(spans: Iterable[TimeSpan]) -> Iterator[TimeSpan]:
    last: TimeSpan | None = None
    for span in spans:
        if last and last.cause is span.cause:
            last = TimeSpan(last.began, span.ended, span.cause)
            continue
        if last:
            yield last
        last = span
    if last:
        yield last


def sum_causes(spans: Iterable[TimeSpan]) -> dict[TimeCause, timedelta]:
    """The time of each cause that has any, longest first."""
    sums: dict[TimeCause, timedelta] = defaultdict(timedelta)
    for span in spans:
        sums[span.cause] += span.ended - span.began
    return dict(sorted(((cause, time) for cause, time in sums.items() if time), key=lambda pair: -pair[1]))
