"""The stored cards of a run, as tests read them."""

from aisbench_core.model import RankResult
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.records.runs import rank_results


def rank_results_of(warehouse: Warehouse, run_id: str) -> tuple[RankResult, ...]:
    """The cards of a run that have a number, by server and rank."""
    with warehouse.cursor() as cur:
        return rank_results(cur, [run_id]).get(run_id, ())
