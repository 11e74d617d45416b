"""Runs of another console, as claims: whatever their file says, nobody saw from here what ran.

They are imported, with their file as source. Everything else stays as it is, also the hash that their console computed,
which is over the run as it was launched there.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.model import Origin
from aisbench_core.warehouse.queries.group_statistics import GROUP_ID
from aisbench_core.warehouse.tables.times import to_naive_utc

# The end of such a run's source.
LAUNCHED_REMOTELY = " (launched there)"


def claim_runs(cur: DuckDBPyConnection, file: str, at: datetime) -> None:
    """Turn the launched runs of this warehouse file into imported ones. The caller checks their validity again."""
    cur.execute(
        "update runs set origin = 'imported', source = ? || ?, imported_at = ? where origin = 'launched'",
        [file, LAUNCHED_REMOTELY, to_naive_utc(at)],
    )
    cur.execute(f"update runs set group_id = {GROUP_ID} where group_id is distinct from {GROUP_ID}")


def as_recorded(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run's cells as they were when its hash was computed."""
    if run["origin"] == Origin.IMPORTED and run["source"].endswith(LAUNCHED_REMOTELY):
        return {**run, "origin": Origin.LAUNCHED.value, "source": "", "imported_at": None}
    return run
