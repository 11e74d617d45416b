"""`aisbench runs`, `show`, `stop` and `collect`, and the jobs of a region."""

from __future__ import annotations

from datetime import datetime
from itertools import chain
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from aisbench_core.base import formats
from aisbench_core.base.errors import DamagedLedger, ResultError, RunNotFound
from aisbench_core.domain.results.card_samples import CardSummary, card_summaries
from aisbench_core.domain.results.job_events import cloud_events, sort_events
from aisbench_core.domain.results.utilisation import LowUtilisation, low_utilisation
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.annotations.commands import annotations_text
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.following import warn_without_follower
from aisbench_core.interfaces.cli.job_text import (
    alert_text,
    cards_text,
    details_text,
    life_text,
    passport_text,
    queue_text,
)
from aisbench_core.interfaces.cli.maintenance.cleaning import deletion_text, removals_text
from aisbench_core.interfaces.cli.options import (
    add_paging,
    command,
)
from aisbench_core.interfaces.cli.results.expectations import expected_json, expected_text
from aisbench_core.interfaces.cli.results.results import metrics_text, result_text, servers_text
from aisbench_core.interfaces.cli.upstream import counts_text
from aisbench_core.model import Event, JobDetails, Progress, Run, RunState

if TYPE_CHECKING:
    from aisbench_core.domain.liveness.stalls import Watch
    from aisbench_core.warehouse.values.runs import RunRow
    from aisbench_core.wiring import Core


def _parse_states(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> tuple[RunState, ...]:
    unknown = [word for word in words if word not in list(RunState)]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(RunState)}")
    return tuple(map(RunState, words))


@command()
@click.option(
    "--state",
    "states",
    callback=_parse_states,
    multiple=True,
    help="Only runs in this state; an unknown one lists all.",
)
@click.option("--text", default="", help="Only runs with this text in id, job, workload, author, profile or detail.")
@add_paging(10_000)
def runs(states: tuple[RunState, ...], text: str, limit: int, offset: int, as_json: bool) -> None:
    """List runs, newest first."""
    core = open_core(writing=False)
    page = core.ledger.page(states or None, text, limit, offset)
    total, names = core.ledger.count(states or None, text), core.run_names.of(page)
    watches = core.watches.of([run.run_id for run in page if run.state == "running"])
    details = {
        run.run_id: run.explanation
        or (alert_text(run, _read_job(core, run.run_id), watches.get(run.run_id)) if run.is_polled else "")
        for run in page
    }
    columns: display.Columns[Run] = {
        "run": lambda run: run.run_id,
        "name": lambda run: display.clip_text(names[run.run_id], 60),
        "state": display.format_state,
        "created": lambda run: display.local_time(run.created_at),
        ">ran for": lambda run: formats.format_duration(run.duration_s),
        "by": lambda run: run.created_by,
        "detail": lambda run: details[run.run_id][:80],  # the table would wrap
    }
    display.print_result({"runs": page, "total": total}, as_json, lambda: display.table_of(page, columns))
    display.page_size(len(page), offset, total, "runs")


