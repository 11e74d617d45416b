"""Reads rows of tables as text: CSV and TSV in any encoding, Excel workbooks, and exported CSV without guessing."""

import csv
import io
import re
import threading
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from operator import attrgetter
from typing import Any, BinaryIO

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.exchange.readers.archives import EXOTIC, Opened, is_workbook, opened_zip
from aisbench_core.exchange.readers.lines import CHUNK, iter_lines

Row = tuple[str, ...]

MOST_ROWS = 200_000
MOST_COLUMNS = 512
MOST_WORKBOOK = 64 * 1024**2  # unpacked bytes; the shared strings are kept in memory
# XML elements of a workbook: two per cell, one if it is empty. Parsing one takes up to ten microseconds, and three
# million empty cells fit into a hundred kilobytes.
MOST_ELEMENTS = 1_000_000
MOST_SECONDS = 60.0  # for a whole workbook: a thousand sheets can refer to one part
MOST_ROW = 4 * 1024**2  # characters of one row, which may have many lines
MOST_EMPTY = 500  # rows that end a sheet, because a blank in the last cell makes a million

_WARNINGS = threading.Lock()  # warnings.catch_warnings() changes the filters of all threads
_DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r"\ufeff?sep=([,;\t|])", re.I)


class MergedText(str):
    """A cell of a merged range that repeats the range's first cell."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TableSheet:
    """A table of a file: its name ("" if it is the only one) and its rows, which may be empty.

    `delimiter`: of text; empty for a workbook, in which each cell has its place."""

    name: str
    rows: Iterator[Row]
    delimiter: str = ""


def name_column(position: int) -> str:
    """A column as spreadsheets name it: A, B, … AA."""
    name = ""
    while position >= 0:
        position, letter = divmod(position, 26)
        name, position = chr(ord("A") + letter) + name, position - 1
    return name


def read_sheets(file: Opened, seconds: float = MOST_SECONDS) -> Iterator[TableSheet]:
    """Each table of a file.

    Raises ResultError if the file is damaged or exceeds a limit, or a workbook takes longer than `seconds`."""
    if is_workbook(file):
        yield from _read_workbook(file, seconds)
    else:
        text = iter_lines(file)
        head = list(islice(text, 20))
        if any("\0" in line for line in head):  # binary, with the name of a table
            raise ResultError(Message("it is neither text nor an Excel workbook"))
        declared = _SEPARATOR.fullmatch(head[0].strip()) if head else None
        delimiter = declared[1] if declared else _find_delimiter(head)
        yield TableSheet("", _read_delimited(chain(head, text), delimiter), delimiter)


def _find_delimiter(lines: Sequence[str]) -> str:
    """The one that most lines have equally often, also those without decimals."""
    best, delimiter = (0, 0), ","
    for each in _DELIMITERS:
        widths = Counter(len(row) for row in _split_lines(lines, each) if any(row))
        width, rows = max(((width, rows) for width, rows in widths.items() if width > 1), key=_by_rows, default=(0, 0))
        if (rows, width) > best:
            best, delimiter = (rows, width), each
    return delimiter


def _by_rows(width_and_rows: tuple[int, int]) -> tuple[int, int]:
    return width_and_rows[1], width_and_rows[0]


def _split_lines(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return []


def _read_delimited(lines: Iterator[str], delimiter: str) -> Iterator[Row]:
    source = _RowLimit(lines)
    try:
        for number, row in enumerate(csv.reader(source, delimiter=delimiter)):
            _check_row_count(number)
            source.size = 0
            yield tuple(cell.strip() for cell in row[:MOST_COLUMNS])
    except csv.Error as error:
        raise ResultError(Message("it cannot be read as a table: {reason}", reason=error)) from error


class _RowLimit:
    """Limits the lines of one row: a quoted cell may contain line ends."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.size += len(line)
        if self.size > MOST_ROW:
            message = Message(
                "a row is longer than {number} MB: a quotation mark is not closed", number=MOST_ROW // 1024**2
            )
            raise ResultError(message)
        return line


def _read_workbook(file: Opened, seconds: float) -> Iterator[TableSheet]:
    try:
        with file.seekable() as content:
            read = _all_sheets(content, seconds)
    except (*EXOTIC, KeyError, TypeError, AttributeError, IndexError, SyntaxError, AssertionError) as error:
        message = Message("it cannot be read as a workbook: {reason}", reason=error or type(error).__name__)
        raise ResultError(message) from error
    for name, rows in read:
        yield TableSheet(name if len(read) > 1 else "", iter(rows))


def _all_sheets(content: BinaryIO, seconds: float) -> list[tuple[str, list[Row]]]:
    from openpyxl import load_workbook  # takes 0.1 s, which only those wait for who import a workbook

    end = time.monotonic() + seconds
    with opened_zip(content) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_WORKBOOK:
            message = Message(
                "it unpacks to more than {number} MB: save the sheet as CSV", number=MOST_WORKBOOK // 1024**2
            )
            raise ResultError(message)
        _check_parts(archive)
    content.seek(0)
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions
        book = load_workbook(content, read_only=True, data_only=True, keep_links=False)
        return [
            (sheet.title, list(_in_time(_iter_sheet_rows(sheet, _list_merged(content, sheet)), end, seconds)))
            for sheet in book.worksheets
        ]


