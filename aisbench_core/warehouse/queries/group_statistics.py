"""Statistics of each group of runs, kept as a table: a leaderboard must not count a million runs for each page.

One SELECT computes a group's statistics from its runs. A writer that changes runs notes which groups are due; a reader
takes the stored statistics of all other groups and computes those that are due, so an answer never depends on what is
stored. From time to time a writer settles: computes what is due, and stores it. A group has a row from its first run
on, whose keys are right while its numbers are due.
"""

import hashlib
import zlib
from collections.abc import Collection, Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import (
    BEGAN,
    COUNTED,
    CURRENCY,
    FINGERPRINTED,
    FOLLOWING,
    GROUP_KEYS,
    MISSED,
    Column,
    list_medians,
)
from aisbench_core.model.columns.statistics import CLUSTER, IS_LOWER_BETTER, STORED
from aisbench_core.warehouse.queries import stored_spending as spending
from aisbench_core.warehouse.tables.schema import RUNS, build_in_condition

# Settling a group takes longer than recording a run, so that it is done for several at once ...
# Groups that may be due before whoever records a run settles them.
MAX_DUE = 8

# ... but a reader computes all runs of a group that is due, so that it must not stay due for ever.
# One run in so many settles whatever is due.
TURNS = 64

# The cells of a run that a new row of its group begins with.
KEY_COLUMNS = ("group_id", *GROUP_KEYS, *FINGERPRINTED, *FOLLOWING)

# When a run was, for its history: its start by the cloud's clock where it started.
AT = "coalesce(started_at, submitted_at, created_at)"

# Why a run does not count.
REASON = """case when validity = 'set_aside' then 'set aside' when failed_checks = '' then state
    else failed_checks end"""

# Of a run that counts: its throughput is in `counted`.
COUNTS = "counted is not null"

_ONE_CURRENCY = """min(nullif(currency, '')) filter (where counted is not null)
    = max(nullif(currency, '')) filter (where counted is not null)"""


def _build_median(column: Column) -> str:
    """SQL; amounts of several currencies have no median."""
    median = f"median({column.value}) filter (where counted is not null)"
    return f"case when {_ONE_CURRENCY} then {median} end" if column.unit == CURRENCY else median


_NUMBERS = {
    **{name: f"any_value({name})" for name in (*GROUP_KEYS, *FINGERPRINTED)},
    **{name: f"max({name})" for name in FOLLOWING},  # earlier consoles exported runs without it: what is said stands
    "recorded": "count(*)",
    "valid": f"count(*) filter (where {COUNTED})",
    "runs": "count(counted)",
    "invalid": "count(*) filter (where validity = 'invalid')",
    "incomplete": "count(*) filter (where validity = 'incomplete')",
    "set_aside": "count(*) filter (where validity = 'set_aside')",
    "ruleset_ids": "string_agg(distinct ruleset_id, ';' order by ruleset_id)",
    **{
        statistic.name: statistic.aggregate(COUNTS, "counted" if statistic.over == CLUSTER else "")
        for statistic in STORED
    },
    "accuracy_target": "max(accuracy_target) filter (where counted is not null)",
    "reached": f"count(*) filter (where counted is not null and accuracy_measured >= accuracy_target and not {MISSED})",
    "missed": f"count(*) filter (where counted is not null and {MISSED})",
    **{median.name: _build_median(median) for median in list_medians()},
    "currency": f"case when {_ONE_CURRENCY} then min(nullif(currency, '')) filter (where counted is not null) end",
}

# The run in the middle by throughput, the slower one of two. A median belongs to no run, an accuracy to one.
MIDDLE = """quantile_disc(struct_pack(speed := counted, id := run_id, accuracy := accuracy_measured), 0.5)
    filter (where counted is not null)"""

_WINNER = f"""max_by(
    struct_pack(id := run_id, who := created_by, moment := coalesce(ended_at, {BEGAN})),
    struct_pack(merit := case when {IS_LOWER_BETTER} then -counted else counted end, id := run_id))
    filter (where counted is not null)"""

