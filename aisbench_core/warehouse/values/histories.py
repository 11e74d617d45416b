"""Runs over time: frozen values, free of SQL.

Units as in runs.py; changes and p-values are fractions (-0.03 is 3 % less). None is "not measured" or "unknown".
Fields of rows, baselines and verdicts are keys of `aisbench regress --json`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from aisbench_core.base.messages import Hint, Message
from aisbench_core.domain.statistics.difference import MIN_VALUES, MeanDifference, Power, Unit
from aisbench_core.domain.statistics.sentences import CONFOUNDED, TREND, method_sentence
from aisbench_core.domain.statistics.summary import Summary
from aisbench_core.model import Mode
from aisbench_core.warehouse.values.boards import explain_no_verdict, what_makes_known
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration, short_id
from aisbench_core.warehouse.values.runs import RunRow, Validity


class VersionField(StrEnum):
    """What a version is: the framework's, the engine's (image, CANN, driver), or the code itself."""

    FRAMEWORK = "framework_version"
    ENGINE = "engine_version"
    CODE = "code_sha256"


class Outcome(StrEnum):
    """The verdict on a metric, a trend, or a whole answer; the worst first."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    NO_CHANGE = "no change"
    NOT_ENOUGH = "not enough data"


class BaselineReason(StrEnum):
    """Why these runs are the baseline."""

    REQUESTED = "asked for"
    MARKED = "marked"
    VERSION_BEFORE = "the version before"
    LEVEL_BEFORE = "the level before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend(BenchmarkConfiguration):
    """Runs whose numbers can be followed over time: one benchmark configuration on the same hardware.

    `id` is the trend_id: it names a history in URLs, and its baseline."""

    flavor: str
    pool_id: str
    node_count: int
    cards_per_node: int

    @property
    def id(self) -> str:
        """A short name that stays the same for ever."""
        return short_id(asdict(self))


@dataclass(frozen=True, slots=True)
class Baseline:
    """The runs that a person marked as the baseline of a trend.

    `names` are values of `field`, or run ids when that is None."""

    group: Trend
    field: VersionField | None
    names: tuple[str, ...]
    marked_by: str
    marked_at: datetime


@dataclass(frozen=True, slots=True)
class TrendRow:
    """One trend, the number of its runs (`valid` of them count), and its marked baseline."""

    group: Trend
    title: str
    model: str
    workload: str
    dataset: str
    throughput_definition: str
    mode: Mode
    runs: int
    """Number of runs, valid or not."""
    valid: int
    """Number of valid runs."""
    latest_at: datetime
    latest_run_id: str
    baseline: Baseline | None = None


@dataclass(frozen=True, slots=True)
class TrendPage:
    """One page of trends, the latest first, and how many there are. `rehearsal` says which kind of runs they are of."""

    rows: tuple[TrendRow, ...]
    total: int
    rehearsal: bool


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page of a trend's runs, and how many there are."""

    rows: "tuple[HistoryRun, ...]"
    total: int


# Why imported runs without a known time do not count: when they were imported says nothing about versions.
NO_TIME = Message("time not known")

# Why of a run below its target accuracy nothing else is compared: what learned nothing is not faster.
TARGET_MISSED = Message("target missed")

# What must not differ from the newest run that knows its own, and why runs in which it does do not count.
OF_SYSTEM = {
    "accelerator": Message("another accelerator"),
    "dataset_sha256": Message("other data"),
    "throughput_definition": Message("another definition of the metric"),
}


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """One run of a trend. `at` is its start by the cloud's clock, or its launch if it never started.

    `values` are the numbers that count, by metric; `left_out` says why other metrics do not. `not_compared`: those of
    them that are drawn all the same, because the run counts elsewhere."""

    run_id: str
    at: datetime
    created_by: str
    framework_version: str
    engine_version: str
    code_sha256: str
    validity: Validity
    values: Mapping[str, float]
    left_out: Mapping[str, str]
    ruleset_id: str = ""
    not_known: str = ""
    not_compared: Mapping[str, float] = field(default_factory=dict)

    @property
    def drawn(self) -> Mapping[str, float]:
        """Its numbers on charts and in tables."""
        return {**self.values, **self.not_compared}

    def with_only(self, name: str) -> "HistoryRun":
        """The run with its throughput alone, as what it is: the value of the metric `name`."""
        values, not_compared = (
            {name: part["throughput"]} if "throughput" in part else {} for part in (self.values, self.not_compared)
        )
        left_out = {name: self.left_out["throughput"]} if "throughput" in self.left_out else {}
        return replace(self, values=values, not_compared=not_compared, left_out=left_out)

    @property
    def has_missed(self) -> bool:
        """Whether its accuracy is below its target; only that is compared then."""
        return TARGET_MISSED in self.left_out.values()

    @property
    def is_timeless(self) -> bool:
        """Whether it does not count because its time is unknown."""
        return NO_TIME in self.left_out.values()

    @property
    def is_of_another_system(self) -> bool:
        """Whether it does not count because of its accelerator, its data or its metric's definition."""
        return not {*OF_SYSTEM.values()}.isdisjoint(self.left_out.values())

    def version(self, field: VersionField) -> str:
        """The run's value of a version field; empty when it is unknown."""
        return str(getattr(self, field))


