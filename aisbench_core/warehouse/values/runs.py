"""Queries for runs, and runs: frozen values, free of SQL.

Throughputs are in the workload's own unit (`throughput_unit`, samples/s as a rule), times are aware UTC, durations
seconds, shares and coefficients of variation fractions (0.05 is 5 %). None is "not measured".
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from aisbench_core.model import Mode, Origin, RunState, StopCause
from aisbench_core.warehouse.values.conditions import Condition


class Validity(StrEnum):
    """Whether a run's result counts. A claimed one was imported: no check failed, and nobody verified it. One that was
    set aside would count, but a person decided that it does not."""

    VALID = "valid"
    CLAIMED = "claimed"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"
    SET_ASIDE = "set_aside"

    @property
    def counts(self) -> bool:
        """Whether it enters the statistics of its group. Imported results have groups of their own."""
        return self in (Validity.VALID, Validity.CLAIMED)

    @property
    def label(self) -> str:
        """As text."""
        return "claimed, unverified" if self is Validity.CLAIMED else self.value.replace("_", " ")


class TargetOutcome(StrEnum):
    """Whether the accuracy of a run, or of all runs of a row, reached the target that the workload states."""

    REACHED = "reached"
    MISSED = "missed"
    PARTLY_MISSED = "partly missed"
    NOT_MEASURED = "not measured"
    NOT_STATED = "not stated"

    @property
    def is_missed(self) -> bool:
        """Whether any run missed it."""
        return self in (TargetOutcome.MISSED, TargetOutcome.PARTLY_MISSED)


class CheckLevel(StrEnum):
    """The outcome of one check: a failed one makes the result invalid, a warning does not."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One rule applied to one result: what it expects, what it found, and where. Stored under these names."""

    id: str
    level: CheckLevel
    expected: str
    found: str
    evidence: str = ""


FIELDS_CHECK = "V01"  # of rulesets: the required fields, and the numbers in their ranges
ACCURACY_CHECK = "V06"  # of rulesets: the accuracy, and whether it reaches the target
SPREAD_CHECK = "V27"  # of rulesets: the CV over the runs of a series


def is_of_the_end(check_id: str, validity: Validity) -> bool:
    """Whether fields are missing because the run did not complete: then how it ended is shown first."""
    return check_id == FIELDS_CHECK and validity is Validity.INCOMPLETE


THROUGHPUT = "throughput"
"""The metric by which every workload can be ranked, whatever its primary one is."""

PRIMARY = ":primary"
"""Stands for the primary metric of each workload; no metric has such a name."""


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """Filters, order and page of the leaderboard, of lists of runs and of exports.

    One region, and either measurements or rehearsals (`rehearsal` None: the measurements if there are any,
    otherwise the rehearsals). Empty tuples and None filter nothing; `text` is searched in ids (also of imports),
    names and people. `origin` None: launched and imported runs, which are never in one row of the leaderboard.
    `validity` applies to lists of runs, in place of `include_invalid`. `ruleset_id`: the ruleset that evaluates the
    runs; empty: the stored validity counts. `where`: runs that fulfil all of these. `metric`: the named one that stands
    in place of the throughput, of runs that have it; empty: none, and on the leaderboard the primary metric of each
    workload. `sort` is one of BOARD_SORTS or RUN_SORTS; rows without a value come last, and of numbers in the row's own
    unit `descending` means the best first.
    """

    region: str
    models: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    framework_versions: tuple[str, ...] = ()
    flavors: tuple[str, ...] = ()
    node_counts: tuple[int, ...] = ()
    include_invalid: bool = False
    sort: str = "throughput"
    descending: bool = True
    limit: int = 50
    offset: int = 0
    rehearsal: bool | None = None
    fingerprint: str = ""
    synthetic_data: bool | None = None
    text: str = ""
    origin: Origin | None = None
    tags: tuple[str, ...] = ()
    validity: Validity | None = None
    ruleset_id: str = ""
    where: tuple[Condition, ...] = ()
    by_parameter: str = ""
    """Rows of the leaderboard are sorted by the values of this parameter first."""
    metric: str = ""
    run_ids: tuple[str, ...] | None = None
    """Only these runs; None: all."""

    @property
    def chooses_single_runs(self) -> bool:
        """Whether runs of one configuration can differ in what it filters by."""
        return bool(self.text or self.tags or self.where) or self.run_ids is not None


@dataclass(frozen=True, slots=True)
class RegionFacts:
    """A region and kind of runs (measurements or rehearsals), and how many there are."""

    region: str
    rehearsal: bool
    runs: int


