"""What there is to choose from."""

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.filters import KIND, kind
from aisbench_core.warehouse.values import Facets, RegionFacts

_REGIONS = "select region, rehearsal, count(*) from runs group by all order by rehearsal, region"

_FACETS = f"""
    select
        list(distinct model order by model), list(distinct workload order by workload),
        list(distinct framework_version order by framework_version), list(distinct flavor order by flavor),
        list(distinct node_count order by node_count) filter (where node_count is not null),
        list(distinct ruleset_id order by ruleset_id)
    from runs join results using (run_id) where {KIND}
"""  # noqa: S608 (our own words)


def regions(cur: DuckDBPyConnection) -> list[RegionFacts]:
    """Measurements first, then rehearsals; by name."""
    return [RegionFacts(*row) for row in cur.execute(_REGIONS).fetchall()]


def facets(cur: DuckDBPyConnection, region: str, rehearsal: bool | None) -> Facets:
    """Every value that occurs in the region, of each field that can be filtered."""
    row = cur.execute(_FACETS, kind(cur, region, rehearsal)).fetchone()
    return Facets(*(tuple(values or ()) for values in row)) if row else Facets()
