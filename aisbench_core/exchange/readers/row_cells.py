"""Reads the cells of a row: what is not understood is left out and named, never guessed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.domain.results.train_result_info import AS_TEXT, NUMBER, TIMES, read_measure
from aisbench_core.exchange.readers.cells import DecimalMark, JobSize, clean_number, combine_sizes, read_size
from aisbench_core.exchange.readers.headers import PERCENT, SIZES, may_be_number
from aisbench_core.exchange.readers.layouts import TableLayout
from aisbench_core.exchange.readers.moments import read_moment
from aisbench_core.exchange.readers.results import ColumnMeaning, DroppedCell
from aisbench_core.exchange.readers.rows import MergedText, Row, name_column, unguard_cell
from aisbench_core.exchange.readers.units import Rate, rate_of
from aisbench_core.model import Mode
from aisbench_core.model.spec import Scalar, canonical_json

OURS = "aisbench-compliance-csv/"

ACCURACY_IN_PERCENT = Message("accuracies above 1 were read as percent")
_FRACTION_OR_PERCENT = Message("it may be a fraction, or less than one percent: add % to the cells")
STEP_TIME_AS_RATE = Message("times per step were turned into steps/s")

_NOTHING = frozenset(
    {"", "-", "--", "/", "n/a", "#n/a", "na", "nan", "none", "null", "无", "未测", "未测试", "暂无", "not measured"}
)
_SINGLE = re.compile(r"single|单", re.I)
_CLUSTER = re.compile(r"cluster|multi|distribut|多|集群|分布式|false", re.I)
_NEGATED = re.compile(r"\bno[nt]?\b|[非不]", re.I)
LONGEST_NOTHING = max(map(len, _NOTHING))
_NUMBER_WITH_UNIT = re.compile(r"([-+]?[\d.,' ]*\d(?:e[-+]?\d+)?) ?([^\d\s%.,±+-][^\d]*)", re.I)


@dataclass(frozen=True, slots=True)
class Cells:
    """A row's cells by meaning; missing ones are empty text."""

    row: Row
    layout: TableLayout

    def __getitem__(self, column: str) -> str:
        position = self.layout.positions.get(column)
        return "" if position is None else self.at(position)

    def at(self, position: int) -> str:
        text = unguard_cell(self.row[position]).strip() if position < len(self.row) else ""
        return "" if len(text) <= LONGEST_NOTHING and text.lower() in _NOTHING else text

    @property
    def is_ours(self) -> bool:
        """Whether a console exported it, where 0 is a measurement and not a placeholder."""
        return any(cell.startswith(OURS) for cell in self.row[:1])

    def title(self, column: str) -> str:
        """The header of the column with this meaning; empty without one."""
        position = self.layout.positions.get(column)
        return "" if position is None else self.layout.header[position]

    @property
    def raw(self) -> str:
        return canonical_json({name: cell for name, cell in zip(self.layout.header, self.row, strict=False) if cell})


@dataclass(slots=True)
class Findings:
    """What became of the cells of a row."""

    cells: Cells
    number: int
    problems: list[Message]
    dropped: list[DroppedCell]
    remarks: list[Message]
    settings: dict[str, Scalar]

    def drop(self, column: str, reason: Message) -> None:
        """The cell of a column is not understood."""
        position = self.cells.layout.positions[column]
        place = f"{name_column(position)}{self.cells.layout.first_row + self.number - 1}"
        if column in SIZES or column is ColumnMeaning.MODE:  # rows that differ in it are not the same
            self.settings[column] = read_setting(self.cells[column], self.cells.layout.mark)
        self.dropped.append(DroppedCell(place, self.cells.layout.header[position], self.cells[column][:80], reason))


def read_setting(text: str, mark: DecimalMark = DecimalMark.POINT) -> Scalar:
    """A number, so that 256 and 256.0 are the same, or the text: 0,001 is a number only where commas are decimals."""
    try:
        number = clean_number(text, mark)
    except ResultError:
        return text
    if mark is DecimalMark.POINT and not text.isdecimal() and number != re.sub("[, '\u2019]", "", text):
        return text
    if len(number) > 15 or not NUMBER.fullmatch(number) or not number.lstrip("+-.")[:1].isdigit():
        return text
    value = float(number)
    return int(value) if value.is_integer() else value


def find_rate(cells: Cells) -> tuple[Rate, Message | None]:
    """What a row's throughput is in, and the problem if that is not known or contradictory."""
    unit, layout = cells[ColumnMeaning.THROUGHPUT_UNIT], cells.layout
    if cells.is_ours:
        return Rate(unit), None
    if layout.unknown_unit:
        return Rate(), _refuse_unit(cells.title(ColumnMeaning.THROUGHPUT_RATIO), layout.unknown_unit)
    rate = layout.rate
    with_unit = _NUMBER_WITH_UNIT.fullmatch(cells[ColumnMeaning.THROUGHPUT_RATIO])
    stated = (
        (unit, ColumnMeaning.THROUGHPUT_UNIT),
        (with_unit[2] if with_unit else "", ColumnMeaning.THROUGHPUT_RATIO),
    )
    for text, column in stated:
        if not text:
            continue
        found = rate_of(text)
        if found is None or (found.unit and rate.unit and (found.unit, found.seconds) != (rate.unit, rate.seconds)):
            return Rate(), _refuse_unit(cells.title(column), text)
        rate = Rate(found.unit or rate.unit, found.is_per_card or rate.is_per_card, found.seconds or rate.seconds)
    return rate, None


