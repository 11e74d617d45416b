"""What the leaderboard says of each group of runs, kept as a table: a million runs need not be counted for each look.

A group's standing is counted from its runs by one SELECT. Whoever changes runs writes down which groups are `due`;
whoever reads takes the kept standings of all others and counts those that are due anew, so that an answer never depends
on what was kept. Now and then a writer settles: counts what is due, and keeps it. Of each group there is a row from its
first run on, whose keys hold while its numbers are due.
"""

import hashlib
import zlib
from collections.abc import Collection, Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import BEGAN, COUNTED, medians
from aisbench_core.warehouse.store.schema import among

KEYS = (
    "region", "rehearsal", "fingerprint", "framework_version", "flavor", "pool_id", "node_count", "cards_per_node",
    "synthetic_data", "throughput_unit", "origin", "accelerator", "image", "code_sha256", "dataset_sha256",
)  # fmt: skip
"""What runs have in common that make one row: one question, one configuration, one system, code and data.

What is not known is a value of its own; `group_id` is a hash of it, because grouping by text is what costs."""

OLYMPIC_RUNS = 5
"""From so many runs on the fastest and the slowest may be dropped."""

MOST_DUE = 8
"""So many groups may be due before whoever records a run settles them: it costs more than recording does."""

TURNS = 64
"""One in so many runs settles in any case: whoever looks counts all runs of a group due."""

_DECIDED = ("workload", "model", "mode", "throughput_definition", "dataset")
"""The same in every run with one fingerprint."""

MARKED = ("group_id", *KEYS, *_DECIDED)
"""The cells of a run by which its group becomes known."""

_TYPES = {
    "group_id": "BIGINT",
    "rehearsal": "BOOLEAN",
    "synthetic_data": "BOOLEAN",
    "node_count": "INTEGER",
    "cards_per_node": "INTEGER",
}
"""Of the keys; all others are text."""

AT = "coalesce(started_at, submitted_at, created_at)"
"""Where a run lies in its group's history."""

_NUMBERS = {
    **{name: f"any_value({name})" for name in (*KEYS, *_DECIDED)},
    "recorded": "count(*)",
    "valid": f"count(*) filter (where {COUNTED})",
    "runs": "count(counted)",
    "invalid": "count(*) filter (where validity = 'invalid')",
    "incomplete": "count(*) filter (where validity = 'incomplete')",
    "ruleset_ids": "string_agg(distinct ruleset_id, ';' order by ruleset_id)",
    "throughput": "median(counted)",
    "best": "max(counted)",
    "mean": "avg(counted)",
    "sd": "stddev_samp(counted)",
    "olympic_mean": f"""case when count(counted) >= {OLYMPIC_RUNS}
        then (sum(counted) - max(counted) - min(counted)) / (count(counted) - 2) end""",
    "per_node": "median(throughput_per_node) filter (where counted is not null)",
    "per_card": "median(throughput_per_card) filter (where counted is not null)",
    "best_accuracy": "max(accuracy_measured) filter (where counted is not null)",
    "median_accuracy": "median(accuracy_measured) filter (where counted is not null)",
    **{median.name: f"median({median.stored_name}) filter (where counted is not null)" for median in medians()},
}

MIDDLE = """quantile_disc(struct_pack(speed := counted, id := run_id, accuracy := accuracy_measured), 0.5)
    filter (where counted is not null)"""
"""The run in the middle by throughput, the slower one of two: what else it measured belongs to the group's median."""

_WINNER = f"""max_by(
    struct_pack(id := run_id, who := created_by, moment := coalesce(ended_at, {BEGAN})),
    struct_pack(speed := counted, id := run_id)) filter (where counted is not null)"""

_LATEST = f"""max_by(
    struct_pack(id := run_id, moment := {BEGAN}, title := title, framework := framework,
        why := case when failed_checks = '' then state else failed_checks end),
    struct_pack(moment := created_at, id := run_id))"""

_NEWEST = (
    f"max_by(struct_pack(id := run_id, moment := {AT}, title := title), struct_pack(moment := {AT}, id := run_id))"
)

_SINGLE_RUNS = {
    "best_run_id": "winner.id",
    "best_by": "winner.who",
    "best_at": "winner.moment",
    "latest_run_id": "latest.id",
    "latest_at": "latest.moment",
    "title": "latest.title",
    "framework": "latest.framework",
    "why": "latest.why",
    "newest_run_id": "newest.id",
    "newest_at": "newest.moment",
    "newest_title": "newest.title",
    "median_run_id": "middle.id",
    "accuracy": "middle.accuracy",
}

OF_GROUPS = "group_id in (select group_id from standings where list_contains($groups::BIGINT[], group_id))"
"""The runs of these groups. Of a bare list the engine expects so many that it reads the id of every run."""

COLUMNS = ("group_id", *_NUMBERS, *_SINGLE_RUNS)
"""The table's columns, in order."""


def counted(condition: str, within: str = "", more: str = "") -> str:
    """The standings of the runs that the condition chooses, counted from them.

    `within`: a column that splits groups into several rows. `more`: further aggregates, each with a comma behind it."""
    by = f"group_id, {within}" if within else "group_id"
    numbers = ", ".join(f"{sql} as {name}" for name, sql in _NUMBERS.items())
    single = ", ".join(f"{sql} as {name}" for name, sql in _SINGLE_RUNS.items())
    return f"""
        select * exclude (winner, latest, newest, middle), {single} from (
            select {by}, {more} {numbers}, {_WINNER} as winner, {_LATEST} as latest, {_NEWEST} as newest,
                {MIDDLE} as middle
            from (select *, case when {COUNTED} then throughput_cluster end as counted
                from runs join results using (run_id) where {condition})
            group by {by})"""


