"""Excel: typed cells, a header that stays in view, and a second sheet that explains the columns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from duckdb import DuckDBPyConnection
from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.model.columns import Kind
from aisbench_core.warehouse.exporting.columns import Sheet
from aisbench_core.warehouse.exporting.parts import Parameters
from aisbench_core.warehouse.values.exports import OnRows

BATCH = 1000
# Rows of a sheet, without its header.
MAX_ROWS = 1_048_575

# UTF-16 code units of a cell: an emoji has two.
MAX_CHARACTERS = 32_767

OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd hh:mm:ss",
}
WIDTH = 18
_EXPLAINED = (("column", 26), ("type", 10), ("unit", 18), ("meaning", 110))

# Bytes; a larger workbook is assembled in a temporary file.
IN_MEMORY = 64 * 1024 * 1024

Put = Callable[[int, int, Any], object]


def write(
    cur: DuckDBPyConnection,
    sheet: Sheet,
    parts: Sequence[Parameters],
    target: IO[bytes],
    mark: str,
    name: str,
    on_rows: OnRows,
) -> int:
    """Write all rows; returns how many. `mark`: printed above each page, and kept in the file's properties.

    Raises SpecError when there are more than a sheet can hold, and OSError when the target cannot be written."""
    with _open_workbook(target) as book:
        book.set_properties({"title": sheet.schema, "comments": mark})
        bold = book.add_format({"bold": True, "bottom": 1})
        page = book.add_worksheet(name)
        page.set_header(f"&L{sheet.schema}&R{mark.replace('&', '&&')}")
        page.set_landscape()
        page.set_paper(9)  # A4
        page.repeat_rows(0)
        page.freeze_panes(1, 0)
        page.set_column(0, len(sheet.columns) - 1, WIDTH)
        page.write_row(0, 0, sheet.names, bold)
        puts = _choose_puts(page, sheet)
        count = 0
        for part in parts:
            cur.execute(sheet.select("*"), part)
            while rows := cur.fetchmany(BATCH):
                _fill_sheet(puts, rows, count + 1)
                count += len(rows)
                on_rows(count)
        page.autofilter(0, 0, count, len(sheet.columns) - 1)
        _write_explanations(book.add_worksheet("Columns"), sheet, mark, bold)
    return count


@contextmanager
def _open_workbook(target: IO[bytes]) -> Iterator[Workbook]:
    # xlsxwriter cannot close a workbook any more after a failed write, so it never writes to the target itself.
    with SpooledTemporaryFile(IN_MEMORY) as draft:
        try:
            with Workbook(draft, OPTIONS) as book:
                yield book
        except FileCreateError as error:  # around what the system said of a temporary file
            raise error.args[0] from error
        draft.seek(0)
        copyfileobj(draft, target)


def _choose_puts(page: Any, sheet: Sheet) -> list[Put]:
    """How each column's cells are written; text always as text, so that no spreadsheet takes it for a formula."""

    def text(row: int, column: int, value: str) -> object:
        return page.write_string(row, column, _truncate_text(value))

    by_kind: dict[Kind, Put] = {
        Kind.TEXT: text,
        Kind.INTEGER: page.write_number,
        Kind.NUMBER: page.write_number,
        Kind.FLAG: page.write_boolean,
        Kind.TIME: page.write_datetime,
    }
    return [by_kind[column.kind] for column in sheet.columns]


def _truncate_text(text: str) -> str:
    """The text, or as much as a cell may hold: Excel calls a file with more damaged."""
    if 2 * len(text) <= MAX_CHARACTERS:  # nearly always, and much faster than encoding it
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * MAX_CHARACTERS:
        return text
    return units[: 2 * MAX_CHARACTERS - 2].decode("utf-16-le", "ignore") + "…"


def _fill_sheet(puts: Sequence[Put], rows: Sequence[tuple[Any, ...]], first: int) -> None:
    if first + len(rows) - 1 > MAX_ROWS:
        problem = Message("a sheet of Excel holds {most_rows:,} rows: choose csv", most_rows=MAX_ROWS)
        raise SpecError(Message("export"), [Problem("format", problem, "xlsx")])
    for number, row in enumerate(rows, start=first):
        for column, value in enumerate(row):
            if value is not None:
                puts[column](number, column, value)


def _write_explanations(page: Any, sheet: Sheet, mark: str, bold: Any) -> None:
    for column, (title, width) in enumerate(_EXPLAINED):
        page.set_column(column, column, width)
        page.write_string(0, column, title, bold)
    rows = [(column.name, str(column.kind), column.unit, column.meaning.replace("`", "")) for column in sheet.columns]
    for number, row in enumerate([*rows, ("", "", "", mark)], start=1):
        for column, value in enumerate(row):
            page.write_string(number, column, value)
    page.freeze_panes(1, 0)
