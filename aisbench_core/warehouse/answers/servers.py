"""Runs in single-server mode: what each server did, and how far the servers are spread."""

from collections import defaultdict
from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.domain.statistics.summary import summarize_values
from aisbench_core.model import ServerResult
from aisbench_core.warehouse.values.compared import Servers, ServerSpread


def fetch_servers(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, Servers]:
    """The servers of each single-server run, by run_id; other runs have no rows in `server_results`."""
    cur.execute(
        """select run_id, server, throughput, accuracy from server_results
        where run_id in (select unnest(?::VARCHAR[])) order by server""",
        [list(run_ids)],
    )
    results: dict[str, list[ServerResult]] = defaultdict(list)
    for run_id, *cells in cur.fetchall():
        results[run_id].append(ServerResult(*cells))
    return {
        run_id: Servers(
            tuple(of_run),
            _compute_spread([r.throughput for r in of_run]),
            _compute_spread([r.accuracy for r in of_run]),
        )
        for run_id, of_run in results.items()
    }


def find_servers(cur: DuckDBPyConnection, run_id: str) -> Servers | None:
    """The results of each server of a single-server run; None for other runs."""
    return fetch_servers(cur, [run_id]).get(run_id)


def _compute_spread(values: Sequence[float | None]) -> ServerSpread | None:
    measured = [value for value in values if value is not None]
    total = summarize_values(measured)
    return ServerSpread(total, min(measured), max(measured)) if total else None
