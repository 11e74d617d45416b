"""What the warehouse answers about runs over time: frozen values, free of SQL.

Units as in values.py; changes and p-values are fractions (-0.03 is 3 % less). None always means "not measured" or
"cannot be said".
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum

from aisbench_core.model import Mode, Origin, canonical_json
from aisbench_core.statistics.difference import MeanDifference
from aisbench_core.statistics.power import Power
from aisbench_core.statistics.summary import Summary
from aisbench_core.warehouse.values import RunRow, Validity


class VersionField(StrEnum):
    """What counts as a version: the framework's, the engine's (image, CANN, driver), or the code itself."""

    FRAMEWORK = "framework_version"
    ENGINE = "engine_version"
    CODE = "code_sha256"


class Outcome(StrEnum):
    """What can be said about a metric, a group, or a whole answer; the gravest first."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    NO_CHANGE = "no change"
    NOT_ENOUGH = "not enough data"


class BaselineReason(StrEnum):
    """Why these runs are the baseline."""

    ASKED = "asked for"
    MARKED = "marked"
    VERSION_BEFORE = "the version before"
    LEVEL_BEFORE = "the level before"


@dataclass(frozen=True, slots=True)
class HistoryGroup:
    """Runs whose numbers may be followed over time: the same question on the same hardware, region, kind and origin.

    The fingerprint holds workload, model, dataset, mode, throughput definition and what decides speed."""

    region: str
    rehearsal: bool
    synthetic_data: bool
    fingerprint: str
    flavor: str
    pool_id: str
    node_count: int
    cards_per_node: int
    throughput_unit: str
    origin: Origin

    @classmethod
    def of(cls, run: RunRow) -> "HistoryGroup":
        """The group that a run belongs to."""
        return cls(**{field.name: getattr(run, field.name) for field in fields(cls)})

    @property
    def id(self) -> str:
        """A short name that stays the same for ever."""
        return hashlib.sha256(canonical_json(asdict(self)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a person marked as the baseline of a group.

    `names` are versions as `field` tells them, or run ids when `field` is None."""

    group: HistoryGroup
    field: VersionField | None
    names: tuple[str, ...]
    marked_by: str
    marked_at: datetime


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group, how many runs it has (`valid` of them with a valid result), and its marked baseline."""

    group: HistoryGroup
    title: str
    model: str
    workload: str
    dataset: str
    throughput_definition: str
    mode: Mode
    runs: int
    valid: int
    latest_at: datetime
    latest_run_id: str
    baseline: Baseline | None = None


@dataclass(frozen=True, slots=True)
class GroupPage:
    """One page of groups, the latest first, and how many there are in all. `rehearsal` says which kind is shown."""

    rows: tuple[GroupRow, ...]
    total: int
    rehearsal: bool


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page of a group's runs, and how many there are in all."""

    rows: "tuple[HistoryRun, ...]"
    total: int


NO_TIME = "time not known"
"""Why imported runs do not count whose files tell no time: the moment of the import says nothing about versions."""

OTHER_ACCELERATOR = "another accelerator"
OTHER_DATA = "other data"
"""Why runs do not count whose accelerator, or whose data, is another than that of the newest run that tells it."""


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """One run of a group. `at` is its start by the cloud's clock, or its launch where it never started.

    `values` holds what counts, by metric; `left_out` says of the other metrics why they do not."""

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
    accelerator: str = ""
    dataset_sha256: str = ""

    @property
    def is_timeless(self) -> bool:
        """Whether it would count if its time were known."""
        return NO_TIME in self.left_out.values()

    @property
    def is_of_another_system(self) -> bool:
        """Whether it would count if the newest run had its accelerator and its data."""
        return not {OTHER_ACCELERATOR, OTHER_DATA}.isdisjoint(self.left_out.values())

    def version(self, field: VersionField) -> str:
        """The run's version as the field tells it; empty when it is not known."""
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
    """Runs that belong together, as a version or between two changes; their mean has a 95 % interval from 2 on."""

    label: str
    first_at: datetime
    last_at: datetime
    summary: Summary


@dataclass(frozen=True, slots=True)
class Change:
    """Where a metric changed its level; `p_value` counts the search for the place.

    `run_id` is the first run of the new level; `worse` says which way it went, `boundaries` what was new there."""

    run_id: str
    at: datetime
    before: Summary
    after: Summary
    change: float | None
    p_value: float
    worse: bool
    boundaries: tuple[Boundary, ...]


@dataclass(frozen=True, slots=True)
class MetricHistory:
    """One metric over time: its levels between changes, its levels by version, and the changes."""

    name: str
    unit: str
    higher_is_better: bool
    levels: tuple[RunLevel, ...]
    versions: tuple[RunLevel, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class MetricVerdict:
    """One metric of the candidate against the baseline.

    `p_value` is of this test alone, `adjusted_p` among all tests of the answer (Benjamini-Hochberg). `since` is the
    candidate's first run. A metric without a candidate has one level, and `baseline` is all of it."""

    name: str
    unit: str
    higher_is_better: bool
    outcome: Outcome
    baseline: Summary | None = None
    candidate: Summary | None = None
    difference: MeanDifference | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    power: Power | None = None
    since: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a group's newest runs say against its baseline. `tests` is how many tests the answer had in all.

    `baseline` and `candidate` name versions; they are empty where levels or single runs are compared. `mixed`: in which
    of image and code the baseline's runs differ, because several versions were named; then nothing is compared.
    `other_builds`: runs of these versions that have another image or code than their newest run. `within`: of the
    newest version, its newest image and code against those before, and the level since a metric's last change."""

    rule: BaselineReason
    field: VersionField
    baseline: str
    candidate: str
    baseline_run_ids: tuple[str, ...]
    candidate_run_ids: tuple[str, ...]
    metrics: tuple[MetricVerdict, ...]
    outcome: Outcome = Outcome.NOT_ENOUGH
    tests: int = 0
    mixed: tuple[str, ...] = ()
    within: tuple[MetricVerdict, ...] = ()
    other_builds: int = 0


@dataclass(frozen=True, slots=True)
class History:
    """One group over time, the oldest run first, with everything that led to the judgement.

    `older` runs lie before those that are shown. `clock_doubts` counts runs that started before they were launched:
    two clocks disagree there, and the order is the cloud's."""

    row: GroupRow
    field: VersionField
    runs: tuple[HistoryRun, ...]
    older: int
    clock_doubts: int
    boundaries: tuple[Boundary, ...]
    metrics: tuple[MetricHistory, ...]
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class GroupJudgement:
    """A group and what its newest runs say; `timeless` runs do not count, because their time is not known,
    nor do those of `other_systems`: another accelerator, or other data."""

    row: GroupRow
    judgement: Judgement
    timeless: int = 0
    other_systems: int = 0


@dataclass(frozen=True, slots=True)
class Regressions:
    """The judgements of many groups, the gravest first; `tests` were made in all, and `total` groups would fit."""

    groups: tuple[GroupJudgement, ...]
    outcome: Outcome
    tests: int
    total: int
    rehearsal: bool
