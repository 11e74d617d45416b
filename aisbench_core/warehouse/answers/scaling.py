"""Throughput over node counts: one benchmark configuration on one system, on n nodes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import RunNotFound
from aisbench_core.base.messages import Message
from aisbench_core.domain.statistics.amdahl import SizeRuns, fit_amdahl
from aisbench_core.domain.statistics.summary import mean_interval
from aisbench_core.model import Origin
from aisbench_core.model.columns import COUNTED, GROUP_KEYS, KNOWN, MISSED
from aisbench_core.warehouse.queries.filters import Parameters, build_parameters, statistics_of
from aisbench_core.warehouse.records.runs import by_ids
from aisbench_core.warehouse.tables.times import to_aware
from aisbench_core.warehouse.values.compared import MAX_DOTS, RunDot
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from aisbench_core.warehouse.values.scalings import (
    ConfigurationPage,
    ConfigurationRow,
    ExcludedRuns,
    Scaling,
    ScalingPoint,
    ScalingQuery,
)

# What is equal along one curve: everything but the node count.
LINE = ", ".join(name for name in GROUP_KEYS if name != "node_count")

# Imported results claim what they say, and are compared with each other only.
_IS_KNOWN = f"({KNOWN} or origin <> 'launched')"
_HAS_SIZE = "mode = 'cluster' and node_count is not null and cards_per_node is not null"
_SCALES = f"{_HAS_SIZE} and {_IS_KNOWN} and not {MISSED}"

# T(n) of everything that can scale: the median of the valid runs. Single servers do not work together.
# Imported runs, which claim what they say, scale among themselves only.
POINTS = f"""
    select {LINE}, node_count, median(throughput_cluster) as throughput, count(*) as runs
    from runs join results using (run_id) where {COUNTED} and {_SCALES}
    group by all
"""

# Where each curve begins: the smallest node count, and the throughput there.
BASES = f"""
    select {LINE}, min(node_count) as base_nodes, min_by(throughput, node_count) as base_throughput
    from ({POINTS}) group by all
"""

_CONFIGURATION = tuple(field.name for field in fields(BenchmarkConfiguration))
_KEY = ", ".join(_CONFIGURATION)

# What tells the curves of a configuration apart.
_SYSTEM = tuple(name for name in GROUP_KEYS if name not in (*_CONFIGURATION, "node_count"))

_WHY = f"""case when not ({COUNTED}) then validity
    when node_count is null or cards_per_node is null then 'nodes not known'
    when not {_IS_KNOWN} then 'mixed or unknown' when {MISSED} then 'target missed' else '' end"""

# What a named metric may differ in between runs of one configuration; throughputs of one never do.
_MEASURE = ("throughput_unit", "throughput_definition")
_APART = ", ".join((*_SYSTEM, *_MEASURE))

_LOG = "ln(case when throughput_cluster > 0 then throughput_cluster end)"

# Amdahl's law is fitted to logarithms: their mean and squares of each size say as much as the single runs would.
_CURVES = f"""
    select {_APART}, node_count, {_WHY} as why, {{scales}} as scales,
        count(*) as runs,
        coalesce(string_agg(distinct not_known, ';' order by not_known) filter (not_known <> ''), '') as not_known,
        median(throughput_cluster) as throughput,
        avg(throughput_cluster) as mean,
        stddev_samp(throughput_cluster) as sd,
        case when min(throughput_cluster) > 0 then avg({_LOG}) end as log_mean,
        coalesce(var_samp({_LOG}), 0) * (count(*) - 1) as log_squares,
        min_by(struct_pack(run_id := run_id, throughput := throughput_cluster), hash(run_id), {MAX_DOTS}) as dots
    from runs join results using (run_id) {{named}}
    where group_id in (select group_id from group_statistics where mode = 'cluster'
        and {" and ".join(f"{name} = ${name}" for name in _CONFIGURATION if name not in _MEASURE)}{{more}})
    group by all
    order by {_APART}, node_count, why
"""
_OF_THROUGHPUT = {"scales": "true", "named": "", "more": " and throughput_unit = $throughput_unit"}

# Only a rate of all ranks together has an ideal: n times the nodes are n times as fast.
_OF_NAMED = {
    "scales": "bool_and(combined = 'sum' and better = 'higher')",
    "named": "join named using (run_id)",
    "more": "",
}

# One configuration, by version, hardware and node count.
SCALING = _CURVES.format_map(_OF_THROUGHPUT)

# Not `=`: sizes of imported runs may be NULL.
_OF_SYSTEM = "".join(f" and {name} is not distinct from ${name}" for name in _SYSTEM)

# From the statistics of groups, which are few, instead of the runs.
_CONFIGURATIONS = f"""
    select {_KEY},
        max_by(newest_title, newest_at) as title, any_value(model), any_value(workload), any_value(dataset),
        sum(valid)::BIGINT as runs, max(on_curve) as node_counts, max(newest_at) as latest_at,
        count(*) over () as total
    from (select *, count(*) filter ({_IS_KNOWN} and runs > missed) over (partition by {LINE}) as on_curve
        from {{group_statistics}} where valid > 0 and {_HAS_SIZE})
    group by {_KEY}
    order by origin = 'launched' desc, node_counts desc, latest_at desc, fingerprint limit $limit offset $offset
