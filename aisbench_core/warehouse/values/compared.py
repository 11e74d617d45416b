"""Comparisons of runs: frozen values, free of SQL.

Units as in runs.py; None is "not measured" or "not comparable". Fields are keys of `aisbench compare --json`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from aisbench_core.domain.statistics.difference import MeanDifference
from aisbench_core.domain.statistics.summary import Summary
from aisbench_core.model import RankResult, ServerResult
from aisbench_core.model.spec_fields import fields_of
from aisbench_core.model.spec_roles import SpecRole
from aisbench_core.warehouse.values.runs import RunRow

MIN_COMPARED, MAX_COMPARED = 2, 32  # so many runs are compared at a time

# Single runs of one group that are shown; the hashes of their ids choose them, so that they stay the same.
MAX_DOTS = 60


@dataclass(frozen=True, slots=True)
class RunDot:
    """One single run behind a band."""

    run_id: str
    throughput: float
    """In the unit of the run."""


class ComparedBy(StrEnum):
    """Whether the numbers are those of the runs themselves, or the medians of their rows of the leaderboard."""

    RUNS = "runs"
    ROWS = "rows"


class Comparability(StrEnum):
    """Whether two runs can be compared: as they are, per card or node only, or not at all."""

    COMPARABLE = "comparable"
    NORMALISED = "comparable after normalisation"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class FieldValues:
    """One field of the configuration of all compared runs, in their order; None where a run does not have it."""

    field: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One metric of one run against that of the first; None where one is missing or they are not comparable."""

    value: float | None
    """In the metric's unit."""
    difference: float | None = None
    """To the first run, in the metric's unit."""
    ratio: float | None = None
    """To the first run's."""


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric of all compared runs. `decides` marks the throughput that the comparison is about.

    `unit` is empty for a share, and for throughputs (`is_rate`) of runs with different units."""

    name: str
    unit: str
    values: tuple[MetricValue, ...]
    higher_is_better: bool
    decides: bool = False
    is_rate: bool = False
    is_share: bool = False
    is_named: bool = False
    """Whether it is one of the runs' own metrics, and no column."""


@dataclass(frozen=True, slots=True)
class RunComparability:
    """Whether one run can be compared with the first: `verdict`, and the fields that are the `reasons`.

    `unknown` are fields that decide it, too, but are not known of an imported run, and what is not known of a row."""

    run_id: str
    verdict: Comparability
    reasons: tuple[str, ...] = ()
    normalise_by: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerSpread:
    """The spread over servers: the summary of their values, the smallest and the largest."""

    summary: Summary
    lowest: float
    """Of the values of all servers, in their unit."""
    highest: float
    """Of the values of all servers, in their unit."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of a single-server run, and the spread over those that have a number; None where none has."""

    results: tuple[ServerResult, ...]
    throughput: ServerSpread | None
    """Null where no server has a number."""
    accuracy: ServerSpread | None


@dataclass(frozen=True, slots=True)
class Peers:
    """The valid runs in a run's row of the leaderboard, itself included: the newest 500 at most, and some as `dots`.

    `difference` is against the baseline's group; None within one group, with fewer than two runs on a side, and where
    there is no ratio or something that decides speed is not known of either. Where it is not known of this group, the
    `summary` has no interval. Throughputs are per node or card where these decide. `missed`: how many of them are below
    the target of their workload. `median` is that of all of them."""

    run_id: str
    summary: Summary | None
    dots: tuple[RunDot, ...]
    is_baselines: bool
    difference: MeanDifference | None
    missed: int = 0
    """Runs whose accuracy is below the target of their workload."""
    median: float | None = None
    """Median of the throughputs."""


class SideOutcome(StrEnum):
    """What a compared run comes to against the first, or why that cannot be said."""

    SLOWER = "slower"
    FASTER = "faster"
    SIMILAR = "similar"
    UNDECIDED = "undecided"
    REPEATED = "repeated"
    NOT_COMPARABLE = "not_comparable"
    NOT_MEASURED = "not_measured"
    NOT_KNOWN = "not_known"