@command()
def show(run_id: str, as_json: bool) -> None:
    """Show a run: spec, state, progress, events and result."""
    core = open_core(writing=False)
    row = None
    try:
        core.ledger.get(run_id)
    except (RunNotFound, DamagedLedger):  # it was imported, or the ledger is newer or damaged
        row = core.warehouse.runs.find_row(run_id)
        if row is None:
            raise
    if row:
        annotations = core.annotations.of(row.run_id)
        removals = core.cleaning.removals(row.run_id)
        details = _recorded_job(core, row.run_id)
        metrics = core.warehouse.runs.find_metrics([row.run_id])[row.run_id]
        expected = core.expectations.find_of_run(row)
        texts = (
            removals_text(removals),
            result_text(row),
            expected_text(expected),
            annotations_text(annotations),
            metrics_text(metrics),
        )
        blocks = _join_blocks(_row_fields(row), *texts, details_text(details))
        recorded = {"run": None, "result": row, "annotations": annotations, "removals": removals, "job": details}
        passport = core.warehouse.runs.find_passports([row.run_id]).get(row.run_id)
        more = {"metrics": metrics, "passport": passport, "expected": expected_json(expected)}
        display.print_result({**recorded, **more}, as_json, lambda: blocks)
        return

    run = core.ledger.get(run_id)
    progress = core.ledger.progress(run.run_id)
    annotations = core.annotations.of(run.run_id)
    details = _read_job(core, run.run_id)
    sources = (core.ledger.events(run.run_id), cloud_events(run.run_id, details), annotations.timeline(run.run_id))
    events = sort_events(chain(*sources))
    display.warn_of_old_files(core.files.problem(run.run_id))
    result = core.warehouse.runs.find_row(run.run_id) if run.state.is_terminal else None
    servers = core.warehouse.cards.find_servers(run.run_id) if result else None
    metrics = core.warehouse.runs.find_metrics([run.run_id])[run.run_id] if result else ()
    passport = core.warehouse.runs.find_passports([run.run_id]).get(run.run_id) if result else None
    utilisation = _find_low_utilisation(core, run.run_id)
    cards = _summarize_cards(core, run.run_id)
    removals = core.cleaning.removals(run.run_id)
    watch, deletion = core.watches.get(run.run_id), core.deletions.find(run.run_id)

    page, expected = core.regions.job_page(run), core.expectations.find_of_run(result)

    def text() -> str:
        cost, system = _format_cost(run, core.clock()), counts_text(core.systems.of(run.run_id))
        run_fields = _run_fields(run, details, watch, progress, cost, system, page)
        by_server = servers_text(servers, result.throughput_unit if result else "")
        low = "\n".join(map(_format_utilisation, utilisation))
        nodes = passport_text(passport) if passport else ""
        tables = (metrics_text(metrics), by_server, cards_text(cards), nodes, details_text(details))
        deleted = deletion_text(deletion) if deletion else ""
        blocks = (
            deleted,
            removals_text(removals),
            annotations_text(annotations),
            result_text(result),
            expected_text(expected),
            low,
        )
        return _join_blocks(run_fields, *blocks, *tables, _format_events(events))

    answer = {"run": run, "annotations": annotations, "progress": progress, "events": events, "job": details}
    answer |= {"low_utilisation": utilisation, "cards": cards, "removals": removals, "watch": watch, "job_page": page}
    answer |= {"result": result, "metrics": metrics, "servers": servers, "deletion": deletion, "passport": passport}
    answer |= {"expected": expected_json(expected)}
    display.print_result(answer, as_json, text)


@command()
def stop(run_id: str, as_json: bool) -> None:
    """Stop a run. Its logs and available results are still collected."""
    core = open_core(writing=True)
    _print_change(core, core.runs.stop(core.ledger.get(run_id).run_id, get_actor()), as_json)


@command()
@click.argument("value", metavar="1|2|3", type=click.IntRange(1, 3))
def priority(run_id: str, value: int, as_json: bool) -> None:
    """Change the priority of a run that waits in a dedicated pool: 3 is served first, and needs a permission."""
    core = open_core(writing=True)
    _print_change(core, core.jobs.set_priority(core.ledger.get(run_id).run_id, value, get_actor()), as_json)


@command()
def collect(run_id: str, as_json: bool) -> None:
    """Collect the results of a failed run again."""
    core = open_core(writing=True)
    _print_change(core, core.runs.collect_again(core.ledger.get(run_id).run_id, get_actor()), as_json)


def _print_change(core: Core, run: Run, as_json: bool) -> None:
    display.print_result(run, as_json, lambda: f"{run.run_id}  {display.format_state(run)}")
    if not run.state.is_terminal:
        warn_without_follower(core)