_DUE = f"""select {", ".join(COLUMNS)}
    from ({counted("runs.group_id in (select group_id from standings_due)")})"""

_SETTLED = "group_id not in (select group_id from standings_due)"

CURRENT = f"""(
    select {", ".join(COLUMNS)} from standings where {_SETTLED}
    union all {_DUE})"""
"""Every group's standing as it is now, whatever is due."""


def current(cur: DuckDBPyConnection) -> str:
    """CURRENT, or what answers quicker when nothing is due."""
    due = cur.execute("select 1 from standings_due limit 1").fetchall()
    return CURRENT if due else "standings"


_SUMS = (
    "throughput", "best", "mean", "sd", "olympic_mean", "per_node", "per_card", "best_accuracy", "median_accuracy",
    "accuracy", *(median.name for median in medians()),
)  # fmt: skip
"""What may differ in its last digits, because sums depend on their order."""

_EXACT = (
    "recorded", "valid", "runs", "invalid", "incomplete", "ruleset_ids", "best_run_id", "latest_run_id",
    "newest_run_id", "why", "median_run_id",
)  # fmt: skip

_DIFFERS = [f"case when kept.{name} is distinct from now.{name} then '{name}' end" for name in _EXACT] + [
    f"""case when (kept.{name} is null) <> (now.{name} is null)
        or abs(kept.{name} - now.{name}) > 1e-9 * abs(now.{name}) then '{name}' end"""
    for name in _SUMS
]
_WRONG = f"""
    select concat_ws(', ', coalesce(now.region, kept.region), coalesce(now.model, kept.model),
            nullif(coalesce(now.framework_version, kept.framework_version), ''),
            nullif(coalesce(now.flavor, kept.flavor), '')) as called,
        concat_ws(', ', {", ".join(_DIFFERS)}) as differing
    from (select * from standings where {_SETTLED}) kept full join (
        select * from ({counted(f"runs.{_SETTLED}")})) now using (group_id)
    where differing <> '' order by called
"""


def wrong(cur: DuckDBPyConnection) -> list[tuple[str, str]]:
    """The groups whose kept standing is not what their runs say, each with the columns that differ."""
    return [(str(called), str(differing)) for called, differing in cur.execute(_WRONG).fetchall()]


def count_anew(cur: DuckDBPyConnection) -> None:
    """Count every group from its runs, whatever was kept."""
    cur.execute("delete from standings")
    cur.execute(f"insert into standings ({', '.join(COLUMNS)}) select {', '.join(COLUMNS)} from ({counted('true')})")
    cur.execute("delete from standings_due")


GROUP_ID = f"""(md5_number_lower(concat_ws(chr(31), {
    ", ".join(f"coalesce({name}::VARCHAR, '')" for name in KEYS)
})) >> 1)::BIGINT"""
"""The same of a stored run, in SQL."""


def group_id(cells: Mapping[str, object]) -> int:
    """The group of a run, from its cells: 63 bits of an MD5, as the migration computes it in SQL."""
    text = "\x1f".join(_text(cells[name]) for name in KEYS)
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[8:], "little") >> 1


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def mark_of_runs(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> None:
    """The groups of these stored runs are due."""
    chosen, parameters = among("run_id", run_ids)
    cur.execute(f"insert into standings_due select distinct group_id from runs where {chosen}", parameters)


def mark(cur: DuckDBPyConnection, runs: Sequence[Mapping[str, object]]) -> None:
    """The groups of these runs, given as cells, are due; of groups that are new, keys become known."""
    groups = {run["group_id"]: run for run in runs}
    cur.execute("insert into standings_due select unnest(?::BIGINT[])", [list(groups)])
    chosen, parameters = among("group_id", [*groups])
    for (group_id,) in cur.execute(f"select group_id from standings where {chosen}", parameters).fetchall():
        del groups[group_id]
    if groups:
        begin(cur, [*groups.values()])


def begin(cur: DuckDBPyConnection, runs: Sequence[Mapping[str, object]]) -> None:
    """A row, with its keys, for the group of each of these runs."""
    columns = [[run[name] for run in runs] for name in MARKED]
    values = ", ".join(f"unnest(?::{_TYPES.get(name, 'VARCHAR')}[])" for name in MARKED)
    cur.execute(f"insert into standings ({', '.join(MARKED)}) select {values}", columns)


def settle_many(cur: DuckDBPyConnection) -> None:
    """Settle when so much is due that looking becomes slow."""
    if is_much({group_id for (group_id,) in cur.execute("select group_id from standings_due").fetchall()}):
        settle(cur)


def is_much(due: Collection[int]) -> bool:
    """Whether looking becomes slow when these groups are due."""
    return len(due) > MOST_DUE


def is_turn(run_id: str) -> bool:
    """Whether it falls to this run that groups are settled: by its id, so that nothing needs to be counted."""
    return zlib.crc32(run_id.encode()) % TURNS == 0


def settle(cur: DuckDBPyConnection) -> None:
    """Count what is due and keep it."""
    cur.execute("delete from standings where group_id in (select group_id from standings_due)")
    cur.execute(f"insert into standings ({', '.join(COLUMNS)}) {_DUE}")
    cur.execute("delete from standings_due")
