"""What `open_warehouse()` reads, as Arrow: batches of rows, whose schema says which region they are about.

A reader of this machine answers here; a server answers with the same batches (aisbench_core/interfaces/api/tables.py).
"""

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from datetime import datetime
from io import BytesIO
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import ipc

from aisbench_core.base.errors import RunNotFound
from aisbench_core.base.messages import Message
from aisbench_core.warehouse.answers import board, facets, history, scaling
from aisbench_core.warehouse.answers.views import GROUPS, VIEWS
from aisbench_core.warehouse.measures.regression import TRACKED
from aisbench_core.warehouse.open.filters import ALL, Filters, query_of
from aisbench_core.warehouse.open.queries import Cursor, Query, execute_query, read_arrow, read_within
from aisbench_core.warehouse.open.reading import Reader
from aisbench_core.warehouse.queries.filters import OF_VALIDITY, build_parameters, choose_runs_sql, validity_parameters
from aisbench_core.warehouse.queries.search import sorted_by
from aisbench_core.warehouse.records import runs
from aisbench_core.warehouse.values.histories import Trend
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow, Validity

BATCH_ROWS = 8192
ABOUT = b"aisbench"
"""The key of the schema's metadata that holds, as JSON, what an answer is about."""

_TEXT = ("run_id", "at_utc", "created_by", "framework_version", "engine_version", "code_sha256", "validity")
_HISTORY = pa.schema(
    [(name, pa.timestamp("us", "UTC") if name == "at_utc" else pa.string()) for name in _TEXT]
    + [(metric.name, pa.float64()) for metric in TRACKED]
)
_POINTS = pa.schema(
    [(name, pa.int64()) for name in ("node_count", "runs")]
    + [(name, pa.float64()) for name in ("throughput", "speed_up", "efficiency", "ideal", "mean", "ci_low", "ci_high")]
)
_REGIONS = pa.schema([("region", pa.string()), ("rehearsal", pa.bool_()), ("runs", pa.int64())])
_VIEWS = pa.schema([(name, pa.string()) for name in ("view", "column", "unit", "meaning")])

Batches = AbstractContextManager[pa.RecordBatchReader]
"""Batches of rows, to be read within the context."""


class WarehouseTables(Protocol):
    """What is read of a warehouse, wherever it is. Filters are stated ones. Every method raises AisbenchError."""

    def sql(self, query: Query) -> Batches:
        """The answer to one SELECT."""

    def views(self) -> Batches:
        """Every column of every view."""

    def regions(self) -> Batches:
        """The regions with runs."""

    def runs(self, filters: Filters) -> Batches:
        """Runs with the columns of `v_runs`."""

    def leaderboard(self, filters: Filters) -> Batches:
        """The leaderboard with the columns of `v_groups`."""

    def scaling(self, run_id: str) -> Batches:
        """Node counts of what is otherwise equal to a run."""

    def history(self, run_id: str, *, include_invalid: bool) -> Batches:
        """Runs of a run's benchmark configuration on its hardware."""

    def close(self) -> None:
        """Free what reading needed."""


