"""How throughput grows with nodes: the same question on the same flavor and software, on n nodes."""

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.compared import Scaling, ScalingPoint, ScalingQuery
from aisbench_core.warehouse.values import RunRow

POINTS = """
    select region, rehearsal, fingerprint, framework_version, flavor, pool_id, cards_per_node, synthetic_data,
        node_count, throughput_unit, median(throughput_cluster) as throughput, count(*) as runs
    from runs join results using (run_id)
    where validity = 'valid' and mode = 'cluster' and node_count is not null and cards_per_node is not null
    group by all
"""
"""T(n) of everything that can scale: the median of the valid runs. Single servers do not work together."""

_CURVE = f"""
    select node_count, runs, throughput, throughput_unit from ({POINTS})
    where region = $region and rehearsal = $rehearsal and fingerprint = $fingerprint
        and flavor = $flavor and pool_id = $pool_id
        and framework_version = $framework_version and cards_per_node = $cards_per_node
        and synthetic_data = $synthetic_data
    order by node_count
"""  # noqa: S608 (our own words)


def query_of(run: RunRow) -> ScalingQuery:
    """The curve that a run lies on."""
    return ScalingQuery(
        region=run.region,
        fingerprint=run.fingerprint,
        framework_version=run.framework_version,
        flavor=run.flavor,
        pool_id=run.pool_id,
        cards_per_node=run.cards_per_node,
        synthetic_data=run.synthetic_data,
        rehearsal=run.rehearsal,
    )


def scaling(cur: DuckDBPyConnection, query: ScalingQuery) -> Scaling:
    """The curve from the smallest node count that was measured; its speed-up and efficiency there are 1."""
    cur.execute(
        _CURVE,
        {
            "region": query.region,
            "rehearsal": query.rehearsal,
            "fingerprint": query.fingerprint,
            "flavor": query.flavor,
            "pool_id": query.pool_id,
            "framework_version": query.framework_version,
            "cards_per_node": query.cards_per_node,
            "synthetic_data": query.synthetic_data,
        },
    )
    found = cur.fetchall()
    if not found:
        return Scaling(query, (), None, "")
    base_nodes, _, base, unit = found[0]
    points = tuple(_point(nodes, runs, value, base_nodes, base) for nodes, runs, value, _ in found)
    return Scaling(query, points, base_nodes, unit)


def _point(nodes: int, runs: int, throughput: float, base_nodes: int, base: float) -> ScalingPoint:
    speed_up, ideal = throughput / base, nodes / base_nodes
    return ScalingPoint(nodes, runs, throughput, speed_up, speed_up / ideal, ideal)
