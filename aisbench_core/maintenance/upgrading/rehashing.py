"""Hashes of records by the formula of today, of rows that are as their hash by the former formula says."""

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.maintenance.stored_runs import CHUNK, StoredRun, read_stored
from aisbench_core.warehouse.records.record_hash import Cells, iter_hashes

# What development versions added to other columns: hashed with a value only, while those were hashed without one, too.
_LATER = {
    *("price_per_node_hour", "currency", "not_known", "resolved", "stop_cause"),
    *("primary_metric", "primary_better", "passport"),
}


def recompute_hashes(con: DuckDBPyConnection) -> None:
    """Runs that were changed since they were recorded keep the hash that says so."""
    run_ids = [run_id for (run_id,) in con.execute("select distinct run_id from runs order by run_id").fetchall()]
    for start in range(0, len(run_ids), CHUNK):
        stored = {run.run["run_id"]: _find_hash(run) for run in read_stored(con, run_ids[start : start + CHUNK])}
        found = {run_id: sha256 for run_id, sha256 in stored.items() if sha256}
        con.execute(
            """update runs set record_sha256 = new.sha256
            from (select unnest(?::VARCHAR[]) as run_id, unnest(?::VARCHAR[]) as sha256) new
            where runs.run_id = new.run_id""",
            [[*found], [*found.values()]],
        )


def _find_hash(stored: StoredRun) -> str | None:
    cells = (stored.run, stored.result, stored.cards, stored.metrics, stored.annotations)
    hashes = zip(iter_hashes(*cells, _select_formerly), iter_hashes(*cells), strict=True)
    return next((today for former, today in hashes if former == stored.run["record_sha256"]), None)


def _select_formerly(cells: Cells) -> Cells:
    return {name: value for name, value in cells.items() if name not in _LATER or value not in (None, "")}
