"""The group behind each compared run: its valid runs of the same kind, and whether the groups differ."""

from collections import defaultdict
from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.statistics.difference import difference
from aisbench_core.statistics.summary import summary
from aisbench_core.warehouse.compared import MOST_DOTS, Peers, RunDot, RunVerdict, Verdict
from aisbench_core.warehouse.standings import KEYS, OF_GROUPS, group_id
from aisbench_core.warehouse.values import RunRow

MOST_PEERS = 500
"""So many runs of a group are looked at: the newest ones."""

_THROUGHPUT = {"": "throughput_cluster", "node": "throughput_per_node", "card": "throughput_per_card"}


def peers(
    cur: DuckDBPyConnection, runs: Sequence[RunRow], verdicts: Sequence[RunVerdict], normalise_by: str
) -> tuple[Peers, ...]:
    """In the order of the runs and their verdicts, the baseline's first; by node or card where these decide."""
    ids = [group_id({name: getattr(run, name) for name in KEYS}) for run in runs]
    cur.execute(
        f"""
        with ranked as (
            select group_id, run_id, {_THROUGHPUT[normalise_by]} as throughput,
                row_number() over (partition by group_id order by created_at desc, run_id) as place
            from runs join results using (run_id)
            where validity = 'valid' and {OF_GROUPS})
        select group_id, run_id, throughput from ranked
        where place <= {MOST_PEERS} and throughput is not null order by group_id, hash(run_id), run_id
        """,  # noqa: S608 (our own words)
        {"groups": list(set(ids))},
    )
    dots: defaultdict[int, list[RunDot]] = defaultdict(list)
    for group, *dot in cur.fetchall():
        dots[group].append(RunDot(*dot))
    groups = [dots[each] for each in ids]
    return tuple(_peers(one, group, groups[0]) for one, group in zip(verdicts, groups, strict=True))


def _peers(one: RunVerdict, group: Sequence[RunDot], base: Sequence[RunDot]) -> Peers:
    values = [dot.throughput for dot in group]
    same = {dot.run_id for dot in group} == {dot.run_id for dot in base}
    told = not same and one.verdict is not Verdict.NOT_COMPARABLE
    found = difference([dot.throughput for dot in base], values) if told else None
    return Peers(one.run_id, summary(values), tuple(group[:MOST_DOTS]), same, found)
