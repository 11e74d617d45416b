"""`aisbench clean` and `delete`: what ended runs still occupy, its removal, and the deletion of whole runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.exit_codes import YOUR_INPUT
from aisbench_core.interfaces.cli.following import warn_without_follower
from aisbench_core.interfaces.cli.options import command, yes_option
from aisbench_core.model import Removal, RunPart

if TYPE_CHECKING:
    from aisbench_core.running.cleaning.plans import CleaningPlan, Obstacle, RemovalItem
    from aisbench_core.store.ledger.deletions import Deletion
    from aisbench_core.wiring import Core


@command()
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@click.option("--job", is_flag=True, help="The job in the region.")
@click.option("--outputs", is_flag=True, help="The output directories in OBS.")
@click.option("--logs", is_flag=True, help="The log directory in OBS.")
@click.option("--folder", is_flag=True, help="Files of the run's folder here that are no record, such as its logs.")
@click.option("--retention", is_flag=True, help="Whatever the settings keep_..._days keep no longer, of all runs.")
@click.option("--dry-run", is_flag=True, help="Print what would be removed; remove nothing.")
@yes_option
def clean(
    run_ids: tuple[str, ...],
    job: bool,
    outputs: bool,
    logs: bool,
    folder: bool,
    retention: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove jobs, outputs, logs or folders of runs that have ended.

    Sizes are printed first. The record stays: the run on its page, its result, samples and events. After an
    interruption, run the same command again. Exit code 2 if something of a named run must stay; nothing of it is
    removed then. With --retention, such parts are listed and left alone.
    """
    chosen = {RunPart.JOB: job, RunPart.OUTPUTS: outputs, RunPart.LOGS: logs, RunPart.FOLDER: folder}
    parts = [part for part, is_chosen in chosen.items() if is_chosen]
    if retention == bool(run_ids) or retention == bool(parts):
        raise click.UsageError("name runs and what to remove of them, such as RUN --outputs --logs; or --retention")
    core = open_core(writing=not dry_run)
    plans = list(core.cleaning.due()) if retention else [core.cleaning.plan(run_id, parts) for run_id in run_ids]
    if dry_run:
        display.print_result({"plans": plans, "removed": []}, as_json, lambda: _format_plans(plans))
        _end_if_refused(plans, retention)
        return
    display.print_message(_format_plans(plans))
    _end_if_refused(plans, retention)
    _confirm_removal(plans, yes)
    removed = _clean_runs(core, [plan.free for plan in plans])
    display.print_result({"plans": plans, "removed": removed}, as_json, lambda: _format_removals(removed))


@command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--reason", required=True, help="Why; it stays beside the run.")
@yes_option
def delete(run_ids: tuple[str, ...], reason: str, yes: bool, as_json: bool) -> None:
    """Delete ended runs, for a reason.

    They are in no list and no statistic any more. The follower removes their jobs, outputs, logs and files. Their
    records stay, and with them the count of attempts (V09).
    """
    core = open_core(writing=True)
    runs = [core.ledger.get(run_id) for run_id in run_ids]
    if not yes:
        names = ", ".join(run.run_id for run in runs)
        click.confirm(f"Delete {names}? This cannot be undone.", abort=True, err=True)
    deleted = [core.deletions.delete(run.run_id, reason, get_actor()) for run in runs]
    display.print_result({"deleted": deleted}, as_json, lambda: "\n".join(map(deletion_text, deleted)))
    warn_without_follower(core)


def deletion_text(deletion: Deletion) -> str:
    """Who deleted a run, when and why."""
    at = display.local_time(deletion.at)
    return f"{deletion.run_id}  deleted by {deletion.who} at {at}: {deletion.reason}"


def _clean_runs(core: Core, plans: list[CleaningPlan]) -> dict[str, list[Removal]]:
    who = get_actor()
    return {plan.run_id: core.cleaning.clean(plan, who) for plan in plans}


def _confirm_removal(plans: list[CleaningPlan], yes: bool) -> None:
    size = sum(plan.free.size for plan in plans)
    if not yes and any(plan.items for plan in plans):
        click.confirm(f"Remove {formats.format_size(size)}? This cannot be undone.", abort=True, err=True)


def _end_if_refused(plans: list[CleaningPlan], retention: bool) -> None:
    if not retention and any(plan.obstacles for plan in plans):
        click.get_current_context().exit(YOUR_INPUT)


def _format_plans(plans: list[CleaningPlan]) -> str:
    items = [(plan.run_id, item) for plan in plans for item in plan.items]
    columns: display.Columns[tuple[str, RemovalItem]] = {
        "run": lambda row: row[0],
        "part": lambda row: row[1].part,
        ">count": lambda row: f"{row[1].objects:,}",
        ">size": lambda row: formats.MISSING if row[1].part == "job" else formats.format_size(row[1].size),
        "path": lambda row: row[1].path,
    }
    obstacles = [(plan.run_id, obstacle) for plan in plans for obstacle in plan.obstacles]
    reasons: display.Columns[tuple[str, Obstacle]] = {
        "run": lambda row: row[0],
        "stays": lambda row: row[1].part,
        "because": lambda row: row[1].reason,
    }
    tables = [display.table_of(items, columns) if items else "nothing to remove"]
    if obstacles:
        tables.append(display.table_of(obstacles, reasons))
    return "\n\n".join(tables)


def _format_removals(removed: dict[str, list[Removal]]) -> str:
    parts = [(run_id, removal) for run_id, removals in removed.items() for removal in removals]
    return "\n".join(f"{run_id}  {removal.part} removed: {removal.path}" for run_id, removal in parts) or "unchanged"


def removals_text(removals: Iterable[Removal]) -> str:
    """What was removed of a run, when and by whom."""
    return display.format_fields(
        *((f"{removal.part} at {removal.path}", removal_text(removal)) for removal in removals)
    )


def removal_text(removal: Removal) -> str:
    if removal.ended_at is None:
        return f"removal begun at {display.local_time(removal.began_at)} by {removal.who}, and interrupted"
    return f"removed at {display.local_time(removal.ended_at)} by {removal.who}"
