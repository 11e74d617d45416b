"""The warehouse as pandas DataFrames, read-only, for notebooks and other programs.

Columns are those of the views (docs/open.md); `frame.attrs["units"]` holds the units of those that have one. Times are
aware, in UTC. What was not measured is NA or NaN, never 0. Each answer is of the warehouse as it is at that moment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pandas as pd
import pyarrow as pa

from aisbench_core.errors import Problem, RunNotFound, SpecError
from aisbench_core.messages import Message
from aisbench_core.model import Origin
from aisbench_core.warehouse.answers import board, facets, history, scaling
from aisbench_core.warehouse.answers.filters import CHOSEN, OF_VALIDITY, parameters, validity_parameters
from aisbench_core.warehouse.answers.histories import Trend
from aisbench_core.warehouse.answers.regression import TRACKED
from aisbench_core.warehouse.answers.search import sorted_by
from aisbench_core.warehouse.open.queries import SECONDS, Cursor, Query, executed
from aisbench_core.warehouse.open.views import GROUPS, VIEWS
from aisbench_core.warehouse.records import runs
from aisbench_core.warehouse.store.reading import Reader, reader
from aisbench_core.warehouse.store.team import TeamLocation
from aisbench_core.warehouse.values import BoardQuery, RunRow, Validity

# So many rows are all.
ALL = 1_000_000_000

_KINDS = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
_UNITS = {column.name: column.unit for view in reversed(VIEWS) for column in view.columns if column.unit}
_PAGED = frozenset({"sort", "descending", "limit", "offset"})
_MANY = frozenset({"models", "workloads", "framework_versions", "flavors", "node_counts", "tags"})
_FILTERS = Message("filters")
_VALIDITY = Problem(
    "validity",
    Message(
        "is of single runs, and a row of the leaderboard holds several: ask runs(validity=…); rows without a valid run "
        "come with leaderboard(include_invalid=True)"
    ),
)
_WORDS: Mapping[str, type[StrEnum]] = {"origin": Origin, "validity": Validity}

Filters = Any
"""The board's filters by keyword; see OpenWarehouse."""