@dataclass(frozen=True, slots=True)
class Boundary:
    """The first run with a new value of a version field."""

    run_id: str
    at: datetime
    field: VersionField
    value: str


@dataclass(frozen=True, slots=True)
class RunLevel:
    """Runs of one version, or between two changes; their mean has a 95 % interval from 2 runs on."""

    label: str
    first_at: datetime
    last_at: datetime
    summary: Summary


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a metric's level; `p_value` is corrected for the search for its position.

    `run_id` is the first run of the new level, `boundaries` what was new there."""

    run_id: str
    at: datetime
    before: Summary
    after: Summary
    change: float | None
    p_value: float
    worse: bool | None
    boundaries: tuple[Boundary, ...]


@dataclass(frozen=True, slots=True)
class MetricHistory:
    """One metric over time: its levels between changes and by version, and the changes."""

    name: str
    unit: str
    higher_is_better: bool | None
    levels: tuple[RunLevel, ...]
    versions: tuple[RunLevel, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class MetricVerdict:
    """One metric of the candidate against the baseline.

    `p_value` is of this test alone, `adjusted_p` for its `looks` and the tests of the answer (Benjamini-Hochberg).
    `since` is the candidate's first run. A metric that never changed its level has no candidate, and all runs are its
    `baseline`.
    `missed`: how many of the candidate's runs are below their target accuracy; with such a run nothing has improved."""

    name: str
    unit: str
    higher_is_better: bool | None
    outcome: Outcome
    baseline: Summary | None = None
    candidate: Summary | None = None
    difference: MeanDifference | None = None
    p_value: float | None = None
    """Two-sided, of the difference's test, or of the search for a change of level."""
    adjusted_p: float | None = None
    """The p-value, adjusted for looks on several days and over all groups."""
    power: Power | None = None
    since: str = ""
    missed: int = 0
    """Runs of the candidate whose accuracy is below their target."""
    looks: float = 1.0
    """What the p-value is multiplied by, because the candidate grew over several days: 1 + 2 ln(days)."""
    is_trend: bool = False
    """Whether the runs follow a straight line, which is no change of level."""

    @property
    def is_confounded(self) -> bool:
        """Whether the days on which both sides ran may have made the difference."""
        return self.difference is not None and self.difference.is_confounded


@dataclass(frozen=True, slots=True)
class BaselineGap:
    """The throughput of a version's `runs` against that of the `before` runs of its `baseline`, a version.

    `baseline_run_id`: the newest of those."""

    baseline: str
    baseline_run_id: str
    difference: MeanDifference
    runs: int
    before: int


