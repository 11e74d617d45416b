"""What the time of a run, or of all runs of its configuration, was spent on."""

from duckdb import DuckDBPyConnection

from aisbench_core.domain.goodput.account import TimeAccount, make_account
from aisbench_core.domain.goodput.metrics import INTERRUPTIONS, LOST, PRODUCTIVE, WITHOUT_ROLLBACK
from aisbench_core.model import MetricSource


def account_run(cur: DuckDBPyConnection, run_id: str) -> TimeAccount | None:
    """Of one run; None where its script reports neither phases nor steps."""
    return _sum_time(cur, "run_id = ?", run_id)


def account_row(cur: DuckDBPyConnection, run_id: str) -> TimeAccount | None:
    """Of all runs of this run's row of the leaderboard that say so, however they ended."""
    return _sum_time(cur, "group_id = (select group_id from runs where run_id = ?)", run_id)


def _sum_time(cur: DuckDBPyConnection, condition: str, run_id: str) -> TimeAccount | None:
    cur.execute(
        f"""with own as (
            select run_id, card_count * date_diff('millisecond', started_at, ended_at) / 86400e3 as device_days
            from runs where {condition})
        select name, sum(value), count(*), sum(device_days), count(*) filter (definition = ?)
        from own join run_metrics using (run_id)
        where (name in (?, ?) or starts_with(name, ?)) and source = ? group by name""",
        [run_id, WITHOUT_ROLLBACK, PRODUCTIVE, INTERRUPTIONS, LOST, MetricSource.CONSOLE],
    )
    rows = cur.fetchall()
    runs, days, unknown = next((facts for name, _, *facts in rows if name == PRODUCTIVE), (0, None, 0))
    sums = [(name, value) for name, value, *_ in rows]
    return make_account(sums, runs=runs, device_days=days, unknown_rollbacks=unknown)
