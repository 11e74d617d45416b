"""A result: what a job left behind, and the record of a run that the warehouse stores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from aisbench_core.model.job import MetricSample
from aisbench_core.model.remark import NOTHING, Remarks
from aisbench_core.model.run import Event, Run
from aisbench_core.model.spec import Scalar
from aisbench_core.model.system import Stated, known_from_job


@dataclass(frozen=True, slots=True)
class RankResult:
    """One card's throughput in the workload's own unit (samples/s). `server` is 0 in cluster mode."""

    server: int
    rank: int
    throughput: float


@dataclass(frozen=True, slots=True)
class ServerResult:
    """What one server of a single-server run did: samples/s over all its cards, and its accuracy.

    None where one of its files is missing or holds no number."""

    server: int
    throughput: float | None
    accuracy: float | None


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
    """What was found in a run's output directory.

    `problems` name each file that is missing or holds no number; a result with problems is kept, but not valid.
    `server_results`: each server by itself, in single-server mode. `rehearsal`: the sandbox stamped it as one.
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
    """What a run's workload said when it was launched, kept so that a record never depends on later edits.

    `speed_parameters` None: not known, as of imported results."""

    title: str
    model: str
    framework: str
    throughput_definition: str
    throughput_unit: str
    dataset: str
    accuracy_target: float | None
    accuracy_target_source: str
    speed_parameters: Mapping[str, Scalar] | None


class Origin(StrEnum):
    """How a run came to be in the warehouse."""

    LAUNCHED = "launched"
    IMPORTED = "imported"

    @property
    def label(self) -> str:
        """In words."""
        return "imported, unverified" if self is Origin.IMPORTED else self.value


@dataclass(frozen=True, slots=True)
class Imported:
    """Where the record of a run comes from that was not launched here.

    `source` names the file, and the place in it. `stated` are the spec's fields that the source or a person gave: all
    others are not known, whatever the spec holds. `note` is for a person, `told` what the source says besides.
    `carried`: what the console had computed that exported the run, by the warehouse's columns; it stands as it is.
    No verdict is among it: what a file says about itself proves nothing.
    """

    source: str
    imported_at: datetime
    stated: tuple[str, ...]
    note: str = ""
    told: tuple[str, ...] = ()
    carried: Mapping[str, str | int | float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Launched:
    """What was true when a run was launched and is in no other part of its record.

    `manifest_sha256`: of the workload's manifest. `reproduces`: the run whose result it was to give again."""

    manifest_sha256: str = ""
    reproduces: str = ""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """All that the warehouse stores of one run; written to and read from data/runs/<run_id>/ as text.

    `described`: what people stated of its system and test; None before anybody did. `launched`: None for imported
    runs, and for those that are older than it. `remarks`: tags and notes of people."""

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
    remarks: Remarks = NOTHING

    @property
    def origin(self) -> Origin:
        """Whether the run was launched here, or its result was imported."""
        return Origin.IMPORTED if self.imported else Origin.LAUNCHED

    @property
    def known(self) -> Stated:
        """What the job itself says of its system."""
        facts = self.workload
        given = self.imported.stated if self.imported else None
        return known_from_job(self.run.spec, facts.framework, facts.model, self.accelerator, given)
