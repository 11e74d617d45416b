"""The columns that analysts read: their stable names, the SQL that fills them, their units and what they mean.

A unit of "throughput_unit" is the workload's own, which the column of that name tells (samples/s as a rule). NULL is
"not measured" or "not known"; 0 is a measurement. Times are UTC.
"""

from dataclasses import dataclass

from aisbench_core.warehouse.board import FIELDS, t95
from aisbench_core.warehouse.standings import BEGAN, COUNTED, OLYMPIC_RUNS
from aisbench_core.warehouse.throughput import STRAGGLER_SHARE

UNIT = "throughput_unit"
FRACTION = "fraction"
UTC = "UTC"


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """One column of a view: its name for ever, the SQL behind it, its unit (empty: none) and its meaning."""

    name: str
    sql: str
    unit: str
    meaning: str


def _same(name: str, meaning: str, unit: str = "") -> ViewColumn:
    return ViewColumn(name, name, unit, meaning)


def _period(name: str, meaning: str) -> ViewColumn:
    start, end = f"{name}_start_time", f"{name}_end_time"
    seconds = f"case when {end} >= {start} then date_diff('microsecond', {start}, {end}) / 1e6 end"
    return ViewColumn(f"{name}_s", seconds, "s", meaning)


_MODE = "`cluster`, or `single_server`: each server trains alone"
_TOLD_MODE = "case when origin = 'launched' or (spec->>'$.mode') is not null then mode end"

RUN_ID = ViewColumn("run_id", "runs.run_id", "", "our id of the run")
KIND = (
    _same("region", "where it ran; `imported` where nobody said"),
    _same("rehearsal", "whether its numbers are no measurement; never mix both kinds"),
    _same("synthetic_data", "whether it trained on made-up data; its accuracy is no measurement"),
)
QUESTION = (
    _same("workload", "what was trained: the workload's name"),
    _same("model", "the model's name"),
    _same("framework", "the framework's name"),
    _same("framework_version", "the framework's version"),
    _same("dataset", "the data set's name"),
    _same("throughput_definition", "how the workload defines throughput"),
)
HARDWARE = (
    _same("accelerator", "the card's kind"),
    _same("flavor", "the instance type"),
    _same("pool_id", "the dedicated pool; empty: a public one, or not known"),
    _same("node_count", "nodes", "1"),
    _same("cards_per_node", "cards per node", "1"),
)

