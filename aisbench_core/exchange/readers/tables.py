"""Parses tables of results, one per row, and recognizes columns by English, Chinese and upstream's headers."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, tzinfo
from itertools import islice
from typing import Any, cast

from aisbench_core.base.errors import ConfigError, ResultError
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.domain.results.train_result_info import (
    AS_TEXT,
    KEYS,
    TIMES,
    is_placeholder,
    normalize_values,
    read_measure,
    read_time,
)
from aisbench_core.exchange.readers.names import package_facts
from aisbench_core.exchange.readers.results import (
    ColumnMeaning,
    ParsedResult,
    Results,
    Table,
    Unread,
    compute_identities,
)
from aisbench_core.exchange.readers.rows import Row, unguard_cell
from aisbench_core.exchange.readers.units import LONGEST_HEADER, unit_of
from aisbench_core.model import Mode, TrainResultInfo
from aisbench_core.model.columns import KEYS as BLOCK_COLUMNS
from aisbench_core.model.spec import canonical_json

HEADER_WITHIN = 20  # rows; titles are often above the header
SAMPLE = 5
OURS = "aisbench-compliance-csv/"

_NOTHING = frozenset(
    {"", "-", "--", "/", "n/a", "na", "nan", "none", "null", "无", "未测", "未测试", "暂无", "not measured"}
)
_GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
_SINGLE = re.compile(r"single|单", re.I)
# The columns that are copied as text to a field of the same name.
_TEXTS = [
    column for column in ColumnMeaning if column in {field.name for field in fields(ParsedResult) if field.type is str}
]
_PERCENT = {
    ColumnMeaning.ACCURACY_PCT: ColumnMeaning.ACCURACY,
    ColumnMeaning.RESOURCE_UTIL_PCT: ColumnMeaning.RESOURCE_UTIL_RATIO,
}


def table_in(rows: Iterator[Row], source: str) -> Table | None:
    """A table's columns and first rows; None if it is empty."""
    header, sample = _find_header(rows, {})
    if not header:
        return None
    return table_of(header, [*islice((row for row in sample if any(row)), SAMPLE)], source)


def read_table(rows: Iterator[Row], source: str, mapping: Mapping[str, str], zone: tzinfo) -> Results:
    """Every row with a throughput or an accuracy. Raises ConfigError for an unknown meaning in the mapping."""
    header, rest = _find_header(rows, mapping)
    yield from read_rows(header, rest, source, mapping, zone)


def table_of(header: tuple[str, ...], rows: Sequence[Row], source: str) -> Table:
    """A table with this header."""
    return Table(source, header, guess_meanings(header), tuple(rows[:SAMPLE]))


def read_rows(
    header: tuple[str, ...], rows: Iterator[Row], source: str, mapping: Mapping[str, str], zone: tzinfo
) -> Results:
    """The same for rows below a known header."""
    columns = choose_meanings(header, mapping)
    if not RESULTS & set(columns.values()):
        message = Message("no column is recognized as throughput or accuracy: {columns}", columns=_join_names(header))
        yield Unread(source, message)
        return
    positions = {column: header.index(name) for name, column in columns.items()}
    without = 0
    for number, row in enumerate(rows, start=1):
        cells = _Cells(row, positions, header)
        if any(_value_text(cells, key) for key in AS_TEXT):
            yield _parse_row(cells, source, number, zone)
        else:
            without += any(row)
    if without:
        yield Unread(source, Message("rows without a throughput or an accuracy: {count}", count=without))


@dataclass(frozen=True, slots=True)
class _Cells:
    """A row's cells by meaning; missing ones are empty text."""

    row: Row
    positions: Mapping[ColumnMeaning, int]
    header: Sequence[str]

    def __getitem__(self, column: ColumnMeaning) -> str:
        position = self.positions.get(column, len(self.row))
        text = unguard_cell(self.row[position]).strip() if position < len(self.row) else ""
        return "" if text.lower() in _NOTHING else text

    @property
    def is_ours(self) -> bool:
        """Whether a console exported it, where 0 is a measurement and not a placeholder."""
        return any(cell.startswith(OURS) for cell in self.row[:1])

    def title(self, column: ColumnMeaning) -> str:
        """The header of the column with this meaning; empty without one."""
        return self.header[self.positions[column]] if column in self.positions else ""

    @property
    def raw(self) -> str:
        return canonical_json({name: cell for name, cell in zip(self.header, self.row, strict=False) if cell})


def read_exported(rows: Iterator[Row], source: str, zone: tzinfo) -> Results:
    """Every row of a CSV that a console exported, including runs without a result, with its unchanged cells."""
    header = next(rows, ())
    columns = choose_meanings(header, {})
    positions = {column: header.index(name) for name, column in columns.items()}
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            message = Message(
                "row {number} has {count} cells, its header {expected}: the file is truncated",
                number=number,
                count=len(row),
                expected=len(header),
            )
            yield Unread(source, message)
            continue
        result = _parse_row(_Cells(row, positions, header), source, number, zone)
        # Empty, it says that all is known; a file of an earlier console, without it, says nothing.
        cells = zip(header, row, strict=True)
        exported = {name: unguard_cell(cell) for name, cell in cells if cell or name == "not_known"}
        yield replace(result, exported=exported)


