"""Parsed results with their identities, unread files, and tables with their columns."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from enum import StrEnum
from typing import BinaryIO

from aisbench_core.base.messages import Message
from aisbench_core.model import MetricSample, Mode, RankResult, RunMetric, Stated, TrainResultInfo
from aisbench_core.model.spec import Scalar, canonical_json

# The default zone: times in logs and tables have none, and most were written in China.
UPSTREAM_ZONE = timezone(timedelta(hours=8), "UTC+8")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedResult:
    """One run's result in a file. Empty text and None: the file does not contain it.

    * `source`: the file, within its folder or archive ("logs.zip!a/run1.log"); `number`: the run in that file, from 1,
      or the row below a table's header.
    * `identity`: SHA-256 (hex) of the run's values and job, independent of file name, encoding and line ends.
      `values_identity`: the same without the job, which excerpts of logs often lack. Results with equal values are the
      same run if one of them has no job. `earlier_identity`: by which it was stored until its text identified it.
    * `raw`: the decoded text of the block from brace to brace, or else the lines, files or cells.
    * `placeholders`: keys of the block that upstream fills without a measurement; `info` has None there.
    * `server_throughputs`: sums in samples/s per server that trained alone; `server_accuracies`: of the same servers.
    * `throughput_unit`: as a table's column or header states it; empty: not stated. `unit_problem`: what it states is
      not known, so that the throughput counts only with a unit from the user.
    * `workload`: from the package's name in `workpath`, without "train_"; `model` and `framework` come from it.
    * `config_info`: upstream's line about the test, only as text, because its model is often another's.
    * `problems`: messages about the result, which can be imported nevertheless.
    * `run_id`, `rehearsal`: from a table that a console exported; `exported`: such a row, without empty cells.
    * `is_row`: it is from a table, whose columns may be mapped differently the next time.
    * `described`: what it says of the tested system. `target_s`: seconds until it reached its target.
    * `parameters`: cells of columns that are parameters, which decide speed. `is_per_card`: the throughput is of one
      card. `card_count`: of all nodes. `dropped`: cells that were not understood, without which the result is complete;
      `remarks`: how cells were read that can be read differently.
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
    throughput_unit: str = ""
    unit_problem: Message | None = None
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
    problems: tuple[Message, ...] = ()
    exported: Mapping[str, str] = field(default_factory=dict)
    earlier_identity: str = ""
    is_row: bool = False
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    is_per_card: bool = False
    card_count: int | None = None
    dropped: tuple["DroppedCell", ...] = ()
    remarks: tuple[Message, ...] = ()
    described: Stated | None = None
    target_s: float | None = None
    metrics: tuple[RunMetric, ...] = ()

    @property
    def location(self) -> str:
        """The source and number, for display."""
        return f"{self.source} ({self.number})"


@dataclass(frozen=True, slots=True)
class DroppedCell:
    """A cell that was not understood, as a spreadsheet names it (F7), with the header of its column."""

    cell: str
    header: str
    text: str
    reason: Message