def _refuse_unit(column: str, unit: str) -> Message:
    return Message(
        "column {column!r}: unit {unit!r} is not known, so the throughput is left out; convert the numbers if "
        "necessary, and state their unit for all results (--unit, or Throughput unit on the page)",
        column=column[:80],
        unit=unit[:40],
    )


def value_text(cells: Cells, key: str, column: ColumnMeaning, findings: Findings) -> str:
    """A value's text in upstream's form: without thousands separators, percentages as fractions."""
    text = cells[column]
    if not text or key in TIMES:
        return text
    if key in AS_TEXT and isinstance(cells.row[cells.layout.positions[column]], MergedText):
        findings.drop(column, Message("it is merged with a cell above: whether it holds for this row is not known"))
        return ""
    if column is ColumnMeaning.THROUGHPUT_RATIO and (with_unit := _NUMBER_WITH_UNIT.fullmatch(text)):
        text = with_unit[1] if rate_of(with_unit[2]) else text
    try:
        number = clean_number(text.rstrip("% ％"), cells.layout.mark)
        if column not in PERCENT and text[-1] not in "%％":
            return _accuracy_text(number, cells, findings) if key == "accuracy" else number
        percent = read_measure("accuracy", number)
    except ResultError as error:
        (findings.problems.append if key in AS_TEXT else lambda reason: findings.drop(column, reason))(error.message)
        return ""
    is_clear = text[-1] in "%％" or cells.layout.is_percent_certain or percent == 0 or percent > 1
    if key == "accuracy" and not is_clear and not cells.is_ours:
        findings.drop(column, _FRACTION_OR_PERCENT)
        return ""
    return _divide_by_hundred(percent)


def _divide_by_hundred(percent: float) -> str:
    text = repr(percent)
    return repr(percent / 100 if "e" in text else float(f"{text}e-2"))  # exact: 71.2 % are 0.712


def _accuracy_text(number: str, cells: Cells, findings: Findings) -> str:
    """A fraction; what is above 1 and not above 100 is percent. Below percents, it may be either."""
    if not NUMBER.fullmatch(number) or cells.is_ours:
        return number
    if cells.layout.is_percent_certain and 0 < float(number) <= 1:
        findings.drop(ColumnMeaning.ACCURACY, _FRACTION_OR_PERCENT)
        return ""
    if not 1 < float(number) <= 100:
        return number
    findings.remarks.append(ACCURACY_IN_PERCENT)
    return _divide_by_hundred(float(number))


def read_measures(
    texts: Mapping[str, str], rate: Rate, zone: tzinfo, findings: Findings
) -> dict[str, float | datetime]:
    values: dict[str, float | datetime] = {}
    for key, text in sorted(texts.items()):
        try:
            if key in TIMES:
                values[key] = read_moment(text, zone)
                continue
            value = read_measure(key, text)
            if key == "throughput_ratio" and rate.seconds:
                findings.remarks.append(STEP_TIME_AS_RATE)
                value = 1 / (value * rate.seconds)
            values[key] = value
        except ResultError as error:
            if key in AS_TEXT:
                findings.problems.append(error.message)
            else:
                findings.drop(
                    next(column for name, column in findings.cells.layout.measures if name == key), error.message
                )
    return values


def read_date(cells: Cells, zone: tzinfo, findings: Findings) -> datetime | None:
    if not (text := cells[ColumnMeaning.DATE]):
        return None
    try:
        return read_moment(text, zone, may_be_number=may_be_number(cells.title(ColumnMeaning.DATE)))
    except ResultError as error:
        findings.drop(ColumnMeaning.DATE, error.message)
        return None


def read_sizes(cells: Cells, findings: Findings) -> JobSize:
    sizes: dict[ColumnMeaning, JobSize] = {}
    for column, counted in SIZES.items():
        try:
            if text := cells[column]:
                sizes[column] = read_size(text, counted)
        except ResultError as error:
            findings.drop(column, error.message)
    if _has_doubtful_cards(cells, sizes):
        reason = Message("it may be the cards of each node or of all: choose what the column means")
        findings.drop(ColumnMeaning.CARD_COUNT, reason)
        del sizes[ColumnMeaning.CARD_COUNT]
    try:
        return combine_sizes(sizes.values())
    except ResultError as error:
        for column in sizes:
            findings.drop(column, error.message)
        return JobSize()


def _has_doubtful_cards(cells: Cells, sizes: Mapping[ColumnMeaning, JobSize]) -> bool:
    """Whether cards beside several nodes are of each or of all of them."""
    cards = sizes.get(ColumnMeaning.CARD_COUNT)
    if cells.is_ours or cells.layout.has_all_cards or not cards or not cards.cards or cards.nodes:
        return False
    each = sizes.values()
    return any((size.nodes or 1) > 1 for size in each) and not any(size.cards_per_node for size in each)


def read_mode(cells: Cells, findings: Findings) -> Mode | None:
    text = cells[ColumnMeaning.MODE]
    if not text:
        return None
    is_both = _SINGLE.search(text) and _CLUSTER.search(text.replace("单机多卡", ""))
    if is_both or _NEGATED.search(text):
        findings.drop(ColumnMeaning.MODE, Message("it may be cluster or single server"))
        return None
    if _SINGLE.search(text) or text.lower() == "true":  # in a column SINGLESERVER_MODE
        return Mode.SINGLE_SERVER
    if not _CLUSTER.search(text):
        findings.drop(ColumnMeaning.MODE, Message("it is neither cluster nor single server"))
        return None
    return Mode.CLUSTER
