"""The verdicts on many trends: frozen values, free of SQL. Their fields are keys of `aisbench regress --json`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aisbench_core.warehouse.values.histories import Outcome, RegressionVerdict, TrendRow


@dataclass(frozen=True, slots=True)
class TrendVerdict:
    """A trend and its verdict, with the number of runs that do not count: `timeless` ones, those of `other_systems`
    (another accelerator, or other data), and those of which something that decides speed is `unknown`. Of those that
    `missed` their target only the accuracy counts. `recent`: throughputs of the newest runs that count, the oldest
    first. `began`: when the runs began that metrics have changed `since`, by their ids."""

    row: TrendRow
    verdict: RegressionVerdict
    timeless: int = 0
    """Number of runs whose time is unknown."""
    other_systems: int = 0
    """Number of runs of another accelerator, or of other data."""
    unknown: int = 0
    """Number of runs for which something that affects speed is unknown."""
    missed: int = 0
    """Valid runs whose accuracy is below their target."""
    recent: tuple[float, ...] = ()
    """Throughputs of the newest valid runs, the oldest first."""
    began: Mapping[str, datetime] = field(default_factory=dict)
    """When runs began that something changed `since`, in UTC, by their ids."""


@dataclass(frozen=True, slots=True)
class Regressions:
    """The verdicts on many trends, the worst first; `total` trends matched the query."""

    groups: tuple[TrendVerdict, ...]
    outcome: Outcome
    tests: int
    total: int
    rehearsal: bool
