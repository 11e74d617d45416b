"""The columns that lists can be sorted by, in the order of their menus."""

from aisbench_core.model.columns import COLUMNS, FINGERPRINTED, GROUP_KEYS, Kind, list_medians
from aisbench_core.model.columns.statistics import STATISTICS
from aisbench_core.warehouse.measures.regression import TRACKED

_SORTABLE = tuple(statistic.name for statistic in STATISTICS if statistic.is_sortable)
_STATISTICS = tuple(dict.fromkeys(("throughput", *_SORTABLE, "runs", "accuracy")))

# Sorts of the leaderboard; "throughput" is the median.
BOARD_SORTS = (
    *_STATISTICS,
    *(column.name for column in COLUMNS if column.sortable and column.name in (*GROUP_KEYS, *FINGERPRINTED)),
    "latest_at",
    *(column.name for column in list_medians()),
)

# Sorts of the runs of a history; "moment" is the start by the cloud's clock.
HISTORY_SORTS = (
    "moment",
    *(metric.name for metric in TRACKED),
    *("framework_version", "engine_version", "validity", "created_by", "run_id"),
)

_MENU_ORDER = (Kind.TIME, Kind.NUMBER, Kind.INTEGER, Kind.TEXT)
# Sorts of a list of runs, times and numbers first; "throughput" is the run's own.
RUN_SORTS = tuple(column.field for kind in _MENU_ORDER for column in COLUMNS if column.sortable and column.kind is kind)
