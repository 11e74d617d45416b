"""Entries of the audit as rows, for JSON and CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from aisbench_core.base.formats import guard_cell
from aisbench_core.domain.access.audit_entry import AuditEntry


def flatten_entry(entry: AuditEntry) -> dict[str, object]:
    """Its values by name."""
    chain = {"previous": entry.previous, "hash": entry.hash}
    return {"number": entry.number, "at": entry.at, **asdict(entry.act), **chain}


def to_csv(entries: Sequence[AuditEntry]) -> str:
    """Entries as CSV with a head."""
    heads = ["number", "at", "who", "role", "via", "change", "object", "outcome", "before", "after", "detail"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*heads, "previous", "hash"])
    writer.writerows([_format_cell(value) for value in flatten_entry(entry).values()] for entry in entries)
    return text.getvalue()


def _format_cell(value: object) -> str:
    return guard_cell(value.isoformat() if isinstance(value, datetime) else str(value))