@dataclass(frozen=True, slots=True)
class Unread:
    """A file, or a part of one, without a result, and the reason. `is_foreign`: it is not about results at all."""

    source: str
    reason: Message
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read. `name` is its path below the requested folder, with `/`; `size` is in bytes, if known.

    `open` returns a file at its first byte, which need not be seekable and is closed by the reader."""

    name: str
    size: int | None
    open: Callable[[], BinaryIO]


class ColumnMeaning(StrEnum):
    """The meaning of a table's column. Units as in TrainResultInfo; `*_pct` are percent. Times are local.

    `headers`: other names of the column, separated by commas; those of the block's keys are in `model/columns`."""

    headers: str

    def __new__(cls, value: str, headers: str = "") -> "ColumnMeaning":
        """A member with its headers."""
        member = str.__new__(cls, value)
        member._value_, member.headers = value, headers
        return member

    MODEL = "model", "model name, 模型, 模型名称, 网络, 网络模型, network, net"
    WORKLOAD = "workload", "负载, 测试负载, 业务, 用例, testcase, case"
    FRAMEWORK = "framework", "框架, 训练框架, ai framework, ai框架"
    FRAMEWORK_VERSION = (
        "framework_version",
        "框架版本, 版本, version, mindspore version, mindspore版本, 训练框架版本",
    )
    MODE = "mode", "模式, 运行模式, test mode type, singleserver mode, 单服务器模式"
    NODE_COUNT = (
        "node_count",
        "nodes, node, num nodes, node num, servers, server count, train instance count, 节点数, 节点数量, "
        "节点, 机器数, 服务器数, 服务器数量, 训练节点数, 实例数",
    )
    CARDS_PER_NODE = (
        "cards_per_node",
        "device num, devices per node, npus per node, 单机卡数, 每节点卡数, 单节点卡数, 每机卡数",
    )
    CARD_COUNT = (
        "card_count",
        "cards, card, num cards, rank size, ranksize, world size, npus, devices, 卡数, 总卡数, 卡数量, npu数",
    )
    FLAVOR = "flavor", "train instance type, instance type, 规格, 资源规格, 实例规格, 训练规格, 机型"
    ENGINE_VERSION = "engine_version", "engine, 引擎, 引擎版本, 镜像, 镜像版本"
    ACCELERATOR = "accelerator", "device, chip, npu, gpu, 加速卡, 芯片, 芯片型号, 硬件, 处理器"
    THROUGHPUT_UNIT = (
        "throughput_unit",
        "throughput unit, unit, units, 单位, 吞吐单位, 吞吐率单位, 吞吐量单位, 性能单位",
    )
    DATASET = "dataset", "dataset name, data set, 数据集, 数据集名称"
    JOB_ID = "job_id", "jobid, 作业id, 任务id, 训练作业id"
    JOB_NAME = "job_name", "jobname, job, 作业, 作业名, 作业名称, 任务名, 任务名称"
    WORKPATH = "workpath", "work path, 工作目录, 路径"
    CREATED_BY = "created_by", "user, tester, owner, operator, 测试人, 测试人员, 执行人, 负责人, 用户"
    NOTE = "note", "notes, remark, remarks, comment, comments, 备注, 说明"
    RUN_ID = "run_id"
    DIVISION = "division", "divsion"
    VALIDITY = "validity", "有效性"
    SCALE = (
        "scale",
        "规模, 集群规模, 卡规模, 测试规模, 组网, 组网规模, nodes x cards, nodes*cards, 节点x卡, 机x卡, 几机几卡",
    )
    DATE = "date", "日期, 测试日期, 测试时间, 运行日期, 完成日期, 时间, time, run date, test date, timestamp, 时间戳"
    ACCURACY = "accuracy"
    ACCURACY_PCT = "accuracy_pct"
    THROUGHPUT_RATIO = "throughput_ratio"
    AVERAGE_POWER = "average_power"
    MAX_POWER = "max_power"
    ENERGY_CONSUMPTION = "energy_consumption"
    EFFICIENTCY = "efficientcy"
    RESOURCE_UTIL_RATIO = "resource_util_ratio"
    RESOURCE_UTIL_PCT = "resource_util_pct", "npu util avg pct"
    PREPARE_START_TIME = "prepare_start_time"
    PREPARE_END_TIME = "prepare_end_time"
    DATALOAD_START_TIME = "dataload_start_time"
    DATALOAD_END_TIME = "dataload_end_time"
    PROC_START_TIME = "proc_start_time"
    PROC_END_TIME = "proc_end_time"
    TOTAL_START_TIME = "total_start_time"
    TOTAL_END_TIME = "total_end_time"


PARAMETER = "parameter."
_PARAMETER_NAME = re.compile(r"\w[\w .+/-]{0,98}\w|\w")


def is_parameter(meaning: str) -> bool:
    """Whether the meaning is `parameter.NAME`: a setting that decides speed."""
    return meaning.startswith(PARAMETER) and bool(_PARAMETER_NAME.fullmatch(meaning.removeprefix(PARAMETER)))


@dataclass(frozen=True, slots=True)
class Table:
    """A table's headers, their meanings, and its first rows as text.

    `mapping`: a ColumnMeaning or `parameter.NAME` by header. `not_understood`: headers that were not recognized, which
    are parameters until a person says what they are. `left_out`: other measurements, and numbers of rows.
    `doubtful_cards`: the header of cards that may be of each node or of all."""

    source: str
    columns: tuple[str, ...]
    mapping: Mapping[str, str]
    sample: tuple[tuple[str, ...], ...] = ()
    not_understood: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    doubtful_cards: str = ""


Results = Iterator[ParsedResult | Unread]


def compute_identities(values: Mapping[str, object], job: str) -> tuple[str, str]:
    """SHA-256 (hex) of the values with their job, and of the values alone."""
    return _hash_value({"job": job, "values": values}), _hash_value({"values": values})


def rank_values(ranks: Iterable[RankResult], accuracy: float | None) -> dict[str, object]:
    """The values to identify a run whose ranks are all known: equal for its log and its output directory."""
    return {"accuracy": accuracy, "ranks": sorted([rank.server, rank.rank, rank.throughput] for rank in ranks)}


def _hash_value(value: Mapping[str, object]) -> str:
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
