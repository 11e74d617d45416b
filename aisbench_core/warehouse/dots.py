"""The single runs behind rows of the leaderboard: some of each row's, always the same."""

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.compared import MOST_DOTS, RunDot
from aisbench_core.warehouse.filters import CHOSEN, parameters
from aisbench_core.warehouse.values import BoardQuery, BoardRow

ROW = (
    "fingerprint",
    "framework_version",
    "flavor",
    "pool_id",
    "node_count",
    "cards_per_node",
    "synthetic_data",
    "throughput_unit",
    "origin",
)
"""What a row of the leaderboard is grouped by."""


def of_rows(
    cur: DuckDBPyConnection, query: BoardQuery, rows: Sequence[BoardRow], most: int = MOST_DOTS
) -> Mapping[str, tuple[RunDot, ...]]:
    """Valid runs of each row, at most `most`, by the row's latest run; the hashes of their ids choose them."""
    names = {tuple(getattr(row, name) for name in ROW): row.latest_run_id for row in rows}
    cur.execute(
        f"""
        select {", ".join(ROW)},
            min_by(struct_pack(run_id := run_id, throughput := throughput_cluster), hash(run_id), {int(most)})
        from runs join results using (run_id)
        where {CHOSEN} and validity = 'valid' and list_contains($fingerprints::VARCHAR[], fingerprint)
        group by all
        """,  # noqa: S608 (our own words and a number)
        parameters(cur, query) | {"fingerprints": sorted({row.fingerprint for row in rows})},
    )
    found = {tuple(key): tuple(RunDot(**dot) for dot in dots) for *key, dots in cur.fetchall()}
    return {name: found.get(key, ()) for key, name in names.items()}