@dataclass(frozen=True, slots=True)
class SideVerdict:
    """The verdict on one compared run's configuration. A difference that `is_small` is too small to be reported.

    `visible` is the change that these runs show, or, where they are too few, that so many more of the baseline and of
    this side would show. It is 0 where runs vary too much for that: then so many more give the change an interval."""

    run_id: str
    outcome: SideOutcome
    difference: MeanDifference | None = None
    visible: float = 0.0
    baseline_missing: int = 0
    missing: int = 0
    is_small: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """2 to 32 runs side by side, each against the first (the baseline).

    `verdict` is the worst comparability among `verdicts`, `reasons` the fields behind it; `normalise_by` "card",
    "node" or "" is how those that can be compared are. `unknown` are fields that are not known of some run: its
    ratios hold if they are equal. `peers` are the groups behind the runs. With `by` rows, metrics are medians over
    the valid runs of each run's row of the leaderboard, and the accuracy is that of the run in the middle by
    throughput; everything else is the run's own. `rank_results` are the cards' throughputs by run_id, `servers` the
    servers of single-server runs. `captured` are the differences between their passports, those first that decide speed
    most; None for runs without one.
    """

    runs: tuple[RunRow, ...]
    differences: tuple[FieldValues, ...]
    same: tuple[FieldValues, ...]
    metrics: tuple[MetricComparison, ...]
    verdict: Comparability
    reasons: tuple[str, ...]
    normalise_by: str
    verdicts: tuple[RunComparability, ...]
    rank_results: Mapping[str, tuple[RankResult, ...]]
    servers: Mapping[str, Servers]
    unknown: tuple[str, ...] = ()
    peers: tuple[Peers, ...] = ()
    by: ComparedBy = ComparedBy.RUNS
    captured: tuple[FieldValues, ...] = ()

    @property
    def deciding(self) -> tuple[FieldValues, ...]:
        """The differences that decide speed: those behind the verdict, then hardware and software."""
        by_name = {field.field: field for field in self.differences}
        named = [by_name[name] for name in self.reasons if name in by_name]
        return (*named, *(field for field in self.differences if field not in named and _is_deciding(field.field)))


def _is_deciding(name: str) -> bool:
    return name.partition(".")[0] not in _DESCRIBING


# Parameters and data are behind a verdict if they decide.
_DESCRIBING = {"parameters", "dataset_sha256", "profile", "origin", *fields_of(SpecRole.DESCRIBES, SpecRole.HARMLESS)}


@dataclass(frozen=True, slots=True)
class RankSpread:
    """The spread over a run's cards: quartiles and extremes of their throughputs, and the number of stragglers."""

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
    """One card of a map; or, with `card` None, a node or several neighbouring ones.

    `throughput` is the median over its `ranks` cards, `lowest` that of the slowest."""

    node: int
    last_node: int
    card: int | None
    throughput: float
    lowest: float
    ranks: int
    stragglers: int


@dataclass(frozen=True, slots=True)
class Straggler:
    """A card below 95 % of its run's median card; `share` is its throughput over that median."""

    node: int
    card: int
    rank: int
    throughput: float
    share: float


@dataclass(frozen=True, slots=True)
class RankMap:
    """A run's cards by node. Cards below `floor` are stragglers; `stragglers` are the slowest of them."""

    run_id: str
    spread: RankSpread
    floor: float
    cells: tuple[RankCell, ...]
    stragglers: tuple[Straggler, ...]

    @property
    def by_card(self) -> bool:
        """Whether each cell is one card."""
        return all(cell.card is not None for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Usual:
    """Of `runs` earlier valid runs: quartiles of their throughput, and the median of how long their jobs ran.

    `newest`: the ids of the newest of them."""

    runs: int
    lower: float
    median: float
    upper: float
    duration_s: float | None
    newest: tuple[str, ...]
