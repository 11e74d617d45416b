"""The group behind each compared run: its valid runs of the same kind, and whether the groups differ."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import COUNTED, Compared, compared
from aisbench_core.statistics.difference import difference
from aisbench_core.statistics.summary import summary
from aisbench_core.warehouse.answers.compared import MOST_DOTS, Comparability, Peers, RunDot, RunVerdict
from aisbench_core.warehouse.answers.group_statistics import KEYS, MIDDLE, OF_GROUPS, group_id
from aisbench_core.warehouse.values import RunRow

MOST_PEERS = 500
"""So many runs of a group are looked at: the newest ones."""

_MEDIANS = {
    column.field: column.stored_name
    for column in compared(Compared.HIGHER_IS_BETTER, Compared.LOWER_IS_BETTER)
    if column.field != "accuracy"
}
"""What the group of a run has for each of its numbers, and the column of which that is the median."""

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
            where {COUNTED} and {OF_GROUPS})
        select group_id, run_id, throughput from ranked
        where place <= {MOST_PEERS} and throughput is not null order by group_id, hash(run_id), run_id
        """,
        {"groups": list(set(ids))},
    )
    dots: defaultdict[int, list[RunDot]] = defaultdict(list)
    for group, *dot in cur.fetchall():
        dots[group].append(RunDot(*dot))
    groups = [dots[each] for each in ids]
    return tuple(_peers(one, group, groups[0]) for one, group in zip(verdicts, groups, strict=True))


def medians(cur: DuckDBPyConnection, runs: Sequence[RunRow]) -> tuple[RunRow, ...]:
    """Each run with the medians of its group's valid runs as its numbers, and the accuracy of the run in the middle.

    Of a group without valid runs there are no numbers."""
    ids = [group_id({name: getattr(run, name) for name in KEYS}) for run in runs]
    cells = ", ".join(f"median({column}) as {name}" for name, column in _MEDIANS.items())
    cur.execute(
        f"""
        select group_id, {cells}, ({MIDDLE}).accuracy as accuracy
        from (select *, throughput_cluster as counted from runs join results using (run_id)
            where {COUNTED} and {OF_GROUPS})
        group by group_id
        """,
        {"groups": list(set(ids))},
    )
    names = (*_MEDIANS, "accuracy")
    found = {group: dict(zip(names, values, strict=True)) for group, *values in cur.fetchall()}
    return tuple(replace(run, **found.get(each, dict.fromkeys(names))) for run, each in zip(runs, ids, strict=True))


def _peers(one: RunVerdict, group: Sequence[RunDot], base: Sequence[RunDot]) -> Peers:
    values = [dot.throughput for dot in group]
    same = {dot.run_id for dot in group} == {dot.run_id for dot in base}
    told = not same and one.verdict is not Comparability.NOT_COMPARABLE
    found = difference([dot.throughput for dot in base], values) if told else None
    return Peers(one.run_id, summary(values), tuple(group[:MOST_DOTS]), same, found)