def _parse_row(cells: _Cells, source: str, number: int, zone: tzinfo) -> ParsedResult:
    problems: list[Message] = []
    values = {key: text for key in KEYS if (text := _value_text(cells, key))}
    placeholders = tuple(sorted(key for key in values if not cells.is_ours and is_placeholder(key, values[key])))
    measured = {key: text for key, text in values.items() if key not in placeholders}
    info = TrainResultInfo(**_read_measures(measured, zone, problems))  # type: ignore[arg-type]  # by name
    texts = {str(column): cells[column] for column in _TEXTS}
    texts["throughput_unit"], unit_problem = _find_unit(cells)
    for field, fact in package_facts(texts["workpath"], source).items():
        texts[field] = texts[field] or str(fact)
    nodes, cards = _derive_size(cells)
    mode = None
    if text := cells[ColumnMeaning.MODE]:  # "true" in a column SINGLESERVER_MODE
        mode = Mode.SINGLE_SERVER if _SINGLE.search(text) or text.lower() == "true" else Mode.CLUSTER
    if cells[ColumnMeaning.VALIDITY] not in ("", "valid", "claimed"):
        problems.append(Message("the table says it is {validity}", validity=cells[ColumnMeaning.VALIDITY]))
    identity, values_identity = compute_identities(_pick_identity_values(cells, values), texts["job_id"])
    return ParsedResult(
        source=source,
        number=number,
        identity=identity,
        values_identity=values_identity,
        raw=cells.raw,
        info=info,
        placeholders=placeholders,
        mode=mode,
        node_count=nodes,
        cards_per_node=cards,
        rehearsal=cells[ColumnMeaning.DIVISION] == "rehearsal",
        started_at=info.total_start_time,
        ended_at=info.total_end_time,
        problems=tuple(problems),
        unit_problem=None if info.throughput_ratio is None else unit_problem,
        is_row=True,
        **cast("dict[str, Any]", texts),
    )


def _find_unit(cells: _Cells) -> tuple[str, Message | None]:
    """The unit of a row's throughput, empty if none is stated, and the problem if it is not known."""
    cell, header = cells[ColumnMeaning.THROUGHPUT_UNIT], cells.title(ColumnMeaning.THROUGHPUT_RATIO)
    if cells.is_ours:
        return cell, None
    unit = ""
    stated = [(text, header) for text in _stated_units(header)]
    for text, column in (*stated, (cell, cells.title(ColumnMeaning.THROUGHPUT_UNIT))):
        if text and not (unit := unit_of(text)):
            return "", Message(
                "column {column!r}: unit {unit!r} is not known, so the throughput is left out; convert the numbers if "
                "necessary, and state their unit for all results (--unit, or Throughput unit on the page)",
                column=column[:80],
                unit=text[:40],
            )
    return unit, None


def _value_text(cells: _Cells, key: str) -> str:
    """A value's text in upstream's form: without thousands separators, percentages as fractions."""
    for column in (ColumnMeaning(key), *(column for column, name in _PERCENT.items() if name == key)):
        text = cells[column]
        if text and key in TIMES:
            return text
        if text:
            text = text.replace(",", "") if _GROUPED.fullmatch(text.rstrip("%").strip()) else text
            if not text.endswith("%") and column not in _PERCENT:
                return text
            percent = text.rstrip("% ")
            try:
                return repr(read_measure("accuracy", percent) / 100)
            except ResultError:
                return percent
    return ""


def _read_measures(texts: Mapping[str, str], zone: tzinfo, problems: list[Message]) -> dict[str, float | datetime]:
    values: dict[str, float | datetime] = {}
    for key, text in sorted(texts.items()):
        try:
            values[key] = read_time(text, zone) if key in TIMES else read_measure(key, text)
        except ResultError as error:
            problems.append(join_parts(": ", [key, error.message]) if key in TIMES else error.message)
    return values


def _pick_identity_values(cells: _Cells, values: Mapping[str, str]) -> dict[str, object]:
    """What identifies a row's run. Without notes and names of people, which may be corrected later."""
    if cells[ColumnMeaning.RUN_ID]:
        return {"run_id": cells[ColumnMeaning.RUN_ID]}
    columns = (
        *(ColumnMeaning.MODEL, ColumnMeaning.WORKLOAD, ColumnMeaning.FRAMEWORK_VERSION),
        *(ColumnMeaning.NODE_COUNT, ColumnMeaning.FLAVOR, ColumnMeaning.WORKPATH),
    )
    return {**normalize_values(values), **{str(column): cells[column] for column in columns}}