@dataclass(frozen=True, slots=True)
class Facets:
    """The values in one region that runs can be filtered by, sorted; `rulesets` decided the stored validity."""

    models: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    framework_versions: tuple[str, ...] = ()
    flavors: tuple[str, ...] = ()
    node_counts: tuple[int, ...] = ()
    rulesets: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run: configuration, result and validity; the columns are described in docs/columns.md.

    `throughput` is the sum over ranks in cluster mode, and in single-server mode the mean over servers of their sums;
    `throughput_reported` is that of train_result_info. `accuracy` is None on synthetic data, where it is not a
    measurement (`accuracy_reported` has the number). Of an imported run, sizes may be None and texts empty: they are
    unknown, and `source` is where it was imported from. `reproduces` is the run whose result it was to repeat.
    `verified_by` is whose trusted key signed the bundle that it came in.
    Price and costs are in `currency`.
    """

    run_id: str
    created_at: datetime
    created_by: str
    profile: str
    region: str
    rehearsal: bool
    synthetic_data: bool
    workload: str
    title: str
    model: str
    framework: str
    framework_version: str
    throughput_definition: str
    throughput_unit: str
    dataset: str
    mode: Mode
    engine_version: str
    flavor: str
    pool_id: str
    node_count: int | None
    cards_per_node: int | None
    card_count: int | None
    accelerator: str
    job_id: str
    job_name: str
    state: RunState
    detail: str
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    queue_s: float | None
    duration_s: float | None
    fingerprint: str
    spec_sha256: str
    code_sha256: str
    dataset_sha256: str
    record_sha256: str
    throughput: float | None
    per_node: float | None
    per_card: float | None
    throughput_reported: float | None
    accuracy: float | None
    accuracy_reported: float | None
    accuracy_target: float | None
    accuracy_target_source: str
    ranks_expected: int | None
    ranks_found: int | None
    rank_cv: float | None
    straggler_ranks: str
    average_power_w: float | None
    max_power_w: float | None
    energy_j: float | None
    power_efficiency: float | None
    resource_util: float | None
    npu_util_avg_pct: float | None
    not_measured: tuple[str, ...]
    validity: Validity
    checks: tuple[Check, ...]
    origin: Origin
    source: str
    imported_at: datetime | None
    tags: tuple[str, ...]
    note: str
    set_aside: str
    ruleset_id: str
    division: str
    reproduces: str
    manifest_sha256: str
    verified_by: str = ""
    image: str = ""
    not_known: str = ""
    resolved: str | None = None
    stop_cause: StopCause | None = None
    price_per_node_hour: float | None = None
    currency: str = ""
    cost: float | None = None
    cost_per_million_samples: float | None = None

    @property
    def began_at(self) -> datetime | None:
        """When it was launched, or an imported one measured; None when its files hold no time."""
        # An import without known times takes its own.
        return None if self.imported_at and self.created_at >= self.imported_at else self.created_at

    @property
    def unknowns(self) -> tuple[str, ...]:
        """What can decide its speed and is not known, by name."""
        return tuple(filter(None, self.not_known.split(";")))

    @property
    def reasons(self) -> tuple[Check, ...]:
        """The checks that failed or warn, failed ones first: why a run is not valid."""
        checks = (check for check in self.checks if check.level is not CheckLevel.OK)
        return tuple(sorted(checks, key=lambda check: (check.level is not CheckLevel.FAIL, check.id)))

    @property
    def target_outcome(self) -> TargetOutcome:
        """Whether its accuracy reached the target of its workload, and what its ruleset requires (V06)."""
        # The rule also fails for an accuracy above 1, which is a mistake of the unit.
        is_share = self.accuracy is not None and self.accuracy <= 1
        if is_share and any(check.id == ACCURACY_CHECK for check in self.reasons):
            return TargetOutcome.MISSED
        if self.accuracy_target is None:
            return TargetOutcome.NOT_STATED
        if self.accuracy is None:
            return TargetOutcome.NOT_MEASURED
        return TargetOutcome.REACHED if self.accuracy >= self.accuracy_target else TargetOutcome.MISSED


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of runs, and how many there are. `rehearsal` is their kind."""

    rows: tuple[RunRow, ...]
    total: int
    rehearsal: bool


@dataclass(frozen=True, slots=True)
class SeriesEvaluation:
    """The checks of one row of a series: its runs on one node count, in one version and image, with one set of values.

    The row counts if it has a valid run and no check failed. `image` is an engine version, or the address of an image.
    `ruleset_basis` is shown beside the ruleset's id."""

    series_id: str
    node_count: int | None
    framework_version: str
    image: str
    run_ids: tuple[str, ...]
    valid: int
    """Number of valid runs."""
    ruleset_id: str
    ruleset_basis: str
    fingerprints: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def runs(self) -> int:
        """The number of its runs, valid or not."""
        return len(self.run_ids)

    @property
    def scatter(self) -> Check | None:
        """The check of how far its runs scatter, if they scatter more than the ruleset allows."""
        found = (
            check
            for check in self.checks
            if check.id == SPREAD_CHECK and check.level in (CheckLevel.FAIL, CheckLevel.WARN)
        )
        return next(found, None)

    @property
    def counts(self) -> bool:
        """Whether statistics over its runs count."""
        return self.valid > 0 and not self.of_level(CheckLevel.FAIL)

    def of_level(self, level: CheckLevel) -> tuple[Check, ...]:
        """The checks of this level."""
        return tuple(check for check in self.checks if check.level is level)
