"""What the warehouse knows of series as a whole."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse import series_checks
from aisbench_core.warehouse.connection import Connection
from aisbench_core.warehouse.judging import Judge
from aisbench_core.warehouse.lake import Lake
from aisbench_core.warehouse.values import BoardQuery, SeriesVerdict


class StoredSeries:
    """The series of one warehouse; every method raises as the warehouse's own do."""

    def __init__(
        self,
        connection: Connection | Lake,
        judge_of: Callable[[str], Judge],
        under: Callable[[BoardQuery], AbstractContextManager[DuckDBPyConnection]],
    ) -> None:
        """`judge_of` a ruleset's id, empty for the one that judges what is recorded; `under`: a cursor that sees the
        verdicts which a query asks for."""
        self._connection = connection
        self._judge_of = judge_of
        self._under = under

    def verdicts(self, series_ids: Sequence[str]) -> tuple[SeriesVerdict, ...]:
        """What the rules about series say of each row of these series, over all of their runs."""
        with self._connection.cursor() as cur:
            return series_checks.of_series(cur, series_ids, self._judge_of(""))

    def among(self, query: BoardQuery) -> tuple[SeriesVerdict, ...]:
        """The same of every series among the query's runs, and about these runs only.

        Raises ConfigError and SpecError when there is no such ruleset."""
        judge = self._judge_of(query.ruleset_id)
        with self._under(query) as cur:
            return series_checks.of_query(cur, query, judge)
