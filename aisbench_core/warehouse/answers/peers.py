"""The group behind each compared run: the valid runs of its row of the leaderboard, whether two groups
differ, and what a configuration usually reaches."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from duckdb import DuckDBPyConnection

from aisbench_core.domain.statistics.difference import compare_means
from aisbench_core.domain.statistics.summary import summarize_values
from aisbench_core.model import Resolved, Run, WorkloadFacts
from aisbench_core.model.columns import COUNTED, GROUP_KEYS, MISSED, Compared, list_compared
from aisbench_core.warehouse.measures.fingerprint import compute_fingerprint
from aisbench_core.warehouse.queries.group_statistics import MIDDLE, OF_GROUPS, group_id
from aisbench_core.warehouse.tables.times import to_naive_utc
from aisbench_core.warehouse.values.compared import MAX_DOTS, Comparability, Peers, RunComparability, RunDot, Usual
from aisbench_core.warehouse.values.runs import RunRow

# The newest runs of a group that are read.
MAX_PEERS = 500

# The numbers that a group has the median of, and their columns. Accuracy is that of the run in the middle.
_MEDIANS = {
    column.field: column.stored_name
    for column in list_compared(Compared.HIGHER_IS_BETTER, Compared.LOWER_IS_BETTER)
    if column.field != "accuracy"
}

_THROUGHPUT = {"": "throughput_cluster", "node": "throughput_per_node", "card": "throughput_per_card"}


def fetch_peers(
    cur: DuckDBPyConnection, runs: Sequence[RunRow], by_run: Sequence[RunComparability], normalise_by: str
) -> tuple[Peers, ...]:
    """In the order of the runs, the baseline first; throughputs per node or card where these decide."""
    ids = group_ids(runs)
    cur.execute(
        f"""
        with ranked as (
            select group_id, run_id, {_THROUGHPUT[normalise_by]} as throughput,
                {MISSED} as missed,
                row_number() over (partition by group_id order by created_at desc, run_id) as number
            from runs join results using (run_id)
            where {COUNTED} and {OF_GROUPS})
        select group_id, missed, run_id, throughput from ranked
        where number <= {MAX_PEERS} and throughput is not null order by group_id, hash(run_id), run_id
        """,
        {"groups": list(set(ids))},
    )
    # By hash, so that the first MAX_DOTS of a group are a sample that stays the same.
    dots: defaultdict[int, list[RunDot]] = defaultdict(list)
    missed: Counter[int] = Counter()
    for group, has_missed, *cells in cur.fetchall():
        dots[group].append(RunDot(*cells))
        missed[group] += has_missed
    known = [not run.not_known for run in runs]
    return tuple(
        _build_peers(
            one, dots[group], dots[ids[0]], missed[group], normalise_by, is_known=is_known, is_base_known=known[0]
        )
        for one, group, is_known in zip(by_run, ids, known, strict=True)
    )


def fetch_medians(cur: DuckDBPyConnection, runs: Sequence[RunRow]) -> tuple[RunRow, ...]:
    """Each run with the medians over its group's valid runs as its numbers; None without valid runs."""
    ids = group_ids(runs)
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
    numbers = {group: dict(zip(names, values, strict=True)) for group, *values in cur.fetchall()}
    unmeasured = dict.fromkeys(names)
    return tuple(replace(run, **numbers.get(group, unmeasured)) for run, group in zip(runs, ids, strict=True))


def group_ids(runs: Sequence[RunRow]) -> list[int]:
    """The group of each run."""
    return [group_id({name: getattr(run, name) for name in GROUP_KEYS}) for run in runs]


def _build_peers(
    run: RunComparability,
    group: Sequence[RunDot],
    base: Sequence[RunDot],
    missed: int,
    normalise_by: str,
    *,
    is_known: bool,
    is_base_known: bool,
) -> Peers:
    throughputs = [dot.throughput for dot in group]
    middle = median(throughputs) if throughputs else None
    found = summarize_values(throughputs)
    if found and not is_known:
        found = found.without_interval
    is_baseline = {dot.run_id for dot in group} == {dot.run_id for dot in base}
    gap = None
    is_fair = run.verdict is Comparability.COMPARABLE or bool(run.normalise_by and normalise_by)
    if is_known and is_base_known and not is_baseline and is_fair:
        gap = compare_means([dot.throughput for dot in base], throughputs)
    return Peers(run.run_id, found, tuple(group[:MAX_DOTS]), is_baseline, gap, missed, middle)


NEWEST = 20
"""Of many earlier runs, so many are enough for a band of their losses."""

_SPEC_KEYS = ("framework_version", "flavor", "pool_id", "node_count", "cards_per_node")
_EQUAL = (*_SPEC_KEYS, "region", "rehearsal", "fingerprint", "throughput_unit")

_USUAL = f"""
    select count(throughput_cluster), quantile_cont(throughput_cluster, [0.25, 0.5, 0.75]), median(duration_s),
        max_by(run_id, created_at, {NEWEST})
    from runs join results using (run_id)
    where {COUNTED} and throughput_cluster is not null and run_id <> $run_id and created_at < $before
        and group_id in (
            select group_id from group_statistics
            where origin = 'launched' and {" and ".join(f"{name} = ${name}" for name in _EQUAL)})
"""  # a condition of ours


def find_usual(
    cur: DuckDBPyConnection, run: Run, facts: WorkloadFacts, resolved: Resolved, region: str, *, rehearsal: bool
) -> Usual | None:
    """Of the runs of the same configuration and size, launched before this one; None if there are none."""
    spec = run.spec
    own = {name: getattr(spec, name) for name in _SPEC_KEYS}
    values = {
        "run_id": run.run_id,
        "before": to_naive_utc(run.created_at),
        "region": region,
        "rehearsal": rehearsal,
        "fingerprint": compute_fingerprint(spec, facts, resolved),
        "throughput_unit": facts.throughput_unit,
        **own,
    }
    count, quartiles, duration_s, newest = cur.execute(_USUAL, values).fetchall()[0]
    if not count:
        return None
    lower, middle, upper = quartiles
    return Usual(count, lower, middle, upper, duration_s, tuple(newest))