class LocalTables:
    """A warehouse that this machine reads. `seconds`: the time limit of runs; None: no limit."""

    def __init__(self, reader: Reader, seconds: float | None = None) -> None:
        self._reader = reader
        self._seconds = seconds

    def close(self) -> None:
        """Release the copy or the connection; the next query opens it again."""
        self._reader.close()

    @contextmanager
    def sql(self, query: Query) -> Iterator[pa.RecordBatchReader]:
        """As the protocol says. Raises QueryError when it cannot be answered."""
        with execute_query(self._reader, query) as cur:
            yield read_arrow(cur, BATCH_ROWS)

    @contextmanager
    def views(self) -> Iterator[pa.RecordBatchReader]:
        """As the protocol says."""
        rows = [
            {"view": view.name, "column": column.name, "unit": column.unit, "meaning": column.meaning}
            for view in VIEWS
            for column in view.columns
        ]
        yield _make_reader(rows, _VIEWS)

    @contextmanager
    def regions(self) -> Iterator[pa.RecordBatchReader]:
        """As the protocol says."""
        with self._reader.cursor() as cur:
            found = [*map(asdict, facets.list_regions(cur))]
        yield _make_reader(found, _REGIONS)

    @contextmanager
    def runs(self, filters: Filters) -> Iterator[pa.RecordBatchReader]:
        """As the protocol says. Raises SpecError on a sort that does not exist."""
        with self._reader.cursor() as cur, read_within(cur, self._seconds):
            query = query_of(cur, filters)
            chosen = build_parameters(cur, query) | validity_parameters(query)
            cur.execute(
                f"""select v_runs.* from v_runs join (
                    select run_id, row_number() over (order by {sorted_by(query)}) as position
                    from runs join results using (run_id)
                    where {choose_runs_sql(query)} and {OF_VALIDITY}) using (run_id)
                order by position limit $limit offset $offset""",
                chosen | {"limit": query.limit, "offset": query.offset},
            )
            found = read_arrow(cur, BATCH_ROWS)
            schema = _add_about(found.schema, query.region, rehearsal=bool(chosen["rehearsal"]))
            yield pa.RecordBatchReader.from_batches(schema, found)

    @contextmanager
    def leaderboard(self, filters: Filters) -> Iterator[pa.RecordBatchReader]:
        """As the protocol says. Raises SpecError on a sort that does not exist."""
        with self._reader.cursor() as cur:
            query = query_of(cur, filters)
            page = board.fetch_leaderboard(cur, query)
            shape = cur.execute("from v_groups limit 0").to_arrow_table().schema
        rows = [_build_group(row, query.region) for row in page.rows]
        yield _make_reader(rows, _add_about(shape, query.region, rehearsal=page.rehearsal))

    @contextmanager
    def scaling(self, run_id: str) -> Iterator[pa.RecordBatchReader]:
        """As the protocol says. Raises RunNotFound."""
        with self._reader.cursor() as cur:
            run = _fetch_run(cur, run_id)
            curve = scaling.fetch_curve(cur, run)
        points = [{name: getattr(point, name) for name in _POINTS.names} for point in curve.points]
        schema = _add_about(_POINTS, run.region, rehearsal=run.rehearsal, more={"base_nodes": curve.base_nodes})
        yield _make_reader(points, schema)

    @contextmanager
    def history(self, run_id: str, *, include_invalid: bool) -> Iterator[pa.RecordBatchReader]:
        """As the protocol says. Raises RunNotFound."""
        with self._reader.cursor() as cur:
            run = _fetch_run(cur, run_id)
            query = BoardQuery(run.region, rehearsal=run.rehearsal, fingerprint=run.fingerprint, limit=ALL)
            row = next(row for row in history.fetch_trends(cur, query).rows if row.group == Trend.of(run))
            trend = history.fetch_history(cur, row, None, (), include_invalid=include_invalid)
        rows = [
            {name: _to_plain(getattr(run, name.removesuffix("_utc"))) for name in _TEXT}
            | {metric.name: run.values.get(metric.name) for metric in TRACKED}
            for run in trend.runs
        ]
        more = {"verdict": str(trend.verdict.outcome)}
        yield _make_reader(rows, _add_about(_HISTORY, run.region, rehearsal=run.rehearsal, more=more))


def iter_stream(batches: pa.RecordBatchReader) -> Generator[bytes]:
    """An Arrow stream by its batches; the first part is the schema with the first batch, which tells most errors."""
    target = BytesIO()
    with ipc.new_stream(target, batches.schema, options=ipc.IpcWriteOptions(compression="lz4")) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield _drain_buffer(target)
    yield _drain_buffer(target)


def _drain_buffer(target: BytesIO) -> bytes:
    content = target.getvalue()
    target.seek(0)
    target.truncate()
    return content


def read_about(schema: pa.Schema) -> Mapping[str, Any]:
    """What an answer is about: region, rehearsal, and what else its method says; nothing for SQL."""
    return dict(json.loads((schema.metadata or {}).get(ABOUT, b"{}")))


def _add_about(
    schema: pa.Schema, region: str, *, rehearsal: bool, more: Mapping[str, object] | None = None
) -> pa.Schema:
    facts = {"region": region, "rehearsal": rehearsal, **(more or {})}
    return schema.with_metadata({ABOUT: json.dumps(facts)})


def _make_reader(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatchReader:
    return pa.Table.from_pylist(rows, schema).to_reader(BATCH_ROWS)


def _fetch_run(cur: Cursor, run_id: str) -> RunRow:
    rows = runs.by_ids(cur, [run_id])
    if not rows:
        raise RunNotFound(Message("no run {run_id} in the warehouse", run_id=run_id))
    return rows[0]


def _to_plain(value: Any) -> Any:
    return str(value) if isinstance(value, Validity) else value


def _build_group(row: object, region: str) -> dict[str, Any]:
    cells: dict[str, Any] = {"region": region}
    for column in GROUPS[1:]:
        value = getattr(row, column.name.removesuffix("_utc"))
        cells[column.name] = value.replace(tzinfo=None) if isinstance(value, datetime) else value
    return cells
