"""Single runs behind rows of the leaderboard: a sample of each row's, always the same."""

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import COUNTED, GROUP_KEYS
from aisbench_core.warehouse.answers.boards import BoardRow
from aisbench_core.warehouse.answers.compared import MAX_DOTS, RunDot
from aisbench_core.warehouse.answers.filters import TEXT_AND_TAGS, text_parameters
from aisbench_core.warehouse.answers.group_statistics import OF_GROUPS, group_id
from aisbench_core.warehouse.values import BoardQuery


def of_rows(
    cur: DuckDBPyConnection, query: BoardQuery, rows: Sequence[BoardRow], limit: int = MAX_DOTS
) -> Mapping[str, tuple[RunDot, ...]]:
    """Valid runs of each row, at most `limit`, by the id of the row's latest run."""
    run_ids = {}
    for row in rows:
        cells = {name: query.region if name == "region" else getattr(row, name) for name in GROUP_KEYS}
        run_ids[group_id(cells)] = row.latest_run_id
    condition = f" and {TEXT_AND_TAGS}" if query.text or query.tags else ""
    # The hash of an id is as good as random, and the same dots stay while runs are added.
    cur.execute(
        f"""
        select group_id,
            min_by(struct_pack(run_id := run_id, throughput := throughput_cluster), hash(run_id), {int(limit)})
        from runs join results using (run_id)
        where {OF_GROUPS} and {COUNTED} {condition}
        group by group_id
        """,
        {"groups": list(run_ids)} | (text_parameters(query) if condition else {}),
    )
    dots = {run_ids[group]: tuple(RunDot(**dot) for dot in sample) for group, sample in cur.fetchall()}
    return {row.latest_run_id: dots.get(row.latest_run_id, ()) for row in rows}
