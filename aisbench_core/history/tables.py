"""Results in tables: one for each row below the header."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, tzinfo
from itertools import islice
from typing import Any, cast

from aisbench_core.errors import ResultError
from aisbench_core.history.columns import RESULTS, chosen, guessed
from aisbench_core.history.exported import unguarded
from aisbench_core.history.found import ColumnMeaning, FoundResult, Table, Unread
from aisbench_core.history.identity import identities
from aisbench_core.history.packages import told_by
from aisbench_core.history.rows import Row
from aisbench_core.messages import Message, joined
from aisbench_core.model import Mode, TrainResultInfo
from aisbench_core.model.spec import canonical_json
from aisbench_core.results.train_result_info import (
    AS_TEXT,
    KEYS,
    TIMES,
    is_placeholder,
    normal,
    read_measure,
    read_time,
)

HEADER_WITHIN = 20
"""People put titles above their tables, but not whole pages."""

SAMPLE = 5
OURS = "aisbench-compliance-csv/"

_NOTHING = frozenset(
    {"", "-", "--", "/", "n/a", "na", "nan", "none", "null", "无", "未测", "未测试", "暂无", "not measured"}
)
_GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
_SINGLE = re.compile(r"single|单", re.I)
_TEXTS = (
    ColumnMeaning.MODEL,
    ColumnMeaning.WORKLOAD,
    ColumnMeaning.FRAMEWORK,
    ColumnMeaning.FRAMEWORK_VERSION,
    ColumnMeaning.FLAVOR,
    ColumnMeaning.ENGINE_VERSION,
    ColumnMeaning.ACCELERATOR,
    ColumnMeaning.DATASET,
    ColumnMeaning.JOB_ID,
    ColumnMeaning.JOB_NAME,
    ColumnMeaning.WORKPATH,
    ColumnMeaning.CREATED_BY,
    ColumnMeaning.NOTE,
    ColumnMeaning.RUN_ID,
)
_PERCENT = {ColumnMeaning.ACCURACY_PCT: "accuracy", ColumnMeaning.RESOURCE_UTIL_PCT: "resource_util_ratio"}


def table_in(rows: Iterator[Row], source: str) -> Table | None:
    """A table's columns and first rows; None when there is nothing in it."""
    header, sample = _header(rows, {})
    if not header:
        return None
    return Table(source, header, guessed(header), tuple(islice((row for row in sample if any(row)), SAMPLE)))


def read_table(
    rows: Iterator[Row], source: str, mapping: Mapping[str, str], zone: tzinfo
) -> Iterator[FoundResult | Unread]:
    """Every row that holds a throughput or an accuracy. Raises ConfigError when the mapping names no column."""
    header, below = _header(rows, mapping)
    yield from read_rows(header, below, source, mapping, zone)


def table_of(header: tuple[str, ...], rows: Sequence[Row], source: str) -> Table:
    """A table whose header is known."""
    return Table(source, header, guessed(header), tuple(rows[:SAMPLE]))


def read_rows(
    header: tuple[str, ...], below: Iterator[Row], source: str, mapping: Mapping[str, str], zone: tzinfo
) -> Iterator[FoundResult | Unread]:
    """The same for rows whose header is known."""
    columns = chosen(header, mapping)
    if not RESULTS & set(columns.values()):
        yield Unread(
            source, Message("no column is known to be a throughput or an accuracy: {columns}", columns=_listed(header))
        )
        return
    places = {column: header.index(name) for name, column in columns.items()}
    without = 0
    for number, row in enumerate(below, start=1):
        found = _read_row(_Cells(row, places, header), source, number, zone) if any(row) else None
        without += bool(any(row) and not found)
        if found:
            yield found
    if without:
        yield Unread(source, Message("rows that hold neither a throughput nor an accuracy: {count}", count=without))


@dataclass(frozen=True, slots=True)
class _Cells:
    """A row's cells by what they mean; what is not there is empty text."""

    row: Row
    places: Mapping[ColumnMeaning, int]
    header: Sequence[str]

    def __getitem__(self, column: ColumnMeaning) -> str:
        place = self.places.get(column, len(self.row))
        text = self.row[place] if place < len(self.row) else ""
        text = unguarded(text).strip()
        return "" if text.lower() in _NOTHING else text

    @property
    def is_ours(self) -> bool:
        """Whether our own export wrote it, in which 0 is a measurement."""
        return any(cell.startswith(OURS) for cell in self.row[:1])

    @property
    def raw(self) -> str:
        return canonical_json({name: cell for name, cell in zip(self.header, self.row, strict=False) if cell})


def read_exported(rows: Iterator[Row], source: str, zone: tzinfo) -> Iterator[FoundResult | Unread]:
    """Every row of a CSV of runs that a console exported, also of runs without a result, with its cells as they are."""
    header = next(rows, ())
    columns = chosen(header, {})
    places = {column: header.index(name) for name, column in columns.items()}
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            yield Unread(
                source,
                Message(
                    "row {number} has {count} cells, its header {expected}: the file is cut off",
                    number=number,
                    count=len(row),
                    expected=len(header),
                ),
            )
            continue
        found = _found(_Cells(row, places, header), source, number, zone)
        exported = {name: unguarded(cell) for name, cell in zip(header, row, strict=True) if cell}
        yield replace(found, exported=exported)


