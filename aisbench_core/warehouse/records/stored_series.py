"""The series of a warehouse: their plans, their recorded runs, and the checks of whole series."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from duckdb import DuckDBPyConnection

from aisbench_core.model import Series
from aisbench_core.warehouse.records import series_plans
from aisbench_core.warehouse.tables.schema import build_in_condition
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.validity import series_checks
from aisbench_core.warehouse.validity.evaluation import Evaluator
from aisbench_core.warehouse.values.runs import BoardQuery, SeriesEvaluation


class StoredSeries:
    """The series of one warehouse; every method raises as the warehouse's own do."""

    def __init__(
        self,
        store: Store,
        evaluator_of: Callable[[str], Evaluator],
        under: Callable[[BoardQuery], AbstractContextManager[DuckDBPyConnection]],
    ) -> None:
        """`evaluator_of`: by ruleset id, empty for the one used for recording. `under`: a cursor that sees the
        validity by the query's ruleset."""
        self._store = store
        self._evaluator_of = evaluator_of
        self._under = under

    def keep(self, series: Sequence[Series]) -> None:
        """Store the plans that are not stored yet, and new values of searches. Can be repeated."""
        series_plans.keep(self._store, series)

    def list_launches(self) -> list[tuple[datetime, str]]:
        """When each series was launched, and its id."""
        with self._store.cursor() as cur:
            return series_plans.list_plans(cur)

    def of(self, series_ids: Sequence[str]) -> list[Series]:
        """The plans of those of the series that are stored."""
        with self._store.cursor() as cur:
            return series_plans.get_plans(cur, series_ids)

    def starting_with(self, start: str) -> list[Series]:
        """At most two series whose ids have this prefix; one whose id it is comes first."""
        with self._store.cursor() as cur:
            return series_plans.starting_with(cur, start)

    def find_ids(self, run_ids: Sequence[str]) -> list[str]:
        """The series that these runs are of."""
        query = "select distinct series_id from runs where series_id <> '' and run_id in (select unnest(?::VARCHAR[]))"
        with self._store.cursor() as cur:
            return sorted(series_id for (series_id,) in cur.execute(query, [list(run_ids)]).fetchall())

    def run_cells(self, series_ids: Sequence[str]) -> Mapping[str, list[tuple[str, int]]]:
        """The recorded runs of these series with their cells in the plan, in the order of their launch."""
        condition, parameters = build_in_condition("series_id", series_ids)
        query = f"""select series_id, run_id, series_index from runs
            where series_index is not null and {condition} order by created_at, run_id"""
        cells: dict[str, list[tuple[str, int]]] = {series_id: [] for series_id in series_ids}
        with self._store.cursor() as cur:
            for series_id, run_id, cell in cur.execute(query, parameters).fetchall():
                cells[series_id].append((run_id, cell))
        return cells

    def evaluations(self, series_ids: Sequence[str]) -> tuple[SeriesEvaluation, ...]:
        """The checks of each row of these series, over all of their runs."""
        with self._store.cursor() as cur:
            return series_checks.of_series(cur, series_ids, self._evaluator_of(""))

    def among(self, query: BoardQuery) -> tuple[SeriesEvaluation, ...]:
        """The checks of every series among the query's runs, over these runs only.

        Raises ConfigError and SpecError when there is no such ruleset."""
        evaluator = self._evaluator_of(query.ruleset_id)
        with self._under(query) as cur:
            return series_checks.of_query(cur, query, evaluator)
