"""What reading old results finds: results, files that hold none, and tables with their columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from enum import StrEnum
from typing import BinaryIO

from aisbench_core.model import MetricSample, Mode, RankResult, TrainResultInfo

UPSTREAM_ZONE = timezone(timedelta(hours=8), "UTC+8")
"""Times in logs and tables name no zone; the machines that wrote them stand in China unless somebody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundResult:
    """One run's result as a file tells it. Empty text and None: the file does not say.

    `source` is the file as people know it, inside its folder or archive ("logs.zip!a/run1.log"); `number` says
    which run in that file (from 1; in a table, the row below its header). `identity` is a SHA-256 (hex) over what
    tells this run from all others: its values and its job. The same run under another name, in another encoding or
    with other line ends has the same. `values_identity` leaves the job out: an excerpt of a log often lost it, so
    two results with equal values are the same run if one of them knows no job. `raw` is what was read, as decoded:
    the block from brace to brace, or, where there is none, the lines, files or cells. `placeholders` are the keys
    of the block that upstream filled without a measurement; `info` has None there. `server_throughputs` are sums
    per server in samples/s, of servers that trained alone, and `server_accuracies` what each of them reached. `model`
    and `framework` come from `workload`, which
    is the package's in `workpath` without "train_". `config_info` is upstream's own line about the test: kept as
    text, because its model is often another's. `problems` are sentences for a person; such a result can still be
    imported. `run_id` is set in tables that an AISBench Console exported, where `rehearsal` says that the numbers
    are no measurement; `exported` holds such a row whole, by its columns, without empty cells.
    `is_row`: of a table, whose columns may mean something else the next time that it is read.
    """

    source: str
    number: int
    identity: str
    values_identity: str
    raw: str
    info: TrainResultInfo
    placeholders: tuple[str, ...] = ()
    workload: str = ""
    model: str = ""
    framework: str = ""
    framework_version: str = ""
    workpath: str = ""
    config_info: str = ""
    job_id: str = ""
    job_name: str = ""
    mode: Mode | None = None
    node_count: int | None = None
    cards_per_node: int | None = None
    flavor: str = ""
    engine_version: str = ""
    accelerator: str = ""
    dataset: str = ""
    created_by: str = ""
    note: str = ""
    run_id: str = ""
    rehearsal: bool = False
    synthetic_data: bool = False
    ranks_expected: int | None = None
    rank_results: tuple[RankResult, ...] = ()
    server_throughputs: tuple[float, ...] = ()
    server_accuracies: tuple[float, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    samples: tuple[MetricSample, ...] = ()
    problems: tuple[str, ...] = ()
    exported: Mapping[str, str] = field(default_factory=dict)
    is_row: bool = False

    @property
    def place(self) -> str:
        """Where it was read."""
        return f"{self.source} ({self.number})"


@dataclass(frozen=True, slots=True)
class Unread:
    """A file, or a part of one, that holds no result, and why: a sentence for a person.

    `is_foreign`: nothing in it speaks of results at all."""

    source: str
    reason: str
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file wherever it lies. `name` is its path below what was asked for, with `/`; `size` is in bytes, if known.

    `open` starts at the first byte; what it returns need not be able to seek, and is closed by the reader."""

    name: str
    size: int | None
    open: Callable[[], BinaryIO]


class ColumnMeaning(StrEnum):
    """What a column of a table can mean. Units as in TrainResultInfo; `*_pct` are percent. Times are local."""

    MODEL = "model"
    WORKLOAD = "workload"
    FRAMEWORK = "framework"
    FRAMEWORK_VERSION = "framework_version"
    MODE = "mode"
    NODE_COUNT = "node_count"
    CARDS_PER_NODE = "cards_per_node"
    CARD_COUNT = "card_count"
    FLAVOR = "flavor"
    ENGINE_VERSION = "engine_version"
    ACCELERATOR = "accelerator"
    DATASET = "dataset"
    JOB_ID = "job_id"
    JOB_NAME = "job_name"
    WORKPATH = "workpath"
    CREATED_BY = "created_by"
    NOTE = "note"
    RUN_ID = "run_id"
    DIVISION = "division"
    VALIDITY = "validity"
    ACCURACY = "accuracy"
    ACCURACY_PCT = "accuracy_pct"
    THROUGHPUT_RATIO = "throughput_ratio"
    AVERAGE_POWER = "average_power"
    MAX_POWER = "max_power"
    ENERGY_CONSUMPTION = "energy_consumption"
    EFFICIENTCY = "efficientcy"
    RESOURCE_UTIL_RATIO = "resource_util_ratio"
    RESOURCE_UTIL_PCT = "resource_util_pct"
    PREPARE_START_TIME = "prepare_start_time"
    PREPARE_END_TIME = "prepare_end_time"
    DATALOAD_START_TIME = "dataload_start_time"
    DATALOAD_END_TIME = "dataload_end_time"
    PROC_START_TIME = "proc_start_time"
    PROC_END_TIME = "proc_end_time"
    TOTAL_START_TIME = "total_start_time"
    TOTAL_END_TIME = "total_end_time"


@dataclass(frozen=True, slots=True)
class Table:
    """A table's columns by their headers, and what each is taken for; `sample` are the first rows, as text.

    `mapping` holds the headers that could be told. Whoever remembers a mapping keeps header → column; one mapping can
    serve many tables, because headers that a table does not have do no harm, and "" says that a column means nothing.
    """

    source: str
    columns: tuple[str, ...]
    mapping: Mapping[str, ColumnMeaning]
    sample: tuple[tuple[str, ...], ...] = ()
