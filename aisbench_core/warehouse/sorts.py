"""What answers can be sorted by."""

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
    "model",
    "workload",
    "framework_version",
    "flavor",
    "node_count",
    "latest_at",
)
"""What a leaderboard can be sorted by; "throughput" is the median."""

RUN_SORTS = (
    "created_at",
    "ended_at",
    "throughput",
    "per_node",
    "per_card",
    "accuracy",
    "duration_s",
    "queue_s",
    "rank_cv",
    "model",
    "workload",
    "framework_version",
    "flavor",
    "node_count",
    "validity",
    "state",
    "created_by",
    "run_id",
)
"""What a run list can be sorted by; "throughput" is the run's own."""
