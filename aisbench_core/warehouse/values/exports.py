"""Exports: frozen values, free of SQL."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from aisbench_core.warehouse.values.runs import BoardQuery

OnRows = Callable[[int], None]
"""Called with the number of rows that are written so far."""


def ignore_rows(_: int) -> None:
    """For callers that show no progress."""


class ExportTable(StrEnum):
    """What a row is about: one run, or the runs of a series or of a row of the leaderboard."""

    RUNS = "runs"
    SERIES = "series"


class ExportFormat(StrEnum):
    """The kind of file."""

    CSV = "csv"
    EXCEL = "xlsx"
    PARQUET = "parquet"
    JSON = "json"
    ARROW = "arrow"
    MARKDOWN = "markdown"
    LATEX = "latex"

    @property
    def extension(self) -> str:
        """Of the file's name."""
        return {"markdown": "md", "latex": "tex"}.get(self.value, self.value)


class SchemaKind(StrEnum):
    """What describes files and answers for programs: the first three an export, the others a run's record and REST."""

    DATA_PACKAGE = "datapackage"
    TABLE_SCHEMA = "tableschema"
    CSVW = "csvw"
    RECORD = "record"
    REST = "rest"


MEDIA_TYPES = {
    ExportFormat.CSV: "text/csv",
    ExportFormat.EXCEL: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
    ExportFormat.JSON: "application/json",
    ExportFormat.ARROW: "application/vnd.apache.arrow.stream",
    ExportFormat.MARKDOWN: "text/markdown",
    ExportFormat.LATEX: "application/x-tex",
}


@dataclass(frozen=True, slots=True)
class Export:
    """All runs of a query, not only its page, as one file.

    `bom`: begin a CSV with a byte order mark, from which Excel knows that it is UTF-8. `audit_head`: number and hash of
    the audit's newest entry; empty if nobody asked for it."""

    query: BoardQuery
    exported_at: datetime
    table: ExportTable = ExportTable.RUNS
    format: ExportFormat = ExportFormat.CSV
    bom: bool = False
    audit_head: str = ""

    @property
    def file_name(self) -> str:
        """A name made of table, region, kind and day (UTC)."""
        return file_name(self.table, self.query.region, self.query.rehearsal, self.exported_at, self.format.extension)


def file_name(subject: str, region: str, rehearsal: bool | None, at: datetime, extension: str) -> str:
    """A file name, without characters that file systems or shells treat specially."""
    safe = re.sub(r"[^\w.-]+", "-", region).strip("-.") or "region"
    kind = "-rehearsals" if rehearsal else ""
    return f"aisbench-{subject}-{safe}{kind}-{at.astimezone(UTC):%Y%m%d}.{extension}"