"""


def fetch_configurations(cur: DuckDBPyConnection, query: BoardQuery) -> ConfigurationPage:
    """One page of configurations that count in cluster mode: those of launched runs first, then by node counts.

    They are those of its longest curve: four sizes of different hardware are no curve."""
    chosen = build_parameters(cur, query)
    statement = _CONFIGURATIONS.format(group_statistics=statistics_of(cur, query))
    rows = cur.execute(statement, chosen | {"limit": query.limit, "offset": query.offset}).fetchall()
    total = rows[0][-1] if rows else 0
    return ConfigurationPage(tuple(map(_configuration_row, rows)), total, rehearsal=bool(chosen["rehearsal"]))


def fetch_scalings(
    cur: DuckDBPyConnection, configuration: BenchmarkConfiguration, metric: str = ""
) -> tuple[Scaling, ...]:
    """Each curve of the configuration, those on most node counts first. `metric`: the one that the cursor shows in
    place of the throughput; each of its units and definitions has curves of its own.

    A curve begins at the smallest node count that was measured; its speed-up and efficiency there are 1."""
    return _select_scalings(cur, configuration, metric, {})


def get_run(cur: DuckDBPyConnection, run_id: str) -> RunRow:
    """One recorded run. Raises RunNotFound."""
    for run in by_ids(cur, [run_id]):
        return run
    raise RunNotFound(Message("no run {run_id} in the warehouse", run_id=run_id))


def fetch_curve(cur: DuckDBPyConnection, run: RunRow, metric: str = "") -> Scaling:
    """The curve of all runs that differ from this one in their node count only; no other runs are read.

    Of the curves of a `metric` in several units or definitions, the one on most node counts."""
    system = {name: getattr(run, name) for name in _SYSTEM}
    curves = _select_scalings(cur, BenchmarkConfiguration.of(run), metric, system)
    return curves[0] if curves else Scaling.empty(ScalingQuery.of(run))


def _select_scalings(
    cur: DuckDBPyConnection, configuration: BenchmarkConfiguration, metric: str, system: Parameters
) -> tuple[Scaling, ...]:
    parts = _OF_NAMED if metric else _OF_THROUGHPUT
    statement = _CURVES.format_map(parts | {"more": parts["more"] + (_OF_SYSTEM if system else "")})
    cells = asdict(configuration) | {"origin": configuration.origin.value}
    if metric:
        del cells["throughput_unit"]
    result = cur.execute(statement, cells | system)
    columns = [column[0] for column in result.description or ()]
    rows: dict[ScalingQuery, list[dict[str, Any]]] = defaultdict(list)
    for values in result.fetchall():
        row = dict(zip(columns, values, strict=True))
        rows[_build_query(configuration, row, metric)].append(row)
    curves = [_build_scaling(query, points) for query, points in rows.items()]
    curves.sort(key=lambda curve: (-len(curve.points), -sum(point.runs for point in curve.points)))
    return tuple(curves)


def _build_query(configuration: BenchmarkConfiguration, row: dict[str, Any], metric: str) -> ScalingQuery:
    cells = asdict(configuration) | {name: row[name] for name in (*_SYSTEM, "throughput_unit")}
    return ScalingQuery(**cells, metric=metric, definition=row["throughput_definition"] if metric else "")


def _configuration_row(values: Sequence[Any]) -> ConfigurationRow:
    cells = dict(zip(_CONFIGURATION, values, strict=False))
    cells["origin"] = Origin(cells["origin"])
    title, model, workload, dataset, runs, node_counts, latest_at, _ = values[len(cells) :]
    configuration = BenchmarkConfiguration(**cells)
    return ConfigurationRow(configuration, title, model, workload, dataset, runs, node_counts, to_aware(latest_at))


def _build_scaling(query: ScalingQuery, rows: Sequence[dict[str, Any]]) -> Scaling:
    valid = [row for row in rows if not row["why"]]
    excluded = tuple(ExcludedRuns(row["why"], row["node_count"], row["runs"]) for row in rows if row["why"])
    scales = all(row["scales"] and row["log_mean"] is not None for row in valid)
    sizes = [SizeRuns(row["node_count"], row["runs"], row["log_mean"], row["log_squares"]) for row in valid if scales]
    points = tuple(_build_point(row, valid[0] if scales else None) for row in valid)
    base_nodes = points[0].node_count if points else None
    not_known = ";".join(dict.fromkeys(row["not_known"] for row in valid if row["not_known"]))
    return Scaling(query, points, base_nodes, query.throughput_unit, fit_amdahl(sizes), excluded, not_known, scales)


def _build_point(row: dict[str, Any], base: dict[str, Any] | None) -> ScalingPoint:
    speed_up = row["throughput"] / base["throughput"] if base else None
    ideal = row["node_count"] / base["node_count"] if base else None
    runs, mean, sd = row["runs"], row["mean"], row["sd"]
    low, high = mean_interval(mean, sd, runs) if runs > 1 else (None, None)
    return ScalingPoint(
        node_count=row["node_count"],
        runs=runs,
        throughput=row["throughput"],
        speed_up=speed_up,
        efficiency=speed_up / ideal if speed_up and ideal else None,
        ideal=ideal,
        mean=mean,
        ci_low=low,
        ci_high=high,
        dots=tuple(RunDot(**dot) for dot in row["dots"]),
    )
