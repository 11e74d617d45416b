"""The results warehouse: records runs in DuckDB and answers leaderboard, comparison, scaling and export."""

from aisbench_core.warehouse.compared import (
    Comparison,
    FieldValues,
    MetricComparison,
    MetricValue,
    RunVerdict,
    Verdict,
)
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.scalings import Scaling, ScalingPoint, ScalingQuery, ScalingQuestion
from aisbench_core.warehouse.values import (
    BOARD_SORTS,
    RUN_SORTS,
    BoardPage,
    BoardQuery,
    BoardRow,
    Check,
    CheckLevel,
    Facets,
    RegionFacts,
    RunPage,
    RunRow,
    Validity,
)

__all__ = [
    "BOARD_SORTS",
    "RUN_SORTS",
    "BoardPage",
    "BoardQuery",
    "BoardRow",
    "Check",
    "CheckLevel",
    "Comparison",
    "Facets",
    "FieldValues",
    "MetricComparison",
    "MetricValue",
    "RegionFacts",
    "RunPage",
    "RunRow",
    "RunVerdict",
    "Scaling",
    "ScalingPoint",
    "ScalingQuery",
    "ScalingQuestion",
    "Validity",
    "Verdict",
    "Warehouse",
]
