"""The group behind each compared run: its valid runs of the same kind, and whether the groups differ."""

from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.statistics.difference import difference
from aisbench_core.statistics.summary import summary
from aisbench_core.warehouse.compared import MOST_DOTS, Peers, RunDot, RunVerdict, Verdict

MOST_PEERS = 500
"""So many runs of a group are looked at: the newest ones."""

_THROUGHPUT = {"": "throughput_cluster", "node": "throughput_per_node", "card": "throughput_per_card"}


def peers(cur: DuckDBPyConnection, verdicts: Sequence[RunVerdict], normalise_by: str) -> tuple[Peers, ...]:
    """In the order of the verdicts, the first of which is the baseline's; by node or card where these decide."""
    asked = [one.run_id for one in verdicts]
    cur.execute(
        f"""
        with asked as (
            select run_id as asked_id, group_id from runs where run_id in (select unnest($run_ids::VARCHAR[]))),
        ranked as (
            select group_id, run_id, {_THROUGHPUT[normalise_by]} as throughput,
                row_number() over (partition by group_id order by created_at desc, run_id) as place
            from runs join results using (run_id)
            where validity = 'valid' and group_id in (select group_id from asked))
        select asked_id, run_id, throughput from asked join ranked using (group_id)
        where place <= {MOST_PEERS} and throughput is not null order by asked_id, hash(run_id), run_id
        """,  # noqa: S608 (our own words)
        {"run_ids": asked},
    )
    groups: dict[str, list[RunDot]] = {run_id: [] for run_id in asked}
    for run_id, *dot in cur.fetchall():
        groups[run_id].append(RunDot(*dot))
    base = groups[asked[0]]
    return tuple(_peers(one, groups[one.run_id], base) for one in verdicts)


def _peers(one: RunVerdict, group: Sequence[RunDot], base: Sequence[RunDot]) -> Peers:
    values = [dot.throughput for dot in group]
    same = {dot.run_id for dot in group} == {dot.run_id for dot in base}
    told = not same and one.verdict is not Verdict.NOT_COMPARABLE
    found = difference([dot.throughput for dot in base], values) if told else None
    return Peers(one.run_id, summary(values), tuple(group[:MOST_DOTS]), same, found)
