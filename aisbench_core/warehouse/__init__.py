"""The results warehouse: records runs in DuckDB and answers leaderboard, comparison, scaling and export."""

from aisbench_core.warehouse.answers.boards import BoardPage, BoardRow
from aisbench_core.warehouse.answers.compared import Comparability, Comparison, MetricComparison
from aisbench_core.warehouse.answers.configurations import BenchmarkConfiguration
from aisbench_core.warehouse.answers.scalings import Scaling, ScalingPoint
from aisbench_core.warehouse.answers.sorts import BOARD_SORTS, RUN_SORTS
from aisbench_core.warehouse.exports import Export, ExportFormat, ExportTable
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.validity.validation import RunEvaluation, Validation
from aisbench_core.warehouse.values import (
    BoardQuery,
    Check,
    CheckLevel,
    Facets,
    RegionFacts,
    RunRow,
    SeriesEvaluation,
    Validity,
)

__all__ = [
    "BOARD_SORTS",
    "RUN_SORTS",
    "BenchmarkConfiguration",
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
    "MetricComparison",
    "RegionFacts",
    "RunEvaluation",
    "RunRow",
    "Scaling",
    "ScalingPoint",
    "SeriesEvaluation",
    "Validation",
    "Validity",
    "Warehouse",
]
