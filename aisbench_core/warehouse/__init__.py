"""The results warehouse: records runs in DuckDB and answers leaderboard, comparison, scaling and export."""

from aisbench_core.warehouse.facade import Warehouse

__all__ = ["Warehouse"]
