"""What a warehouse stores of single runs, read back to compute again what follows from it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from aisbench_core.model import Annotations, Origin
from aisbench_core.model.annotation import NO_ANNOTATIONS
from aisbench_core.warehouse.measures import throughput
from aisbench_core.warehouse.records import annotations
from aisbench_core.warehouse.records.rows import UTILISATION
from aisbench_core.warehouse.tables.schema import RESULTS, RUNS

# Runs whose cells are in memory at a time.
CHUNK = 5000

Cells = dict[str, Any]


class StoredRun(NamedTuple):
    """What is stored of a run and determines other cells: `cards` in their order; `utilisation` from samples, if there
    are any."""

    run: Cells
    result: Cells
    cards: Sequence[Sequence[Any]]
    metrics: Sequence[Sequence[Any]]
    utilisation: float | None
    has_samples: bool
    annotations: Annotations

    @property
    def is_carried(self) -> bool:
        """Whether its numbers were computed in the console that exported it, where its cards and samples are."""
        is_export = bool(self.run["spec_sha256"]) or self.result["formula_id"] != throughput.AS_REPORTED
        return self.run["origin"] == Origin.IMPORTED and not self.cards and is_export


def read_stored(cur: duckdb.DuckDBPyConnection, run_ids: Sequence[str]) -> list[StoredRun]:
    """What is stored of these runs, which are sorted."""
    condition = "run_id between ? and ? and run_id in (select unnest(?::VARCHAR[]))"
    bounds = [run_ids[0], run_ids[-1], list(run_ids)]
    runs, results = (
        {row[0]: dict(zip(columns, row, strict=True)) for row in cur.execute(query, bounds).fetchall()}
        for table, columns in (("runs", RUNS), ("results", RESULTS))
        for query in [f"select {', '.join(columns)} from {table} where {condition}"]
    )
    cards, metrics = (
        _group_rows(cur.execute(f"from {table} where {condition} order by rowid", bounds).fetchall())
        for table in ("rank_results", "run_metrics")
    )
    query = f"""select run_id, avg(value) filter (name = '{UTILISATION}' and value between 0 and 100)
        from metric_samples where {condition} group by run_id"""
    utilisation = dict(cur.execute(query, bounds).fetchall())
    annotated = annotations.select(cur, run_ids)
    return [
        StoredRun(
            *(runs[run_id], results[run_id], cards[run_id], metrics[run_id]),
            *(utilisation.get(run_id), run_id in utilisation),
            annotated.get(run_id, NO_ANNOTATIONS),
        )
        for run_id in run_ids
        if run_id in runs and run_id in results
    ]


def _group_rows(rows: Iterable[Sequence[Any]]) -> Mapping[str, list[Sequence[Any]]]:
    grouped = defaultdict(list)
    for row in rows:
        grouped[row[0]].append(row)
    return grouped