def _derive_size(cells: _Cells) -> tuple[int | None, int | None]:
    nodes, cards, total = (
        _parse_count(cells[column])
        for column in (ColumnMeaning.NODE_COUNT, ColumnMeaning.CARDS_PER_NODE, ColumnMeaning.CARD_COUNT)
    )
    if total and nodes and not cards and total % nodes == 0:
        cards = total // nodes
    if total and cards and not nodes and total % cards == 0:
        nodes = total // cards
    return nodes, cards


def _parse_count(text: str) -> int | None:
    digits = re.match(r"\d{1,5}(?!\d)", text, re.ASCII)
    return int(digits[0]) or None if digits else None


def _find_header(rows: Iterator[Row], mapping: Mapping[str, str]) -> tuple[tuple[str, ...], Iterator[Row]]:
    """The header, with unique names, and the rows below it. The header is the row with most recognized names."""
    first = list(islice(rows, HEADER_WITHIN))
    # A recognized or mapped header weighs more than text; half a point prefers any text to an empty row.
    mapped = [sum(2 for cell in row if cell in mapping) for row in first]
    scores = [len(guess_meanings(row)) + found + 0.5 * bool(any(row)) for row, found in zip(first, mapped, strict=True)]
    if not any(scores):
        return (), iter(())
    best = scores.index(max(scores))
    return _number_duplicates(first[best]), (row for part in (first[best + 1 :], rows) for row in part)


def _number_duplicates(names: Row) -> tuple[str, ...]:
    counts = Counter[str]()
    unique = []
    for name in names:
        counts[name] += 1
        unique.append(f"{name} ({counts[name]})" if name and counts[name] > 1 else name)
    return tuple(unique)


def _join_names(header: Sequence[str]) -> str:
    named = [name for name in header if name]
    return ", ".join(name[:40] for name in named[:12]) + (", …" if len(named) > 12 else "") if named else "it is empty"


# Text in brackets. An unclosed bracket takes the rest, and quantifiers are possessive: linear time.
_UNIT = re.compile(r"[(\[（【](?:([^)\]）】]*+)[)\]）】]|[^)\]）】]*+\Z)")

# What looks like a rate of any kind, outside of brackets.
_RATIO = re.compile(r"/|\bper\b|[单每]卡|[单每]机", re.I)

# What brackets in a header say besides a unit; numbers tell columns of one name apart.
_NO_UNIT = re.compile(r"|\d{1,2}|avg|average|mean|median|total|平均值?|均值|中位数|总|合计")


def _stated_units(header: str) -> list[str]:
    """The texts in a header that should be its unit: those in brackets, and the rest if it is a rate and not a name."""
    header = header[:LONGEST_HEADER]
    rest = _UNIT.sub(" ", header).strip()
    inside = (found[0][1:] if found[1] is None else found[1] for found in _UNIT.finditer(header))
    texts = [text.strip() for text in inside if not _NO_UNIT.fullmatch(_normalize_header(text))]
    return [rest, *texts] if unit_of(rest) or _RATIO.search(rest) else texts


_AS_PERCENT = {ratio: percent for percent, ratio in _PERCENT.items()}


# A table without any of these has no results.
RESULTS = frozenset({ColumnMeaning.THROUGHPUT_RATIO, ColumnMeaning.ACCURACY, ColumnMeaning.ACCURACY_PCT})


def guess_meanings(headers: Sequence[str]) -> dict[str, ColumnMeaning]:
    """The recognized meanings of headers; of several with the same meaning, the first one counts."""
    columns: dict[str, ColumnMeaning] = {}
    for header in headers:
        column = _guess_meaning(header)
        if column and column not in columns.values():
            columns[header] = column
    return columns


def choose_meanings(headers: Sequence[str], mapping: Mapping[str, str]) -> dict[str, ColumnMeaning]:
    """The recognized meanings, overridden by `mapping`. Raises ConfigError for an unknown meaning."""
    explicit = {header: _parse_meaning(header, mapping[header]) for header in headers if header in mapping}
    rest = {header: column for header, column in guess_meanings(headers).items() if column not in explicit.values()}
    return {header: column for header, column in {**rest, **explicit}.items() if column}


def _parse_meaning(header: str, word: str) -> ColumnMeaning | None:
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


def _guess_meaning(header: str) -> ColumnMeaning | None:
    if len(header) > LONGEST_HEADER:
        return None
    words = _normalize_header(header)
    unit = _UNIT.search(header)
    # A unit in brackets is only removed if it is closed: otherwise it may be part of the name.
    bare = _normalize_header(_UNIT.sub(lambda match: match[0] if match[1] is None else " ", header))
    column = _BY_NAME.get(words) or _BY_NAME.get(bare)
    word = _normalize_header(unit[1] or "") if unit else ""
    if column in _AS_PERCENT and ("%" in header or word in ("pct", "percent", "百分比")):
        return _AS_PERCENT[column]
    return column


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
