"""Runs: lists, details, events and logs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field
from starlette.responses import Response, StreamingResponse

from aisbench_core.base.errors import RunNotFound
from aisbench_core.base.messages import Message
from aisbench_core.domain.logs.archive import iterate_parts
from aisbench_core.domain.logs.reading import size_of
from aisbench_core.interfaces.api.cursors import Cursor, Limit, PageQuery, cursor_of, page_of, position_of
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.interfaces.api.expectations import ExpectedReport, report_expected
from aisbench_core.interfaces.api.run.ranges import behind_the_end, part_of, range_of
from aisbench_core.model import Event, Frozen, Level, Passport, Progress, Run, RunMetric, RunState
from aisbench_core.store.ledger.deletions import Deletion
from aisbench_core.store.ledger.ledger import as_text
from aisbench_core.warehouse.values.runs import RunRow


class RunsQuery(Frozen):
    """Which runs, and which page of them."""

    state: Annotated[tuple[RunState, ...], Field(description="Only runs in one of these states.")] = ()
    text: Annotated[str, Field(max_length=200, description="Searched in id, job, workload, author and detail.")] = ""
    limit: Limit = 50
    cursor: Cursor = ""


@dataclass(frozen=True, slots=True)
class RunListing:
    """Runs, newest first. `next` is null on the last page."""

    items: Sequence[Run]
    next: str | None


@dataclass(frozen=True, slots=True)
class RunDetails:
    """`run` is null for imported runs, `result` until a run is recorded, `progress` where its state reports none."""

    run_id: str
    name: str
    run: Run | None
    progress: Progress | None
    result: RunRow | None
    tags: Sequence[str]
    note: str
    metrics: Sequence[RunMetric]
    deletion: Annotated[Deletion | None, Field(description="By whom, when and why it was deleted; null: it was not.")]
    passport: Annotated[Passport | None, Field(description="What was captured on its nodes; null: nothing was.")]
    expected: Annotated[ExpectedReport | None, Field(description="What is usual; null without a throughput.")]


@dataclass(frozen=True, slots=True)
class ReportedEvent:
    """An event of a run or a series. `source`: the way in, or the follower; `number` grows with every event."""

    number: int
    """Grows with each event."""
    run_id: str
    at: datetime
    source: str
    level: Level
    message: str
    actor: str


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events, oldest first. `next` is never null: ask with it again for what happens later."""

    items: Sequence[ReportedEvent]
    next: str


@dataclass(frozen=True, slots=True)
class LogSize:
    """The log of one node, as far as it was fetched."""

    node: int
    """Number of the node, from 0."""
    size: Annotated[int, Field(description="Bytes.")]


@dataclass(frozen=True, slots=True)
class LogListing:
    """The nodes that have a log. `next` is null on the last page."""

    items: Sequence[LogSize]
    next: str | None


def list_runs(call: ApiCall) -> RunListing:
    """A page of runs; runs that are launched meanwhile move no later page."""
    query: RunsQuery = call.query
    before = position_of(query.cursor, str, str) if query.cursor else None
    found = call.core.ledger.page_before(before, query.state or None, query.text, query.limit + 1)
    page = found[: query.limit]
    last = cursor_of(as_text(page[-1].created_at), page[-1].run_id) if len(found) > query.limit else None
    return RunListing(page, last)


def show_run(call: ApiCall) -> RunDetails:
    """One run by its id or a unique prefix of it; imported ones by their whole id."""
    core, run_id = call.core, call.path["run_id"]
    run = core.ledger.find(run_id)
    row = core.warehouse.runs.find_row(run.run_id if run else run_id)
    if run is None and row is None:
        core.ledger.get(run_id)  # raises: it says whether there are none or several
        raise RunNotFound(Message("there is no run {run_id!r}", run_id=run_id))
    whole_id = run.run_id if run else run_id
    annotations = core.annotations.of(whole_id)
    name = core.run_names.of([run])[run.run_id] if run else annotations.name or (row.title if row else "")
    progress = core.ledger.progress(whole_id)
    metrics = core.warehouse.runs.find_metrics([whole_id])[whole_id]
    deletion = core.deletions.find(whole_id)
    said = (annotations.tags, annotations.note)
    passport = core.warehouse.runs.find_passports([whole_id]).get(whole_id)
    expected = report_expected(core.expectations.find_of_run(row), call)
    return RunDetails(whole_id, name, run, progress, row, *said, metrics, deletion, passport, expected)


def run_events(call: ApiCall) -> EventPage:
    """The events of one run."""
    return _list_events(call, call.core.ledger.get(call.path["run_id"]).run_id)


def all_events(call: ApiCall) -> EventPage:
    """The events of all runs and series, in the order in which they were stored."""
    return _list_events(call, "")


def _list_events(call: ApiCall, run_id: str) -> EventPage:
    query: PageQuery = call.query
    (after,) = position_of(query.cursor, int) if query.cursor else (0,)
    found = call.core.ledger.events_after(after, query.limit, run_id)
    return EventPage(
        [_to_reported_event(number, event) for number, event in found], cursor_of(found[-1][0] if found else after)
    )


def _to_reported_event(number: int, event: Event) -> ReportedEvent:
    return ReportedEvent(number, event.run_id, event.at, event.source, event.level, event.message, event.actor)


def list_logs(call: ApiCall) -> LogListing:
    """The nodes that have a log, with their sizes in bytes."""
    files = call.core.files.log_files(call.path["run_id"])
    page, following = page_of(sorted(files.items()), call.query)
    return LogListing([LogSize(node, size_of(file)) for node, file in page], following)


def read_log(call: ApiCall) -> Response:
    """A node's log as the job wrote it, whole or the bytes of a `Range` header; it may grow meanwhile."""
    files = call.core.files.log_files(call.path["run_id"])
    node = int(call.path["node"])
    if node not in files:
        raise RunNotFound(
            Message("run {run_id} has no log of node {node}", run_id=call.path["run_id"], node=node),
            Message("nodes with a log: {nodes}", nodes=", ".join(map(str, sorted(files))) or Message("none")),
        )
    size = size_of(files[node])
    header = call.headers.get("range", "")
    first, last = range_of(header, size)
    if header and first >= size:
        return behind_the_end(size)
    status, headers = part_of(header, first, last, size)
    headers["Cache-Control"] = "no-store"
    # Its encoding is what the job wrote: nothing is said of it.
    return StreamingResponse(iterate_parts(files[node], last, first), status, headers, "application/octet-stream")
