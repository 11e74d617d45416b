"""The columns of aisbench-compliance-csv/1, one row per run, in their order.

A column without SQL is not known yet and stays empty: empty means not measured or not known, 0 is a measurement.
"""

from aisbench_core.warehouse.exporting import bases
from aisbench_core.warehouse.exporting.columns import (
    CELLS,
    Column,
    Sheet,
    flag,
    integer,
    number,
    prose,
    text,
    time,
    word,
)
from aisbench_core.warehouse.exporting.parts import WITHIN
from aisbench_core.warehouse.filters import CHOSEN, WORTH
from aisbench_core.warehouse.scaling import BASES, LINE
from aisbench_core.warehouse.standings import COUNTED

SCHEMA = "aisbench-compliance-csv/1"
RATE = "throughput_unit"

_ASKED = (
    *("parameters.epochs", "parameters.epoch_size", "parameters.steps", "parameters.train_steps"),
    *("parameters.global_batch_size", "parameters.precision", "parameters", "pool_id"),
)
_TESTED = ("test_id", "scenario", "test_division")


def _asked(path: str) -> str:
    """A text of the run's spec."""
    return f"asked[{_ASKED.index(path) + 1}]"


def _tested(path: str) -> str:
    """A text of what the tester states."""
    return f"tested[{_TESTED.index(path) + 1}]"


def _texts(column: str, paths: tuple[str, ...]) -> str:
    """All of them at once: reading JSON is what an export takes its time for."""
    return f"json_extract_string({column}, {[f'$.{path}' for path in paths]})"


def _whole(*paths: str) -> str:
    """A parameter that is a whole number, however it was typed."""
    value = f"coalesce({', '.join(_asked(f'parameters.{path}') for path in paths)})"
    return f"case when regexp_full_match({value}, '[0-9]{{1,18}}') then ({value})::BIGINT end"


def _period(name: str, span_of_launched: str) -> tuple[Column, ...]:
    start, end = f"{name}_start_time", f"{name}_end_time"
    seconds = f"case when {end} >= {start} then date_diff('microsecond', {start}, {end}) / 1e6 end"
    return (
        time(f"{name}_start_utc", f"`{start}` of train_result_info", start),
        time(f"{name}_end_utc", f"`{end}` of train_result_info", end),
        number(f"{name}_s", f"time between the two; of a launched run {span_of_launched}", "s", seconds),
    )


IDENTITY = (
    word("schema_version", f"always `{SCHEMA}`", f"'{SCHEMA}'"),
    text("ruleset_id", "the [ruleset](validity.md) that decided `validity` and the checks"),
    bases.of_one("ruleset_id"),
    word(
        "report_id",
        "the number of the report: the same in every file and every [printed one](#the-report) about the same runs "
        "with the same verdicts",
        "$report_id",
    ),
    text("series_id", "the [series](series.md) that the run belongs to"),
    text("run_id", "our id of the run"),
    integer("run_index", "the series' cell that the run belongs to, from 1", "series_index"),
    text("test_id", "the tester's id of the test, where it is stated", _tested("test_id")),
    text("created_by", "who launched or imported it"),
    time("created_at_utc", "when it was launched; of an imported result, when its run began", "created_at"),
    time("exported_at_utc", "when this file was written; the same in every row", "$exported_at::TIMESTAMP"),
    text(
        "record_sha256",
        "SHA-256 over run, result, cards, and what is stated of the system; not over verdict, samples, events, tags "
        "and note",
    ),
)

MODE = (
    word("test_mode", "always `training`", "'training'"),
    text(
        "division",
        "`rehearsal` for runs of a rehearsal profile, otherwise what the system description or else the tester's "
        "configuration states",
        f"""case when rehearsal then 'rehearsal'
            else coalesce(system->>'$.division', {_tested("test_division")}) end""",
    ),
    text("scenario", "the test's scenario, where it is stated", _tested("scenario")),
    word(
        "test_object_type",
        "`cluster` for several nodes that work together, otherwise `single`",
        """case when node_count > 1 and mode = 'cluster' then 'cluster'
            when node_count is not null or mode = 'single_server' then 'single' end""",
    ),
    text("workload", "name of the workload"),
    text("model_name", "what the workload trains", "model"),
    text("framework", "framework"),
    text("framework_version", "framework version"),
)

