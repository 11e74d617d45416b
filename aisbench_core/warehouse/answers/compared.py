"""What the warehouse answers when runs are put side by side: frozen values, free of SQL.

Units as in values.py; None always means "not measured" or "may not be compared".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from aisbench_core.model import RankResult, ServerResult
from aisbench_core.statistics.difference import MeanDifference
from aisbench_core.statistics.summary import Summary
from aisbench_core.warehouse.values import RunRow

MOST_DOTS = 60
"""So many single runs of one group are shown at most; the ids' hashes choose them, so that they stay the same."""


@dataclass(frozen=True, slots=True)
class RunDot:
    """One single run behind a band."""

    run_id: str
    throughput: float


class ComparedBy(StrEnum):
    """What stands for each run that is named: the run itself, or its row of the leaderboard."""

    RUNS = "runs"
    ROWS = "rows"


class Comparability(StrEnum):
    """Whether two runs can be compared: as they are, per card or per node only, or not at all."""

    COMPARABLE = "comparable"
    NORMALISED = "comparable after normalisation"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class FieldValues:
    """One configuration field over all compared runs, in their order; None where a run does not have it."""

    field: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One metric of one run against the first run's; None where a side is missing or may not be compared."""

    value: float | None
    difference: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric over all compared runs. `decides` marks the throughput that the verdict says to look at.

    `unit` is empty for a share, and for throughputs (`is_rate`) where each run has a unit of its own."""

    name: str
    unit: str
    values: tuple[MetricValue, ...]
    higher_is_better: bool
    decides: bool = False
    is_rate: bool = False
    is_share: bool = False


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """How one run compares with the first: `reasons` are the names of the fields that decide it.

    `unknown` are fields that would decide it, too, if both runs knew them."""

    run_id: str
    verdict: Comparability
    reasons: tuple[str, ...] = ()
    normalise_by: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerSpread:
    """How far the values of servers lie apart: their summary, and the smallest and the largest of them."""

    summary: Summary
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class Servers:
    """A single-server run, server by server, and the spread over those that have a number; None where none has."""

    results: tuple[ServerResult, ...]
    throughput: ServerSpread | None
    accuracy: ServerSpread | None


@dataclass(frozen=True, slots=True)
class Peers:
    """The valid runs that a run shares its row of the leaderboard with, itself included: the newest 500 at most.

    `difference` is against the baseline's group; None within one group, with fewer than two runs on a side, and where
    there is no ratio. `dots` are some of the runs. Throughputs are those that the comparison's verdict looks at."""

    run_id: str
    summary: Summary | None
    dots: tuple[RunDot, ...]
    is_baselines: bool
    difference: MeanDifference | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """2 to 8 runs side by side, each against the first (the baseline).

    `verdict` is the worst of `verdicts`, `reasons` the fields behind it, `normalise_by` "card", "node" or "".
    `unknown` are fields that some run does not know: the verdict holds as far as they are equal.
    `peers` are the groups behind the runs. `by` rows: metrics are medians over the valid runs of each run's row of the
    leaderboard, and the accuracy is that of the run in the middle by throughput; everything else is the run's own.
    `rank_results` maps run_id to its cards' throughputs, `servers` those of single servers to each server's results.
    """

    runs: tuple[RunRow, ...]
    differences: tuple[FieldValues, ...]
    same: tuple[FieldValues, ...]
    metrics: tuple[MetricComparison, ...]
    verdict: Comparability
    reasons: tuple[str, ...]
    normalise_by: str
    verdicts: tuple[RunVerdict, ...]
    rank_results: Mapping[str, tuple[RankResult, ...]]
    servers: Mapping[str, Servers]
    unknown: tuple[str, ...] = ()
    peers: tuple[Peers, ...] = ()
    by: ComparedBy = ComparedBy.RUNS


@dataclass(frozen=True, slots=True)
class RankSpread:
    """How far a run's cards lie apart: quartiles and ends of their throughputs, and how many of them straggle."""

    ranks: int
    nodes: int
    lowest: float
    lower_quartile: float
    median: float
    upper_quartile: float
    highest: float
    stragglers: int


@dataclass(frozen=True, slots=True)
class RankCell:
    """One card of a map, or a node, or neighbouring nodes taken together: `card` is None then.

    `throughput` is the median over its `ranks` cards, `lowest` the slowest of them."""

    node: int
    last_node: int
    card: int | None
    throughput: float
    lowest: float
    ranks: int
    stragglers: int


@dataclass(frozen=True, slots=True)
class Straggler:
    """A card below 95 % of its run's median card; `share` is its part of that median."""

    node: int
    card: int
    rank: int
    throughput: float
    share: float


@dataclass(frozen=True, slots=True)
class RankMap:
    """A run's cards by node. Below `floor` a card straggles; `stragglers` are the slowest of them."""

    run_id: str
    spread: RankSpread
    floor: float
    cells: tuple[RankCell, ...]
    stragglers: tuple[Straggler, ...]

    @property
    def by_card(self) -> bool:
        """Whether each cell is one card."""
        return all(cell.card is not None for cell in self.cells)
