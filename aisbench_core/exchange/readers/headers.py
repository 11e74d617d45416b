"""Finds a table's header and what its columns mean, by English, Chinese and upstream's names."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aisbench_core.base.errors import ConfigError, ResultError
from aisbench_core.base.messages import Message
from aisbench_core.exchange.readers.cells import Counted, read_size
from aisbench_core.exchange.readers.results import PARAMETER, ColumnMeaning, is_parameter
from aisbench_core.exchange.readers.rows import MergedText, Row, name_column
from aisbench_core.exchange.readers.units import LONGEST_HEADER, Rate, names_one_card, rate_of
from aisbench_core.model.columns import KEYS as BLOCK_COLUMNS

HEADER_WITHIN = 20  # rows; titles are often above the header

# A table without any of these has no results.
RESULTS = frozenset({ColumnMeaning.THROUGHPUT_RATIO, ColumnMeaning.ACCURACY, ColumnMeaning.ACCURACY_PCT})

PERCENT = {
    ColumnMeaning.ACCURACY_PCT: ColumnMeaning.ACCURACY,
    ColumnMeaning.RESOURCE_UTIL_PCT: ColumnMeaning.RESOURCE_UTIL_RATIO,
}
_AS_PERCENT = {ratio: percent for percent, ratio in PERCENT.items()}
_WATTS = ("w", "watt", "watts", "瓦", "瓦特")
_UNITS_OF = {
    ColumnMeaning.AVERAGE_POWER: _WATTS,
    ColumnMeaning.MAX_POWER: _WATTS,
    ColumnMeaning.ENERGY_CONSUMPTION: ("j", "joule", "joules", "焦", "焦耳"),
}
SIZES = {
    ColumnMeaning.NODE_COUNT: Counted.NODES,
    ColumnMeaning.CARDS_PER_NODE: Counted.CARDS_PER_NODE,
    ColumnMeaning.CARD_COUNT: Counted.CARDS,
    ColumnMeaning.SCALE: Counted.NOTHING,
}

# Names of parameters that are written in many ways.
_PARAMETERS = {
    "batch_size": "batch, bs, batchsize, batch size, 批大小, 批次大小, 批量大小, 批尺寸",
    "global_batch_size": "gbs, global batch, global bs, global batchsize, global batch size, 全局批大小, 全局批次大小",
    "micro_batch_size": "mbs, micro batch, micro bs, micro batchsize, micro batch size",
    "precision": "精度, precision, dtype, data type, 数据类型, 精度类型, 精度模式, 计算精度, 混合精度, amp",
    "sequence_length": "seq, seq len, seqlen, seq length, sequence length, max seq len, 序列长度",
    "epochs": "epoch, epochs, epoch num, num epochs, 轮数, 训练轮数",
    "learning_rate": "lr, learning rate, 学习率",
}
# Columns that neither decide what is measured nor are read: other results, and the numbers of rows.
_LEFT_OUT = (
    "no, no., nr, num, index, idx, id, row, 序号, 编号, 行号, loss, final loss, train loss, training loss, val loss, "
    "损失, latency, 时延, 延迟, step time, time per step, iteration time, iter time, epoch time, train time, "
    "training time, total time, elapsed, elapsed time, duration, cost time, time cost, 耗时, 总耗时, 训练耗时, "
    "训练时间, 训练时长, 时长, 单步耗时, 单步时间, 每步耗时, 步时, 迭代时间, mfu, hfu, speedup, speed up, 加速比, "
    "efficiency, 效率, scaling efficiency, linearity, 线性度, 扩展效率, 加速效率, top5, top 5, top5 acc, "
    "top5 accuracy, top 5 accuracy, "
    "top5精度, peak memory, max memory, 峰值显存, 显存占用, ppl, perplexity, 困惑度, std, cv"
)

_PRECISION = re.compile(
    r"(?:fp|bf|tf|int|float|bfloat|hf)(?:8|16|32|64)(?:[-+/ ].*)?|(?:16|32|64)-(?:true|mixed)|amp|mixed.*|half|full|"
    r"o[0-3]|混合.*|[单半双]精度",
    re.I,
)
_MODE = re.compile(r".*(?:single|cluster|multi|distribut|单|多|集群|分布式).*|true|false", re.I | re.S)
_DURATION = re.compile(r"(?:ms|s|sec|secs|seconds?|min|mins|minutes?|h|hours?|毫秒|秒|分|分钟|小时|天|days?)", re.I)
_EXPORT = "schema_version"  # the first header of what a console exported


@dataclass(frozen=True, slots=True)
class HeaderReading:
    """What columns mean, by header: a ColumnMeaning or `parameter.NAME`.

    `not_understood`, `left_out`: as in Table."""

    meanings: Mapping[str, str] = field(default_factory=dict)
    not_understood: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def choose_meanings(
    headers: Sequence[str],
    mapping: Mapping[str, str],
    sample: Sequence[Row] = (),
    settings: Collection[str] | None = None,
) -> HeaderReading:
    """The recognized meanings, overridden by `mapping`. Raises ConfigError for an unknown meaning.

    What is not recognized is a parameter, so that rows that differ in it stay apart. `sample`: the first rows, which
    tell what a header like 精度 means; `settings`: the only headers that can be parameters."""
    explicit = {header: parse_meaning(header, mapping[header]) for header in headers if header in mapping}
    recognized = guess_meanings(headers)
    guessed = _match_cells(headers, recognized, sample)
    meanings: dict[str, str] = {
        header: meaning
        for header, meaning in guessed.items()
        if header not in explicit and meaning not in explicit.values()
    }
    meanings |= {header: meaning for header, meaning in explicit.items() if meaning}
    rest = [header for header in headers if header and header not in meanings and header not in explicit]
    if settings is not None or (headers and headers[0] == _EXPORT):
        rest = [header for header in rest if header in (settings or ())]
    # What is recognized by its name and has other cells, as fp16 below 精度, is a setting.
    left_out = tuple(header for header in rest if header not in recognized and _is_left_out(header))
    not_understood = tuple(header for header in rest if header not in left_out)
    names = _name_parameters(not_understood, {meaning for meaning in meanings.values() if is_parameter(meaning)})
    return HeaderReading(meanings | names, not_understood, left_out)


def guess_meanings(headers: Sequence[str]) -> dict[str, ColumnMeaning]:
    """The recognized meanings of headers; of several with the same meaning, the first one counts.

    A throughput of all cards goes before one of a card, and both before the time of a step."""
    columns: dict[str, ColumnMeaning] = {}
    for header in sorted(headers, key=_rank_throughput):
        column = _guess_meaning(header)
        if column and column not in columns.values():
            columns[header] = column
    return {header: columns[header] for header in headers if header in columns}


def parse_meaning(header: str, word: str) -> str:
    """The meaning that a person chose; empty for an ignored column. Raises ConfigError for an unknown one."""
    if not word or is_parameter(word):
        return word
    try:
        return ColumnMeaning(word)
    except ValueError:
        allowed = ", ".join([f"{PARAMETER}NAME", *ColumnMeaning])
        raise ConfigError(
            Message("column {header!r} is mapped to {word!r}, which is not a known meaning", header=header, word=word),
            Message("choose one of: {allowed}", allowed=allowed),
        ) from None


def name_parameter(header: str) -> str:
    """`parameter.NAME` of a header that is not understood; headers with the same words have the same name."""
    words = _normalize_header(header)
    name = _NAMES.get(words) or re.sub(r"\W+", "_", words).strip("_")[:80] or "unnamed"
    return PARAMETER + name


def find_header(first: Sequence[Row], mapping: Mapping[str, str]) -> tuple[tuple[str, ...], int]:
    """The header, with unique names, and how many of a table's first rows it ends with; empty and 0 without one.

    It is the row with most recognized names, or two rows of which the upper one groups columns or the lower one has
    their units."""
    rows = first[:HEADER_WITHIN]
    if not any(any(row) for row in rows):
        return (), 0
    scores = [_score_header(row, mapping) for row in rows]
    best = scores.index(max(scores))
    pairs = {start: both for start in range(len(rows) - 1) if (both := _join_two_rows(rows[start], rows[start + 1]))}
    joined = {start: _score_header(both, mapping) for start, both in pairs.items()}
    start = max(joined, key=lambda start: joined[start], default=best)
    if start not in pairs or joined[start] <= scores[best]:
        start = best - 1 if best - 1 in pairs and _has_groups(rows[best - 1], rows[best]) else best
    names, used = (pairs[start], start + 2) if start in pairs else (rows[start], start + 1)
    if used < len(rows) and (units := _join_units(names, rows[used])):
        names, used = units, used + 1
    return _number_duplicates(names), used


def name_columns(header: Sequence[str], rows: Sequence[Row], *, is_positional: bool) -> tuple[str, ...]:
    """The header with names of columns that have cells and no header, as "column D", so that none is overlooked."""
    filled = {position for row in rows for position, cell in enumerate(row) if cell}
    width = max([len(header), *(position + 1 for position in filled)]) if is_positional else len(header)
    padded = [*header, *[""] * (width - len(header))]
    return tuple(
        name or (f"column {name_column(position)}" if position in filled else "")
        for position, name in enumerate(padded)
    )


def read_header_unit(header: str) -> tuple[Rate, str]:
    """The rate that the header of a throughput states, and a text in it that should be one and is not known."""
    found = Rate(is_per_card=names_one_card(header))
    for text in _split_header(header)[1]:
        rate = rate_of(text)
        if rate is None or (rate.unit and found.unit and rate.unit != found.unit):
            return Rate(), text
        found = Rate(rate.unit or found.unit, found.is_per_card or rate.is_per_card, rate.seconds or found.seconds)
    return found, ""


def may_be_number(header: str) -> bool:
    """Whether a number below the header of a time may be one: below "time" it is rather a duration."""
    return _normalize_header(header) not in ("time", "时间", "测试时间")


# --- rows -------------------------------------------------------------------------------------------

_BRACKETS = "()[]（）【】 "
_LIKE_NUMBER = re.compile(r"[-+]?[\d.,]+ ?%?|\d{4}[-/年].*")


def _score_header(row: Row, mapping: Mapping[str, str]) -> float:
    # A recognized or mapped header weighs more than text; half a point prefers any text to an empty row.
    numbers = sum(bool(_LIKE_NUMBER.fullmatch(cell)) for cell in row)
    return len(guess_meanings(row)) + sum(2 for cell in row if cell in mapping) + 0.5 * any(row) - numbers


def _join_two_rows(upper: Row, lower: Row) -> Row:
    """The names of two header rows together; empty if the lower one is not a part of the header."""
    width = max(len(upper), len(lower))
    tops, bottoms = [*upper, *[""] * (width - len(upper))], [*lower, *[""] * (width - len(lower))]
    below = [bottom for bottom in bottoms if bottom]
    if not any(upper) or not below or any(_LIKE_NUMBER.fullmatch(bottom) for bottom in below):
        return ()
    has_units = all(_is_unit(bottom) or bottom in ("-", "/") for bottom in below)
    first = next(position for position in range(width) if tops[position] or bottoms[position])
    is_group = any(
        bottom and (not top or isinstance(top, MergedText)) for top, bottom in zip(tops, bottoms, strict=True)
    )
    is_below = not bottoms[first] or isinstance(bottoms[first], MergedText) or bool(_guess_meaning(bottoms[first]))
    if not has_units and not (is_group and is_below):
        return ()
    for position in range(1, width):
        if bottoms[position] and not tops[position] and bottoms[position - 1] and not has_units:
            tops[position] = tops[position - 1]
    repeated = {name for name, count in Counter(below).items() if count > 1}
    return tuple(
        _join_names(top, bottom, is_repeated=bottom in repeated) for top, bottom in zip(tops, bottoms, strict=True)
    )


def _has_groups(upper: Row, lower: Row) -> bool:
    """Whether an upper row tells several columns of one name in the lower one apart."""
    tops = {top for top in upper if top}
    return len(tops - {*lower}) > 1 and len({*filter(None, lower)}) < sum(map(bool, lower))


def _join_units(names: Row, below: Row) -> Row:
    """The names with the units that the row below them consists of; empty if it does not."""
    units = [cell for cell in below if cell and cell not in ("-", "/")]
    return _join_two_rows(names, below) if units and all(map(_is_unit, units)) else ()


def _join_names(top: str, bottom: str, *, is_repeated: bool) -> str:
    if not top or not bottom or top == bottom or bottom in ("-", "/"):
        return str(top if bottom in ("-", "/") else bottom or top)
    if _is_unit(bottom) or _NO_UNIT.fullmatch(_normalize_header(bottom)):
        return f"{top} ({bottom.strip(_BRACKETS)})"
    return str(bottom) if _guess_meaning(bottom) and not is_repeated else f"{top} {bottom}"


def _is_unit(text: str) -> bool:
    plain = text.strip(_BRACKETS)
    return plain in ("%", "W", "J", "℃") or bool(rate_of(plain)) or bool(_DURATION.fullmatch(plain))


def _number_duplicates(names: Row) -> tuple[str, ...]:
    counts = Counter[str]()
    unique = []
    for name in names:
        counts[name] += 1
        unique.append(f"{name} ({counts[name]})" if name and counts[name] > 1 else str(name))
    return tuple(unique)


# --- names ------------------------------------------------------------------------------------------

# Text in brackets. An unclosed bracket takes the rest, and quantifiers are possessive: linear time.
_UNIT = re.compile(r"[(\[（【](?:([^)\]）】]*+)[)\]）】]|[^)\]）】]*+\Z)")

# What looks like a rate of any kind, outside of brackets.
_RATIO = re.compile(r"/|\bper\b|[单每]机", re.I)

# What brackets in a header say besides a unit; numbers tell columns of one name apart.
_NO_UNIT = re.compile(r"|\d{1,2}|avg|average|mean|median|total|平均值?|均值|中位数|总|合计")

_ONE_CARD = re.compile(r"[单每]卡|\bper[ -]?(?:card|npu|gpu|device|chip)\b", re.I)


def _split_header(header: str) -> tuple[str, list[str]]:
    """The name in a header, and the texts in it that should be its unit: in brackets, at its end, or all of it."""
    header = " ".join(header[:LONGEST_HEADER].replace("_", " ").split())
    rest = _UNIT.sub(" ", header).strip()
    inside = (found[0][1:] if found[1] is None else found[1] for found in _UNIT.finditer(header))
    texts = [text.strip() for text in inside if not _NO_UNIT.fullmatch(_normalize_header(text))]
    if rate_of(rest):
        return rest, [rest, *texts]
    words = re.split(r"[,，:： ]+", _ONE_CARD.sub(" ", rest).strip())
    for start in range(1, len(words)):
        if _BY_NAME.get(_normalize_header(" ".join(words[:start]))) and rate_of(" ".join(words[start:])):
            return " ".join(words[:start]), [" ".join(words[start:]), *texts]
    return rest, [rest, *texts] if _RATIO.search(" ".join(words)) else texts


def _guess_meaning(header: str) -> ColumnMeaning | None:
    if not header or len(header) > LONGEST_HEADER:
        return None
    words = _normalize_header(header)
    # A unit in brackets is only removed if it is closed: otherwise it may be part of the name.
    bare = _UNIT.sub(lambda match: match[0] if match[1] is None else " ", header)
    column = _BY_NAME.get(words) or _BY_NAME.get(_normalize_header(bare))
    if column is None and (rate_of(bare) or _names_throughput(header, bare)):
        return ColumnMeaning.THROUGHPUT_RATIO
    unit = _UNIT.search(header)
    word = _normalize_header(unit[1] or "") if unit else ""
    if column in _AS_PERCENT and ("%" in unicodedata.normalize("NFKC", header) or word in ("pct", "percent", "百分比")):
        return _AS_PERCENT[column]
    if column in _UNITS_OF and word not in _UNITS_OF[column] and not _NO_UNIT.fullmatch(word):
        return None
    if column and (column is ColumnMeaning.DATE or column.endswith("_time")) and _DURATION.fullmatch(word):
        return None
    return column


def _names_throughput(header: str, bare: str) -> bool:
    names = (_split_header(header)[0], _ONE_CARD.sub(" ", bare))
    return any(_BY_NAME.get(_normalize_header(name)) is ColumnMeaning.THROUGHPUT_RATIO for name in names)


def _rank_throughput(header: str) -> int:
    if not header or len(header) > LONGEST_HEADER or _guess_meaning(header) is not ColumnMeaning.THROUGHPUT_RATIO:
        return 0
    rate = read_header_unit(header)[0]
    return 2 if rate.seconds else 1 if rate.is_per_card else 0


def _match_cells(
    headers: Sequence[str], meanings: Mapping[str, ColumnMeaning], sample: Sequence[Row]
) -> dict[str, ColumnMeaning]:
    """Without the meanings that the cells do not have: fp16 is no accuracy, graph no mode, and a node's name no number.

    Below "NPU" may be a kind of card or their number."""
    fitting: dict[str, ColumnMeaning] = {}
    for header, meaning in meanings.items():
        position = headers.index(header)
        cells = [row[position] for row in sample if position < len(row) and row[position] not in ("", "-", "/")]
        if meaning is ColumnMeaning.ACCELERATOR and cells and ColumnMeaning.CARD_COUNT not in meanings.values():
            is_number = all(_is_size(cell, Counted.CARDS) for cell in cells)
            fitting[header] = ColumnMeaning.CARD_COUNT if is_number else meaning
        elif not cells or _fits_cells(meaning, cells, header):
            fitting[header] = meaning
    return fitting


def _fits_cells(meaning: ColumnMeaning, cells: Sequence[str], header: str) -> bool:
    if meaning is ColumnMeaning.ACCURACY:
        if _NAMES.get(_normalize_header(header)) == "precision" and {*cells} <= {"8", "16", "32", "64"}:
            return False
        return not any(_PRECISION.fullmatch(cell) for cell in cells)
    if meaning is ColumnMeaning.MODE:
        return all(_MODE.fullmatch(cell) for cell in cells)
    return meaning not in SIZES or any(_is_size(cell, SIZES[meaning]) for cell in cells)


def _is_size(cell: str, counted: Counted) -> bool:
    try:
        read_size(cell, counted)
    except ResultError:
        return False
    return True


def _is_left_out(header: str) -> bool:
    words = _normalize_header(header)
    bare = _normalize_header(_UNIT.sub(" ", header))
    column = _guess_meaning(header)
    is_other_result = column is not None and (column in RESULTS or column in _MEASURED)
    return is_other_result or not words or words in _OTHERS or bare in _OTHERS


def _name_parameters(headers: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Different names for different headers."""
    names: dict[str, str] = {}
    for header in headers:
        name = plain = name_parameter(header)
        number = 2
        while name in taken:
            name, number = f"{plain}_{number}", number + 1
        taken.add(name)
        names[header] = name
    return names


def _normalize_header(header: str) -> str:
    """The header in lower case, with single blanks instead of punctuation."""
    text = unicodedata.normalize("NFKC", header).casefold()
    return " ".join(re.sub(r"[\s_\-%:*#]+", " ", text).split())


def _by_name() -> dict[str, ColumnMeaning]:
    columns = {_normalize_header(column): column for column in ColumnMeaning}
    pairs = ((name, column) for column in ColumnMeaning for name in column.headers.split(",") if name)
    columns |= {_normalize_header(name): column for name, column in pairs}
    for key in BLOCK_COLUMNS:
        exported = (key.exported.name if key.exported else "") or key.name
        names = [exported, *(name for name in (key.key.headers if key.key else "").split(",") if name)]
        columns |= {_normalize_header(name): ColumnMeaning(key.stored_name) for name in names}
    return columns


_BY_NAME = _by_name()
_MEASURED = frozenset({ColumnMeaning(key.stored_name) for key in BLOCK_COLUMNS})
_OTHERS = frozenset(_normalize_header(name) for name in _LEFT_OUT.split(","))
_NAMES = {_normalize_header(word): name for name, words in _PARAMETERS.items() for word in words.split(",")}
