"""What answers can be sorted by."""

from aisbench_core.model.columns import COLUMNS, medians

BOARD_SORTS = (
    "throughput",
    "best",
    "olympic_mean",
    "per_node",
    "per_card",
    "runs",
    "cv",
    "best_accuracy",
    "median_accuracy",
    "accuracy",
    "model",
    "workload",
    "framework_version",
    "flavor",
    "node_count",
    "latest_at",
    *(column.name for column in medians()),
)
"""What a leaderboard can be sorted by; "throughput" is the median."""

HISTORY_SORTS = (
    "moment",
    "throughput",
    "accuracy",
    "duration_s",
    "rank_cv",
    "energy_consumption",
    "framework_version",
    "engine_version",
    "validity",
    "created_by",
    "run_id",
)
"""What the runs of a history can be sorted by; "moment" is the start by the cloud's clock."""

RUN_SORTS = tuple(column.field for column in COLUMNS if column.sortable)
"""What a run list can be sorted by; "throughput" is the run's own."""
