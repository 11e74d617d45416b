"""`aisbench warehouse`: rebuild, move, check, compact and snapshot."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import shown
from aisbench_core.cli.codes import OUR_ERROR
from aisbench_core.cli.core import as_json, open_core

if TYPE_CHECKING:
    from aisbench_core.warehouse.compacting import Size


@click.group()
def warehouse() -> None:
    """Look after the results warehouse."""


@warehouse.command()
def rebuild() -> None:
    """Build the warehouse anew from the folders of the runs; it can be repeated.

    In a team's warehouse the runs of this machine are stored anew, and those of others stay.
    """
    click.echo(f"{_runs(open_core().storage.rebuild())} recorded")


@warehouse.command()
@click.argument("to", metavar="TO")
@click.option("--data", default="", metavar="S3_URL", help="Where a team's files go; default: warehouse_data.")
def move(to: str, data: str) -> None:
    """Copy everything into another warehouse, compare both, and say what to set; it can be repeated.

    TO is written as the setting `warehouse`: a file, or ducklake:postgres:host=... dbname=... for a team's. Other runs
    in it stay, and nothing is removed here.
    """
    moved = open_core().storage.move(to, data, lambda done, of: shown.talk(f"{done:,} of {_runs(of)} copied"))
    click.echo(f"{_runs(moved.runs)} with {moved.rows:,} rows are equal in both; {moved.copied:,} had to be copied")
    shown.talk(f"to use it, set warehouse to TO{' and warehouse_data' if data else ''}, and restart what runs")


@warehouse.command()
@click.option("--mend", is_flag=True, help="First count anew what is kept of each group of the leaderboard.")
@as_json
@click.pass_context
def check(ctx: click.Context, mend: bool, as_json: bool) -> None:
    """Read every row, count per run and group, and compare with the folders of the runs; exit code 1 on any damage."""
    checked = open_core().storage.check(mend=mend)
    heads = ("where", "what", "what to do")
    rows = [(each.where, each.sentence, each.hint) for each in checked.damages]
    shown.answer(checked, as_json, lambda: shown.table(heads, rows) if rows else "all is well")
    looked = f"{_runs(checked.runs)} with {checked.rows:,} rows, {checked.compared:,} compared with their folders"
    shown.talk(f"{looked}: {len(rows):,} found wrong")
    if rows:
        ctx.exit(OUR_ERROR)


@warehouse.command()
@as_json
def compact(as_json: bool) -> None:
    """Make the warehouse small and quick again, and say what was gained; recording goes on.

    Of a team's, files that nothing needs any more are removed after an hour at the earliest: by another compact.
    """
    done = open_core().storage.compact()
    shown.answer(done, as_json, lambda: f"{_size(done.before)} before, {_size(done.after)} now")
    if done.flushed or done.removed:
        shown.talk(f"{done.flushed:,} rows went from PostgreSQL into files; {done.removed:,} files were removed")


@warehouse.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--replace", is_flag=True, help="Put it in the place of a file that is there.")
def snapshot(file: Path, replace: bool) -> None:
    """Write everything of this moment into FILE, for others to read: a DuckDB file with tables and views, read-only.

    DuckDB and everything that reads its files opens it, also without this product; docs/open.md explains the columns.
    """
    taken = open_core().warehouse.snapshot(file, datetime.now(UTC), replace=replace)
    click.echo(f"{_runs(taken.runs)} in {taken.path}, {shown.size(taken.bytes)}")


def _runs(count: int) -> str:
    return f"{count:,} {'run' if count == 1 else 'runs'}"


def _size(size: "Size") -> str:
    return f"{size.bytes / 1024:,.0f} KiB in {size.files:,} {'file' if size.files == 1 else 'files'}"
