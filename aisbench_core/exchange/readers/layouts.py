"""How the rows of a table are read: what its columns mean, and how it writes numbers and units."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from aisbench_core.base.errors import ResultError
from aisbench_core.domain.results.train_result_info import KEYS, NUMBER, TIMES
from aisbench_core.exchange.readers.cells import MOST_CARDS, DecimalMark, clean_number, find_decimal_mark, read_size
from aisbench_core.exchange.readers.headers import (
    PERCENT,
    SIZES,
    HeaderReading,
    choose_meanings,
    find_header,
    name_columns,
    read_header_unit,
)
from aisbench_core.exchange.readers.results import PARAMETER, ColumnMeaning, Table, is_parameter
from aisbench_core.exchange.readers.rows import Row, TableSheet
from aisbench_core.exchange.readers.units import Rate

LOOK_AHEAD = 200  # rows that tell how a table writes numbers, and which of its columns are used
SAMPLE = 5

_MEASURES = {
    key: (ColumnMeaning(key), *(column for column, name in PERCENT.items() if name == key)) for key in sorted(KEYS)
}


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a table's rows are read.

    `first_row`: of the file, from 1. `rate`, `unknown_unit`: of the throughput's header. `has_all_cards`: its number of
    cards is surely that of all nodes; `doubtful_cards`: the header of one that may be of each."""

    source: str
    header: tuple[str, ...]
    reading: HeaderReading
    positions: Mapping[str, int]
    parameters: tuple[tuple[str, int], ...]
    measures: tuple[tuple[str, ColumnMeaning], ...]
    mark: DecimalMark
    is_percent_certain: bool
    rate: Rate
    unknown_unit: str
    has_all_cards: bool
    doubtful_cards: str = ""
    first_row: int = 1
    delimiter: str = ""


def lay_out(sheet: TableSheet, source: str, mapping: Mapping[str, str]) -> tuple[TableLayout, Iterator[Row]]:
    first = list(islice(sheet.rows, LOOK_AHEAD))
    header, used = find_header(first, mapping)
    rest = first[used:]
    header = name_columns(header, rest, is_positional=not sheet.delimiter)
    layout = build_layout(header, rest, source, mapping, delimiter=sheet.delimiter)
    return replace(layout, first_row=used + 1), chain(rest, sheet.rows)


def build_layout(
    header: tuple[str, ...],
    sample: Sequence[Row],
    source: str,
    mapping: Mapping[str, str],
    settings: Collection[str] | None = None,
    delimiter: str = "",
) -> TableLayout:
    reading = choose_meanings(header, mapping, sample[:LOOK_AHEAD], settings)
    positions = {meaning: header.index(name) for name, meaning in reading.meanings.items()}
    measures = [(key, column) for key, columns in _MEASURES.items() for column in columns if column in positions]
    numbers = [positions[column] for key, column in measures if key not in TIMES]
    cells = [row[position] for row in sample[:LOOK_AHEAD] for position in numbers if position < len(row)]
    throughput = positions.get(ColumnMeaning.THROUGHPUT_RATIO)
    rate, unknown = read_header_unit(header[throughput]) if throughput is not None else (Rate(), "")
    mark = find_decimal_mark(cells, has_semicolons=delimiter == ";")
    at = positions.get(ColumnMeaning.ACCURACY_PCT, positions.get(ColumnMeaning.ACCURACY, -1))
    percents = [row[at] for row in sample if 0 <= at < len(row)]
    has_all_cards = _counts_all_cards(header, sample[:LOOK_AHEAD], positions, mapping)
    return TableLayout(
        source=source,
        header=header,
        reading=reading,
        positions=positions,
        parameters=tuple(
            (meaning.removeprefix(PARAMETER), position)
            for meaning, position in positions.items()
            if is_parameter(meaning)
        ),
        measures=tuple(measures),
        mark=mark,
        is_percent_certain=any(_exceeds_one(cell, mark) for cell in percents),
        rate=rate,
        unknown_unit=unknown,
        has_all_cards=has_all_cards,
        doubtful_cards="" if has_all_cards else _find_doubtful_cards(header, sample[:LOOK_AHEAD], positions),
        delimiter=delimiter,
    )


_ALL_CARDS = re.compile(r"[总共]|合计|全部|\b(?:total|all|(?:rank|world) ?size|card count)\b", re.I)


def _counts_all_cards(
    header: Sequence[str], sample: Sequence[Row], positions: Mapping[str, int], mapping: Mapping[str, str]
) -> bool:
    """Whether a number of cards is of all nodes: by its title, by a person, or as it grows with the nodes."""
    if (at := positions.get(ColumnMeaning.CARD_COUNT, -1)) < 0:
        return False
    if header[at] in mapping or _ALL_CARDS.search(header[at].replace("_", " ")):
        return True
    pairs = {
        (nodes, cards)
        for row in sample
        if (nodes := _count_size(row, positions, ColumnMeaning.NODE_COUNT))
        and (cards := _count_size(row, positions, ColumnMeaning.CARD_COUNT))
    }
    is_growing = len({nodes for nodes, _ in pairs}) > 1 and len({cards / nodes for nodes, cards in pairs}) == 1
    return is_growing or any(cards > MOST_CARDS for _, cards in pairs)


def _find_doubtful_cards(header: Sequence[str], sample: Sequence[Row], positions: Mapping[str, int]) -> str:
    """The header of cards beside several nodes, where nothing says whether they are of each node."""
    if (at := positions.get(ColumnMeaning.CARD_COUNT, -1)) < 0 or ColumnMeaning.CARDS_PER_NODE in positions:
        return ""
    named = (ColumnMeaning.NODE_COUNT, ColumnMeaning.SCALE)
    return header[at] if any(_count_size(row, positions, column) > 1 for row in sample for column in named) else ""


def _count_size(row: Row, positions: Mapping[str, int], column: ColumnMeaning) -> int:
    """Nodes or cards in a row's cell; 0 for none."""
    at = positions.get(column, -1)
    try:
        size = read_size(row[at], SIZES[column]) if 0 <= at < len(row) else None
    except ResultError:
        return 0
    return (size and (size.cards if column is ColumnMeaning.CARD_COUNT else size.nodes)) or 0


def _exceeds_one(text: str, mark: DecimalMark) -> bool:
    try:
        number = clean_number(text, mark)
    except ResultError:
        return False
    return bool(NUMBER.fullmatch(number)) and float(number) > 1


def describe_table(layout: TableLayout, rows: Sequence[Row]) -> Table:
    reading = layout.reading
    return Table(
        layout.source,
        layout.header,
        reading.meanings,
        tuple(rows[:SAMPLE]),
        reading.not_understood,
        reading.left_out,
        layout.doubtful_cards,
    )