def _read_row(cells: _Cells, source: str, number: int, zone: tzinfo) -> FoundResult | None:
    found = _found(cells, source, number, zone)
    return found if any(_told(cells, key) for key in AS_TEXT) else None


def _found(cells: _Cells, source: str, number: int, zone: tzinfo) -> FoundResult:
    problems: list[str] = []
    told = {key: text for key in KEYS if (text := _told(cells, key))}
    placeholders = tuple(sorted(key for key in told if not cells.is_ours and is_placeholder(key, told[key])))
    values = _values({key: text for key, text in told.items() if key not in placeholders}, zone, problems)
    info = TrainResultInfo(**values)  # type: ignore[arg-type]  # by name
    texts = {str(column): cells[column] for column in _TEXTS}
    package = told_by(texts["workpath"], source)
    for field in fields(package):
        texts[field.name] = texts[field.name] or getattr(package, field.name)
    nodes, cards = _size(cells)
    if cells[ColumnMeaning.VALIDITY] not in ("", "valid", "claimed"):
        problems.append(Message("the table calls it {validity}", validity=cells[ColumnMeaning.VALIDITY]))
    identity, values_identity = identities(_distinguishing(cells, told), texts["job_id"])
    return FoundResult(
        source=source,
        number=number,
        identity=identity,
        values_identity=values_identity,
        raw=cells.raw,
        info=info,
        placeholders=placeholders,
        mode=_mode(cells),
        node_count=nodes,
        cards_per_node=cards,
        rehearsal=cells[ColumnMeaning.DIVISION] == "rehearsal",
        started_at=info.total_start_time,
        ended_at=info.total_end_time,
        problems=tuple(problems),
        is_row=True,
        **cast("dict[str, Any]", texts),
    )


def _told(cells: _Cells, key: str) -> str:
    """A value's text as upstream would write it: without groups of digits, percent as a share."""
    for column in (ColumnMeaning(key), *(column for column, name in _PERCENT.items() if name == key)):
        text = cells[column]
        if text and key in TIMES:
            return text
        if text:
            text = text.replace(",", "") if _GROUPED.fullmatch(text.rstrip("%").strip()) else text
            is_percent = text.endswith("%") or column in _PERCENT
            return _share(text.rstrip("% ")) if is_percent else text
    return ""


def _share(percent: str) -> str:
    try:
        return repr(read_measure("accuracy", percent) / 100)
    except ResultError:
        return percent


def _values(told: Mapping[str, str], zone: tzinfo, problems: list[str]) -> dict[str, float | datetime]:
    values: dict[str, float | datetime] = {}
    for key, text in sorted(told.items()):
        try:
            values[key] = read_time(text, zone) if key in TIMES else read_measure(key, text)
        except ResultError as error:
            problems.append(joined(": ", [key, error.message]) if key in TIMES else error.message)
    return values


def _distinguishing(cells: _Cells, told: Mapping[str, str]) -> dict[str, object]:
    """What makes a row another run than its neighbours. Notes and people may be mended later without making one."""
    if cells[ColumnMeaning.RUN_ID]:
        return {"run_id": cells[ColumnMeaning.RUN_ID]}
    others = (
        ColumnMeaning.MODEL,
        ColumnMeaning.WORKLOAD,
        ColumnMeaning.FRAMEWORK_VERSION,
        ColumnMeaning.NODE_COUNT,
        ColumnMeaning.FLAVOR,
        ColumnMeaning.WORKPATH,
    )
    return {**normal(told), **{str(column): cells[column] for column in others}}


def _mode(cells: _Cells) -> Mode | None:
    text = cells[ColumnMeaning.MODE]
    if not text:
        return None
    return Mode.SINGLE_SERVER if _SINGLE.search(text) or text.lower() == "true" else Mode.CLUSTER


def _size(cells: _Cells) -> tuple[int | None, int | None]:
    nodes, cards, total = (
        _count(cells[column])
        for column in (ColumnMeaning.NODE_COUNT, ColumnMeaning.CARDS_PER_NODE, ColumnMeaning.CARD_COUNT)
    )
    if total and nodes and not cards and total % nodes == 0:
        cards = total // nodes
    if total and cards and not nodes and total % cards == 0:
        nodes = total // cards
    return nodes, cards


def _count(text: str) -> int | None:
    digits = re.match(r"\d{1,5}(?!\d)", text, re.ASCII)
    return int(digits[0]) or None if digits else None


def _header(rows: Iterator[Row], mapping: Mapping[str, str]) -> tuple[tuple[str, ...], Iterator[Row]]:
    """The header, with names that differ, and the rows below it; the first of the rows that tell most is the header."""
    first = list(islice(rows, HEADER_WITHIN))
    scores = [len(guessed(row)) + sum(2 for cell in row if cell in mapping) + 0.5 * bool(any(row)) for row in first]
    if not any(scores):
        return (), iter(())
    best = scores.index(max(scores))
    return _distinct(first[best]), (row for part in (first[best + 1 :], rows) for row in part)


def _distinct(names: Row) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(f"{name} ({seen[name]})" if name and seen[name] > 1 else name)
    return tuple(found)


def _listed(header: Sequence[str]) -> str:
    named = [name for name in header if name]
    return ", ".join(name[:40] for name in named[:12]) + (", …" if len(named) > 12 else "") if named else "it is empty"
