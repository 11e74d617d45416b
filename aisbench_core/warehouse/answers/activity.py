"""What happened in a region since a moment: records that were broken, and the node hours of the runs that ended.

Throughputs are in the group's unit, hours in hours on all nodes together. Records are of launched runs only: nobody
here has seen an imported one run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import BEGAN, COUNTED, KNOWN, NODE_HOURS
from aisbench_core.warehouse.measures.costs import costs_where
from aisbench_core.warehouse.queries.filters import build_parameters, choose_runs_sql, statistics_of
from aisbench_core.warehouse.tables.times import to_aware, to_naive_utc
from aisbench_core.warehouse.values.histories import Trend
from aisbench_core.warehouse.values.runs import BoardQuery

# Of each period, the latest; who wants more sorts the leaderboard.
MAX_RECORDS = 20


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A run that is faster than every earlier one of its trend, and what the fastest of those reached."""

    trend: Trend
    model: str
    run_id: str
    at: datetime
    throughput: float
    previous: float

    @property
    def change(self) -> float:
        """The gain over the earlier record, as a fraction."""
        return self.throughput / self.previous - 1


@dataclass(frozen=True, slots=True)
class Usage:
    """The runs of one profile and flavor that ended: how many, how many of them failed, and their node hours.

    A run that never started has none."""

    profile: str
    flavor: str
    runs: int
    failed: int
    node_hours: float


@dataclass(frozen=True, slots=True)
class RegionActivity:
    """Records, the latest first, usage by profile and flavor, and what the runs cost, by currency."""

    records: tuple[BrokenRecord, ...]
    usage: tuple[Usage, ...]
    costs: Mapping[str, float]


_KEYS = tuple(field.name for field in fields(Trend))

# The best run of each trend that ended in the period. Group statistics know it without reading a run. Rows with a run
# that missed its target, and those that are not known to repeat one measurement, hold no record.
_FASTEST = f"""
    select {", ".join(_KEYS)}, any_value(model) as model,
        max_by(best_run_id, best) as run_id, max_by(best_at, best) as ended, max(best) as throughput,
        list(group_id) as groups
    from {{statistics}} where origin = 'launched' and missed = 0 and {KNOWN} group by {", ".join(_KEYS)}
    having max_by(best_at, best) >= $since order by ended desc limit {MAX_RECORDS}
"""

_PREVIOUS = f"""
    select group_id, max(throughput_cluster) from runs join results using (run_id)
    where list_contains($groups::BIGINT[], group_id) and {COUNTED} and coalesce(ended_at, {BEGAN}) < $since
    group by group_id
"""

_USAGE = """
    select profile, flavor, count(*), count(*) filter (where state = 'failed'),
        coalesce(sum({hours}), 0)
    from runs where {chosen} and origin = 'launched' and ended_at >= $since group by all order by all
"""


def summarize_activity(cur: DuckDBPyConnection, query: BoardQuery, since: datetime) -> RegionActivity:
    """What happened since `since` among the runs that the query chooses."""
    chosen = build_parameters(cur, query) | {"since": to_naive_utc(since)}
    fastest = cur.execute(_FASTEST.format(statistics=statistics_of(cur, query)), chosen)
    names = [column[0] for column in fastest.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in fastest.fetchall()]
    groups = [group for row in rows for group in row["groups"]]
    previous = dict(cur.execute(_PREVIOUS, {"groups": groups, "since": to_naive_utc(since)}).fetchall())
    records = (_find_broken_record(row, previous) for row in rows)
    usage = cur.execute(_USAGE.format(chosen=choose_runs_sql(query), hours=NODE_HOURS), chosen).fetchall()
    costs = dict(cur.execute(costs_where(f"{choose_runs_sql(query)} and ended_at >= $since"), chosen).fetchall())
    return RegionActivity(tuple(record for record in records if record), tuple(Usage(*row) for row in usage), costs)


def _find_broken_record(row: Mapping[str, Any], previous: Mapping[int, float]) -> BrokenRecord | None:
    """None for the first run of a trend, and for one that only repeats what was reached before."""
    before = max((previous[group] for group in row["groups"] if group in previous), default=None)
    if not before or row["throughput"] <= before:
        return None
    trend = Trend(**{name: row[name] for name in _KEYS})
    return BrokenRecord(
        trend, row["model"], row["run_id"], to_aware(row["ended"]), row["throughput"], before,
    )  # fmt: skip
