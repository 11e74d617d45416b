"""Results: leaderboard, comparison, regression verdicts and exports."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated
from urllib.parse import quote

from pydantic import Field
from starlette.responses import Response, StreamingResponse

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.api.cursors import Cursor, Limit, PageQuery, cursor_of, page_of, position_of
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import Frozen, Origin
from aisbench_core.warehouse.measures.sorts import BOARD_SORTS
from aisbench_core.warehouse.records.inference_results import csv_text
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.compared import MAX_COMPARED, ComparedBy, Comparison
from aisbench_core.warehouse.values.conditions import parse_conditions
from aisbench_core.warehouse.values.exports import MEDIA_TYPES, Export, ExportFormat, ExportTable
from aisbench_core.warehouse.values.histories import Outcome, VersionField
from aisbench_core.warehouse.values.inference import StoredInference
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.warehouse.values.trend_verdicts import TrendVerdict

SPOOLED_BYTES = 8 * 1024 * 1024
PART_BYTES = 1024 * 1024
Name = Annotated[str, Field(max_length=200)]


class BenchmarkQuery(Frozen):
    """Which benchmark configurations, in which region."""

    region: Annotated[Name, Field(description="Default: that of the default profile.")] = ""
    rehearsals: Annotated[bool, Field(description="Rehearsals instead of measurements.")] = False
    model: tuple[Name, ...] = ()
    workload: tuple[Name, ...] = ()
    flavor: tuple[Name, ...] = ()
    nodes: tuple[Annotated[int, Field(ge=1, le=1_000_000)], ...] = ()


class ResultQuery(BenchmarkQuery):
    """Which runs."""

    framework_version: tuple[Name, ...] = ()
    origin: Origin | None = None
    tag: Annotated[tuple[Name, ...], Field(description="With all of these tags.")] = ()
    text: Name = ""
    where: Annotated[
        tuple[Name, ...], Field(description="NAME:VALUE or NAME:LOW..HIGH of a column, parameter.NAME or metric.NAME.")
    ] = ()
    ruleset: Annotated[Name, Field(description="Decides validity; default: as stored.")] = ""


class LeaderboardQuery(ResultQuery):
    """Which rows, in which order, and which page of them."""

    include_invalid: Annotated[bool, Field(description="Include rows without a valid run.")] = False
    sort: Annotated[Name, Field(description=f"One of {', '.join(BOARD_SORTS)}.")] = "throughput"
    metric: Annotated[Name, Field(description="A metric in place of the throughput; default: the primary one.")] = ""
    ascending: bool = False
    limit: Limit = 50
    cursor: Cursor = ""


class CompareQuery(Frozen):
    """2 to 32 runs; the others are compared with the first."""

    run: Annotated[tuple[Name, ...], Field(min_length=2, max_length=MAX_COMPARED, description="A run's id.")]
    by: Annotated[ComparedBy, Field(description="The runs, or the medians of their rows of the leaderboard.")] = (
        ComparedBy.RUNS
    )


class RegressQuery(BenchmarkQuery, PageQuery):
    """What is tested against what, and which page of the verdicts."""

    by: Annotated[VersionField | None, Field(description="What a version is; default: the first that differs.")] = None
    baseline: Annotated[tuple[Name, ...], Field(description="A version or the id of a run; default: as marked.")] = ()
    metric: Annotated[Name, Field(description="A metric in place of throughput and the other tested ones.")] = ""


class ExportQuery(ResultQuery):
    """Which runs, in which format."""

    format: ExportFormat = ExportFormat.CSV
    what: Annotated[ExportTable, Field(description="What a row is.")] = ExportTable.RUNS
    valid_only: bool = False


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A page of rows. Pages follow ranks, so a result recorded meanwhile can move them. `next` is null on the last."""

    region: str
    rehearsal: bool
    total: int
    """Number of rows, on all pages."""
    items: Sequence[BoardRow]
    next: str | None


@dataclass(frozen=True, slots=True)
class GroupRegressions:
    """The verdicts on the groups, the worst first; `outcome`, `tests` and `total` are those of all pages."""

    region: str
    rehearsal: bool
    outcome: Outcome
    tests: int
    """How many comparisons the p-values are adjusted for."""
    total: int
    """Number of groups, on all pages."""
    items: Sequence[TrendVerdict]
    next: str | None


