"""Shows runs to a cursor with a named metric in place of their throughput, so that every query ranks by it.

A metric in two units or of two definitions is never in one ranking: both are among the keys of a group.
"""

from collections.abc import Mapping

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.queries.group_statistics import COLUMNS, GROUP_ID, build_current_sql, build_statistics_sql
from aisbench_core.warehouse.tables.schema import RESULTS, RUNS
from aisbench_core.warehouse.values.runs import PRIMARY, THROUGHPUT

_NAMED = """create temp table named as
    select run_id, name, value, unit, better, combined, definition
    from run_metrics where name = ?"""

# A run without its workload's primary metric has no number that it could be ranked by.
_PRIMARY = """create temp table named as
    select runs.run_id, primary_metric as name, value, coalesce(unit, '') as unit, primary_better as better, combined,
        definition
    from runs left join run_metrics on runs.run_id = run_metrics.run_id and name = primary_metric
    where primary_metric <> ''"""

_DEFINITION = "coalesce(definition, '')"
_OF_RUNS = {"throughput_unit": "unit", "primary_metric": "name", "throughput_definition": _DEFINITION}

# As GROUP_ID, and apart by definition; runs whose metric has none keep theirs.
_GROUP_ID = f"""case when coalesce(definition, '') = '' then {GROUP_ID}
    else (md5_number_lower(concat_ws(chr(31), {GROUP_ID}, definition)) >> 1)::BIGINT end"""

# Where runs differ in which way is better, most of them decide, and the newest if as many say either.
_LOWER = """select coalesce(list(name), []) from (
    select name, better, row_number() over (partition by name order by count(*) desc, max(created_at) desc) as place
    from named join runs using (run_id) where better in ('higher', 'lower') group by name, better)
    where place = 1 and better = 'lower'"""

# The sum over all ranks can be divided among them; another number is none of a node.
_OF_RESULTS = {
    "throughput_cluster": "value",
    "throughput_per_node": "case when combined = 'sum' then value / node_count end",
    "throughput_per_card": "case when combined = 'sum' then value / card_count end",
}


def overlay_metric(cur: DuckDBPyConnection, name: str) -> None:
    """Show those runs that have the metric, until the cursor is closed; THROUGHPUT is a metric of all runs.

    PRIMARY shows all runs: those of workloads with a primary metric by that."""
    is_primary = name == PRIMARY
    if name in ("", THROUGHPUT) or (is_primary and not _has_primary(cur)):
        return
    cur.execute(_PRIMARY if is_primary else _NAMED, [] if is_primary else [name])
    cur.execute(f"set variable lower_is_better = ({_LOWER})")
    unchanged = _select_statistics(cur) if is_primary else ""
    runs, results, join = _make_room(cur, "runs"), _make_room(cur, "results"), "left join" if is_primary else "join"
    cells = _replace_cells(RUNS, _OF_RUNS)
    cur.execute(
        f"""create temp view runs as select * exclude definition replace ({_GROUP_ID} as group_id) from (
            select {cells}, stored.rowid as rowid, definition from {runs} stored {join} named using (run_id))"""
    )
    cells = _replace_cells(RESULTS, _OF_RESULTS)
    sizes = f"(select run_id, node_count, card_count from {runs})"
    cur.execute(
        f"""create temp view results as select {cells}, stored.rowid as rowid
        from {results} stored {join} (from named join {sizes} using (run_id)) named using (run_id)"""
    )
    ranked = build_statistics_sql("run_id in (select run_id from named)")
    names = ", ".join(COLUMNS)
    cur.execute(f"create temp table ranked as {unchanged} select {names} from ({ranked})")
    cur.execute("alter table ranked rename to group_statistics")
    cur.execute("create temp table none_due (group_id BIGINT)")
    cur.execute("drop table if exists temp.main.group_statistics_due")
    cur.execute("alter table none_due rename to group_statistics_due")


def _has_primary(cur: DuckDBPyConnection) -> bool:
    return bool(cur.execute("select 1 from group_statistics where primary_metric <> '' limit 1").fetchall())


def _replace_cells(columns: Mapping[str, str], replaced: Mapping[str, str]) -> str:
    return ", ".join(
        f"case when named.run_id is null then stored.{name} else {replaced[name]} end as {name}"
        if name in replaced
        else f"stored.{name} as {name}"
        for name in columns
    )


def _select_statistics(cur: DuckDBPyConnection) -> str:
    """SQL of the statistics of all groups without a primary metric, and of those that have none there any more."""
    cur.execute(
        f"""create temp table unchanged as select {", ".join(COLUMNS)} from {build_current_sql(cur)}
        where group_id not in (select group_id from runs join named using (run_id))"""
    )
    return "from unchanged union all"


def _make_room(cur: DuckDBPyConnection, table: str) -> str:
    """Make room for a temporary view of this name, and return how what it hides is called then."""
    [(database,)] = cur.execute("select current_database()").fetchall()
    is_hidden = "select 1 from duckdb_views() where view_name = ? and temporary"
    if not cur.execute(is_hidden, [table]).fetchall():
        return f"{database}.main.{table}"
    cur.execute(f"alter view {table} rename to evaluated_{table}")
    return f"evaluated_{table}"
