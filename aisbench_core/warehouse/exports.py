"""What can be exported, and how: frozen values, free of SQL."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from aisbench_core.warehouse.values import BoardQuery


class ExportTable(StrEnum):
    """What a row is: one run, or all runs of a series or a group of the leaderboard."""

    RUNS = "runs"
    SERIES = "series"


class ExportFormat(StrEnum):
    """The kind of file; also the ending of its name."""

    CSV = "csv"
    EXCEL = "xlsx"
    PARQUET = "parquet"
    JSON = "json"


MEDIA_TYPES = {
    ExportFormat.CSV: "text/csv",
    ExportFormat.EXCEL: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
    ExportFormat.JSON: "application/json",
}


@dataclass(frozen=True, slots=True)
class Export:
    """Everything that the query's filter chooses (never only its page), as one file.

    `bom`: a byte order mark before CSV, by which Excel knows that it is UTF-8."""

    query: BoardQuery
    exported_at: datetime
    table: ExportTable = ExportTable.RUNS
    format: ExportFormat = ExportFormat.CSV
    bom: bool = False

    @property
    def file_name(self) -> str:
        """A name that says what is in it: region, rehearsals, table and day (UTC)."""
        return file_name(self.table, self.query.region, self.query.rehearsal, self.exported_at, self.format)


def file_name(what: str, region: str, rehearsal: bool | None, at: datetime, ending: str) -> str:
    """The name of a file for a person, without what file systems or shells stumble over."""
    place = re.sub(r"[^\w.-]+", "-", region).strip("-.") or "region"
    kind = "-rehearsals" if rehearsal else ""
    return f"aisbench-{what}-{place}{kind}-{at.astimezone(UTC):%Y%m%d}.{ending}"
