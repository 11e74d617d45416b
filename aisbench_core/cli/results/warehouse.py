"""`aisbench warehouse`: rebuild, move, check, compact and snapshot."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading
from aisbench_core.cli.exit_codes import OUR_ERROR

if TYPE_CHECKING:
    from aisbench_core.warehouse.store.compacting import Size
    from aisbench_core.warehouse.store.integrity import Damage

NAMED = 20
"""Of what is wrong in the same way, as many are named one by one."""

LONG = 5000
"""From so many runs on it is said how far a check has come."""


@click.group()
def warehouse() -> None:
    """Look after the results warehouse."""


@warehouse.command()
@click.pass_context
def rebuild(ctx: click.Context) -> None:
    """Build the warehouse anew from the folders of the runs; it can be repeated.

    In a team's warehouse the runs of this machine are stored anew, and those of others stay. Damaged files
    keep nothing else from being stored; they are named, and the exit code is 1.
    """
    rebuilt = open_core().storage.rebuild()
    click.echo(f"{_runs(rebuilt.runs)} recorded")
    for error in rebuilt.unread[:NAMED]:
        shown.talk(f"error: {error}")
    if rebuilt.unread:
        shown.talk(f"{len(rebuilt.unread):,} could not be read")
        ctx.exit(OUR_ERROR)


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
    """Read every row, compute numbers and hashes again, compare with the runs' folders; exit code 1 on any damage."""
    checked = (open_core if mend else open_core_for_reading)().storage.check(mend=mend, told=_computed)
    heads = ("where", "what", "what to do")
    damages = checked.damages
    shown.answer(checked, as_json, lambda: shown.table(heads, _named(damages)) if damages else "all is well")
    looked = f"{_runs(checked.runs)} with {checked.rows:,} rows, {checked.compared:,} compared with their folders"
    shown.talk(f"{looked}: {len(damages):,} found wrong")
    if damages:
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
    taken = open_core_for_reading().warehouse.snapshot(file, datetime.now(UTC), replace=replace)
    click.echo(f"{_runs(taken.runs)} in {taken.path}, {formats.size(taken.bytes)}")


def _computed(done: int, of: int) -> None:
    if of > LONG:
        shown.talk(f"{done:,} of {_runs(of)} computed again")


def _named(damages: "Sequence[Damage]") -> Iterator[tuple[str, str, str]]:
    """Of many with the same sentence the first few, and how many more there are; JSON names them all."""
    alike: dict[tuple[str, str], list[str]] = {}
    for damage in damages:
        alike.setdefault((damage.sentence, damage.hint), []).append(damage.where)
    for (sentence, hint), places in alike.items():
        yield from ((place, sentence, hint) for place in places[:NAMED])
        if len(places) > NAMED:
            yield f"and {len(places) - NAMED:,} more", sentence, hint


def _runs(count: int) -> str:
    return f"{count:,} {'run' if count == 1 else 'runs'}"


def _size(size: "Size") -> str:
    return f"{size.bytes / 1024:,.0f} KiB in {size.files:,} {'file' if size.files == 1 else 'files'}"
