"""What analysts read: views, with names and columns that stay, whatever becomes of the tables below them.

They are made anew wherever somebody reads, over the tables as they are then: a view that was stored could go stale, and
a lake with stored views takes no options any more. Only a snapshot, which does not change, holds them.

A unit of "throughput_unit" is the workload's own, which the column of that name tells (samples/s as a rule). NULL is
"not measured" or "not known"; 0 is a measurement. Times are UTC.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from aisbench_core.model import columns
from aisbench_core.model.columns import BASELINE, COUNTED, FRACTION, UNIT, UTC
from aisbench_core.model.columns.statistics import CLUSTER, STATISTICS
from aisbench_core.warehouse.answers.board import FIELDS, build_groups_sql, derived_sql
from aisbench_core.warehouse.answers.scaling import LINE, POINTS
from aisbench_core.warehouse.measures.throughput import STRAGGLER_SHARE
from aisbench_core.warehouse.queries.group_statistics import CURRENT
from aisbench_core.warehouse.tables.schema import sql_text


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """One column of a view: its name for ever, the SQL behind it, its unit (empty: none) and its meaning."""

    name: str
    sql: str
    unit: str
    meaning: str


def _copy_column(name: str, meaning: str, unit: str = "") -> ViewColumn:
    return ViewColumn(name, name, unit, meaning)


_MODE = "`cluster`, or `single_server`: each server trains independently"


def _get_first_version(column: columns.Column) -> int:
    return column.stored.since if column.stored else column.median_since or BASELINE


# By name, in the order of the catalogue; those of later schemas are last, so that positions stay.
_COLUMNS = {
    column.name: ViewColumn(column.name, column.view_sql or column.value, column.unit, column.meaning)
    for column in sorted(columns.COLUMNS, key=_get_first_version)
    if column.in_view
}

RUNS = tuple(_COLUMNS[name] for name in dict.fromkeys(["run_id", *_COLUMNS]))


def _of_run(*names: str) -> tuple[ViewColumn, ...]:
    """The same of a run, wherever a row is about one or about several that have it in common."""
    return tuple(_COLUMNS[name] for name in names)


KIND = _of_run("region", "rehearsal", "synthetic_data")
CONFIGURATION = _of_run("workload", "model", "framework", "framework_version", "dataset", "throughput_definition")
HARDWARE = _of_run("accelerator", "flavor", "pool_id", "node_count", "cards_per_node")

_CODE = ("image", "code_sha256", "dataset_sha256")
_GROUP_MEANINGS = (
    {statistic.name: (statistic.meaning, statistic.unit) for statistic in STATISTICS}
    | {
        "mode": (f"{_MODE}; `cluster` also if unknown for imported results", ""),
        "runs": ("valid runs, or claimed ones for imported results; all statistics are over them", "1"),
        "invalid": ("runs with a failed check", "1"),
        "incomplete": ("runs that did not complete or have no result", "1"),
        "set_aside": ("runs that would count, but a person set them aside", "1"),
        "accuracy_target": ("target of the workload, the highest one if the runs have several", FRACTION),
        "reached": ("how many of `runs` reached their target", "1"),
        "missed": ("how many of `runs` have an accuracy below their target; such rows rank after all others", "1"),
        "differs_in": (
            "which of `accelerator`, `image`, `code` and `data` differ between otherwise equal rows, separated by `;`",
            "",
        ),
        "median_run_id": ("id of the median run by throughput, the slower one of two", ""),
        "accuracy": ("accuracy of that run", FRACTION),
        "best_run_id": ("id of the fastest run", ""),
        "best_by": ("who launched or imported the fastest run", ""),
        "best_at": ("end of the fastest run, or its start", UTC),
        "latest_run_id": ("id of the newest run", ""),
        "latest_at": ("start of the newest run", UTC),
        "reason": ("why there is no valid run", ""),
        "rank_from": (
            "best possible rank among rows of equal `fingerprint`, data, unit and kind; unconfirmed with one run",
            "1",
        ),
        "rank_to": ("worst possible rank; the same unless confidence intervals overlap", "1"),
    }
    | {
        column.name: (column.meaning, column.unit)
        for column in (
            *KIND,
            *CONFIGURATION,
            *HARDWARE,
            *_of_run("title", "throughput_unit", "fingerprint", "origin", *_CODE, "not_known"),
        )
    }
    | {column.name: (f"median over the valid runs: {column.meaning}", column.unit) for column in columns.list_medians()}
    | {"currency": ("currency of the costs; without one, the valid runs have none or several", "")}
)

GROUPS = tuple(
    ViewColumn(f"{name}_utc" if unit == UTC else name, sql, unit, meaning)
    for name, sql in ({"region": "region"} | FIELDS).items()
    if name in _GROUP_MEANINGS
    for meaning, unit in [_GROUP_MEANINGS[name]]
)

_OF_RUN = (*_of_run("run_id"), *KIND, *CONFIGURATION[:4], *HARDWARE[1:2], *HARDWARE[3:])
_SHARE = "rank_results.throughput / median(rank_results.throughput) over (partition by runs.run_id)"

_COUNT = f"count(*) filter (where {COUNTED})"
# A row may hold runs of several configurations, as of a search over parameters: what differs has no mean.
_IS_ONE = f"bool_and({columns.KNOWN}) and min(fingerprint) = max(fingerprint)"
_OF_THROUGHPUT = {each.name: each for each in STATISTICS if each.over == CLUSTER}
_AGGREGATES = {name: statistic.aggregate(COUNTED) for name, statistic in _OF_THROUGHPUT.items() if statistic.sql}
_STATISTICS = _AGGREGATES | derived_sql(_AGGREGATES["mean"], _AGGREGATES["sd"], _COUNT, _IS_ONE)
_VALID = f"case when origin = 'launched' then {_COUNT} end"

_SERIES_KEYS = (
    _copy_column("series_id", "the series"),
    *KIND,
    *CONFIGURATION[:4],
    *_of_run("image", "flavor", "node_count", "cards_per_node", "throughput_unit"),
)
_ORIGIN = _copy_column("origin", "`launched` here or `imported`, whose statistics are over claimed runs")

SERIES = (
    *_SERIES_KEYS,
    ViewColumn("runs", "count(*)", "1", "runs that ended"),
    ViewColumn("valid", _VALID, "1", "valid runs; NULL for imported ones, which cannot be verified"),
    *(
        ViewColumn(name, _STATISTICS[name], statistic.unit, statistic.meaning)
        for name, statistic in _OF_THROUGHPUT.items()
    ),
    ViewColumn("first_at_utc", "min(created_at)", UTC, "launch of the first run"),
    ViewColumn("last_at_utc", "max(coalesce(ended_at, created_at))", UTC, "end of the last run"),
    _ORIGIN,
)
# What the runs of one of its rows have in common.
SERIES_GROUP = ", ".join(column.sql for column in (*_SERIES_KEYS, _ORIGIN))

RANKS = (
    *_OF_RUN,
    _copy_column("server", "the server, from 0; 0 in cluster mode"),
    _copy_column("rank", "the card, from 0"),
    ViewColumn("throughput", "rank_results.throughput", UNIT, "the card's throughput"),
    _copy_column("throughput_unit", "its unit"),
    ViewColumn("share_of_median", _SHARE, FRACTION, "ratio to the run's median card"),
    ViewColumn("is_straggler", f"{_SHARE} < {STRAGGLER_SHARE}", "", f"below {100 * STRAGGLER_SHARE:g} % of the median"),
)

SERVERS = (
    *_OF_RUN,
    _copy_column("server", "the server, from 0"),
    ViewColumn("throughput", "server_results.throughput", UNIT, "the sum over the server's cards"),
    _copy_column("throughput_unit", "its unit"),
    ViewColumn("accuracy", "server_results.accuracy", FRACTION, "accuracy of the server"),
)

# Only what no run has: the rest is there to find slow nodes without a join.
_NODES = "(select run_id, host, node, share, slow_cards, differs from node_results) nodes"
NODES = (
    *_OF_RUN,
    _copy_column("host", "the node's name in the cloud"),
    _copy_column("node", "its number in the job, from 0"),
    _copy_column("share", "ratio of its median card to the run's"),
    _copy_column("slow_cards", f"its cards below {100 * STRAGGLER_SHARE:g} % of the run's median card"),
    _copy_column("differs", "what was captured on it that differs from the run's other nodes, with their value"),
)

EVENTS = (
    *_OF_RUN,
    _copy_column("at_utc", "time of the event", UTC),
    ViewColumn("source", "events.source", "", "`console`, `cli`, `follower`, `cloud`, …"),
    _copy_column("level", "`info`, `warning` or `error`"),
    _copy_column("message", "message of the event"),
    _copy_column("actor", "user who caused it, if any"),
)

ATTEMPTS = (
    *_OF_RUN,
    ViewColumn("attempt", "attempts.number", "1", "from 1; the job was restarted before every later one"),
    ViewColumn("started_at_utc", "attempts.started_at", UTC, "start of the attempt"),
    ViewColumn("ended_at_utc", "attempts.ended_at", UTC, "its end"),
    _copy_column("fault", "the platform's word for why it was interrupted, such as `node_fault` or `job_hanged`"),
    _copy_column("reason", "the platform's reason"),
    _copy_column("task", "the task that ended it"),
    _copy_column("host", "address of the task's node"),
    _copy_column("exit_code", "exit code of the task; NULL if it is not known"),
    _copy_column("recovery", "the platform's word for how it went on, such as `job_reschedule`; empty if it did not"),
    _copy_column("last_event", "the platform's last warning or error about it"),
    _copy_column("last_words", "the last lines of the task's log"),
)

METRICS = (
    *_OF_RUN,
    _copy_column("at_utc", "time of the sample", UTC),
    _copy_column("node", "the node, from 0"),
    _copy_column("name", "the platform's name of the metric, such as `npuUtil`"),
    _copy_column("value", "in the platform's unit of that metric: percent for every name with `Util` or `Usage`"),
)

CARD_METRICS = (
    *_OF_RUN,
    _copy_column("at_utc", "time of the sample", UTC),
    _copy_column("node", "the node, from 0"),
    _copy_column("card", "the card of the node, from 0, in the order of the tool that measured it"),
    _copy_column("name", "`coreUtil`, `memoryUsed`, `memoryTotal`, `power` or `temperature`"),
    _copy_column("value", "in percent, MB, MB, W or °C; what was not measured has no row"),
)

RUN_METRICS = (
    *_OF_RUN,
    _copy_column("name", "name of the metric"),
    _copy_column("value", "its value", "unit"),
    _copy_column("unit", "its unit; empty: none"),
    _copy_column("better", "`higher` or `lower`; empty: neither"),
    _copy_column("combined", "how it was made of the ranks' values: `sum`, `mean`, `max`, `min` or `first`"),
    _copy_column("definition", "id of the formula; empty: the script's own"),
    ViewColumn("source", "run_metrics.source", "", "`job` (its script), `log`, `platform` or `console`"),
)

CHECKS = (
    *_OF_RUN,
    _copy_column("validity", "validity of the run's result"),
    ViewColumn("check_id", "checked.id", "", "id of the check, see docs/validity.md"),
    ViewColumn("level", "checked.level", "", "`ok`, `warn` or `fail`"),
    ViewColumn("expected", "checked.expected", "", "expected value"),
    ViewColumn("found", "checked.found", "", "value found"),
    ViewColumn("evidence", "checked.evidence", "", "source of the value"),
)

SCALING = (
    *KIND,
    *_of_run("workload", "model", "framework_version", "flavor", "pool_id", "cards_per_node", "fingerprint"),
    _copy_column("origin", "`launched` here or `imported`: unverified claims, which are scaled separately"),
    _copy_column("node_count", "nodes", "1"),
    _copy_column("runs", "valid runs in cluster mode, or claimed ones for imported results", "1"),
    _copy_column("throughput", "their median", UNIT),
    _copy_column("throughput_unit", "its unit"),
    _copy_column("base_nodes", "smallest measured node count", "1"),
    ViewColumn("speed_up", "throughput / base_throughput", "1", "throughput / that of `base_nodes`"),
    ViewColumn(
        "efficiency", "throughput * base_nodes / (base_throughput * node_count)", FRACTION, "speed-up / ideal speed-up"
    ),
)


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

_OF_SERIES = f"runs join results using (run_id) where series_id <> '' group by {SERIES_GROUP}"

VIEWS: Sequence[View] = (
    View("v_runs", "a run with its result and validity", RUNS, "runs join results using (run_id)"),
    View(
        "v_groups",
        "a row of the leaderboard: runs of one benchmark configuration on the same hardware and software",
        GROUPS,
        "groups as page",
        f"with numbers as (from {CURRENT}), {build_groups_sql('true')}",
    ),
    View("v_series", "a node count, version and image of a series", SERIES, _OF_SERIES),
    View("v_ranks", "a card with a throughput", RANKS, "rank_results join runs using (run_id)"),
    View("v_servers", "a server of a single-server run", SERVERS, "server_results join runs using (run_id)"),
    View("v_nodes", "a node of a completed run, if the cloud named it", NODES, f"{_NODES} join runs using (run_id)"),
    View("v_checks", "a check of a run", CHECKS, f"{_CHECKED} join results using (run_id) join runs using (run_id)"),
    View("v_scaling", "a node count of a scaling curve", SCALING, _SCALED),
    View("v_metrics", "a sample of the platform's metrics", METRICS, "metric_samples join runs using (run_id)"),
    View(
        "v_card_metrics",
        "a sample of a card, measured inside the job",
        CARD_METRICS,
        "card_samples join runs using (run_id)",
    ),
    View("v_run_metrics", "a named metric of a run", RUN_METRICS, "run_metrics join runs using (run_id)"),
    View("v_events", "an event of a run", EVENTS, "events join runs using (run_id)"),
    View("v_attempts", "an execution of a run's job", ATTEMPTS, "attempts join runs using (run_id)"),
)


def create(con: DuckDBPyConnection) -> None:
    """Make the views where unqualified names lead."""
    for view in VIEWS:
        con.execute(f"create or replace view {view.name} as {view.query}")


def describe(con: DuckDBPyConnection) -> None:
    """Say as comments of the views what their columns mean, for those who read them without our documents."""
    for view in VIEWS:
        con.execute(f"comment on view {view.name} is {sql_text(view.row)}")
        for column in view.columns:
            comment = f"{column.meaning} [{column.unit}]" if column.unit else column.meaning
            con.execute(f"comment on column {view.name}.{column.name} is {sql_text(comment)}")
