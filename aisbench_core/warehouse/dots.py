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
    latest = {"latest": [row.latest_run_id for row in rows]}
    of_latest = "from runs where run_id in (select unnest($latest::VARCHAR[]))"
    names = dict(cur.execute(f"select group_id, run_id {of_latest}", latest).fetchall())
    cur.execute(
        f"""
        select group_id,
            min_by(struct_pack(run_id := run_id, throughput := throughput_cluster), hash(run_id), {int(most)})
        from runs join results using (run_id)
        where {CHOSEN} and validity = 'valid' and group_id in (select group_id {of_latest})
        group by group_id
        """,  # noqa: S608 (our own words and a number)
        parameters(cur, query) | latest,
    )
    found = {names[group_id]: tuple(RunDot(**dot) for dot in dots) for group_id, dots in cur.fetchall()}
    return {row.latest_run_id: found.get(row.latest_run_id, ()) for row in rows}