@dataclass(frozen=True, slots=True)
class RegressionVerdict:
    """The newest runs of a trend against its baseline.

    `baseline` and `candidate` name versions; they are empty where levels or single runs are compared. `mixed`: which of
    image and code differ among the baseline's runs, because several versions were named; then nothing is compared.
    `within`: of the newest version, its newest image and code against those before, and the level since a metric's last
    change. `not_known`: what can decide speed and is not known of the newest run (names separated by `;`)."""

    rule: BaselineReason
    field: VersionField
    baseline: str
    candidate: str
    baseline_run_ids: tuple[str, ...]
    candidate_run_ids: tuple[str, ...]
    metrics: tuple[MetricVerdict, ...]
    outcome: Outcome = Outcome.NOT_ENOUGH
    tests: int = 0
    """How many comparisons the p-values are adjusted for."""
    mixed: tuple[str, ...] = ()
    within: tuple[MetricVerdict, ...] = ()
    other_builds: int = 0
    """Number of runs of these versions with another image or code than the newest run."""
    not_known: str = ""

    @property
    def withheld(self) -> Hint:
        """Why there is no verdict on runs that may differ in what decides speed; empty where all is known."""
        return explain_no_verdict(self.not_known)

    @property
    def open_reason(self) -> Hint:
        """Why what was tested stays open; empty where it is decided, or where there are too few runs."""
        is_confounded = any(metric.is_confounded for metric in self.metrics)
        return CONFOUNDED if is_confounded and self.outcome is Outcome.NOT_ENOUGH else ""

    @property
    def method(self) -> Hint:
        """Which test decided on the first metric, and why; empty without a test."""
        first = next(iter(self.metrics), None)
        if first is None or first.p_value is None:
            return ""
        if first.difference is None:
            return TREND if first.is_trend else ""
        return method_sentence(first.difference)

    @property
    def advice(self) -> Hint:
        """What makes it known of later runs."""
        return what_makes_known(self.not_known)

    @property
    def throughput(self) -> MetricVerdict | None:
        """The verdict on throughput, which is the first metric where anything was measured."""
        return next((metric for metric in self.metrics if metric.name == "throughput"), None)

    def compare_throughput(self, run: RunRow) -> float | None:
        """How far a run of the trend is from the baseline's mean; None if it does not count, or is the baseline."""
        baseline = self.throughput.baseline if self.throughput else None
        counts = run.validity.counts and not (run.not_known or run.target_outcome.is_missed)
        compared = not (self.withheld or self.mixed or self.baseline_run_ids == (run.run_id,))
        if baseline is None or not baseline.mean or run.throughput is None or not (counts and compared):
            return None
        return run.throughput / baseline.mean - 1

    @property
    def decisive(self) -> MetricVerdict | None:
        """The metric behind the outcome: the first that has it, which is throughput if that is among them."""
        return next((metric for metric in (*self.metrics, *self.within) if metric.outcome is self.outcome), None)

    def gap_of(self, run_id: str) -> BaselineGap | None:
        """What a run's version comes to against the baseline; None for runs that are not among the candidate's."""
        if run_id not in self.candidate_run_ids:
            return None
        for metric in self.metrics:
            if metric.name == "throughput" and metric.difference and metric.candidate and metric.baseline:
                counts = (metric.candidate.count, metric.baseline.count)
                return BaselineGap(self.baseline, self.baseline_run_ids[-1], metric.difference, *counts)
        return None

    @property
    def first_ids(self) -> frozenset[str]:
        """The runs that its metrics have changed `since`."""
        return frozenset(metric.since for metric in (*self.metrics, *self.within) if metric.since)

    @property
    def runs_missing(self) -> int | None:
        """How many more runs of the newest version an answer on throughput takes; None if more would not help, as more
        runs of one day do not where days are what repeats.

        Without a known spread, as many as a spread takes. A baseline that is too small cannot be helped by them."""
        if not self.metrics or self.rule is BaselineReason.LEVEL_BEFORE:
            return None
        throughput = self.metrics[0]
        there = throughput.candidate.count if throughput.candidate else 0
        if throughput.baseline is None or throughput.baseline.count < MIN_VALUES:
            return None
        if throughput.difference and throughput.difference.unit is Unit.DAY:
            return None
        planned = throughput.power.runs if throughput.power else None
        missing = max(planned or 0, MIN_VALUES) - there
        return missing if missing > 0 else None


@dataclass(frozen=True, slots=True)
class History:
    """One trend, the oldest run first, with everything that led to the verdict.

    `older` runs are not shown. `clock_doubts` counts runs that started before they were launched: there the two clocks
    disagree, and the order is the cloud's."""

    row: TrendRow
    field: VersionField
    runs: tuple[HistoryRun, ...]
    older: int
    clock_doubts: int
    boundaries: tuple[Boundary, ...]
    metrics: tuple[MetricHistory, ...]
    verdict: RegressionVerdict
