"""Reads the CSV of runs that a console exported, without guessing or trimming."""

import csv
import io
import re
from collections.abc import Iterator

from aisbench_core.errors import ResultError
from aisbench_core.importing.readers.rows import MOST_ROWS, Row
from aisbench_core.importing.readers.sources import Opened
from aisbench_core.messages import Message

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
                if number > MOST_ROWS:
                    raise ResultError(Message("it has more than {number:,} rows: split it", number=MOST_ROWS))
                yield tuple(row)
        except csv.Error as error:
            raise ResultError(Message("it cannot be read as a table: {reason}", reason=error)) from error
        finally:
            text.detach()


def unguarded(cell: str) -> str:
    """The cell's text without the quote that keeps spreadsheets from evaluating it."""
    return cell[1:] if _GUARDED.match(cell) else cell
