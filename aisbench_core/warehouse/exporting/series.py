"""The columns of aisbench-compliance-series/1, in their order: one row per series and row of the leaderboard.

Runs of a series are told apart by node count, version and hardware as the leaderboard tells them apart; runs that
belong to no series are one row where they are one row there. The statistics are the leaderboard's own SQL.
"""

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import medians
from aisbench_core.warehouse.answers.board import GROUPED
from aisbench_core.warehouse.answers.filters import CHOSEN
from aisbench_core.warehouse.answers.group_statistics import OLYMPIC_RUNS, counted
from aisbench_core.warehouse.answers.scaling import BASES, LINE
from aisbench_core.warehouse.exporting import bases
from aisbench_core.warehouse.exporting.columns import CELLS, Sheet, flag, integer, number, prose, text, time, word
from aisbench_core.warehouse.validity import series_checks
from aisbench_core.warehouse.validity.judging import Judge
from aisbench_core.warehouse.validity.series_verdict import SeriesVerdict
from aisbench_core.warehouse.values import CheckLevel

SCHEMA = "aisbench-compliance-series/1"
RATE = "throughput_unit"


def _asked(column: str) -> str:
    """How many runs the ruleset asks for of this workload or model by name."""
    return f"list_extract($runs_by_name::BIGINT[], list_position($names::VARCHAR[], {column}))"


IDENTITY = (
    word("schema_version", f"always `{SCHEMA}`", f"'{SCHEMA}'"),
    text(
        "ruleset_id",
        "the [ruleset](validity.md) that decided which runs are valid; several are separated by `;`",
        "ruleset_ids",
    ),
    bases.of_several("ruleset_ids"),
    word(
        "report_id",
        "the number of the report: the same in every file and every [printed one](#the-report) about the same runs "
        "with the same verdicts",
        "$report_id",
    ),
    text("series_id", "the [series](series.md); empty for runs that belong to none"),
    time("exported_at_utc", "when this file was written; the same in every row", "$exported_at::TIMESTAMP"),
)

MODE = (
    word("test_mode", "always `training`", "'training'"),
    text(
        "division",
        "`rehearsal` for runs of a rehearsal profile, otherwise what is stated; several are separated by `;`",
        "case when rehearsal then 'rehearsal' else divisions end",
    ),
    word(
        "test_object_type",
        "`cluster` for several nodes that work together, otherwise `single`",
        """case when node_count > 1 and mode = 'cluster' then 'cluster'
            when node_count is not null or mode = 'single_server' then 'single' end""",
    ),
    text("mode", "`cluster` or `single_server`"),
    text("workload", "name of the workload"),
    text("model_name", "what the workload trains", "model"),
    text("framework", "framework"),
    text("framework_version", "framework version"),
)

CONFIGURATION = (
    text("accelerator", "`Ascend`, `GPU` or `CPU`; imported: as the source says"),
    text("flavor", "instance type"),
    text("pool_id", "the dedicated pool"),
    integer("node_count", "node count"),
    integer("cards_per_node", "cards per node"),
    integer("card_count", "node_count × cards_per_node", "node_count * cards_per_node"),
    text("dataset_name", "dataset name", "dataset"),
    text("fingerprint", "the same for rows that [ask the same question](warehouse.md#definitions)"),
)

RUNS = (
    integer(
        "runs_required",
        "valid runs that the ruleset asks for (V08); empty when it asks for none",
        f"""case when ruleset_ids = $ruleset_id
            then coalesce({_asked("workload")}, {_asked("model")}, $runs::BIGINT) end""",
    ),
    integer("runs_total", "all runs of the row, valid or not", "runs + invalid + incomplete"),
    integer(
        "runs_valid", "valid runs, in rows of imported results claimed ones: every statistic is over these", "runs"
    ),
    integer("runs_invalid", "runs with a result that does not count", "invalid"),
    integer("runs_incomplete", "runs that did not complete, or have no result", "incomplete"),
    text(
        "dropped_run_ids",
        f"the slowest and the fastest valid run, which the olympic mean leaves out, from {OLYMPIC_RUNS} runs on",
    ),
    time("first_run_at_utc", "when the first run of the row was launched", "first_at"),
    time("last_run_at_utc", "when the last one was", "last_at"),
)

THROUGHPUT = (
    text("throughput_unit", "unit of the throughputs"),
    text("throughput_definition", "how each card counts its samples"),
    number("olympic_mean", f"mean without the dropped runs; empty below {OLYMPIC_RUNS} runs", RATE),
    number("mean", "arithmetic mean", RATE),
    number("median", "median: what the leaderboard sorts by", RATE, "throughput"),
    number("sd", "sample standard deviation; from two runs on", RATE),
    number("cv_pct", "100 · sd / mean", "%", "100 * cv"),
    number("ci95_low", "lower end of the 95 % confidence interval of the mean (Student's t)", RATE, "mean - margin"),
    number("ci95_high", "its upper end", RATE, "mean + margin"),
    number("best", "the fastest valid run", RATE),
    text("best_run_id", "its id"),
    number("median_per_node", "median of the throughputs per node", RATE, "per_node"),
    number("median_per_card", "median of the throughputs per card", RATE, "per_card"),
)

QUALITY = (
    number("best_accuracy", "share, 0 to 1; empty on synthetic data", "1"),
    number("median_accuracy", "share, 0 to 1", "1"),
)

