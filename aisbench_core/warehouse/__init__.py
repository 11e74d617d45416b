"""The results warehouse: records runs in DuckDB and answers leaderboard, comparison, scaling and export."""

from aisbench_core.warehouse.answers.boards import BoardPage, BoardRow
from aisbench_core.warehouse.answers.compared import (
    Comparability,
    Comparison,
    FieldValues,
    MetricComparison,
    MetricValue,
    RunVerdict,
)
from aisbench_core.warehouse.answers.scalings import Scaling, ScalingPoint, ScalingQuery, ScalingQuestion
from aisbench_core.warehouse.answers.sorts import BOARD_SORTS, RUN_SORTS
from aisbench_core.warehouse.exports import Export, ExportFormat, ExportTable
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.validity.series_verdict import SeriesVerdict
from aisbench_core.warehouse.validity.verdicts import Judged, Validation
from aisbench_core.warehouse.values import (
    BoardQuery,
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
    "Comparability",
    "Comparison",
    "Export",
    "ExportFormat",
    "ExportTable",
    "Facets",
    "FieldValues",
    "Judged",
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
    "SeriesVerdict",
    "Validation",
    "Validity",
    "Warehouse",
]