RUNS = (
    RUN_ID,
    *KIND,
    _same("origin", "`launched` here or `imported`"),
    _same("source", "the file that an imported result comes from"),
    *QUESTION,
    ViewColumn("mode", _TOLD_MODE, "", f"{_MODE}; NULL where an imported result does not tell"),
    _same("title", "the workload's title"),
    _same("engine_version", "the engine's version or image"),
    *HARDWARE,
    _same("card_count", "cards in all", "1"),
    _same("state", "how it ended: `completed`, `failed` or `stopped`"),
    _same("detail", "why, in one sentence"),
    _same("validity", "`valid`, `invalid`, `incomplete`, or `claimed`: imported, nothing against it, unverified"),
    _same("failed_checks", "ids of failed checks, separated by `;`"),
    _same("warned_checks", "ids of checks that warn, separated by `;`"),
    ViewColumn("throughput", "throughput_cluster", UNIT, "computed from all cards, by `formula_id`"),
    _same("throughput_per_node", "the same per node", UNIT),
    _same("throughput_per_card", "the same per card", UNIT),
    _same("throughput_unit", "the unit of every throughput in this row"),
    ViewColumn(
        "throughput_reported",
        "throughput_ratio",
        UNIT,
        "`throughput_ratio` of the block: launched, the console's own sum; imported, as its source says",
    ),
    _same("formula_id", "how `throughput` was computed"),
    _same("ranks_expected", "cards that should have told a throughput", "1"),
    _same("ranks_found", "cards that did", "1"),
    _same("rank_cv", "coefficient of variation of the cards' throughputs", FRACTION),
    _same("straggler_ranks", "slow cards, separated by `;`"),
    ViewColumn("accuracy", "accuracy_measured", FRACTION, "reached accuracy; NULL on synthetic data"),
    ViewColumn("accuracy_reported", "results.accuracy", FRACTION, "`accuracy` of the block, also on synthetic data"),
    _same("accuracy_target", "the workload's target", FRACTION),
    ViewColumn("converged", "accuracy_measured >= accuracy_target", "", "whether the target was reached"),
    ViewColumn(
        "average_power_w", "average_power", "W", "mean power, as an imported source says; not measured of launched runs"
    ),
    ViewColumn("max_power_w", "max_power", "W", "highest power; the same"),
    ViewColumn("energy_j", "energy_consumption", "J", "energy, taken as J; the same"),
    ViewColumn("power_efficiency", "efficientcy", "", "ratio of work to energy; the same"),
    ViewColumn("resource_util", "resource_util_ratio", FRACTION, "utilisation; the same"),
    _same("npu_util_avg_pct", "mean of the platform's samples of NPU utilisation", "%"),
    _same("queue_s", "from submission to start", "s"),
    _same("duration_s", "the platform's count of time in which the job ran", "s"),
    _period("prepare", "launched: launch to submission; imported: the source's preparation"),
    _period("dataload", "imported: the source's loading of data; NULL of launched runs"),
    _period("proc", "launched: the job's start to its end; imported: the source's training"),
    _period("total", "launched: launch to the collection of the results; imported: the source's total"),
    ViewColumn("began_at_utc", BEGAN, UTC, "launched, or of an imported result measured; NULL when no file tells"),
    ViewColumn("created_at_utc", "created_at", UTC, "the same, or where that is not known the time of the import"),
    ViewColumn("submitted_at_utc", "submitted_at", UTC, "when the job was submitted"),
    ViewColumn("started_at_utc", "started_at", UTC, "when the job started"),
    ViewColumn("ended_at_utc", "ended_at", UTC, "when the job ended"),
    ViewColumn("imported_at_utc", "imported_at", UTC, "when it was imported"),
    _same("created_by", "who launched or imported it"),
    _same("profile", "the profile that it was launched with"),
    _same("api", "what created the job"),
    _same("job_id", "the cloud's id of the job"),
    _same("job_name", "the cloud's name of the job"),
    ViewColumn("series_id", "nullif(series_id, '')", "", "the series that it belongs to"),
    _same("series_index", "its cell of the series, from 1"),
    _same("fingerprint", "equal for equal questions, see docs/warehouse.md"),
    _same("tags", "what people tagged it with, as a JSON list"),
    _same("note", "what people wrote, and then what the import has to say"),
    _same("spec", "the whole spec, as JSON"),
    _same("speed_parameters", "the parameters that decide speed, as JSON; `null` when not known"),
    _same("system", "the description of the system, as JSON"),
    _same("tester", "the tester's configuration, as JSON"),
    _same("spec_sha256", "SHA-256 of the spec"),
    _same("image", "the engine's version, or the address of the image that was asked for"),
    _same("code_sha256", "SHA-256 of the code"),
    _same("dataset_sha256", "SHA-256 of the data set, where the job told it"),
    _same(
        "record_sha256",
        "SHA-256 over run, result, cards, and what is stated of the system; not over verdict, samples, events, tags "
        "and note",
    ),
)

