"""`aisbench warehouse`: rebuild, move, check, compact and snapshot."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.exit_codes import OUR_ERROR
from aisbench_core.interfaces.cli.options import Group, overwrite_option
from aisbench_core.interfaces.cli.remote.paths import OutputPath
from aisbench_core.warehouse.maintenance.integrity import Damage
from aisbench_core.warehouse.tables.store import Size

# How many rows with the same damage are listed.
MAX_LISTED = 20

# Checks of so many runs end before anybody wants to read progress.
QUICK_RUNS = 5000


warehouse = Group("warehouse", help="Maintain the results warehouse.")


@warehouse.command()
@click.option(
    "--believe-folders",
    "believe",
    is_flag=True,
    help="Also store folders without a seal, such as those of an old data folder, or after the ledger was lost. Their"
    " results are then believed as they are, whoever wrote them, and sealed.",
)
@click.pass_context
def rebuild(ctx: click.Context, believe: bool) -> None:
    """Rebuild the warehouse from the run folders; can be repeated.

    Folders are believed if they are as this console sealed them (docs/seals.md). Those that cannot be read, were
    changed, or were never recorded here are listed and skipped, and what the warehouse holds of them is kept; the exit
    code is 1 then. In a team warehouse, this machine's runs are stored again and the others are kept.
    """
    rebuilt = open_core(writing=True).storage.rebuild(get_actor(), believe=believe)
    click.echo(f"{display.format_count(rebuilt.runs, 'run')} recorded")
    for error in rebuilt.unread[:MAX_LISTED]:
        display.print_message(f"error: {error}")
    if rebuilt.unread:
        display.print_message(f"{display.format_count(len(rebuilt.unread), 'run')} not recorded")
        ctx.exit(OUR_ERROR)


@warehouse.command()
@click.argument("to", metavar="TO")
@click.option("--data", default="", metavar="S3_URL", help="Where a team's files go; default: warehouse_data.")
def move(to: str, data: str) -> None:
    """Copy the warehouse, compare both copies, and print the settings to change; can be repeated.

    TO has the form of the setting `warehouse`: a file, or ducklake:postgres:host=... dbname=... for a team warehouse.
    Other runs in TO are kept, and nothing is deleted here.
    """

    def report(done: int, total: int) -> None:
        display.print_message(f"{done:,} of {display.format_count(total, 'run')} copied")

    moved = open_core(writing=True).storage.move(to, data, report, get_actor())
    runs = display.format_count(moved.runs, "run")
    click.echo(f"{runs} with {display.format_count(moved.rows, 'row')} are equal in both; {moved.copied:,} were copied")
    display.print_message(
        f"to use it, set warehouse to TO{' and warehouse_data' if data else ''}, and restart aisbench"
    )


@warehouse.command()
@click.option("--mend", is_flag=True, help="First recompute the group statistics of the leaderboard.")
@click.option(
    "--seal",
    is_flag=True,
    help="Seal folders of runs that were recorded before folders were sealed, if they agree with warehouse and ledger.",
)
@click.option(
    "--without-logs", is_flag=True, help="Do not compare logs and event files: it takes as long as reading them."
)
@click.pass_context
def check(ctx: click.Context, mend: bool, seal: bool, without_logs: bool, as_json: bool) -> None:
    """Verify every row against recomputed numbers and hashes, and every file of the run folders against its seal.

    The exit code is 1 if anything is damaged.
    """

    def report(done: int, total: int) -> None:
        if total > QUICK_RUNS:
            display.print_message(f"{done:,} of {display.format_count(total, 'run')} checked")

    storage = open_core(writing=mend or seal).storage
    checked = storage.check(get_actor(), mend=mend, seal=seal, with_logs=not without_logs, on_progress=report)
    heads = ("where", "what", "what to do")
    damages = checked.damages
    display.print_result(
        checked,
        as_json,
        lambda: display.format_table(heads, _iterate_damages(damages)) if damages else "no problems found",
    )
    runs, rows = display.format_count(checked.runs, "run"), display.format_count(checked.rows, "row")
    compared = f"{checked.compared:,} compared with their folders"
    display.print_message(f"{runs} with {rows} checked, {compared}: {display.format_count(len(damages), 'problem')}")
    if checked.unsealed:
        count = display.format_count(checked.unsealed, "run")
        display.print_message(
            f"{count} recorded before files were sealed; `aisbench warehouse check --seal` seals them"
        )
    if damages:
        ctx.exit(OUR_ERROR)


@warehouse.command()
def compact(as_json: bool) -> None:
    """Compact the warehouse while runs are recorded, and print the sizes before and after.

    Files of a team warehouse that are no longer needed are deleted by the next compact, after an hour at the earliest.
    """
    compacted = open_core(writing=True).storage.compact(get_actor())
    display.print_result(
        compacted, as_json, lambda: f"{_format_size(compacted.before)} before, {_format_size(compacted.after)} now"
    )
    if compacted.flushed or compacted.removed:
        flushed, removed = (
            display.format_count(compacted.flushed, "row"),
            display.format_count(compacted.removed, "file"),
        )
        display.print_message(f"{flushed} moved from PostgreSQL to files; {removed} deleted")


@warehouse.command()
@click.argument("file", type=OutputPath())
@overwrite_option
def snapshot(file: Path, replace: bool) -> None:
    """Write a consistent, read-only copy to FILE: a DuckDB database with tables and views.

    DuckDB and other tools that read its files can open it without this product; docs/columns.md describes the columns.
    """
    copy = open_core(writing=False).warehouse.snapshot(file, datetime.now(UTC), replace=replace)
    display.deliver_file(file)
    click.echo(f"{display.format_count(copy.runs, 'run')} in {copy.path}, {formats.format_size(copy.bytes)}")


def _iterate_damages(damages: Sequence[Damage]) -> Iterator[tuple[str, str, str]]:
    """The first rows with each kind of damage, and how many more there are; `--json` lists all."""
    rows: dict[tuple[str, str], list[str]] = {}
    for damage in damages:
        # One cause often damages thousands of rows.
        rows.setdefault((damage.sentence, damage.hint), []).append(damage.where)
    for (sentence, hint), names in rows.items():
        yield from ((name, sentence, hint) for name in names[:MAX_LISTED])
        if len(names) > MAX_LISTED:
            yield f"and {len(names) - MAX_LISTED:,} more", sentence, hint


def _format_size(size: Size) -> str:
    return f"{formats.format_size(size.bytes)} in {display.format_count(size.files, 'file')}"
