"""Measurements of a pool's jobs, aggregated over time."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aisbench_sandbox.job import Job
from aisbench_sandbox.refusals import Refused

MINUTE = 60_000
# SDK, ShowPoolMonitorRequest: a day in steps of a minute; also the periods and the form of time_range.
MAX_POINTS = 1440
PERIODS = ("60", "300", "900", "3600")
_RANGE = re.compile(r"(-1|\d{1,15})\.(-1|\d{1,15})\.(\d{1,6})")

# Names of the metrics: the API's, and ours.
_METRICS = {
    "cpuUsage": "cpuUsage",
    # The pool API and the job API name memory differently.
    "memUsedRate": "memUsage",
    "gpuUtil": "gpuUtil",
    "gpuMemUsage": "gpuMemUsage",
    "npuUtil": "npuUtil",
    "npuMemUsage": "npuMemUsage",
}
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "maximum": max,
    "minimum": min,
    "sum": sum,
    "average": lambda values: sum(values) / len(values),
    "sampleCount": len,
}


@dataclass(frozen=True, slots=True)
class Span:
    """A time range and its step; all in ms."""

    start: int
    end: int
    period: int


def read_span(text: str, period: str, now: int) -> Span:
    """Parses `start.end.minutes`; -1 stands for that many minutes before the end, or after the start. Raises
    Refused."""
    match = _RANGE.fullmatch(text or "-1.-1.60")
    if match is None:
        message = f"Invalid query parameter: time_range={text}."
        raise Refused(400, "ModelArts.2764", message, "Write start.end.minutes, in ms.")
    start, end, minutes = (int(part) for part in match.groups())
    length = minutes * MINUTE
    if end < 0:
        # SDK, ShowPoolMonitorRequest: an end that lies ahead becomes now.
        end = now if start < 0 else min(now, start + length)
    if start < 0:
        start = max(0, end - length)
    span = Span(start, end, int(period) * 1000)
    if not 0 <= (span.end - span.start) // span.period <= MAX_POINTS:
        message = f"Invalid query parameter: time_range={text}."
        raise Refused(400, "ModelArts.2764", message, f"Ask for at most {MAX_POINTS} points.")
    return span


def monitor_json(pool: str, jobs: Sequence[Job], span: Span, statistic: str) -> dict[str, Any]:
    """One series per metric; -1 where nothing was measured."""
    return {"metrics": [_build_series(pool, jobs, span, statistic, *names) for names in _METRICS.items()]}


def _build_series(pool: str, jobs: Sequence[Job], span: Span, statistic: str, name: str, ours: str) -> dict[str, Any]:
    points = [
        {
            "timestamp": at,
            "unit": "Percent",
            "statistics": [
                {"statistic": statistic, "value": _compute_value(jobs, ours, at, at + span.period, statistic)}
            ],
        }
        for at in range(span.start, span.end, span.period)
    ]
    dimensions = [{"name": "clusterId", "value": pool}]
    return {"metric": {"dimensions": dimensions, "metricName": name, "namespace": "PAAS.NODE"}, "dataPoints": points}


def _compute_value(jobs: Sequence[Job], name: str, start: int, end: int, statistic: str) -> float:
    # -1 stands for a missing measurement and must not lower an average.
    values = [value for job in jobs for value in _list_measurements(job, name, start, end) if value >= 0]
    return STATISTICS[statistic](values) if values else -1


def _list_measurements(job: Job, name: str, start: int, end: int) -> list[float]:
    """Measurements of the job's tasks from `start` until before `end`: one value per minute of running."""
    # Skips the minutes before the range: a long job has thousands of them, and this runs for every point.
    first = max(0, -((job.started_at - start) // MINUTE)) if job.started_at else 0
    return [
        value
        for task in job.metrics.values()
        for minute, value in enumerate(task.get(name, ())[first:], first)
        if start <= job.started_at + minute * MINUTE < end
    ]
