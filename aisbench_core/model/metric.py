"""Named metrics of a run, and the phases and steps that its job reported."""

import math
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from aisbench_core.base.messages import Message

MOST_METRICS = 500
"""Of a run; further ones are refused."""

METRIC_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,79}")
_MOST_UNIT = 40


class Better(StrEnum):
    """Which values of a metric are better; neither, where it is only described by it."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = ""


class Combined(StrEnum):
    """How the values of several ranks become that of the run; the first is that of the lowest rank that has one."""

    SUM = "sum"
    MEAN = "mean"
    MAX = "max"
    MIN = "min"
    FIRST = "first"


class MetricSource(StrEnum):
    """Who measured or computed a metric: the job's script, its log, the platform, or this console."""

    JOB = "job"
    LOG = "log"
    PLATFORM = "platform"
    CONSOLE = "console"


@dataclass(frozen=True, slots=True)
class RunMetric:
    """One named number of a run.

    `combined`: how it was made of the ranks' values. `definition`: id of the formula, where there is one."""

    name: str
    value: float
    """In `unit`."""
    unit: str = ""
    better: Better = Better.NEITHER
    combined: Combined = Combined.FIRST
    definition: str = ""
    source: MetricSource = MetricSource.JOB


def metric_problem(metric: RunMetric) -> Message | None:
    """What is wrong with a metric, which is not stored then."""
    if not METRIC_NAME.fullmatch(metric.name):
        return Message("metric {name!r}: a name has up to 80 letters, digits and _ . / -", name=metric.name[:90])
    if not math.isfinite(metric.value):
        return Message("metric {name} is {found}, and not a finite number", name=metric.name, found=str(metric.value))
    if not is_unit(metric.unit):
        return Message("metric {name}: {unit!r} is not a unit", name=metric.name, unit=metric.unit[: _MOST_UNIT + 10])
    return None


def is_unit(text: str) -> bool:
    """Whether a text can be a metric's unit: short, on one line; empty for a mere number."""
    return len(text) <= _MOST_UNIT and text.isprintable() and text == text.strip()


@dataclass(frozen=True, slots=True)
class PrimaryMetric:
    """The metric by which the leaderboard ranks a workload; a manifest without one ranks by throughput."""

    name: str
    unit: str = ""
    better: Better = Better.HIGHER


class PhaseName(StrEnum):
    """What a rank does, as its script reports it."""

    INIT = "init"
    COMPILE = "compile"
    DATA = "data"
    TRAIN = "train"
    EVAL = "eval"
    CHECKPOINT_SAVE = "checkpoint_save"
    CHECKPOINT_LOAD = "checkpoint_load"


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """A phase of one rank. `ended_at` None: the process died in it, or did not say.

    `server` and `card` count from 0; `process_began_at` tells the processes of several attempts apart."""

    server: int
    card: int
    rank: int
    process_began_at: datetime
    name: PhaseName
    began_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class StepTime:
    """One step of one rank: its number, when it ended, how long it took, and what was trained in it.

    `samples` 0 and `tokens` None: not reported. Numbers go back where a later attempt repeats steps, unless the script
    gave none (`is_counted`)."""

    server: int
    card: int
    rank: int
    process_began_at: datetime
    number: int
    at: datetime
    seconds: float
    samples: float
    tokens: float | None
    is_counted: bool = False
