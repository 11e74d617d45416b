"""Costs and node hours by month, person, workload, profile and series, stored as a table: a page must not add up a
million runs.

They are stored and computed with the statistics of groups (group_statistics.py): a group that is due is due
here, too. Rehearsals cost nothing, imported runs cost another console, and a run whose nodes never started has no
hours: none of them is counted.
"""

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import NODE_HOURS
from aisbench_core.warehouse.measures.costs import COST
from aisbench_core.warehouse.tables.schema import SPENDING

_SETTLED = "group_id not in (select group_id from group_statistics_due)"
_DUE = "group_id in (select group_id from group_statistics_due)"


_COUNTED = f"origin = 'launched' and not rehearsal and ({NODE_HOURS}) is not null"


def _build_sum_query(condition: str) -> str:
    return f"""
        select group_id, date_trunc('month', created_at)::DATE as month, created_by as person, workload, profile,
            coalesce(series_id, '') as series, coalesce(currency, '') as currency, count(*) as runs,
            count(*) filter (where state = 'completed') as completed, sum({NODE_HOURS}) as node_hours,
            sum({COST}) as amount
        from runs where {condition} and {_COUNTED}
        group by all"""


def recount_spending(cur: DuckDBPyConnection) -> None:
    """Compute the table from all runs."""
    cur.execute("delete from spending")
    cur.execute(f"insert into spending {_build_sum_query('true')}")


def settle_spending(cur: DuckDBPyConnection) -> None:
    """Compute what is due, and store it; call it while the groups are still noted as due."""
    cur.execute(f"delete from spending where {_DUE}")
    cur.execute(f"insert into spending {_build_sum_query(_DUE)}")


def build_current_sql(cur: DuckDBPyConnection) -> str:
    """The table as SQL, whatever is due."""
    due = cur.execute("select 1 from group_statistics_due limit 1").fetchall()
    return f"(select * from spending where {_SETTLED} union all {_build_sum_query(_DUE)})" if due else "spending"


_KEYS = ", ".join([*SPENDING][:7])
# Threads add up floats in any order, so that two sums of the same runs differ in their last digits.
_DIFFERENCES = f"""
    select coalesce(stored.month, now.month)::VARCHAR as month, coalesce(stored.person, now.person) as person
    from (select * from spending where {_SETTLED}) stored full join ({_build_sum_query(_SETTLED)}) now using ({_KEYS})
    where stored.runs is distinct from now.runs or stored.completed is distinct from now.completed
        or stored.node_hours is null or now.node_hours is null or (stored.amount is null) <> (now.amount is null)
        or abs(stored.node_hours - now.node_hours) > 1e-9 * now.node_hours
        or abs(stored.amount - now.amount) > 1e-9 * now.amount
    group by all order by all"""


def find_differences(cur: DuckDBPyConnection) -> list[tuple[str, str]]:
    """Month and person of the stored rows that are not the sums of their runs."""
    return [(str(month), str(person)) for month, person in cur.execute(_DIFFERENCES).fetchall()]
