"""The columns of aisbench-compliance-series/1, in their order: one row per series and row of the leaderboard.

Runs of a series are told apart by node count, version and hardware as the leaderboard tells them apart; runs that
belong to no series are one row where they are one row there. The statistics are the leaderboard's own SQL.
"""

from collections.abc import Mapping

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import GROUP_KEYS, list_medians
from aisbench_core.model.columns.statistics import OLYMPIC_RUNS, STATISTICS
from aisbench_core.warehouse.answers.board import build_groups_sql
from aisbench_core.warehouse.answers.scaling import BASES, LINE
from aisbench_core.warehouse.exporting.columns import (
    CELLS,
    Sheet,
    SheetColumn,
    make_flag,
    make_integer,
    make_number,
    make_prose,
    make_text,
    make_time,
    make_word,
)
from aisbench_core.warehouse.exporting.provenance import basis_column
from aisbench_core.warehouse.queries.group_statistics import build_statistics_sql
from aisbench_core.warehouse.validity import series_checks
from aisbench_core.warehouse.validity.evaluation import Evaluator
from aisbench_core.warehouse.values.runs import CheckLevel, SeriesEvaluation

SCHEMA = "aisbench-compliance-series/1"


def _build_required(column: str) -> str:
    """SQL: how many runs the ruleset requires of the workload or model with this name."""
    return f"list_extract($runs_by_name::BIGINT[], list_position($names::VARCHAR[], {column}))"


def _build_statistics(group: str) -> tuple[SheetColumn, ...]:
    """The statistics that are exported in this group."""
    return tuple(
        make_number(
            statistic.export_name,
            statistic.exported.meaning or statistic.meaning,
            statistic.exported.unit or statistic.unit,
            statistic.exported.sql or statistic.name,
        )
        for statistic in STATISTICS
        if statistic.exported.group == group
    )


GROUPS = {
    "identity": (
        make_word("schema_version", f"always `{SCHEMA}`", f"'{SCHEMA}'"),
        make_text(
            "ruleset_id",
            "the [ruleset](validity.md) that decided which runs are valid; several are separated by `;`",
            "ruleset_ids",
        ),
        basis_column("ruleset_ids"),
        make_word(
            "report_id",
            "number of the report: the same in every file and every report about the same runs with the same validity",
            "$report_id",
        ),
        make_text("series_id", "the [series](series.md); empty for runs outside of series"),
        make_time("exported_at_utc", "time of the export; the same in every row", "$exported_at::TIMESTAMP"),
        make_word("audit_head", "number and hash of the audit's newest entry at that time", "$audit_head"),
    ),
    "mode": (
        make_word("test_mode", "always `training`", "'training'"),
        make_text(
            "division",
            "`rehearsal` for runs of a rehearsal profile, otherwise as stated; several are separated by `;`",
            "case when rehearsal then 'rehearsal' else divisions end",
        ),
        make_word(
            "test_object_type",
            "`cluster` for several nodes that work together, otherwise `single`",
            """case when node_count > 1 and mode = 'cluster' then 'cluster'
                when node_count is not null or mode = 'single_server' then 'single' end""",
        ),
        make_text("mode", "`cluster` or `single_server`"),
        make_text("workload", "name of the workload"),
        make_text("model_name", "model that is trained", "model"),
        make_text("framework", "framework"),
        make_text("framework_version", "framework version"),
    ),
    "configuration": (
        make_text("accelerator", "`Ascend`, `GPU` or `CPU`; imported: from the source"),
        make_text("flavor", "instance type"),
        make_text("pool_id", "the dedicated pool"),
        make_integer("node_count", "node count"),
        make_integer("cards_per_node", "cards per node"),
        make_integer("card_count", "node_count × cards_per_node", "node_count * cards_per_node"),
        make_text("dataset_name", "dataset name", "dataset"),
        make_text("fingerprint", "equal for rows of one [benchmark configuration](warehouse.md#definitions)"),
    ),
    "runs": (
        make_integer(
            "runs_required",
            "number of valid runs that the ruleset requires (V08); empty if none",
            f"""case when ruleset_ids = $ruleset_id
                then coalesce({_build_required("workload")}, {_build_required("model")}, $runs::BIGINT) end""",
        ),
        make_integer("runs_total", "all runs of the row, valid or not", "runs + invalid + incomplete + set_aside"),
        make_integer(
            "runs_valid", "valid runs, or claimed ones for imported results: all statistics are over these", "runs"
        ),
        make_integer("runs_invalid", "runs with a result that does not count", "invalid"),
        make_integer("runs_set_aside", "runs that would count, but a person excluded them", "set_aside"),
        make_integer("runs_incomplete", "runs that did not complete or have no result", "incomplete"),
        make_text(
            "dropped_run_ids",
            f"slowest and fastest valid run, which the olympic mean leaves out; with {OLYMPIC_RUNS} runs or more",
        ),
        make_time("first_run_at_utc", "launch of the first run of the row", "first_at"),
        make_time("last_run_at_utc", "launch of the last one", "last_at"),
    ),
    "throughput": (
        make_text("throughput_unit", "unit of the throughputs"),
        make_text("throughput_definition", "how each card counts its samples"),
        *_build_statistics("throughput"),
        make_text("best_run_id", "its id"),
        *_build_statistics("sizes"),
    ),
    "quality": _build_statistics("quality"),
    "scaling": (
        make_integer(
            "base_nodes",
            "smallest node count with a valid run of the same benchmark configuration, version and system (flavor, "
            "pool, cards per node, accelerator, image, code, data)",
            "case when runs > 0 then base_nodes end",
        ),
        make_number(
            "speedup",
            "median / median throughput at base_nodes; empty where a run missed its target",
            sql="case when missed = 0 then throughput / base_throughput end",
        ),
        make_number(
            "efficiency_pct",
            "100 · speedup · base_nodes / node_count",
            "%",
            "case when missed = 0 then 100 * throughput * base_nodes / (node_count * base_throughput) end",
        ),
    ),
    "kind": (
        make_text("origin", "`launched` here, or `imported`"),
        make_text("region", "region of the run"),
        make_flag("rehearsal", "whether these are rehearsals, not measurements"),
        make_flag("synthetic_data", "whether they trained on generated data"),
        make_prose("reason", "why there is no statistic: failed checks or the state of the newest run", "why"),
    ),
    "verdict": (
        make_flag(
            "series_counts",
            "whether the runs count as one measurement by the [rules about series](validity.md#rules-about-a-series): "
            "a valid run and no failed check. The rules check all runs of the series on this node count, version and "
            "image, whatever is exported; empty for runs outside of series",
        ),
        make_text("series_failed_checks", "ids of the rules about series that failed, separated by `;`"),
        make_text("series_warned_checks", "ids of those with a warning"),
    ),
    "system": (
        make_text("image", "engine version, or address of the custom image"),
        make_text(
            "code_sha256",
            "hash of the code; other code, another image and other data are separate rows",
        ),
        make_text("dataset_sha256", "hash of the data, if the job reported it"),
    ),
    "medians": (
        *(
            make_number(median.name, f"median over the valid runs: {median.meaning}", median.unit)
            for median in list_medians()
        ),
        make_text("currency", "currency of the costs, which are empty if the valid runs have several"),
    ),
    "target": (
        make_number("accuracy_target", "target of the workload, share, 0 to 1; empty if none is stated", "1"),
        make_integer("runs_reached_target", "how many of runs_valid reached it", "reached"),
        make_integer("runs_missed_target", "how many of runs_valid have an accuracy below it", "missed"),
    ),
}

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

