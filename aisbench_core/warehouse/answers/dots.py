"""The single runs behind rows of the leaderboard: some of each row's, always the same."""

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import COUNTED
from aisbench_core.warehouse.answers.boards import BoardRow
from aisbench_core.warehouse.answers.compared import MOST_DOTS, RunDot
from aisbench_core.warehouse.answers.filters import SAID
from aisbench_core.warehouse.answers.group_statistics import KEYS, OF_GROUPS, group_id
from aisbench_core.warehouse.values import BoardQuery


def of_rows(
    cur: DuckDBPyConnection, query: BoardQuery, rows: Sequence[BoardRow], most: int = MOST_DOTS
) -> Mapping[str, tuple[RunDot, ...]]:
    """Valid runs of each row, at most `most`, by the row's latest run; the hashes of their ids choose them."""
    names = {_group(query, row): row.latest_run_id for row in rows}
    said, values = (
        (f" and {SAID}", {"text": query.text, "tags": list(query.tags)}) if query.text or query.tags else ("", {})
    )
    cur.execute(
        f"""
        select group_id,
            min_by(struct_pack(run_id := run_id, throughput := throughput_cluster), hash(run_id), {int(most)})
        from runs join results using (run_id)
        where {OF_GROUPS} and {COUNTED} {said}
        group by group_id
        """,
        values | {"groups": list(names)},
    )
    found = {names[group]: tuple(RunDot(**dot) for dot in dots) for group, dots in cur.fetchall()}
    return {row.latest_run_id: found.get(row.latest_run_id, ()) for row in rows}


def _group(query: BoardQuery, row: BoardRow) -> int:
    return group_id({name: query.region if name == "region" else getattr(row, name) for name in KEYS})
