"""What answers can be sorted by."""

from aisbench_core.model.columns import COLUMNS, Kind, medians

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

_MENU_ORDER = (Kind.TIME, Kind.NUMBER, Kind.INTEGER, Kind.TEXT)
RUN_SORTS = tuple(column.field for kind in _MENU_ORDER for column in COLUMNS if column.sortable and column.kind is kind)
"""What a run list can be sorted by, times and numbers first; "throughput" is the run's own."""
