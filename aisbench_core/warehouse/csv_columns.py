"""The columns of aisbench-compliance-csv/1, in their order, and the SQL that fills each of them.

A column without SQL is not known yet and stays empty: empty means not measured or not known, 0 is a measurement.
"""

SCHEMA = "aisbench-compliance-csv/1"

IDENTITY = {
    "schema_version": f"'{SCHEMA}'",
    "ruleset_id": "ruleset_id",
    "report_id": "",
    "series_id": "series_id",
    "run_id": "run_id",
    "run_index": "series_index",
    "test_id": "tester->>'$.test_id'",
    "created_by": "created_by",
    "created_at_utc": "created_at",
    "exported_at_utc": "$exported_at::TIMESTAMP",
    "record_sha256": "record_sha256",
}

MODE = {
    "test_mode": "'training'",
    "division": """case when rehearsal then 'rehearsal'
        else coalesce(system->>'$.division', tester->>'$.test_division') end""",
    "scenario": "tester->>'$.scenario'",
    "test_object_type": """case when node_count > 1 and mode = 'cluster' then 'cluster'
        when node_count is not null or mode = 'single_server' then 'single' end""",
    "workload": "workload",
    "model_name": "model",
    "framework": "framework",
    "framework_version": "framework_version",
}

CONFIGURATION = {
    "engine_version": "engine_version",
    "accelerator": "accelerator",
    "flavor": "flavor",
    "pool_type": "case when pool_id <> '' then 'dedicated' when origin = 'launched' then 'public' end",
    "node_count": "node_count",
    "cards_per_node": "cards_per_node",
    "card_count": "card_count",
    "epochs": "coalesce(spec->>'$.parameters.epochs', spec->>'$.parameters.epoch_size')",
    "steps": "coalesce(spec->>'$.parameters.steps', spec->>'$.parameters.train_steps')",
    "global_batch_size": "spec->>'$.parameters.global_batch_size'",
    "precision": "spec->>'$.parameters.precision'",
    "hyperparameters_json": "spec->>'$.parameters'",
    "dataset_name": "dataset",
    "code_sha256": "code_sha256",
    "spec_sha256": "spec_sha256",
}

QUALITY = {
    "accuracy": "accuracy_measured",
    "accuracy_target": "accuracy_target",
    "accuracy_target_source": "accuracy_target_source",
    "converged": "accuracy_measured >= accuracy_target",
}


def _period(name: str) -> dict[str, str]:
    start, end = f"{name}_start_time", f"{name}_end_time"
    seconds = f"case when {end} >= {start} then date_diff('microsecond', {start}, {end}) / 1e6 end"
    return {f"{name}_start_utc": start, f"{name}_end_utc": end, f"{name}_s": seconds}


TIME = {
    "queue_s": "queue_s",
    **_period("prepare"),
    **_period("dataload"),
    **_period("proc"),
    **_period("total"),
    "platform_duration_s": "duration_s",
}

THROUGHPUT = {
    "throughput_reported": "throughput_ratio",
    "throughput_definition": "throughput_definition",
    "throughput_aggregation": "formula_id",
    "throughput_cluster": "throughput_cluster",
    "throughput_per_node": "throughput_per_node",
    "throughput_per_card": "throughput_per_card",
    "ranks_expected": "ranks_expected",
    "ranks_found": "ranks_found",
    "rank_cv_pct": "rank_cv * 100",
    "straggler_ranks": "straggler_ranks",
}

SCALING = {
    "base_nodes": "case when validity = 'valid' then base_nodes end",
    "speedup": "case when validity = 'valid' then throughput_cluster / base_throughput end",
    "efficiency_pct": """case when validity = 'valid'
        then 100 * throughput_cluster * base_nodes / (node_count * base_throughput) end""",
}

POWER = {
    "power_measured": "case when average_power is null and max_power is null then 'n' else 'y' end",
    "power_source": "case when average_power is not null or max_power is not null then 'train_result_info' end",
    "average_power_w": "average_power",
    "max_power_w": "max_power",
    "energy": "energy_consumption",
    "power_efficiency": "efficientcy",
}

UTILISATION = {
    "npu_util_avg_pct": "coalesce(npu_util_avg_pct, resource_util_ratio * 100)",
    "npu_util_source": """case when npu_util_avg_pct is not null then 'platform metrics'
        when resource_util_ratio is not null then 'train_result_info' end""",
}

VERDICT = {
    "validity": "validity",
    "failed_checks": "failed_checks",
    "warned_checks": "warned_checks",
    "not_measured_fields": "array_to_string(from_json(not_measured, '[\"VARCHAR\"]'), ';')",
    "note": """concat_ws('; ', nullif(note, ''),
        case when origin = 'imported' then 'imported from ' || source end,
        case when rehearsal then 'rehearsal in ' || region || ': not a measurement' end,
        case when not rehearsal then 'region ' || region end,
        case when synthetic_data then 'synthetic data: accuracy is not a measurement' end)""",
}

ORIGIN = {
    "origin": "origin",
    "source": "nullif(source, '')",
    "imported_at_utc": "imported_at",
}

CELLS = {
    **IDENTITY,
    **MODE,
    **CONFIGURATION,
    **QUALITY,
    **TIME,
    **THROUGHPUT,
    **SCALING,
    **POWER,
    **UTILISATION,
    **VERDICT,
    **ORIGIN,
}

COLUMNS = tuple(CELLS)
"""The header row."""