def _join_blocks(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _row_fields(row: RunRow) -> str:
    return display.format_fields(
        ("run", row.run_id),
        ("origin", f"{row.origin} from {row.source}" if row.source else str(row.origin)),
        ("imported", f"{display.local_time(row.imported_at)} by {row.created_by}" if row.imported_at else ""),
        ("signed", f"verified by {row.verified_by}" if row.verified_by else ""),
        ("state", str(row.state)),
        ("detail", row.detail),
        ("workload", f"{row.workload} {row.framework_version}".strip()),
        ("hardware", display.format_hardware(display.hardware_name(row), row.node_count, row.cards_per_node)),
        ("mode", str(row.mode)),
        ("job", f"{row.job_name} {row.job_id}".strip()),
        ("began", display.local_time(row.began_at)),
        ("ended", display.local_time(row.ended_at)),
        ("note", row.note),
    )


def _run_fields(
    run: Run, details: JobDetails, watch: Watch | None, progress: Progress | None, cost: str, system: str,
    page: str,
) -> str:  # fmt: skip
    spec = run.spec
    return display.format_fields(
        ("run", run.run_id),
        ("state", display.format_state(run)),
        ("alert", alert_text(run, details, watch)),
        ("last sign of life", life_text(run, watch, progress.at if progress else None)),
        ("detail", run.explanation),
        ("queue", queue_text(run, details)),
        # Progress is stored per state; that of an earlier one says nothing about the present.
        ("progress", _progress_text(progress) if progress and progress.state is run.state else ""),
        ("workload", f"{spec.workload} {spec.framework_version}".strip()),
        ("parameters", ", ".join(f"{name}={value}" for name, value in spec.parameters.items())),
        ("mode", "" if spec.mode == "cluster" else str(spec.mode)),
        ("installed", ", ".join(PurePath(path).name for path in spec.update.packages.values())),
        ("log levels", ", ".join(f"{name}={value}" for name, value in spec.log_levels.variables.items())),
        ("secrets", ", ".join(f"{name} (secret)" for name in spec.secrets)),
        ("hardware", display.format_hardware(spec.flavor or spec.pool_id, spec.node_count, spec.cards_per_node)),
        ("profile", run.profile),
        ("resumes", spec.resume_from),
        ("series", f"{run.series_id}, cell {run.series_index}" if run.series_id else ""),
        ("job", f"{run.job_name} {run.job_id}".strip()),
        ("job page", page),
        ("phase", run.phase),
        ("created", f"{display.local_time(run.created_at)} by {run.created_by}"),
        ("submitted", display.local_time(run.submitted_at)),
        ("started", display.local_time(run.started_at)),
        ("ended", display.local_time(run.ended_at)),
        ("ran for", formats.format_duration(run.duration_s)),
        ("cost", cost),
        ("code", run.code_sha256[:12]),
        ("system", system),
    )


def _progress_text(progress: Progress) -> str:
    text = f"{progress.done} of {progress.total} {progress.unit}" if progress.is_plausible else ""
    if progress.has_no_total:
        text = f"{progress.done:,} {progress.unit}"
    return ", ".join(filter(None, (text, progress.stage)))


def _format_cost(run: Run, now: datetime) -> str:
    """At the price of its launch; empty before it runs and without a price."""
    cost = formats.amounts_text(run.money(run.node_hours(now)))
    return f"{cost} at {formats.format_money(run.price_per_node_hour, run.currency)} per node hour" if cost else ""


def _read_job(core: Core, run_id: str) -> JobDetails:
    try:
        return core.files.job(run_id)
    except ResultError:  # a damaged file hides nothing else of the run
        return JobDetails()


def _recorded_job(core: Core, run_id: str) -> JobDetails:
    """What the record has of it, for runs that the ledger does not have."""
    try:
        return JobDetails(attempts=core.imports.record(run_id).attempts)
    except ResultError:
        return JobDetails()


def _find_low_utilisation(core: Core, run_id: str) -> list[LowUtilisation]:
    try:
        return low_utilisation(core.files.samples(run_id))
    except ResultError:  # a damaged file of samples hides nothing else of the run
        return []


def _summarize_cards(core: Core, run_id: str) -> list[CardSummary]:
    try:
        return card_summaries(core.files.card_samples(run_id))
    except ResultError:  # a damaged file of samples hides nothing else of the run
        return []


def _format_utilisation(low: LowUtilisation) -> str:
    lasted = formats.format_duration((low.until - low.since).total_seconds())
    since = display.local_time(low.since)
    return f"node {low.node}: {low.metric} {low.mean:.0f} % on average for {lasted} from {since} – {low.reason}"


def _format_events(events: list[Event]) -> str:
    if not events:
        return ""
    columns: display.Columns[Event] = {
        "time": lambda event: display.local_time(event.at),
        "source": lambda event: event.source,
        "level": lambda event: str(event.level),
        "by": lambda event: event.actor,
        "message": lambda event: event.message,
    }
    table = display.table_of(events, columns)
    return f"events\n{display.indent_text(table)}"
