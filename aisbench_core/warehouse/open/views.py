"""What analysts read: views with names that stay, whatever becomes of the tables below them.

They are made anew wherever somebody reads, over the tables as they are then: a view that was stored could go stale, and
a lake with stored views takes no options any more. Only a snapshot, which does not change, holds them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.answers.board import GROUPED
from aisbench_core.warehouse.answers.group_statistics import CURRENT
from aisbench_core.warehouse.answers.scaling import LINE, POINTS
from aisbench_core.warehouse.open import view_columns as columns
from aisbench_core.warehouse.open.view_columns import ViewColumn


@dataclass(frozen=True, slots=True)
class View:
    """A view: its name for ever, what one row of it is, its columns, and where they come from."""

    name: str
    row: str
    columns: tuple[ViewColumn, ...]
    source: str
    before: str = ""

    @property
    def query(self) -> str:
        """What the view is over the warehouse's tables."""
        cells = ", ".join(f"{column.sql} as {column.name}" for column in self.columns)
        return f"{self.before} select {cells} from {self.source}"


_CHECKED = """(
    select run_id, unnest(from_json(checks,
        '[{"id":"VARCHAR","level":"VARCHAR","expected":"VARCHAR","found":"VARCHAR","evidence":"VARCHAR"}]')) as checked
    from results)"""

_SCALED = f"""(
    select *, min(node_count) over line as base_nodes, min_by(throughput, node_count) over line as base_throughput
    from ({POINTS})
    join (select fingerprint, any_value(workload) as workload, any_value(model) as model from runs group by fingerprint)
        using (fingerprint)
    window line as (partition by {LINE}))"""

_OF_SERIES = f"runs join results using (run_id) where series_id <> '' group by {columns.SERIES_GROUP}"

VIEWS: Sequence[View] = (
    View("v_runs", "a run with its result and validity", columns.RUNS, "runs join results using (run_id)"),
    View(
        "v_groups",
        "a row of the leaderboard: runs of one benchmark configuration on the same hardware and software",
        columns.GROUPS,
        "groups as page",
        f"with numbers as (from {CURRENT}), {GROUPED.format(shown='true')}",
    ),
    View("v_series", "a node count, version and image of a series", columns.SERIES, _OF_SERIES),
    View("v_ranks", "a card with a throughput", columns.RANKS, "rank_results join runs using (run_id)"),
    View("v_servers", "a server of a single-server run", columns.SERVERS, "server_results join runs using (run_id)"),
    View(
        "v_checks",
        "a check of a run",
        columns.CHECKS,
        f"{_CHECKED} join results using (run_id) join runs using (run_id)",
    ),
    View("v_scaling", "a node count of a scaling curve", columns.SCALING, _SCALED),
    View("v_metrics", "a sample of the platform's metrics", columns.METRICS, "metric_samples join runs using (run_id)"),
    View("v_events", "an event of a run", columns.EVENTS, "events join runs using (run_id)"),
)


def create(con: DuckDBPyConnection) -> None:
    """Make the views where unqualified names lead."""
    for view in VIEWS:
        con.execute(f"create or replace view {view.name} as {view.query}")


def describe(con: DuckDBPyConnection) -> None:
    """Say as comments of the views what their columns mean, for those who read them without our documents."""
    for view in VIEWS:
        con.execute(f"comment on view {view.name} is {_text(view.row)}")
        for column in view.columns:
            told = f"{column.meaning} [{column.unit}]" if column.unit else column.meaning
            con.execute(f"comment on column {view.name}.{column.name} is {_text(told)}")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
