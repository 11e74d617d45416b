"""`aisbench runs`, `show`, `stop` and `collect`: runs and what can be done to them."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading, user
from aisbench_core.cli.results.servers import servers_text
from aisbench_core.cli.runs.annotations import remarks_text
from aisbench_core.cli.runs.following import say_who_follows
from aisbench_core.cli.runs.systems import counted
from aisbench_core.errors import DamagedLedger, RunNotFound

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.model import Event, Progress, Run, RunState
    from aisbench_core.warehouse.values import RunRow


def _states(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> "tuple[RunState, ...]":
    from aisbench_core.model import RunState

    unknown = [word for word in words if word not in list(RunState)]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not among {', '.join(RunState)}")
    return tuple(map(RunState, words))


@click.command()
@click.option(
    "--state", "states", callback=_states, multiple=True, help="Only runs in this state; a wrong one names them all."
)
@click.option("--text", default="", help="Only runs with this in id, job, workload, person, profile or detail.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many.")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to pass over.")
@as_json
def runs(states: "tuple[RunState, ...]", text: str, limit: int, offset: int, as_json: bool) -> None:
    """List runs, newest first."""
    ledger = open_core_for_reading().ledger
    found = ledger.page(states or None, text, limit, offset)
    total = ledger.count(states or None, text)
    shown.answer({"runs": found, "total": total}, as_json, lambda: _table(found))
    if offset + len(found) < total:
        shown.talk(f"{len(found)} of {total} runs")


@click.command()
@click.argument("run_id", metavar="RUN")
@as_json
def show(run_id: str, as_json: bool) -> None:
    """Show one run: what was asked for, where it stands, what happened, and its result."""
    core = open_core_for_reading()
    recorded = _recorded_only(core, run_id)
    if recorded:
        known = core.remarks.of(recorded.run_id)
        answer = {"run": None, "result": recorded, "remarks": known}
        shown.answer(
            answer, as_json, lambda: "\n\n".join(filter(None, (_recorded_text(recorded), remarks_text(known))))
        )
        return
    run = core.ledger.get(run_id)
    progress = core.ledger.progress(run.run_id)
    remarks = core.remarks.of(run.run_id)
    events = sorted([*core.ledger.events(run.run_id), *remarks.timeline(run.run_id)], key=lambda event: event.at)
    result = core.warehouse.run(run.run_id) if run.state.is_terminal else None
    servers = core.warehouse.servers(run.run_id) if result else None

    def text() -> str:
        facts = _facts(run, progress, counted(core, run.run_id))
        by_server = servers_text(servers, result.throughput_unit if result else "")
        return "\n\n".join(
            part for part in (facts, remarks_text(remarks), result_text(result), by_server, _events(events)) if part
        )

    shown.answer(
        {
            "run": run,
            "remarks": remarks,
            "progress": progress,
            "events": events,
            "result": result,
            "servers": servers,
        },
        as_json,
        text,
    )


@click.command()
@click.argument("run_id", metavar="RUN")
@as_json
def stop(run_id: str, as_json: bool) -> None:
    """Stop a run; its logs and what results exist are collected."""
    core = open_core()
    run = core.stop(core.ledger.get(run_id).run_id, user())
    shown.answer(run, as_json, lambda: f"{run.run_id}  {shown.state(run)}")
    if not run.state.is_terminal:
        say_who_follows(core)


@click.command()
@click.argument("run_id", metavar="RUN")
@as_json
def collect(run_id: str, as_json: bool) -> None:
    """Collect the results of a failed run again."""
    core = open_core()
    run = core.collect_again(core.ledger.get(run_id).run_id, user())
    shown.answer(run, as_json, lambda: f"{run.run_id}  {shown.state(run)}")
    say_who_follows(core)


def result_text(row: "RunRow | None") -> str:
    """A run's result as a person reads it; empty when nothing is recorded."""
    if row is None:
        return ""
    unit = row.throughput_unit
    found = f"{row.ranks_found} of {row.ranks_expected}" if row.ranks_expected else formats.MISSING
    target = f" (target {row.accuracy_target:g})" if row.accuracy_target is not None else ""
    facts = shown.listing(
        [
            ("validity", row.validity.label),
            *((check.id, f"{check.level}: expected {check.expected}, found {check.found}") for check in row.reasons),
            ("throughput", f"{formats.number(row.throughput, unit)} ({row.throughput_definition})"),
            ("per node", formats.number(row.per_node, unit)),
            ("per card", formats.number(row.per_card, unit)),
            ("accuracy", f"{formats.number(row.accuracy)}{target}"),
            ("cards heard", f"{found}, variation {formats.percent(row.rank_cv)}"),
            ("data", "synthetic" if row.synthetic_data else row.dataset),
            ("kind", f"{'rehearsal' if row.rehearsal else 'measurement'} in {row.region}"),
        ]
    )
    return f"result\n{shown.indented(facts)}"


