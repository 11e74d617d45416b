"""Runs in which each server trains alone: what every server did, and how far they lie apart."""

from collections import defaultdict
from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.model import ServerResult
from aisbench_core.statistics.summary import summary
from aisbench_core.warehouse.answers.compared import Servers, ServerSpread


def servers(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, Servers]:
    """Those of the runs that are of single servers, by run_id; a cluster's result is one, and has no servers."""
    cur.execute(
        """select run_id, server, throughput, accuracy from server_results
        where run_id in (select unnest(?::VARCHAR[])) order by server""",
        [list(run_ids)],
    )
    found: dict[str, list[ServerResult]] = defaultdict(list)
    for run_id, *result in cur.fetchall():
        found[run_id].append(ServerResult(*result))
    return {run_id: _servers(results) for run_id, results in found.items()}


def _servers(results: Sequence[ServerResult]) -> Servers:
    throughputs = [result.throughput for result in results if result.throughput is not None]
    accuracies = [result.accuracy for result in results if result.accuracy is not None]
    return Servers(tuple(results), _spread(throughputs), _spread(accuracies))


def _spread(values: Sequence[float]) -> ServerSpread | None:
    told = summary(values)
    return ServerSpread(told, min(values), max(values)) if told else None