_LATEST = f"""max_by(
    struct_pack(id := run_id, moment := {BEGAN}, title := title, framework := framework, why := {REASON}),
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

# DuckDB expects a bare list of integers to match far more rows, and then reads the id of every run first.
OF_GROUPS = "group_id in (select group_id from group_statistics where list_contains($groups::BIGINT[], group_id))"

COLUMNS = ("group_id", *_NUMBERS, *_SINGLE_RUNS)


def build_statistics_sql(condition: str, within: str = "", more: str = "") -> str:
    """SQL for the statistics over the runs that fulfil a condition, a row for each group.

    `within`: a column that splits groups into several rows. `more`: further aggregates, each with a comma behind it."""
    by = f"group_id, {within}" if within else "group_id"
    numbers = ", ".join(f"{sql} as {name}" for name, sql in _NUMBERS.items())
    single = ", ".join(f"{sql} as {name}" for name, sql in _SINGLE_RUNS.items())
    # One max_by over a struct takes a quarter less than one for each of its fields.
    return f"""
        select * exclude (winner, latest, newest, middle), {single} from (
            select {by}, {more} {numbers}, {_WINNER} as winner, {_LATEST} as latest, {_NEWEST} as newest,
                {MIDDLE} as middle
            from (select *, case when {COUNTED} then throughput_cluster end as counted
                from runs join results using (run_id) where {condition})
            group by {by})"""


_DUE = f"""select {", ".join(COLUMNS)}
    from ({build_statistics_sql("runs.group_id in (select group_id from group_statistics_due)")})"""

_SETTLED = "group_id not in (select group_id from group_statistics_due)"

# The statistics of all groups, whatever is due.
CURRENT = f"""(
    select {", ".join(COLUMNS)} from group_statistics where {_SETTLED}
    union all {_DUE})"""


def build_current_sql(cur: DuckDBPyConnection) -> str:
    """CURRENT as SQL; while nothing is due the bare table, which is planned in 0.2 ms instead of 4."""
    due = cur.execute("select 1 from group_statistics_due limit 1").fetchall()
    return CURRENT if due else "group_statistics"


_FLOATS = (
    *(statistic.name for statistic in STORED),
    *("accuracy", "accuracy_target", *(median.name for median in list_medians())),
)
_EXACT = (
    "recorded", "valid", "runs", "invalid", "incomplete", "set_aside", "ruleset_ids", "best_run_id",
    "latest_run_id", "newest_run_id", "why", "median_run_id", "currency", "reached", "missed",
)  # fmt: skip

# Threads add up floats in any order, so that two sums of the same runs differ in their last digits.
_DIFFERS = [f"case when stored.{name} is distinct from now.{name} then '{name}' end" for name in _EXACT] + [
    f"""case when (stored.{name} is null) <> (now.{name} is null)
        or abs(stored.{name} - now.{name}) > 1e-9 * abs(now.{name}) then '{name}' end"""
    for name in _FLOATS
]
_DIFFERENCES = f"""
    select concat_ws(', ', coalesce(now.region, stored.region), coalesce(now.model, stored.model),
            nullif(coalesce(now.framework_version, stored.framework_version), ''),
            nullif(coalesce(now.flavor, stored.flavor), '')) as title,
        concat_ws(', ', {", ".join(_DIFFERS)}) as differing
    from (select * from group_statistics where {_SETTLED}) stored full join (
        select * from ({build_statistics_sql(f"runs.{_SETTLED}")})) now using (group_id)
    where differing <> '' order by title