SCALING = (
    integer(
        "base_nodes",
        "smallest node count with a valid run of the same question, version, origin and system (flavor, pool, cards "
        "per node, accelerator, image, code, data)",
        "case when runs > 0 then base_nodes end",
    ),
    number("speedup", "median / median throughput at base_nodes", sql="throughput / base_throughput"),
    number(
        "efficiency_pct",
        "100 · speedup · base_nodes / node_count",
        "%",
        "100 * throughput * base_nodes / (node_count * base_throughput)",
    ),
)

KIND = (
    text("origin", "`launched` here, or `imported`"),
    text("region", "where it ran"),
    flag("rehearsal", "whether these are rehearsals, whose numbers are no measurement"),
    flag("synthetic_data", "whether they trained on made-up data"),
    prose("reason", "why there is no statistic: failed checks or the state of the newest run", "why"),
)

VERDICT = (
    flag(
        "series_counts",
        "whether the [rules about series](validity.md#rules-about-a-series) let the runs be taken together: a "
        "valid run and no failed check. They look at all runs of the series on this node count, version and image, "
        "whatever is exported; empty for runs that belong to none",
    ),
    text("series_failed_checks", "ids of the rules about series that failed, separated by `;`"),
    text("series_warned_checks", "ids of those that warn"),
)

SYSTEM = (
    text("image", "the engine's version, or the address of the image that was asked for"),
    text(
        "code_sha256",
        "hash of the code; other code, another image and other data make a row of their own",
    ),
    text("dataset_sha256", "hash of the data, where the job tells it"),
)

MEDIANS = tuple(
    number(median.name, f"median over the valid runs: {median.meaning}", median.unit) for median in medians()
)

_RUN = "struct_pack(speed := counted, id := run_id)"
_MORE = f"""
    case when count(counted) >= {OLYMPIC_RUNS}
        then concat_ws(';', min_by(run_id, {_RUN}) filter (where counted is not null),
            max_by(run_id, {_RUN}) filter (where counted is not null)) end as dropped_run_ids,
    min(created_at) as first_at,
    max(created_at) as last_at,
    string_agg(distinct nullif(coalesce(system->>'$.division', tester->>'$.test_division'), ''), ';'
        order by nullif(coalesce(system->>'$.division', tester->>'$.test_division'), '')) as divisions,
"""

_JUDGED = """
    select unnest($judged_series::VARCHAR[]) as of_series, unnest($judged_nodes::INTEGER[]) as of_nodes,
        unnest($judged_versions::VARCHAR[]) as of_version, unnest($judged_images::VARCHAR[]) as of_image,
        unnest($judged_counts::BOOLEAN[]) as series_counts,
        unnest($judged_failed::VARCHAR[]) as series_failed_checks,
        unnest($judged_warned::VARCHAR[]) as series_warned_checks
"""

GROUPS = {
    "identity": IDENTITY,
    "mode": MODE,
    "configuration": CONFIGURATION,
    "runs": RUNS,
    "throughput": THROUGHPUT,
    "quality": QUALITY,
    "scaling": SCALING,
    "kind": KIND,
    "verdict": VERDICT,
    "system": SYSTEM,
    "medians": MEDIANS,
}
_ORDER = """model_name, framework_version, flavor, pool_id, node_count, cards_per_node, synthetic_data, fingerprint,
    throughput_unit, origin, series_id nulls first, accelerator, image, code_sha256, dataset_sha256"""


def series_where(condition: str, shown: str) -> Sheet:
    """The table over the runs that fulfil a condition in SQL, of those groups that are to be `shown`."""
    sources = f"""
        bases as ({BASES}),
        numbers as ({counted(condition, "series_id", _MORE)}),
        {GROUPED.format(shown=shown)},
        judged as ({_JUDGED}),
        cells as (
            select {CELLS} from (select * replace (case when runs = 0 then why end as why) from groups) left join bases
                using ({LINE})
                left join judged on judged.of_series = series_id and judged.of_nodes is not distinct from node_count
                and judged.of_version = framework_version and judged.of_image = image)
    """
    return Sheet(SCHEMA, GROUPS, sources, _ORDER)


SERIES = series_where(CHOSEN, "runs > 0 or $include_invalid")
"""The table of series and groups that a query's filter chooses."""


def asked_by(cur: DuckDBPyConnection, condition: str, named: Mapping[str, object], judge: Judge) -> dict[str, object]:
    """The values that the columns name, for the runs that fulfil the condition with these values."""
    rule = judge.ruleset.series.V08
    by_name = rule.by_model if rule else {}
    cur.execute(f"select distinct series_id from runs where series_id <> '' and {condition}", dict(named))
    found = series_checks.of_series(cur, [series_id for (series_id,) in cur.fetchall()], judge)
    return {
        "ruleset_id": judge.ruleset.id,
        "runs": rule.runs if rule else None,
        "names": list(by_name),
        "runs_by_name": list(by_name.values()),
        **_judged(found),
    }


def _judged(found: Sequence[SeriesVerdict]) -> dict[str, list[object]]:
    """Verdicts by series, node count, version and image."""
    return {
        "judged_series": [each.series_id for each in found],
        "judged_nodes": [each.node_count for each in found],
        "judged_versions": [each.framework_version for each in found],
        "judged_images": [each.image for each in found],
        "judged_counts": [each.counts for each in found],
        "judged_failed": [_ids(each, CheckLevel.FAIL) for each in found],
        "judged_warned": [_ids(each, CheckLevel.WARN) for each in found],
    }


def _ids(verdict: SeriesVerdict, level: CheckLevel) -> str:
    return ";".join(sorted(check.id for check in verdict.of_level(level)))