def _recorded_only(core: "Core", run_id: str) -> "RunRow | None":
    """A run that the ledger does not know: an imported one, or one that is older than the ledger."""
    try:
        core.ledger.get(run_id)
    except RunNotFound:
        return core.warehouse.run(run_id)
    except DamagedLedger:
        if recorded := core.warehouse.run(run_id):
            return recorded
        raise
    return None


def _recorded_text(row: "RunRow") -> str:
    facts = [
        ("run", row.run_id),
        ("origin", f"{row.origin} from {row.source}" if row.source else str(row.origin)),
        ("imported", f"{shown.moment(row.imported_at)} by {row.created_by}" if row.imported_at else ""),
        ("state", str(row.state)),
        ("detail", row.detail),
        ("workload", f"{row.workload} {row.framework_version}".strip()),
        ("hardware", shown.hardware(shown.where(row), row.node_count, row.cards_per_node)),
        ("mode", str(row.mode)),
        ("job", f"{row.job_name} {row.job_id}".strip()),
        ("began", shown.moment(row.began_at)),
        ("ended", shown.moment(row.ended_at)),
        ("note", row.note),
    ]
    return f"{shown.listing(facts)}\n\n{result_text(row)}"


def _table(found: "Sequence[Run]") -> str:
    heads = ("run", "workload", "version", "nodes × cards", "state", "created", ">ran for", "by", "detail")
    return shown.table(
        heads,
        [
            (
                run.run_id,
                shown.clipped(run.spec.workload),
                shown.clipped(run.spec.framework_version) or formats.MISSING,
                f"{run.spec.node_count} × {run.spec.cards_per_node}",
                shown.state(run),
                shown.moment(run.created_at),
                formats.duration(run.duration_s),
                run.created_by,
                run.detail[:80],
            )
            for run in found
        ],
    )


def _facts(run: "Run", progress: "Progress | None", described: str) -> str:
    spec = run.spec
    return shown.listing(
        [
            ("run", run.run_id),
            ("state", shown.state(run)),
            ("detail", run.detail),
            ("progress", _progress(run, progress)),
            ("workload", f"{spec.workload} {spec.framework_version}".strip()),
            ("parameters", ", ".join(f"{name}={value}" for name, value in spec.parameters.items())),
            ("mode", "" if spec.mode == "cluster" else str(spec.mode)),
            ("installed", ", ".join(PurePath(path).name for path in spec.update.packages.values())),
            ("log levels", _levels(run)),
            ("secrets", ", ".join(f"{name} (secret)" for name in spec.secrets)),
            ("hardware", shown.hardware(spec.flavor or spec.pool_id, spec.node_count, spec.cards_per_node)),
            ("profile", run.profile),
            ("series", f"{run.series_id}, cell {run.series_index}" if run.series_id else ""),
            ("job", f"{run.job_name} {run.job_id}".strip()),
            ("phase", run.phase),
            ("created", f"{shown.moment(run.created_at)} by {run.created_by}"),
            ("submitted", shown.moment(run.submitted_at)),
            ("started", shown.moment(run.started_at)),
            ("ended", shown.moment(run.ended_at)),
            ("ran for", formats.duration(run.duration_s)),
            ("code", run.code_sha256[:12]),
            ("system", described),
        ]
    )


def _levels(run: "Run") -> str:
    return ", ".join(f"{name}={value}" for name, value in run.spec.log_levels.variables.items())


def _progress(run: "Run", progress: "Progress | None") -> str:
    if progress is None or progress.state is not run.state:
        return ""
    return f"{progress.done} of {progress.total} {progress.unit}"


def _events(events: "Sequence[Event]") -> str:
    rows = [(shown.moment(event.at), event.source, str(event.level), event.actor, event.message) for event in events]
    heads = ("time", "source", "level", "by", "message")
    return f"events\n{shown.indented(shown.table(heads, rows))}" if rows else ""