CONFIGURATION = (
    text("engine_version", "the preset image's version"),
    text("accelerator", "`Ascend`, `GPU` or `CPU`; imported: as the source says"),
    text("flavor", "instance type"),
    word(
        "pool_type",
        "`dedicated` or `public`; empty when an imported result does not tell",
        f"case when pool_id <> '' then 'dedicated' when {_asked('pool_id')} is not null then 'public' end",
    ),
    integer("node_count", "node count"),
    integer("cards_per_node", "cards per node"),
    integer("card_count", "node_count × cards_per_node"),
    integer("epochs", "parameter `epochs` or `epoch_size`", _whole("epochs", "epoch_size")),
    integer("steps", "parameter `steps` or `train_steps`", _whole("steps", "train_steps")),
    integer("global_batch_size", "parameter of that name", _whole("global_batch_size")),
    text("precision", "parameter of that name", _asked("parameters.precision")),
    prose("hyperparameters_json", "every parameter, as JSON", _asked("parameters")),
    text("dataset_name", "dataset name", "dataset"),
    text("code_sha256", "hash of the uploaded code's manifest"),
    text("spec_sha256", "hash of the run's spec"),
)

QUALITY = (
    number("accuracy", "share, 0 to 1; empty on synthetic data", "1", "accuracy_measured"),
    number("accuracy_target", "share; empty when the workload has none", "1"),
    text("accuracy_target_source", "where the target comes from"),
    flag(
        "converged",
        "`true` when accuracy ≥ target; empty when either is missing",
        "accuracy_measured >= accuracy_target",
    ),
)

TIME = (
    number("queue_s", "from submission to start", "s"),
    *_period("prepare", "launch to submission"),
    *_period("dataload", "not measured"),
    *_period("proc", "the job's start to its end"),
    *_period("total", "launch to the collection of the results"),
    number("platform_duration_s", "running, as the platform counts it", "s", "duration_s"),
)

THROUGHPUT = (
    number("throughput_reported", "`throughput_ratio`; launched: our sum over the cards", RATE, "throughput_ratio"),
    text("throughput_definition", "how each card counts its samples"),
    text(
        "throughput_aggregation",
        "[formula](warehouse.md#definitions) of the next three columns",
        "formula_id",
    ),
    number("throughput_cluster", "computed from the cards by that formula", RATE),
    number("throughput_per_node", "throughput per node", RATE),
    number("throughput_per_card", "throughput per card", RATE),
    integer("ranks_expected", "ranks expected"),
    integer("ranks_found", "cards whose file holds a usable number"),
    number("rank_cv_pct", "coefficient of variation over the cards", "%", "rank_cv * 100"),
    text("straggler_ranks", "`rank`, or `server/rank` in single-server mode, separated by `;`"),
)

SCALING = (
    integer(
        "base_nodes",
        "smallest node count with a valid run of the same question, version, origin and system (flavor, pool, cards "
        "per node, accelerator, image, code, data)",
        f"case when {COUNTED} then base_nodes end",
    ),
    number(
        "speedup",
        "throughput_cluster / median throughput at base_nodes",
        sql=f"case when {COUNTED} then throughput_cluster / base_throughput end",
    ),
    number(
        "efficiency_pct",
        "100 · speedup · base_nodes / node_count",
        "%",
        f"case when {COUNTED} then 100 * throughput_cluster * base_nodes / (node_count * base_throughput) end",
    ),
)

