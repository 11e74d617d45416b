"""Reads rows of tables as text: CSV and TSV in any encoding, Excel workbooks, and exported CSV without guessing."""

import csv
import io
import re
import threading
import time
import warnings
import zipfile
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, islice
from typing import BinaryIO

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


def read_sheets(file: Opened, seconds: float = MOST_SECONDS) -> Iterator[tuple[str, Iterator[Row]]]:
    """Each table of a file: its name ("" if it is the only one) and its rows, which may be empty.

    Raises ResultError if the file is damaged or exceeds a limit, or a workbook takes longer than `seconds`."""
    if is_workbook(file):
        yield from _read_workbook(file, seconds)
    else:
        yield "", _read_delimited(file)


def _read_delimited(file: Opened) -> Iterator[Row]:
    text = iter_lines(file)
    head = list(islice(text, 20))
    if any("\0" in line for line in head):  # binary, with the name of a table
        raise ResultError(Message("it is neither text nor an Excel workbook"))
    counts = {delimiter: sum(line.count(delimiter) for line in head) for delimiter in _DELIMITERS}
    delimiter = max(counts, key=lambda delimiter: counts[delimiter])
    source = _RowLimit(chain(head, text))
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


def _read_workbook(file: Opened, seconds: float) -> Iterator[tuple[str, Iterator[Row]]]:
    try:
        with file.seekable() as content:
            read = _all_sheets(content, seconds)
    except (*EXOTIC, KeyError, TypeError, AttributeError, IndexError, SyntaxError, AssertionError) as error:
        message = Message("it cannot be read as a workbook: {reason}", reason=error or type(error).__name__)
        raise ResultError(message) from error
    for name, rows in read:
        yield (name if len(read) > 1 else ""), iter(rows)


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
        return [(sheet.title, list(_in_time(_iter_sheet_rows(sheet), end, seconds))) for sheet in book.worksheets]


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


def _iter_sheet_rows(sheet: object) -> Iterator[Row]:
    most = min(getattr(sheet, "max_column", None) or MOST_COLUMNS, MOST_COLUMNS)
    rows = sheet.iter_rows(max_col=most, values_only=True)  # type: ignore[attr-defined]  # of either class
    empty = 0
    for number, row in enumerate(rows):
        _check_row_count(number)
        cells = [_format_cell(cell) for cell in row]
        while cells and not cells[-1]:  # formatted but empty cells
            cells.pop()
        empty = 0 if cells else empty + 1
        if empty > MOST_EMPTY:
            return
        yield tuple(cells)


def _check_row_count(number: int) -> None:
    if number > MOST_ROWS:
        raise ResultError(Message("it has more than {number:,} rows: split it", number=MOST_ROWS))


def _format_cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):  # Excel stores all numbers as floats
        return repr(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    return cell.isoformat(" ", "seconds") if isinstance(cell, datetime) else str(cell).strip()


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
    return cell[1:] if _GUARDED.match(cell) else cell
