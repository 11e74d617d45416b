"""The warehouse as pandas DataFrames, read-only, for notebooks and other programs.

Columns are those of the views (docs/columns.md); `frame.attrs["units"]` holds the units of those that have one. Times
are aware, in UTC. What was not measured is NA or NaN, never 0. Each answer is of the warehouse as it is at that
moment.
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import pandas as pd
import pyarrow as pa

from aisbench_core.warehouse.answers.views import VIEWS
from aisbench_core.warehouse.open.filters import normalize_filters, of_rows
from aisbench_core.warehouse.open.queries import SECONDS, Query
from aisbench_core.warehouse.open.tables import Batches, WarehouseTables, read_about

_KINDS = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
_UNITS = {column.name: column.unit for view in reversed(VIEWS) for column in view.columns if column.unit}

Filters = Any
"""The board's filters by keyword; see OpenWarehouse."""


class OpenWarehouse:
    """What `aisbench_core.open_warehouse()` returns: queries, with answers as DataFrames.

    Filters are the board's: region, rehearsal, models, workloads, framework_versions, flavors, node_counts,
    fingerprint, synthetic_data, text, tags, origin, include_invalid and, of runs, validity; one value stands for a
    tuple of one. `region` may be left out if the warehouse has only one. An answer is about either measurements or
    rehearsals of one region: `attrs` says which. Every method raises WarehouseError if the warehouse cannot be read,
    and that of a server ApiProblem.
    """

    def __init__(self, tables: WarehouseTables) -> None:
        """`tables`: of this machine, or of a server."""
        self._tables = tables

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the copy or the connection; the next query opens it again."""
        self._tables.close()

    def sql(
        self, query: str, values: Sequence[object] | Mapping[str, object] = (), seconds: float = SECONDS
    ) -> pd.DataFrame:
        """The answer to one SELECT over views and tables. Raises QueryError when it cannot be answered.

        `values` are those of `?`, or by name those of `$name`."""
        return _to_frame(self._tables.sql(Query(query, values, seconds)))

    def views(self) -> pd.DataFrame:
        """Every column of every view: view, column, unit and meaning."""
        return _to_frame(self._tables.views())

    def regions(self) -> pd.DataFrame:
        """The regions with runs, and how many measurements or rehearsals each has."""
        return _to_frame(self._tables.regions())

    def runs(
        self, *, sort: str = "created_at", descending: bool = True, limit: int | None = None, **filters: Filters
    ) -> pd.DataFrame:
        """One run a row, the newest first, with the columns of `v_runs`; invalid ones with include_invalid=True.

        `sort`: one of RUN_SORTS, as lists of runs have it. Raises SpecError on a sort or filter that does not exist."""
        page = {"sort": sort, "descending": descending, "limit": limit}
        return _to_frame(self._tables.runs(normalize_filters(filters | page)))

    def leaderboard(
        self, *, sort: str = "throughput", descending: bool = True, limit: int | None = None, **filters: Filters
    ) -> pd.DataFrame:
        """The leaderboard as its page shows it, with the columns of `v_groups`. Raises SpecError as `runs` does.

        With include_invalid=True also groups without a valid run; `validity` is of single runs, and is refused."""
        page = {"sort": sort, "descending": descending, "limit": limit}
        return _to_frame(self._tables.leaderboard(of_rows(filters | page)))

    def ranks(self, run_ids: str | Sequence[str]) -> pd.DataFrame:
        """One card a row, with the columns of `v_ranks`."""
        query = "from v_ranks where list_contains($ids::VARCHAR[], run_id) order by run_id, server, rank"
        return self.sql(query, {"ids": [run_ids] if isinstance(run_ids, str) else list(run_ids)})

    def series(self, series_id: str) -> pd.DataFrame:
        """The rows of a series with their statistics, and the columns of `v_series`: one node count, version and image
        each. Empty while no run of it was recorded."""
        query = "from v_series where series_id = $id order by framework_version, image, node_count"
        return self.sql(query, {"id": series_id})

    def scaling(self, run_id: str) -> pd.DataFrame:
        """Scaling over node counts of what is otherwise equal to this run. Raises RunNotFound.

        `attrs["base_nodes"]` is the node count that speed_up and efficiency refer to."""
        return _to_frame(self._tables.scaling(run_id))

    def history(self, run_id: str, *, include_invalid: bool = False) -> pd.DataFrame:
        """Runs of this run's benchmark configuration on its hardware in the order of time, the newest 500.

        `attrs["verdict"]`: the regression verdict on the newest (docs/regression.md). Raises RunNotFound."""
        return _to_frame(self._tables.history(run_id, include_invalid=include_invalid))


def _to_frame(batches: Batches) -> pd.DataFrame:
    with batches as reader:
        table = reader.read_all()
    frame = table.to_pandas(types_mapper=_KINDS.get)
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if pa.types.is_timestamp(kind):
            times = frame[name].dt
            frame[name] = times.tz_localize("UTC") if kind.tz is None else times.tz_convert("UTC")
    units = {name: _UNITS[name] for name in frame.columns if name in _UNITS}
    frame.attrs = {**read_about(table.schema), "units": units}
    return frame