_GROUP_MEANINGS = {
    "title": ("the workload's title", ""),
    "mode": (f"{_MODE}; `cluster` too where imported results do not tell", ""),
    "throughput_unit": ("the unit of every throughput in this row", ""),
    "fingerprint": ("equal for equal questions", ""),
    "origin": ("`launched` here or `imported`", ""),
    "runs": ("valid runs, in rows of imported results claimed ones; every statistic is over them", "1"),
    "invalid": ("runs with a failed check", "1"),
    "incomplete": ("runs that did not complete, or have no result", "1"),
    "throughput": ("median", UNIT),
    "best": ("the fastest run", UNIT),
    "olympic_mean": ("mean without the fastest and the slowest; from 5 runs on", UNIT),
    "mean": ("mean", UNIT),
    "ci_low": ("lower end of the mean's 95 % confidence interval; from 2 runs on", UNIT),
    "ci_high": ("its upper end", UNIT),
    "cv": ("coefficient of variation of the throughput; from 2 runs on", FRACTION),
    "per_node": ("median throughput per node", UNIT),
    "per_card": ("median throughput per card", UNIT),
    "best_accuracy": ("highest accuracy", FRACTION),
    "median_accuracy": ("median accuracy", FRACTION),
    "image": ("the engine's version, or the address of the image that was asked for", ""),
    "code_sha256": ("SHA-256 of the code", ""),
    "dataset_sha256": ("SHA-256 of the data set, where the job told it", ""),
    "differs_in": (
        "in which of `accelerator`, `image`, `code` and `data` rows differ that look like this one, separated by `;`",
        "",
    ),
    "median_run_id": ("the id of the run in the middle by throughput, the slower one of two", ""),
    "accuracy": ("what that run reached", FRACTION),
    "best_run_id": ("the fastest run's id", ""),
    "best_by": ("who launched or imported the fastest run", ""),
    "best_at": ("when the fastest run ended, or began", UTC),
    "latest_run_id": ("the newest run's id", ""),
    "latest_at": ("when the newest run began", UTC),
    "reason": ("why there is no valid run", ""),
    "rank_from": ("the best place it may hold among rows of equal `fingerprint`, unit, region and kind", "1"),
    "rank_to": ("the worst such place; the same unless confidence intervals overlap", "1"),
} | {column.name: (column.meaning, column.unit) for column in (*KIND, *QUESTION, *HARDWARE)}

_ENDS = {"best_at": "best_at_utc", "latest_at": "latest_at_utc"}

GROUPS = tuple(
    ViewColumn(_ENDS.get(name, name), sql, unit, meaning)
    for name, sql in ({"region": "region"} | FIELDS).items()
    if name in _GROUP_MEANINGS
    for meaning, unit in [_GROUP_MEANINGS[name]]
)

_OF_RUN = (RUN_ID, *KIND, *(each for each in (*QUESTION[:4], *HARDWARE[1:2], *HARDWARE[3:])))
_SHARE = "{0}.throughput / median({0}.throughput) over (partition by runs.run_id)"
_RANKS_SHARE = _SHARE.format("rank_results")

_COUNTED = f"throughput_cluster) filter (where {COUNTED}"

_COUNT = f"count(*) filter (where {COUNTED})"
_MARGIN = f"{t95(_COUNT)} * stddev_samp({_COUNTED}) / sqrt({_COUNT})"
_OLYMPIC = f"""case when {_COUNT} >= {OLYMPIC_RUNS}
    then (sum({_COUNTED}) - max({_COUNTED}) - min({_COUNTED})) / ({_COUNT} - 2) end"""
_VALID = f"case when origin = 'launched' then {_COUNT} end"

SERIES = (
    _same("series_id", "the series"),
    *KIND,
    *QUESTION[:4],
    _same("image", "the engine's version, or the address of the image that was asked for"),
    _same("flavor", "the instance type"),
    _same("node_count", "nodes", "1"),
    _same("cards_per_node", "cards per node", "1"),
    _same("throughput_unit", "the unit of every throughput in this row"),
    ViewColumn("runs", "count(*)", "1", "runs that ended"),
    ViewColumn("valid", _VALID, "1", "valid ones; NULL for imported ones, of which nobody knows"),
    ViewColumn("throughput", f"median({_COUNTED})", UNIT, "median of the valid, or claimed, runs, as all below"),
    ViewColumn("best", f"max({_COUNTED})", UNIT, "the fastest run"),
    ViewColumn("mean", f"avg({_COUNTED})", UNIT, "mean"),
    ViewColumn("sd", f"stddev_samp({_COUNTED})", UNIT, "sample standard deviation; from 2 runs on"),
    ViewColumn(
        "cv", f"stddev_samp({_COUNTED}) / avg({_COUNTED})", FRACTION, "coefficient of variation; from 2 runs on"
    ),
    ViewColumn("ci_low", f"avg({_COUNTED}) - {_MARGIN}", UNIT, "lower end of the mean's 95 % interval; from 2 runs on"),
    ViewColumn("ci_high", f"avg({_COUNTED}) + {_MARGIN}", UNIT, "its upper end"),
    ViewColumn("olympic_mean", _OLYMPIC, UNIT, "mean without the fastest and the slowest; from 5 runs on"),
    ViewColumn("first_at_utc", "min(created_at)", UTC, "when the first run was launched"),
    ViewColumn("last_at_utc", "max(coalesce(ended_at, created_at))", UTC, "when the last run ended"),
    _same("origin", "`launched` here or `imported`, whose statistics are over claimed runs"),
)