_SERIES_CHECKS = """
    select unnest($checked_series::VARCHAR[]) as of_series, unnest($checked_nodes::INTEGER[]) as of_nodes,
        unnest($checked_versions::VARCHAR[]) as of_version, unnest($checked_images::VARCHAR[]) as of_image,
        unnest($checked_fingerprints::VARCHAR[][]) as of_fingerprints,
        unnest($checked_counts::BOOLEAN[]) as series_counts,
        unnest($checked_failed::VARCHAR[]) as series_failed_checks,
        unnest($checked_warned::VARCHAR[]) as series_warned_checks
"""

_READABLE_KEYS = [name for name in GROUP_KEYS if name not in ("region", "rehearsal", "fingerprint")]
_ORDER = ", ".join(["model_name", *_READABLE_KEYS, "fingerprint", "series_id nulls first"])


def series_where(condition: str, shown: str) -> Sheet:
    """The table over the runs that fulfil a condition in SQL, of those groups that are to be `shown`."""
    sources = f"""
        bases as ({BASES}),
        numbers as ({build_statistics_sql(condition, "series_id", _MORE)}),
        {build_groups_sql(shown, "series_id")},
        checked as ({_SERIES_CHECKS}),
        cells as (
            select {CELLS} from (select * replace (case when runs = 0 then why end as why) from groups) left join bases
                using ({LINE})
                left join checked on checked.of_series = series_id and checked.of_nodes is not distinct from node_count
                and checked.of_version = framework_version and checked.of_image = image
                and list_contains(checked.of_fingerprints, fingerprint))
    """
    return Sheet(SCHEMA, GROUPS, sources, _ORDER)


# The table of all series and groups.
SERIES = series_where("true", "true")


def ruleset_parameters(
    cur: DuckDBPyConnection, condition: str, filters: Mapping[str, object], evaluator: Evaluator
) -> dict[str, object]:
    """The parameters about rulesets and series that the columns use, for the runs that fulfil the condition."""
    rule = evaluator.ruleset.series.V08
    by_name = rule.by_model if rule else {}
    cur.execute(f"select distinct series_id from runs where series_id <> '' and {condition}", dict(filters))
    rows = series_checks.of_series(cur, [series_id for (series_id,) in cur.fetchall()], evaluator)
    return {
        "ruleset_id": evaluator.ruleset.id,
        "runs": rule.runs if rule else None,
        "names": list(by_name),
        "runs_by_name": list(by_name.values()),
        "checked_series": [row.series_id for row in rows],
        "checked_nodes": [row.node_count for row in rows],
        "checked_versions": [row.framework_version for row in rows],
        "checked_images": [row.image for row in rows],
        "checked_fingerprints": [list(row.fingerprints) for row in rows],
        "checked_counts": [row.counts for row in rows],
        "checked_failed": [_join_ids(row, CheckLevel.FAIL) for row in rows],
        "checked_warned": [_join_ids(row, CheckLevel.WARN) for row in rows],
    }


def _join_ids(row: SeriesEvaluation, level: CheckLevel) -> str:
    return ";".join(sorted(check.id for check in row.of_level(level)))