class OpenWarehouse:
    """What `aisbench_core.open_warehouse()` returns: queries, with answers as DataFrames.

    Filters are the board's: region, rehearsal, models, workloads, framework_versions, flavors, node_counts,
    fingerprint, synthetic_data, text, tags, origin, include_invalid and, of runs, validity; one value stands for a
    tuple of one. `region` may be left out if the warehouse has only one. An answer is about either measurements or
    rehearsals of one region: `attrs` says which. Every method raises WarehouseError if the warehouse cannot be read.
    """

    def __init__(self, location: Path | TeamLocation, *, foreign: bool = False) -> None:
        """`foreign`: somebody else made the file, so that only its rows are read."""
        self._reader: Reader = reader(location, foreign=foreign)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the copy or the connection; the next query opens it again."""
        self._reader.close()

    def sql(
        self, query: str, values: Sequence[object] | Mapping[str, object] = (), seconds: float = SECONDS
    ) -> pd.DataFrame:
        """The answer to one SELECT over views and tables. Raises QueryError when it cannot be answered.

        `values` are those of `?`, or by name those of `$name`."""
        with executed(self._reader, Query(query, values, seconds)) as cur:
            return _frame(cur.to_arrow_table())

    def views(self) -> pd.DataFrame:
        """Every column of every view: view, column, unit and meaning."""
        rows = [(view.name, column.name, column.unit, column.meaning) for view in VIEWS for column in view.columns]
        return pd.DataFrame(rows, columns=["view", "column", "unit", "meaning"])

    def regions(self) -> pd.DataFrame:
        """The regions with runs, and how many measurements or rehearsals each has."""
        with self._reader.cursor() as cur:
            return pd.DataFrame(list(map(asdict, facets.regions(cur))), columns=["region", "rehearsal", "runs"])

    def runs(
        self, *, sort: str = "created_at", descending: bool = True, limit: int | None = None, **filters: Filters
    ) -> pd.DataFrame:
        """One run a row, the newest first, with the columns of `v_runs`; invalid ones with include_invalid=True.

        `sort`: one of RUN_SORTS, as lists of runs have it. Raises SpecError on a sort or filter that does not exist."""
        with self._reader.cursor() as cur:
            query = _query(cur, filters | {"sort": sort, "descending": descending, "limit": limit or ALL})
            chosen = parameters(cur, query) | validity_parameters(query)
            cur.execute(
                f"""select v_runs.* from v_runs join (
                    select run_id, row_number() over (order by {sorted_by(query)}) as position
                    from runs join results using (run_id) where {CHOSEN} and {OF_VALIDITY}) using (run_id)
                order by position limit $limit offset $offset""",
                chosen | {"limit": query.limit, "offset": query.offset},
            )
            return _of(_frame(cur.to_arrow_table()), query.region, rehearsal=bool(chosen["rehearsal"]))

    def leaderboard(
        self, *, sort: str = "throughput", descending: bool = True, limit: int | None = None, **filters: Filters
    ) -> pd.DataFrame:
        """The leaderboard as its page shows it, with the columns of `v_groups`. Raises SpecError as `runs` does.

        With include_invalid=True also groups without a valid run; `validity` is of single runs, and is refused."""
        if "validity" in filters:
            raise SpecError(_FILTERS, [_VALIDITY])
        with self._reader.cursor() as cur:
            query = _query(cur, filters | {"sort": sort, "descending": descending, "limit": limit or ALL})
            page = board.leaderboard(cur, query)
            shape = cur.execute("from v_groups limit 0").to_arrow_table().schema
        rows = [_group(row, query.region) for row in page.rows]
        return _of(_frame(pa.Table.from_pylist(rows, shape)), query.region, rehearsal=page.rehearsal)

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
        with self._reader.cursor() as cur:
            run = _run(cur, run_id)
            curve = scaling.curve(cur, run)
        names = ("node_count", "runs", "throughput", "speed_up", "efficiency", "ideal", "mean", "ci_low", "ci_high")
        frame = pd.DataFrame([{name: getattr(point, name) for name in names} for point in curve.points], columns=names)
        frame.attrs["base_nodes"] = curve.base_nodes
        return _of(frame, run.region, rehearsal=run.rehearsal)

    def history(self, run_id: str, *, include_invalid: bool = False) -> pd.DataFrame:
        """Runs of this run's benchmark configuration on its hardware in the order of time, the newest 500.

        `attrs["verdict"]`: the regression verdict on the newest (docs/regression.md). Raises RunNotFound."""
        with self._reader.cursor() as cur:
            run = _run(cur, run_id)
            query = BoardQuery(run.region, rehearsal=run.rehearsal, fingerprint=run.fingerprint, limit=ALL)
            row = next(row for row in history.trends(cur, query).rows if row.group == Trend.of(run))
            trend = history.history(cur, row, None, (), include_invalid=include_invalid)
        plain = ("run_id", "at", "created_by", "framework_version", "engine_version", "code_sha256", "validity")
        rows = [
            [str(value) if isinstance(value := getattr(run, name), Validity) else value for name in plain]
            + [run.values.get(metric.name) for metric in TRACKED]
            for run in trend.runs
        ]
        frame = pd.DataFrame(rows, columns=[*plain, *(metric.name for metric in TRACKED)])
        frame = frame.rename(columns={"at": "at_utc"})
        frame.attrs["verdict"] = str(trend.verdict.outcome)
        return _of(frame, run.region, rehearsal=run.rehearsal)


def _query(cur: Cursor, filters: Mapping[str, Any]) -> BoardQuery:
    """The filters as a query. Raises SpecError, which says what is allowed."""
    # No `ruleset_id`: views show the stored validity.
    names = [field.name for field in fields(BoardQuery) if field.name != "ruleset_id"]
    allowed = ", ".join(name for name in names if name not in _PAGED)
    problems = [Problem(name, _one_of(allowed)) for name in filters if name not in names]
    stated = {name: value for name, value in filters.items() if value is not None}
    problems += [
        Problem(name, _one_of(", ".join(words)), repr(stated[name]))
        for name, words in _WORDS.items()
        if name in stated and stated[name] not in list(words)
    ]
    if problems:
        raise SpecError(_FILTERS, problems)
    values = {name: _value(name, value) for name, value in stated.items()}
    return BoardQuery(**values | {"region": values.get("region") or _region(cur)})


def _value(name: str, value: Any) -> Any:
    if name in _MANY:
        return (value,) if isinstance(value, (str, int)) else tuple(value)
    return _WORDS[name](value) if name in _WORDS else value


def _region(cur: Cursor) -> str:
    regions = sorted({region.region for region in facets.regions(cur)})
    if len(regions) > 1:
        raise SpecError(_FILTERS, [Problem("region", _one_of(", ".join(regions)))])
    return regions[0] if regions else ""


def _one_of(allowed: str) -> Message:
    return Message("must be one of {allowed}", allowed=allowed)


def _run(cur: Cursor, run_id: str) -> RunRow:
    rows = runs.by_ids(cur, [run_id])
    if not rows:
        raise RunNotFound(Message("no run {run_id} in the warehouse", run_id=run_id))
    return rows[0]


def _group(row: object, region: str) -> dict[str, Any]:
    cells: dict[str, Any] = {"region": region}
    for column in GROUPS[1:]:
        value = getattr(row, column.name.removesuffix("_utc"))
        cells[column.name] = value.replace(tzinfo=None) if isinstance(value, datetime) else value
    return cells


def _frame(table: pa.Table) -> pd.DataFrame:
    frame = table.to_pandas(types_mapper=_KINDS.get)
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if pa.types.is_timestamp(kind) and kind.tz is None:
            frame[name] = frame[name].dt.tz_localize("UTC")
    frame.attrs["units"] = {name: _UNITS[name] for name in frame.columns if name in _UNITS}
    return frame


def _of(frame: pd.DataFrame, region: str, *, rehearsal: bool) -> pd.DataFrame:
    units = {name: _UNITS[name] for name in frame.columns if name in _UNITS}
    frame.attrs |= {"region": region, "rehearsal": rehearsal, "units": units}
    return frame