POWER = (
    word(
        "power_measured",
        "`y` or `n`",
        "case when average_power is null and max_power is null then 'n' else 'y' end",
    ),
    word(
        "power_source",
        "where the power comes from",
        "case when average_power is not null or max_power is not null then 'train_result_info' end",
    ),
    number("average_power_w", "average power; only imported results have power figures", "W", "average_power"),
    number("max_power_w", "highest power", "W", "max_power"),
    number("energy", "as reported", sql="energy_consumption"),
    number("power_efficiency", "`efficientcy`, as reported", sql="efficientcy"),
)

UTILISATION = (
    number(
        "npu_util_avg_pct",
        "mean of the platform's samples, otherwise the reported share",
        "%",
        "coalesce(npu_util_avg_pct, resource_util_ratio * 100)",
    ),
    word(
        "npu_util_source",
        "`platform metrics` or `train_result_info`",
        """case when npu_util_avg_pct is not null then 'platform metrics'
            when resource_util_ratio is not null then 'train_result_info' end""",
    ),
)

VERDICT = (
    text("validity", "`valid`, `invalid`, `incomplete`, or `claimed`: imported, nothing against it, unverified"),
    text("failed_checks", "ids of [checks](validity.md), separated by `;`"),
    text("warned_checks", "ids of checks, separated by `;`"),
    text(
        "not_measured_fields",
        "keys of train_result_info without a measurement, separated by `;`",
        "array_to_string(from_json(not_measured, '[\"VARCHAR\"]'), ';')",
    ),
    prose(
        "note",
        "what people noted; then region, rehearsal, synthetic data and origin in words",
        """concat_ws('; ', nullif(note, ''),
            case when origin = 'imported' then 'imported from ' || source end,
            case when rehearsal then 'rehearsal in ' || region || ': not a measurement' end,
            case when not rehearsal then 'region ' || region end,
            case when synthetic_data then 'synthetic data: accuracy is not a measurement' end)""",
    ),
)

ORIGIN = (
    text("origin", "`launched` here, or `imported`"),
    prose("source", "the file or directory that an imported result comes from, and the place in it"),
    time("imported_at_utc", "when it was imported", "imported_at"),
)

KIND = (
    text("region", "where it ran"),
    flag("rehearsal", "whether it is a rehearsal, whose numbers are no measurement"),
    flag("synthetic_data", "whether it trained on made-up data"),
    text("mode", "`cluster` or `single_server`"),
    text("throughput_unit", "unit of the throughputs"),
    text("dataset_sha256", "hash of the data, where the job tells it"),
    text("fingerprint", "the same for runs that [ask the same question](warehouse.md#definitions)"),
    text("state", "how the run ended"),
    text("pool_id", "the dedicated pool"),
    text("job_id", "the cloud's id of the job"),
    text("job_name", "the job's name"),
    text(
        "tags", "what people tagged it with, separated by `;`", "array_to_string(from_json(tags, '[\"VARCHAR\"]'), ';')"
    ),
    text("image", "the engine's version, or the address of the image that was asked for"),
)

GROUPS = {
    "identity": IDENTITY,
    "mode": MODE,
    "configuration": CONFIGURATION,
    "quality": QUALITY,
    "time": TIME,
    "throughput": THROUGHPUT,
    "scaling": SCALING,
    "power": POWER,
    "utilisation": UTILISATION,
    "verdict": VERDICT,
    "origin": ORIGIN,
    "kind": KIND,
}


def runs_where(condition: str) -> Sheet:
    """The table of the runs that fulfil a condition in SQL."""
    sources = f"""
        bases as ({BASES}),
        chosen as (
            select *, {_texts("spec", _ASKED)} as asked, {_texts("tester", _TESTED)} as tested
            from runs join results using (run_id) where {condition}),
        cells as (
            select {CELLS} from chosen left join bases using ({LINE}))
    """
    return Sheet(SCHEMA, GROUPS, sources, "created_at_utc, run_id")


EXPORTED = f"{CHOSEN} and {WORTH}"
"""Which runs a query's filter chooses."""

RUNS = runs_where(f"{EXPORTED} and {WITHIN}")
"""The table of a part of them."""