RANKS = (
    *_OF_RUN,
    _same("server", "the server, from 0; 0 in cluster mode"),
    _same("rank", "the card, from 0"),
    ViewColumn("throughput", "rank_results.throughput", UNIT, "the card's throughput"),
    _same("throughput_unit", "its unit"),
    ViewColumn("share_of_median", _RANKS_SHARE, FRACTION, "the same over the run's median card"),
    ViewColumn("is_straggler", f"{_RANKS_SHARE} < {STRAGGLER_SHARE}", "", f"below {STRAGGLER_SHARE:.0%} of the median"),
)

SERVERS = (
    *_OF_RUN,
    _same("server", "the server, from 0"),
    ViewColumn("throughput", "server_results.throughput", UNIT, "the sum over the server's cards"),
    _same("throughput_unit", "its unit"),
    ViewColumn("accuracy", "server_results.accuracy", FRACTION, "what the server reached"),
)

EVENTS = (
    *_OF_RUN,
    _same("at_utc", "when", UTC),
    ViewColumn("source", "events.source", "", "who says so: `console`, `follower`, `cloud`, …"),
    _same("level", "`info`, `warning` or `error`"),
    _same("message", "what happened, in one sentence"),
    _same("actor", "the person, where one did it"),
)

METRICS = (
    *_OF_RUN,
    _same("at_utc", "when", UTC),
    _same("node", "the node, from 0"),
    _same("name", "the platform's name of the metric, such as `npuUtil`"),
    _same("value", "in the platform's unit of that metric: percent for every name with `Util` or `Usage`"),
)

CHECKS = (
    *_OF_RUN,
    _same("validity", "what the run's result is worth"),
    ViewColumn("check_id", "checked.id", "", "the check, see docs/validity.md"),
    ViewColumn("level", "checked.level", "", "`ok`, `warn` or `fail`"),
    ViewColumn("expected", "checked.expected", "", "what the check expects"),
    ViewColumn("found", "checked.found", "", "what it found"),
    ViewColumn("evidence", "checked.evidence", "", "where"),
)

SCALING = (
    *KIND,
    _same("workload", "what was trained: the workload's name"),
    _same("model", "the model's name"),
    _same("framework_version", "the framework's version"),
    _same("flavor", "the instance type"),
    _same("pool_id", "the dedicated pool"),
    _same("cards_per_node", "cards per node", "1"),
    _same("fingerprint", "equal for equal questions"),
    _same("origin", "`launched` here or `imported`: claims, unverified, which scale among themselves only"),
    _same("node_count", "nodes", "1"),
    _same("runs", "valid runs in cluster mode, of imported results claimed ones", "1"),
    _same("throughput", "their median", UNIT),
    _same("throughput_unit", "its unit"),
    _same("base_nodes", "the smallest number of nodes that was measured", "1"),
    ViewColumn("speed_up", "throughput / base_throughput", "1", "throughput over that of `base_nodes`"),
    ViewColumn(
        "efficiency",
        "throughput * base_nodes / (base_throughput * node_count)",
        FRACTION,
        "speed-up over the ideal one",
    ),
)
