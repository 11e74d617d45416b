"""Runs that another console launched, as claims: whatever a file says of itself, nobody saw from here what ran.

They are imported, with the file that they came in as their source. All else stays as it is, also the hash that their
console computed, which is over the run as it was launched there.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.model import Origin
from aisbench_core.warehouse.answers.group_statistics import GROUP_ID
from aisbench_core.warehouse.records.annotations import utc

LAUNCHED_THERE = " (launched there)"
"""How the source of such a run ends."""

_IMPORTED = """
    update runs set origin = 'imported', source = ? || ?, imported_at = ? where origin = 'launched' returning run_id"""
_GROUPED = f"update runs set group_id = {GROUP_ID}"


def claim(cur: DuckDBPyConnection, file: str, at: datetime) -> int:
    """Make every launched run of this warehouse file an imported one, and return how many they were.

    Their verdicts are those of before: whoever calls this has them judged anew."""
    changed = len(cur.execute(_IMPORTED, [file, LAUNCHED_THERE, utc(at)]).fetchall())
    if changed:
        cur.execute(_GROUPED)
    return changed


def as_recorded(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run's cells as they were when its hash was computed."""
    if run["origin"] == Origin.IMPORTED and run["source"].endswith(LAUNCHED_THERE):
        return {**run, "origin": Origin.LAUNCHED.value, "source": "", "imported_at": None}
    return run
