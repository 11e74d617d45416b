"""The values that runs can be filtered by."""

import json
from collections import defaultdict
from dataclasses import replace

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import COUNTED, Compared, list_compared
from aisbench_core.model.version_order import in_version_order
from aisbench_core.warehouse.queries.filters import KIND, build_parameters, kind_parameters, statistics_of
from aisbench_core.warehouse.queries.group_statistics import build_current_sql
from aisbench_core.warehouse.values.conditions import METRIC, NUMBERS, PARAMETER, is_condition
from aisbench_core.warehouse.values.runs import BoardQuery, Facets, RegionFacts

_REGIONS = """
    select region, rehearsal, sum(recorded)::BIGINT from {statistics} group by all
    order by bool_or(origin = 'launched') desc, rehearsal, region
"""

_FACETS = f"""
    select
        list(distinct model order by model), list(distinct workload order by workload),
        list(distinct framework_version order by framework_version), list(distinct flavor order by flavor),
        list(distinct node_count order by node_count) filter (where node_count is not null),
        list_sort(list_distinct(flatten(list(string_split(ruleset_ids, ';')))))
    from {{statistics}} where {KIND}
"""

# Few runs have tags: reading the ids of those from the annotations spares parsing the JSON of all others.
_TAGS = f"""
    select distinct unnest(from_json(tags, '["VARCHAR"]')) as tag
    from runs where {KIND} and run_id in (select run_id from annotations where kind = 'tag') order by tag
"""


# Of conditions that are suggested.
MAX_NAMES, MAX_VALUES, MAX_CONFIGURATIONS = 12, 8, 500

_SCOPE = "($region = '' or region = $region and rehearsal = $rehearsal)"
_NEWEST = f"run_id in (select latest_run_id from group_statistics where {_SCOPE})"  # of each configuration
_SPEEDS = f"select distinct speed_parameters from runs where {_NEWEST} limit {MAX_CONFIGURATIONS}"
_SUGGESTED = tuple(column.name for column in list_compared(Compared.HIGHER_IS_BETTER, Compared.LOWER_IS_BETTER))
_MEDIANS = f"""
    select {", ".join(f"median({NUMBERS[name].value})" for name in _SUGGESTED)}
    from runs join results using (run_id) where {_NEWEST} and {COUNTED}
"""
_METRICS = f"""
    select name, median(value) from run_metrics join runs using (run_id) where {_SCOPE}
    group by name order by count(*) desc, name limit {MAX_NAMES}
"""


def list_regions(cur: DuckDBPyConnection) -> list[RegionFacts]:
    """Those of runs that were launched here first, then imported ones; measurements before rehearsals; by name."""
    return [RegionFacts(*row) for row in cur.execute(_REGIONS.format(statistics=build_current_sql(cur))).fetchall()]


def list_versions(cur: DuckDBPyConnection) -> tuple[str, ...]:
    """Every framework version in the warehouse, of whatever region and validity, the oldest first."""
    rows = cur.execute(f"select distinct framework_version from {build_current_sql(cur)}").fetchall()
    return in_version_order(version for (version,) in rows if version is not None)


def fetch_facets(cur: DuckDBPyConnection, region: str, rehearsal: bool | None = None) -> Facets:
    """Every value in the region of each field that can be filtered."""
    parameters = kind_parameters(cur, region, rehearsal)
    tags = tuple(tag for (tag,) in cur.execute(_TAGS, parameters).fetchall())
    row = cur.execute(_FACETS.format(statistics=build_current_sql(cur)), parameters).fetchone()
    return replace(Facets(*(tuple(values or ()) for values in row)), tags=tags) if row else Facets()


def suggest_conditions(cur: DuckDBPyConnection, region: str = "", rehearsal: bool = False) -> tuple[str, ...]:
    """Conditions that some runs fulfil: values of parameters, and medians of numbers; of all regions without one.

    They are those of each configuration's newest run: reading all runs would take a second of a million."""
    scope = {"region": region, "rehearsal": rehearsal}
    speeds = [json.loads(speed) or {} for (speed,) in cur.execute(_SPEEDS, scope).fetchall()]
    values: defaultdict[str, set[str]] = defaultdict(set)
    for name, value in (pair for speed in speeds for pair in speed.items()):
        values[name].add(str(value))
    several = sorted(values, key=lambda name: (-len(values[name]), name))[:MAX_NAMES]
    parameters = [f"{PARAMETER}{name}:{value}" for name in several for value in sorted(values[name])[:MAX_VALUES]]
    medians = cur.execute(_MEDIANS, scope).fetchone() or ()
    numbers = [f"{name}:{median:.3g}.." for name, median in zip(_SUGGESTED, medians, strict=True) if median]
    metrics = cur.execute(_METRICS, scope).fetchall()
    suggested = (*numbers, *(f"{METRIC}{name}:{median:.3g}.." for name, median in metrics), *parameters)
    return tuple(filter(is_condition, suggested))  # names and values may hold anything


def fetch_sizes(cur: DuckDBPyConnection, query: BoardQuery) -> tuple[int, ...]:
    """The node counts of the leaderboard's rows, that with the newest result first."""
    cur.execute(
        f"""
        select node_count from {statistics_of(cur, query)}
        where node_count is not null and (runs > 0 or $include_invalid)
        group by node_count order by max(latest_at) desc nulls last, node_count desc
        """,
        build_parameters(cur, query) | {"include_invalid": query.include_invalid},
    )
    return tuple(nodes for (nodes,) in cur.fetchall())
