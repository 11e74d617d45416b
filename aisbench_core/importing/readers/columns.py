"""Recognizes the meaning of a table's columns from English, Chinese and upstream's headers."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from aisbench_core.errors import ConfigError
from aisbench_core.importing.readers.results import ColumnMeaning
from aisbench_core.messages import Message
from aisbench_core.model.columns import KEYS

_NAMES: Mapping[ColumnMeaning, str] = {
    ColumnMeaning.MODEL: "model, model name, 模型, 模型名称, 网络, 网络模型, network, net",
    ColumnMeaning.WORKLOAD: "workload, 负载, 测试负载, 业务, 用例, testcase, case",
    ColumnMeaning.FRAMEWORK: "framework, 框架, 训练框架, ai framework, ai框架",
    ColumnMeaning.FRAMEWORK_VERSION: (
        "framework version, 框架版本, 版本, version, mindspore version, mindspore版本, 训练框架版本"
    ),
    ColumnMeaning.MODE: "mode, 模式, 运行模式, test mode type, singleserver mode, 单服务器模式",
    ColumnMeaning.NODE_COUNT: (
        "node count, nodes, node, num nodes, node num, servers, server count, "
        "train instance count, 节点数, 节点数量, 节点, 机器数, 服务器数, "
        "服务器数量, 训练节点数, 实例数"
    ),
    ColumnMeaning.CARDS_PER_NODE: (
        "cards per node, device num, devices per node, npus per node, 单机卡数, 每节点卡数, 单节点卡数, 每机卡数"
    ),
    ColumnMeaning.CARD_COUNT: (
        "card count, cards, card, num cards, rank size, ranksize, world size, "
        "npus, devices, 卡数, 总卡数, 卡数量, npu数"
    ),
    ColumnMeaning.FLAVOR: ("flavor, train instance type, instance type, 规格, 资源规格, 实例规格, 训练规格, 机型"),
    ColumnMeaning.ENGINE_VERSION: "engine version, engine, 引擎, 引擎版本, 镜像, 镜像版本",
    ColumnMeaning.ACCELERATOR: ("accelerator, device, chip, npu, gpu, 加速卡, 芯片, 芯片型号, 硬件, 处理器"),
    ColumnMeaning.DATASET: "dataset, dataset name, data set, 数据集, 数据集名称",
    ColumnMeaning.JOB_ID: "job id, jobid, 作业id, 任务id, 训练作业id",
    ColumnMeaning.JOB_NAME: "job name, jobname, job, 作业, 作业名, 作业名称, 任务名, 任务名称",
    ColumnMeaning.WORKPATH: "workpath, work path, 工作目录, 路径",
    ColumnMeaning.CREATED_BY: ("created by, user, tester, owner, operator, 测试人, 测试人员, 执行人, 负责人, 用户"),
    ColumnMeaning.NOTE: "note, notes, remark, remarks, comment, comments, 备注, 说明",
    ColumnMeaning.RUN_ID: "run id",
    ColumnMeaning.DIVISION: "division, divsion",
    ColumnMeaning.VALIDITY: "validity, 有效性",
    ColumnMeaning.RESOURCE_UTIL_PCT: "npu util avg pct",
}

# Text in brackets. An unclosed bracket takes the rest, and quantifiers are possessive: linear time.
_UNIT = re.compile(r"[(\[（【](?:([^)\]）】]*+)[)\]）】]|[^)\]）】]*+\Z)")

_PERCENT = {
    ColumnMeaning.ACCURACY: ColumnMeaning.ACCURACY_PCT,
    ColumnMeaning.RESOURCE_UTIL_RATIO: ColumnMeaning.RESOURCE_UTIL_PCT,
}

LONGEST_HEADER = 256  # characters; a longer cell is text

# A table without any of these has no results.
RESULTS = frozenset({ColumnMeaning.THROUGHPUT_RATIO, ColumnMeaning.ACCURACY, ColumnMeaning.ACCURACY_PCT})


def guessed(headers: Sequence[str]) -> dict[str, ColumnMeaning]:
    """The recognized meanings of headers; of several with the same meaning, the first one counts."""
    columns: dict[str, ColumnMeaning] = {}
    for header in headers:
        column = _column(header)
        if column and column not in columns.values():
            columns[header] = column
    return columns


def chosen(headers: Sequence[str], mapping: Mapping[str, str]) -> dict[str, ColumnMeaning]:
    """The recognized meanings, overridden by `mapping`. Raises ConfigError for an unknown meaning."""
    explicit = {header: _explicit(header, mapping[header]) for header in headers if header in mapping}
    rest = {header: column for header, column in guessed(headers).items() if column not in explicit.values()}
    return {header: column for header, column in {**rest, **explicit}.items() if column}


def _explicit(header: str, word: str) -> ColumnMeaning | None:
    if not word:
        return None
    try:
        return ColumnMeaning(word)
    except ValueError:
        allowed = ", ".join(ColumnMeaning)
        raise ConfigError(
            Message("column {header!r} is mapped to {word!r}, which is not a known meaning", header=header, word=word),
            Message("choose one of: {allowed}", allowed=allowed),
        ) from None


def _column(header: str) -> ColumnMeaning | None:
    if len(header) > LONGEST_HEADER:
        return None
    words = _words(header)
    unit = _UNIT.search(header)
    # A unit in brackets is only removed if it is closed: otherwise it may be part of the name.
    bare = _words(_UNIT.sub(lambda match: match[0] if match[1] is None else " ", header))
    column = _BY_NAME.get(words) or _BY_NAME.get(bare)
    if column in _PERCENT and ("%" in header or (unit and _words(unit[1] or "") in ("pct", "percent", "百分比"))):
        return _PERCENT[column]
    return column


def _words(header: str) -> str:
    """The header in lower case, with single blanks instead of punctuation."""
    text = unicodedata.normalize("NFKC", header).casefold()
    return " ".join(re.sub(r"[\s_\-%:*#]+", " ", text).split())


def _by_name() -> dict[str, ColumnMeaning]:
    columns = {_words(column): column for column in ColumnMeaning}
    columns |= {_words(name): column for column, names in _NAMES.items() for name in names.split(",")}
    for key in KEYS:
        exported = (key.exported.name if key.exported else "") or key.name
        names = [exported, *(name for name in (key.key.headers if key.key else "").split(",") if name)]
        columns |= {_words(name): ColumnMeaning(key.stored_name) for name in names}
    return columns


_BY_NAME = _by_name()
