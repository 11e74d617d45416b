"""Reports that the lab issued, in the ledger's file: so backups hold them, and all machines of a ledger have them.

A row is only added to: its content never changes, and each decision is stored once."""

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.rows import insert_row
from aisbench_core.store.ledger.ledger import Ledger, as_text, as_time

LISTED = 200

_SELECTED = (
    "r.number, r.report_id, r.title, r.content_sha256, r.involved, r.prepared_at, r.prepared_by, r.amends, r.reason,"
    " r.authorised_at, r.authorised_by, r.envelope, r.withdrawn_at, r.withdrawn_by, r.withdrawal,"
    " (select min(o.number) from issued_reports o where o.amends = r.number) as amended_by"
)


@dataclass(frozen=True, slots=True)
class IssuedReport:
    """A report and what was decided of it. `involved`: who launched its runs, or prepared it.

    `content_sha256`: of its content.json, which has the hashes of its pages; `envelope`: what the console signed."""

    number: int
    report_id: str
    title: str
    content_sha256: str
    involved: frozenset[str]
    prepared_at: datetime
    prepared_by: str
    amends: int | None = None
    reason: str = ""
    authorised_at: datetime | None = None
    authorised_by: str = ""
    envelope: str = ""
    withdrawn_at: datetime | None = None
    withdrawn_by: str = ""
    withdrawal: str = ""
    amended_by: int | None = None


class IssuedReportLedger:
    """Issued reports by number. Threads and processes may share it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def list_newest(self, offset: int = 0) -> list[IssuedReport]:
        """Reports, the newest first."""
        query = f"select {_SELECTED} from issued_reports r order by r.number desc limit ? offset ?"  # noqa: S608  # names of ours
        return [_report_of(row) for row in self._ledger.rows(query, [LISTED, offset])]

    def get(self, number: int) -> IssuedReport:
        """One report. Raises ConfigError if there is none."""
        rows = self._ledger.rows(f"select {_SELECTED} from issued_reports r where r.number = ?", [number])  # noqa: S608  # names of ours
        if not rows:
            raise ConfigError(
                Message("there is no report {number}", number=number),
                Message("`aisbench lab-report list` lists those that there are"),
            )
        return _report_of(rows[0])

    def next_number(self) -> int:
        """The number of the next report, unless somebody else takes it."""
        return int(self._ledger.rows("select coalesce(max(number), 0) + 1 as next from issued_reports")[0]["next"])

    def add(self, report: IssuedReport, files: Mapping[str, bytes]) -> bool:
        """Store a new report; False if its number is taken. Raises ConfigError if what it amends was amended."""
        row = {
            "number": report.number, "report_id": report.report_id, "title": report.title,
            "content_sha256": report.content_sha256, "involved": json.dumps(sorted(report.involved)),
            "prepared_at": as_text(report.prepared_at), "prepared_by": report.prepared_by, "amends": report.amends,
            "reason": report.reason, "files": _pack_files(files),
        }  # fmt: skip
        with self._ledger.transaction() as con:
            if con.execute("select 1 from issued_reports where number = ?", [report.number]).fetchone():
                return False
            if report.amends is not None:
                _require_latest(con, report.amends)
            insert_row(con, "issued_reports", row)
        return True

    def files(self, number: int) -> dict[str, bytes]:
        """The files of a report by name, as they were stored."""
        rows = self._ledger.rows("select files from issued_reports where number = ?", [number])
        packed = json.loads(rows[0]["files"])
        return {name: zlib.decompress(base64.b64decode(text)) for name, text in packed.items()}

    def authorise(self, number: int, at: datetime, who: str, envelope: str) -> bool:
        """Store an authorisation, once and only of a report that stands; False if it was too late."""
        return self._decide(
            "authorised_at = ?, authorised_by = ?, envelope = ?", [as_text(at), who, envelope],
            number, "authorised_at is null and withdrawn_at is null",
        )  # fmt: skip

    def withdraw(self, number: int, at: datetime, who: str, reason: str) -> bool:
        """Store a withdrawal, once; False if it was too late."""
        change = "withdrawn_at = ?, withdrawn_by = ?, withdrawal = ?"
        return self._decide(change, [as_text(at), who, reason], number, "withdrawn_at is null")

    def _decide(self, change: str, values: list[object], number: int, condition: str) -> bool:
        query = f"update issued_reports set {change} where number = ? and {condition}"  # noqa: S608  # words of ours
        with self._ledger.transaction() as con:
            return con.execute(query, [*values, number]).rowcount == 1


def _require_latest(con: LedgerConnection, number: int) -> None:
    row = con.execute("select number from issued_reports where amends = ?", [number]).fetchone()
    if row:
        raise ConfigError(
            Message("report {number} was amended by report {later}", number=number, later=row["number"]),
            Message("amend that one"),
        )


def _pack_files(files: Mapping[str, bytes]) -> str:
    return json.dumps({name: base64.b64encode(zlib.compress(each, 9)).decode() for name, each in files.items()})


def _report_of(row: Row) -> IssuedReport:
    values: dict[str, Any] = {name: row[name] for name in IssuedReport.__dataclass_fields__}
    values["involved"] = frozenset(json.loads(row["involved"]))
    for name in ("prepared_at", "authorised_at", "withdrawn_at"):
        values[name] = as_time(row[name]) if row[name] else None
    return IssuedReport(**values)
