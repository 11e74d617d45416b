"""Single runs behind rows of the leaderboard: a sample of each row's, always the same."""

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import COUNTED, GROUP_KEYS
from aisbench_core.warehouse.queries.filters import single_run_parameters, single_runs_sql
from aisbench_core.warehouse.queries.group_statistics import AT, OF_GROUPS, group_id
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.compared import MAX_DOTS, RunDot
from aisbench_core.warehouse.values.runs import BoardQuery


def of_rows(
    cur: DuckDBPyConnection, query: BoardQuery, rows: Sequence[BoardRow], limit: int = MAX_DOTS
) -> Mapping[str, tuple[RunDot, ...]]:
    """Valid runs of each row, at most `limit`, by the id of the row's latest run."""
    # The hash of an id is as good as random, and the same dots stay while runs are added.
    return _fetch_sample(cur, query, rows, "hash(run_id)", limit)


def fetch_newest_dots(
    cur: DuckDBPyConnection, query: BoardQuery, rows: Sequence[BoardRow], limit: int
) -> Mapping[str, tuple[RunDot, ...]]:
    """The newest valid runs of each row, at most `limit`, in time order, by the id of the row's latest run."""
    sample = _fetch_sample(cur, query, rows, f"struct_pack(moment := {AT}, id := run_id)", limit)
    return {run_id: dots[::-1] for run_id, dots in sample.items()}


def _fetch_sample(
    cur: DuckDBPyConnection, query: BoardQuery, rows: Sequence[BoardRow], largest: str, limit: int
) -> Mapping[str, tuple[RunDot, ...]]:
    """Those valid runs of each row where the expression `largest` is largest, these first."""
    run_ids = {}
    for row in rows:
        cells = {name: query.region if name == "region" else getattr(row, name) for name in GROUP_KEYS}
        run_ids[group_id(cells)] = row.latest_run_id
    condition = f" and {single_runs_sql(query)}" if query.chooses_single_runs else ""
    cur.execute(
        f"""
        select group_id,
            max_by(struct_pack(run_id := run_id, throughput := throughput_cluster), {largest}, {int(limit)})
        from runs join results using (run_id)
        where {OF_GROUPS} and {COUNTED} {condition}
        group by group_id
        """,
        {"groups": list(run_ids)} | (single_run_parameters(query) if condition else {}),
    )
    dots = {run_ids[group]: tuple(RunDot(**dot) for dot in sample) for group, sample in cur.fetchall()}
    return {row.latest_run_id: dots.get(row.latest_run_id, ()) for row in rows}
