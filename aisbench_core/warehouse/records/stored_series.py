"""What the warehouse knows of series as a whole."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from duckdb import DuckDBPyConnection

from aisbench_core.model import Series
from aisbench_core.warehouse.records import series_plans
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.schema import among
from aisbench_core.warehouse.validity import series_checks
from aisbench_core.warehouse.validity.judging import Judge
from aisbench_core.warehouse.validity.series_verdict import SeriesVerdict
from aisbench_core.warehouse.values import BoardQuery


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

    def keep(self, series: Sequence[Series]) -> None:
        """Write down the plans of series that are not here yet. Can be repeated."""
        series_plans.keep(self._connection, series)

    def listed(self) -> list[tuple[datetime, str]]:
        """When each series was launched, and its id."""
        with self._connection.cursor() as cur:
            return series_plans.listed(cur)

    def of(self, series_ids: Sequence[str]) -> list[Series]:
        """The plans of these series, as far as they are here."""
        with self._connection.cursor() as cur:
            return series_plans.of(cur, series_ids)

    def starting_with(self, start: str) -> list[Series]:
        """At most two series whose ids begin so; one that is called so stands first."""
        with self._connection.cursor() as cur:
            return series_plans.starting_with(cur, start)

    def places(self, series_ids: Sequence[str]) -> Mapping[str, list[tuple[str, int]]]:
        """The recorded runs of these series with their cells, in the order of their launch."""
        chosen, values = among("series_id", series_ids)
        asked = f"""select series_id, run_id, series_index from runs
            where series_index is not null and {chosen} order by created_at, run_id"""
        found: dict[str, list[tuple[str, int]]] = {series_id: [] for series_id in series_ids}
        with self._connection.cursor() as cur:
            for series_id, run_id, cell in cur.execute(asked, values).fetchall():
                found[series_id].append((run_id, cell))
        return found

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