"""


def find_differences(cur: DuckDBPyConnection) -> list[tuple[str, str]]:
    """The groups whose stored statistics are not those of their runs: title, and the columns that differ."""
    return [(str(title), str(differing)) for title, differing in cur.execute(_DIFFERENCES).fetchall()]


def recount_groups(cur: DuckDBPyConnection) -> None:
    """Compute the statistics of every group from its runs."""
    cur.execute("delete from group_statistics")
    names = ", ".join(COLUMNS)
    cur.execute(f"insert into group_statistics ({names}) select {names} from ({build_statistics_sql('true')})")
    spending.recount_spending(cur)
    cur.execute("delete from group_statistics_due")


def regroup_runs(cur: DuckDBPyConnection) -> None:
    """Compute the group of every run, and the statistics of every group."""
    cur.execute(f"update runs set group_id = {GROUP_ID} where group_id is distinct from {GROUP_ID}")
    recount_groups(cur)


# An integer, because grouping a million runs by fifteen texts is what would take the time; a BIGINT has 63 bits for it.
GROUP_ID = f"""(md5_number_lower(concat_ws(chr(31), {
    ", ".join(f"coalesce({name}::VARCHAR, '')" for name in GROUP_KEYS)
})) >> 1)::BIGINT"""


def group_id(cells: Mapping[str, object]) -> int:
    """The group of a run, from its cells: 63 bits of an MD5 over GROUP_KEYS, the same as GROUP_ID in SQL."""
    text = "\x1f".join(_to_text(cells[name]) for name in GROUP_KEYS)
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[8:], "little") >> 1


def _to_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def mark_due_by_id(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> None:
    """Note that the groups of these stored runs are due."""
    condition, parameters = build_in_condition("run_id", run_ids)
    cur.execute(f"insert into group_statistics_due select distinct group_id from runs where {condition}", parameters)


def mark_due(cur: DuckDBPyConnection, runs: Sequence[Mapping[str, object]]) -> None:
    """Note that the groups of these runs, given as cells, are due; add rows for new groups."""
    groups = {run["group_id"]: run for run in runs}
    if not groups:  # all that were to be copied have been forgotten meanwhile
        return
    cur.execute("insert into group_statistics_due select unnest(?::BIGINT[])", [list(groups)])
    condition, parameters = build_in_condition("group_id", [*groups])
    for (group,) in cur.execute(f"select group_id from group_statistics where {condition}", parameters).fetchall():
        del groups[group]
    if groups:
        add_groups(cur, [*groups.values()])


def add_groups(cur: DuckDBPyConnection, runs: Sequence[Mapping[str, object]]) -> None:
    """Add a row, with its keys only, for the group of each of these runs."""
    columns = [[run[name] for run in runs] for name in KEY_COLUMNS]
    values = ", ".join(f"unnest(?::{RUNS[name]}[])" for name in KEY_COLUMNS)
    cur.execute(f"insert into group_statistics ({', '.join(KEY_COLUMNS)}) select {values}", columns)


def settle_if_too_many(cur: DuckDBPyConnection) -> None:
    """Settle when so many groups are due that reading becomes slow."""
    if is_too_many({group for (group,) in cur.execute("select group_id from group_statistics_due").fetchall()}):
        settle_groups(cur)


def is_too_many(due: Collection[int]) -> bool:
    """Whether reading becomes slow while these groups are due."""
    return len(due) > MAX_DUE


def is_turn(run_id: str) -> bool:
    """Whether this run settles what is due: by its id, so that no process has to count runs."""
    return zlib.crc32(run_id.encode()) % TURNS == 0


def settle_groups(cur: DuckDBPyConnection) -> None:
    """Compute the statistics of the groups that are due, and store them."""
    cur.execute("delete from group_statistics where group_id in (select group_id from group_statistics_due)")
    cur.execute(f"insert into group_statistics ({', '.join(COLUMNS)}) {_DUE}")
    spending.settle_spending(cur)
    cur.execute("delete from group_statistics_due")


# --- runs that failed early ---------------------------------------------------------------------------

# Runs that failed before their job reported the data's hash count in the row of the configuration that was launched:
# their own groups have no hash, so that nothing else would show them beside the runs that succeeded.

# What a job reports, and the code's hash, which a run gets before its job is made.
_REPORTED = ("synthetic_data", "dataset_sha256")
_LAUNCHED = tuple(name for name in GROUP_KEYS if name not in (*_REPORTED, "code_sha256"))

_FAILED_EARLY = """origin = 'launched' and dataset_sha256 = '' and not synthetic_data and incomplete > 0
    and runs = 0 and invalid = 0 and set_aside = 0"""


def homes_of(relation: str, within: str = "") -> str:
    """SQL: each group of such runs in a relation of group statistics, and the group where it counts: of those that were
    launched alike and have a result, the one with the newest run.

    `within`: a column of the relation that has to be equal, too."""
    columns = ("group_id", *([within] if within else ()))
    keys = ", ".join((*_LAUNCHED, *([within] if within else ())))
    return f"""
        select {", ".join(f"early.{name}" for name in columns)},
            max_by(home.group_id, struct_pack(at := home.latest_at, id := home.group_id)) as home_id
        from (from {relation} where {_FAILED_EARLY}) early
        join (from {relation} where origin = 'launched' and not ({_FAILED_EARLY})) home using ({keys})
        where early.code_sha256 in ('', home.code_sha256) group by all"""


def with_early_failures(relation: str, within: str = "") -> str:
    """SQL: the relation with such groups counted in their homes, and without their own rows."""
    columns = ("group_id", *([within] if within else ()))
    home = " and ".join(("moved.home_id = counted.group_id", *(f"moved.{one} = counted.{one}" for one in columns[1:])))
    return f"""
        select counted.* replace (
            counted.incomplete + coalesce(moved.incomplete, 0) as incomplete,
            counted.recorded + coalesce(moved.recorded, 0) as recorded)
        from {relation} counted left join (
            select home_id{"".join(f", {one}" for one in columns[1:])},
                sum(incomplete)::BIGINT as incomplete, sum(recorded)::BIGINT as recorded
            from homes join {relation} using ({", ".join(columns)}) group by all) moved on {home}
        where ({", ".join(f"counted.{one}" for one in columns)}) not in (select {", ".join(columns)} from homes)"""


def groups_of_row(cur: DuckDBPyConnection, group: int) -> Sequence[int]:
    """The group of the row that counts this group, and then those of the runs that failed early."""
    cur.execute(
        f"""
        with alike as (
            from {build_current_sql(cur)} where (region, rehearsal, fingerprint) in (
                select (region, rehearsal, fingerprint) from group_statistics where group_id = $group)),
        homes as ({homes_of("alike")})
        select group_id, home_id from homes
        where group_id = $group or home_id = $group or home_id in (select home_id from homes where group_id = $group)
        order by group_id""",
        {"group": group},
    )
    rows = cur.fetchall()
    return [rows[0][1], *(early for early, _ in rows)] if rows else [group]