def show_leaderboard(call: ApiCall) -> Leaderboard:
    """Configurations by the median throughput of their valid runs."""
    query: LeaderboardQuery = call.query
    if query.sort not in BOARD_SORTS:
        unknown = Problem("sort", Message("must be one of {names}", names=", ".join(BOARD_SORTS)), query.sort)
        raise SpecError(Message("the query"), [unknown])
    (offset,) = position_of(query.cursor, int) if query.cursor else (0,)
    chosen = _board_query(
        call, query, include_invalid=query.include_invalid, sort=query.sort, descending=not query.ascending,
        metric=query.metric, limit=query.limit, offset=max(0, offset),
    )  # fmt: skip
    call.core.warehouse.facets.require_metric(chosen)
    page = call.core.warehouse.board.list_rows(chosen)
    end = chosen.offset + len(page.rows)
    following = cursor_of(end) if page.rows and end < page.total else None
    return Leaderboard(chosen.region, page.rehearsal, page.total, page.rows, following)


def compare_runs(call: ApiCall) -> Comparison:
    """Runs, or their rows, against the first of them."""
    query: CompareQuery = call.query
    return call.core.warehouse.runs.compare([_full_id(call, run_id) for run_id in query.run], query.by)


def find_regressions(call: ApiCall) -> GroupRegressions:
    """Whether the newest runs of each group differ from earlier ones."""
    query: RegressQuery = call.query
    chosen = _board_query(call, query, metric=query.metric)
    call.core.warehouse.facets.require_metric(chosen)
    found = call.core.warehouse.trends.list_verdicts(chosen, query.by, query.baseline)
    page, following = page_of(found.groups, query)
    return GroupRegressions(chosen.region, found.rehearsal, found.outcome, found.tests, found.total, page, following)


def export_runs(call: ApiCall) -> StreamingResponse:
    """Every run of the query as a file, complete before its first byte is sent."""
    query: ExportQuery = call.query
    chosen = _board_query(call, query, include_invalid=not query.valid_only)
    request = Export(chosen, call.core.clock(), query.what, query.format)
    content = SpooledTemporaryFile(SPOOLED_BYTES)  # noqa: SIM115  # closed when it has been sent
    try:
        rows = call.core.exports.write(request, content, call.actor.name)
    except BaseException:
        content.close()
        raise
    headers = {"Content-Disposition": _format_disposition(request.file_name), "X-Row-Count": str(rows)}
    return StreamingResponse(_iterate_parts(content), 200, headers, MEDIA_TYPES[query.format])


def _format_disposition(name: str) -> str:
    """The header for a file name: headers are ASCII, and regions may be named in Chinese (RFC 6266)."""
    quoted = quote(name)
    return f'attachment; filename="{name}"' if quoted == name else f"attachment; filename*=UTF-8''{quoted}"


def _iterate_parts(content: IO[bytes]) -> Iterator[bytes]:
    with content:
        content.seek(0)
        while part := content.read(PART_BYTES):
            yield part


def _board_query(call: ApiCall, query: BenchmarkQuery, **page: object) -> BoardQuery:
    filters: dict[str, object] = {
        "models": query.model, "workloads": query.workload, "flavors": query.flavor, "node_counts": query.nodes,
    }  # fmt: skip
    if isinstance(query, ResultQuery):
        filters |= {"framework_versions": query.framework_version, "tags": query.tag}
        filters |= {"origin": query.origin, "text": query.text, "ruleset_id": query.ruleset}
        filters["where"] = parse_conditions(query.where)
    region = query.region or call.core.default_region()
    # None lets the warehouse decide: measurements, or rehearsals where a region has nothing else.
    return BoardQuery(region, rehearsal=True if query.rehearsals else None, **filters, **page)  # type: ignore[arg-type]  # its own names


def _full_id(call: ApiCall, run_id: str) -> str:
    run = call.core.ledger.find(run_id)
    return run.run_id if run else run_id  # imported runs are in the warehouse only


@dataclass(frozen=True, slots=True)
class InferencePage:
    """A page of results of inference, by benchmark and rank; `next`: null on the last."""

    count: Annotated[int, Field(description="Number of results, on all pages.")]
    items: Sequence[StoredInference]
    next: str | None


def list_inference(call: ApiCall) -> InferencePage:
    """Results of inference, which no other endpoint returns; ranked per model, dataset, tool and unit."""
    stored = call.core.warehouse.inference.list_ranked()
    page, following = page_of(stored, call.query)
    return InferencePage(len(stored), page, following)


def inference_csv(call: ApiCall) -> Response:
    """All of them with every field, as the page *Inference* downloads them."""
    headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="inference.csv"'}
    return Response(csv_text(call.core.warehouse.inference.list_ranked()), HTTPStatus.OK, headers, "text/csv")
