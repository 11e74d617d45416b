"""Rows of tables as text, one by one: CSV and TSV in any encoding, and Excel workbooks."""

import csv
import threading
import warnings
import zipfile
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, islice
from typing import BinaryIO

from openpyxl import load_workbook

from aisbench_core.errors import ResultError
from aisbench_core.history.archives import is_workbook
from aisbench_core.history.lines import lines
from aisbench_core.history.opened import EXOTIC, Opened

Row = tuple[str, ...]

MOST_ROWS = 200_000
MOST_COLUMNS = 512
MOST_WORKBOOK = 64 * 1024**2
"""Bytes that a workbook's parts may unpack to; its texts are kept in memory while it is read."""

MOST_EMPTY = 500
"""Rows after which a sheet ends, although somebody left a blank in its last cell."""

_QUIETLY = threading.Lock()
_DELIMITERS = ",;\t|"


def sheets(file: Opened) -> Iterator[tuple[str, Iterator[Row]]]:
    """Each table of a file: its name ("" if it has the file to itself) and its rows, which may be empty.

    Raises ResultError when the file is damaged or larger than tables are."""
    if is_workbook(file):
        yield from _workbook(file)
    else:
        yield "", _delimited(file)


def _delimited(file: Opened) -> Iterator[Row]:
    text = lines(file)
    head = list(islice(text, 20))
    if any("\0" in line for line in head):
        raise ResultError("it is neither text nor an Excel workbook")
    counts = {delimiter: sum(line.count(delimiter) for line in head) for delimiter in _DELIMITERS}
    delimiter = max(counts, key=lambda each: counts[each])
    try:
        for number, row in enumerate(csv.reader(chain(head, text), delimiter=delimiter)):
            _check(number)
            yield tuple(cell.strip() for cell in row[:MOST_COLUMNS])
    except csv.Error as error:
        raise ResultError(f"it cannot be read as a table: {error}") from error


def _workbook(file: Opened) -> Iterator[tuple[str, Iterator[Row]]]:
    try:
        with file.seekable() as content:
            found = _all_sheets(content)
    except (*EXOTIC, KeyError, TypeError, AttributeError, IndexError, SyntaxError, AssertionError) as error:
        raise ResultError(f"it cannot be read as a workbook: {error or type(error).__name__}") from error
    for name, rows in found:
        yield (name if len(found) > 1 else ""), iter(rows)


def _all_sheets(content: BinaryIO) -> list[tuple[str, list[Row]]]:
    with zipfile.ZipFile(content) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_WORKBOOK:
            raise ResultError(f"it unpacks to more than {MOST_WORKBOOK // 1024**2} MB: save the sheet as CSV")
    content.seek(0)
    with _QUIETLY, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions, which hold no results
        book = load_workbook(content, read_only=True, data_only=True, keep_links=False)
        return [(sheet.title, list(_sheet(sheet))) for sheet in book.worksheets]


def _sheet(sheet: object) -> Iterator[Row]:
    most = min(getattr(sheet, "max_column", None) or MOST_COLUMNS, MOST_COLUMNS)
    rows = sheet.iter_rows(max_col=most, values_only=True)  # type: ignore[attr-defined]  # of either kind
    empty = 0
    for number, row in enumerate(rows):
        _check(number)
        cells = [_text(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        empty = 0 if cells else empty + 1
        if empty > MOST_EMPTY:
            return
        yield tuple(cells)


def _check(number: int) -> None:
    if number > MOST_ROWS:
        raise ResultError(f"it has more than {MOST_ROWS:,} rows: split it")


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return repr(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    return cell.isoformat(" ", "seconds") if isinstance(cell, datetime) else str(cell).strip()