def _check_parts(archive: zipfile.ZipFile) -> None:
    """Count the elements before parsing them, which is a hundred times slower."""
    elements = 0
    for entry in archive.infolist():
        with archive.open(entry) as part:
            while content := part.read(CHUNK):
                elements += content.count(b"<") - content.count(b"</")
        if elements > MOST_ELEMENTS:
            message = Message(
                "it contains more than {number:,} cells, including empty ones: save the sheet as CSV",
                number=MOST_ELEMENTS,
            )
            raise ResultError(message)


def _in_time(rows: Iterator[Row], end: float, seconds: float) -> Iterator[Row]:
    for row in rows:
        if time.monotonic() > end:
            message = Message("reading it takes longer than {seconds:g} s: save the sheet as CSV", seconds=seconds)
            raise ResultError(message)
        yield row


_MERGED = re.compile(rb'<mergeCell [^<>]*?ref="([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})"')
MOST_MERGED = 20_000  # ranges of a sheet


@dataclass(frozen=True, slots=True)
class _MergedRange:
    """From 0, both ends included."""

    top: int
    bottom: int
    left: int
    right: int


def _list_merged(content: BinaryIO, sheet: object) -> list[_MergedRange]:
    """The merged ranges of a sheet, by their first rows: openpyxl skips them when it reads only."""
    ranges = []
    path = str(getattr(sheet, "_worksheet_path", ""))
    with zipfile.ZipFile(content) as archive:
        if path not in archive.namelist():
            return []
        with archive.open(path) as part:
            before = b""
            while chunk := part.read(CHUNK):
                text = before + chunk
                for left, top, right, bottom in _MERGED.findall(text):
                    columns = (_read_letters(left), min(_read_letters(right), MOST_COLUMNS - 1))
                    ranges.append(_MergedRange(int(top) - 1, int(bottom) - 1, *columns))
                before = text[text.rfind(b"<") :][-200:]
    return sorted(ranges[:MOST_MERGED], key=attrgetter("top"))


def _read_letters(letters: bytes) -> int:
    position = 0
    for letter in letters:
        position = position * 26 + letter - ord("A") + 1
    return position - 1


class _Merging:
    """Repeats the first cell of each merged range in its other cells."""

    def __init__(self, ranges: list[_MergedRange]) -> None:
        self._waiting = ranges[::-1]
        self._open: dict[int, tuple[_MergedRange, str]] = {}  # by first column; ranges do not overlap

    def fill(self, number: int, cells: list[str]) -> None:
        while self._waiting and self._waiting[-1].top <= number:
            one = self._waiting.pop()
            if one.top == number and one.left < len(cells) and cells[one.left]:
                self._open[one.left] = one, cells[one.left]
        for left, (one, text) in list(self._open.items()):
            if number > one.bottom:
                del self._open[left]
                continue
            cells += [""] * (one.right + 1 - len(cells))
            for position in range(left, one.right + 1):
                cells[position] = cells[position] or MergedText(text)


def _iter_sheet_rows(sheet: object, ranges: list[_MergedRange]) -> Iterator[Row]:
    most = min(getattr(sheet, "max_column", None) or MOST_COLUMNS, MOST_COLUMNS)
    rows = sheet.iter_rows(max_col=most)  # type: ignore[attr-defined]  # of either class
    percents: dict[int, bool] = {}
    empty, merging = 0, _Merging(ranges)
    for number, row in enumerate(rows):
        _check_row_count(number)
        cells = [_format_cell(cell, percents) for cell in row]
        while cells and not cells[-1]:  # formatted but empty cells
            cells.pop()
        empty = 0 if cells else empty + 1
        if empty > MOST_EMPTY:
            return
        if cells:
            merging.fill(number, cells)
        yield tuple(cells)


def _check_row_count(number: int) -> None:
    if number > MOST_ROWS:
        raise ResultError(Message("it has more than {number:,} rows: split it", number=MOST_ROWS))


def _format_cell(cell: Any, percents: dict[int, bool]) -> str:
    """The cell as text. `percents`: whether a style shows percent, which takes long to find out."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        style = cell._style_id  # of read-only cells, the only ones here
        if style not in percents:
            percents[style] = str(cell.number_format).endswith("%")
        if percents[style]:
            return f"{value * 100:.12g}%"
        # Excel stores all numbers as floats
        return repr(int(value)) if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15) else repr(value)
    return value.isoformat(" ", "seconds") if isinstance(value, datetime) else str(value).strip()


# Of the header, newest first. A file in which a spreadsheet has changed the separator is read as any table.
BEGINNINGS = (
    "schema_version,ruleset_id,ruleset_basis,report_id,series_id,run_id,",
    "schema_version,ruleset_id,report_id,series_id,run_id,",
)

_GUARDED = re.compile("''*[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")


def is_exported(file: Opened) -> bool:
    """Whether the file is such a CSV."""
    return file.head.decode("utf-8-sig", "replace").startswith(BEGINNINGS)


def exported_rows(file: Opened) -> Iterator[Row]:
    """Header and rows, including the guards against formulas. Raises ResultError if it is damaged or too long."""
    with file.seekable() as content:
        text = io.TextIOWrapper(content, "utf-8-sig", "replace", newline="")
        try:
            for number, row in enumerate(csv.reader(text)):
                _check_row_count(number)
                yield tuple(row)
        except csv.Error as error:
            raise ResultError(Message("it cannot be read as a table: {reason}", reason=error)) from error
        finally:
            text.detach()


def unguard_cell(cell: str) -> str:
    """The cell's text without the quote that keeps spreadsheets from evaluating it."""
    return cell[1:] if cell[:1] == "'" and _GUARDED.match(cell) else cell
