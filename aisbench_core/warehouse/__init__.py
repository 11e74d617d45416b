"""The results warehouse: records runs in DuckDB and answers leaderboard, comparison, scaling and export."""

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.measures.sorts import BOARD_SORTS, RUN_SORTS
from aisbench_core.warehouse.validity.validation import RunEvaluation, Validation
from aisbench_core.warehouse.values.boards import BoardPage, BoardRow
from aisbench_core.warehouse.values.compared import Comparability, Comparison, MetricComparison
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration
from aisbench_core.warehouse.values.exports import Export, ExportFormat, ExportTable
from aisbench_core.warehouse.values.runs import (
    BoardQuery,
    Check,
    CheckLevel,
    Facets,
    RegionFacts,
    RunRow,
    SeriesEvaluation,
    Validity,
)
from aisbench_core.warehouse.values.scalings import Scaling, ScalingPoint

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
