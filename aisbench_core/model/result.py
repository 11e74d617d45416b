"""Results of jobs, and the record of a run that the warehouse stores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from aisbench_core.model.annotation import NO_ANNOTATIONS, Annotations
from aisbench_core.model.job import CardSample, MetricSample
from aisbench_core.model.job_details import RunAttempt
from aisbench_core.model.metric import PrimaryMetric, RunMetric
from aisbench_core.model.passport import Passport
from aisbench_core.model.resolved import Resolved
from aisbench_core.model.run import Event, Run
from aisbench_core.model.spec import Scalar
from aisbench_core.model.system import Stated, captured_of, complete_stated, known_from_job


@dataclass(frozen=True, slots=True)
class RankResult:
    """One card's throughput in the workload's own unit (samples/s). `server` is 0 in cluster mode."""

    server: int
    """Number of the server, from 0."""
    rank: int
    """Number of the card, from 0."""
    throughput: float
    """Of the card, in the run's unit; null unless it was measured."""


@dataclass(frozen=True, slots=True)
class ServerResult:
    """One server of a single-server run: samples/s over all its cards, and its accuracy.

    None if one of its files is missing or holds no number."""

    server: int
    """Number of the server, from 0."""
    throughput: float | None
    """Of the server, in the run's unit; null unless it was measured."""
    accuracy: float | None
    """As a fraction."""


@dataclass(frozen=True, slots=True)
class TrainResultInfo:
    """The 15 keys of upstream's block, typed. None means not measured; 0 is a measurement.

    Units: throughput_ratio samples/s, powers W, energy J as upstream gives it, ratios 0 to 1, times aware UTC.
    `efficientcy` is spelt as upstream spells it.
    """

    accuracy: float | None = None
    throughput_ratio: float | None = None
    average_power: float | None = None
    max_power: float | None = None
    energy_consumption: float | None = None
    efficientcy: float | None = None
    resource_util_ratio: float | None = None
    prepare_start_time: datetime | None = None
    prepare_end_time: datetime | None = None
    dataload_start_time: datetime | None = None
    dataload_end_time: datetime | None = None
    proc_start_time: datetime | None = None
    proc_end_time: datetime | None = None
    total_start_time: datetime | None = None
    total_end_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class CollectedResult:
    """The result in a run's output directory.

    `problems` name each file that is missing or holds no number; a result with problems is stored, but not valid.
    `server_results`: in single-server mode. `rehearsal`: the sandbox marked it as one.
    """

    ranks_expected: int
    rank_results: tuple[RankResult, ...]
    info: TrainResultInfo
    raw: str
    synthetic_data: bool = False
    dataset_sha256: str = ""
    problems: tuple[str, ...] = ()
    server_results: tuple[ServerResult, ...] = ()
    rehearsal: bool = False


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """The workload's manifest at launch, stored so that records do not depend on later edits.

    `speed_parameters` None: unknown, for imported results."""

    title: str
    model: str
    framework: str
    throughput_definition: str
    throughput_unit: str
    dataset: str
    accuracy_target: float | None
    accuracy_target_source: str
    speed_parameters: Mapping[str, Scalar] | None
    primary_metric: PrimaryMetric | None = None
    loss_target: float | None = None


class Origin(StrEnum):
    """How a run came into the warehouse."""

    LAUNCHED = "launched"
    IMPORTED = "imported"

    @property
    def label(self) -> str:
        """In words."""
        return "imported, unverified" if self is Origin.IMPORTED else self.value


@dataclass(frozen=True, slots=True)
class Imported:
    """Where an imported run comes from.

    `source`: the file, and the position in it. `stated`: the spec's fields that the source or a person provided; the
    values of others are unknown, whatever the spec contains. `note` is for people, `details` is the source's other
    information. `carried`: values by warehouse column that the exporting console had computed, stored unchanged; never
    its validity, because a file cannot prove its own. `verified_by`: the console whose trusted key signed the bundle.
    """

    source: str
    imported_at: datetime
    stated: tuple[str, ...]
    note: str = ""
    details: tuple[str, ...] = ()
    carried: Mapping[str, str | int | float | None] = field(default_factory=dict)
    verified_by: str = ""


@dataclass(frozen=True, slots=True)
class Launched:
    """Facts of the launch that are in no other part of the record.

    `manifest_sha256`: of the workload's manifest. `reproduces`: the run whose result it was to reproduce."""

    manifest_sha256: str = ""
    reproduces: str = ""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """All that the warehouse stores of one run; written to and read from data/runs/<run_id>/ as text.

    `described`: the system description that people stated, or None. `launched`: None for imported runs, and for those
    of versions before it existed. `attempts`: of the job, if the API lists them. `card_samples`: of the reporter, if
    the script asked for them. `resolved`: None where nothing was, as of imported runs, and of those of versions before
    it existed. `metrics`: by name. `passport`: None where nothing was captured."""

    run: Run
    workload: WorkloadFacts
    region: str
    rehearsal: bool
    accelerator: str
    result: CollectedResult | None
    samples: tuple[MetricSample, ...] = ()
    events: tuple[Event, ...] = ()
    imported: Imported | None = None
    described: Stated | None = None
    launched: Launched | None = None
    annotations: Annotations = NO_ANNOTATIONS
    attempts: tuple[RunAttempt, ...] = ()
    card_samples: tuple[CardSample, ...] = ()
    resolved: Resolved | None = None
    metrics: tuple[RunMetric, ...] = ()
    passport: Passport | None = None

    @property
    def origin(self) -> Origin:
        """Whether the run was launched here, or its result was imported."""
        return Origin.IMPORTED if self.imported else Origin.LAUNCHED

    @property
    def system_from_job(self) -> Stated:
        """The fields of the system description that the job decides."""
        facts = self.workload
        stated = self.imported.stated if self.imported else None
        return known_from_job(self.run.spec, facts.framework, facts.model, self.accelerator, stated)

    @property
    def system_captured(self) -> Stated:
        """The fields of the system description that were captured on the nodes."""
        spec = self.run.spec
        return captured_of(self.passport.facts, spec.image_url or spec.engine_version) if self.passport else Stated()

    @property
    def system_unstated(self) -> Stated:
        """All fields that nobody has to state: those captured, and others that the job decides."""
        return complete_stated(self.system_captured, self.system_from_job)
