"""What `open_warehouse()` reads, for programs on other machines: Arrow streams, sent while they are read."""

from collections.abc import Generator, Mapping
from typing import Annotated, Any

from pydantic import Field
from starlette.responses import Response

from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.interfaces.api.results import Name
from aisbench_core.interfaces.api.streams import StreamedParts
from aisbench_core.model import Frozen, Origin, Scalar
from aisbench_core.warehouse.open.filters import normalize_filters, of_rows
from aisbench_core.warehouse.open.queries import SECONDS, Query
from aisbench_core.warehouse.open.tables import Batches, LocalTables, iter_stream
from aisbench_core.warehouse.values.exports import MEDIA_TYPES, ExportFormat
from aisbench_core.warehouse.values.runs import Validity

MEDIA_TYPE = MEDIA_TYPES[ExportFormat.ARROW]
# A table of all runs is read for longer than a query that somebody wrote; whoever reads it may be far away.
RUNS_SECONDS = 600.0
MOST_SECONDS = 600.0

Value = Scalar | tuple[Scalar | None, ...] | None
Names = tuple[Name, ...]


class SqlRequest(Frozen):
    """One SELECT in DuckDB's SQL over the views of docs/open.md."""

    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    values: Annotated[
        tuple[Value, ...] | dict[Name, Value], Field(description="Those of `?`, or by name those of `$name`.")
    ] = ()
    seconds: Annotated[
        float, Field(gt=0, le=MOST_SECONDS, allow_inf_nan=False, description="Time limit, reading included.")
    ] = SECONDS


class RowFilters(Frozen):
    """The leaderboard's filters, with their names in Python (docs/open.md). Null filters nothing."""

    region: Annotated[Name, Field(description="May be left out if the warehouse has one only.")] = ""
    rehearsal: Annotated[
        bool | None, Field(description="Rehearsals or measurements; null: measurements if there are any.")
    ] = None
    models: Names = ()
    workloads: Names = ()
    framework_versions: Names = ()
    flavors: Names = ()
    node_counts: tuple[Annotated[int, Field(ge=1, le=1_000_000)], ...] = ()
    fingerprint: Annotated[Name, Field(description="Of a benchmark configuration.")] = ""
    synthetic_data: bool | None = None
    text: Annotated[Name, Field(description="Searched in ids, names and people.")] = ""
    tags: Annotated[Names, Field(description="With all of these tags.")] = ()
    where: Annotated[Names, Field(description="Conditions such as throughput:8000.. or parameter.batch_size:256.")] = ()
    origin: Origin | None = None
    include_invalid: bool = False
    sort: Annotated[Name | None, Field(description="Name of a column to sort by; default: as the method has it.")] = (
        None
    )
    descending: bool = True
    limit: Annotated[int | None, Field(ge=1, le=1_000_000_000, description="Rows; null: all.")] = None
    offset: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0


class RunFilters(RowFilters):
    """The same for runs."""

    validity: Validity | None = None


class HistoryQuery(Frozen):
    """Which runs of a history."""

    include_invalid: bool = False


def query_views(call: ApiCall) -> Response:
    """The answer to a SELECT as an Arrow stream, from a process of its own that reads nothing but the warehouse."""
    request: SqlRequest = call.body
    return StreamedParts(_iterate_answer(call, Query(request.query, request.values, request.seconds)), MEDIA_TYPE)


def describe_views(call: ApiCall) -> Response:
    """Every column of every view, with its unit and meaning."""
    return _stream_batches(call, _open_tables(call).views())


def list_regions(call: ApiCall) -> Response:
    """The regions with runs, and how many measurements or rehearsals each has."""
    return _stream_batches(call, _open_tables(call).regions())


def fetch_runs(call: ApiCall) -> Response:
    """Runs with the columns of `v_runs`."""
    return _stream_batches(
        call, _open_tables(call).runs(normalize_filters(_get_filters(call.query, sort="created_at")))
    )


def fetch_groups(call: ApiCall) -> Response:
    """The leaderboard with the columns of `v_groups`."""
    return _stream_batches(call, _open_tables(call).leaderboard(of_rows(_get_filters(call.query, sort="throughput"))))


def fetch_scaling(call: ApiCall) -> Response:
    """Node counts of what is otherwise equal to a run."""
    return _stream_batches(call, _open_tables(call).scaling(call.path["run_id"]))


def fetch_history(call: ApiCall) -> Response:
    """Runs of a run's benchmark configuration on its hardware, in the order of time."""
    query: HistoryQuery = call.query
    return _stream_batches(call, _open_tables(call).history(call.path["run_id"], include_invalid=query.include_invalid))


def _open_tables(call: ApiCall) -> LocalTables:
    return LocalTables(call.core.reader, RUNS_SECONDS)


def _get_filters(query: RowFilters, sort: str) -> Mapping[str, Any]:
    return {**query.model_dump(exclude_unset=True), "sort": query.sort or sort}


def _stream_batches(call: ApiCall, batches: Batches) -> Response:
    return StreamedParts(_iterate_parts(call, batches), MEDIA_TYPE)


def _iterate_parts(call: ApiCall, batches: Batches) -> Generator[bytes]:
    with call.core.operations.count_operation(call.actor.name), batches as reader:
        yield from iter_stream(reader)


def _iterate_answer(call: ApiCall, query: Query) -> Generator[bytes]:
    with call.core.operations.count_operation(call.actor.name):
        yield from call.queries.iter_answer(call.core.reader, query)
