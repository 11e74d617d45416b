"""`aisbench scalars`: the curves that training code wrote, as a table, JSON or CSV."""

import csv
import io
from datetime import UTC, datetime
from fnmatch import fnmatchcase

import click

from aisbench_core.base import formats
from aisbench_core.base.formats import csv_cell
from aisbench_core.domain.summaries.curves import RunCurves, TrainingCurve
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.options import command
from aisbench_core.running.run_files import RunFiles

HEADS = ("directory", "tag", "step", "time", "value")
DIGITS = 6


@command()
@click.argument("run_id", metavar="RUN")
@click.option("--tag", default="*", metavar="PATTERN", help="Only tags like this; * stands for any text.")
@click.option("--csv", "as_csv", is_flag=True, help="Print every point as CSV.")
def scalars(run_id: str, tag: str, as_csv: bool, as_json: bool) -> None:
    """Show the curves in a run's event files, also while it runs.

    Event files of TensorBoard and MindSpore are fetched from all outputs of a run. In JSON, a curve of more than 800
    points has the lowest and the highest point of each stretch; CSV has every point.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    core = open_core(writing=False)
    if as_csv:
        _print_csv(core.files, run_id, tag)
        return
    read = core.files.curves(run_id)
    curves = [curve for curve in read.curves if fnmatchcase(curve.tag, tag)]
    answer = {**display.pick_fields(read, "files", "damaged", "excluded"), "curves": curves}
    display.print_result(answer, as_json, lambda: _format_curves(curves))
    _print_notes(read)


def _format_curves(curves: list[TrainingCurve]) -> str:
    columns: display.Columns[TrainingCurve] = {
        "tag": lambda curve: curve.tag,
        "directory": lambda curve: curve.directory,
        ">points": lambda curve: f"{curve.count:,}",
        ">not finite": lambda curve: f"{curve.not_finite:,}",
        ">last step": lambda curve: f"{curve.last.step:,}" if curve.last else formats.MISSING,
        ">last": lambda curve: formats.format_number(curve.last.value if curve.last else None, digits=DIGITS),
        ">lowest": lambda curve: formats.format_number(curve.lowest, digits=DIGITS),
        ">highest": lambda curve: formats.format_number(curve.highest, digits=DIGITS),
    }
    hidden = {"" if any(curve.not_finite for curve in curves) else ">not finite"}
    return display.table_of(curves, columns, hidden)


def _print_csv(files: RunFiles, run_id: str, tag: str) -> None:
    _print_row(HEADS)
    for directory, scalar in files.scalars(run_id):
        if fnmatchcase(scalar.tag, tag):
            at = datetime.fromtimestamp(scalar.time, UTC).isoformat().replace("+00:00", "Z")
            _print_row((csv_cell(directory), csv_cell(scalar.tag), str(scalar.step), at, repr(scalar.value)))


def _print_row(cells: tuple[str, ...]) -> None:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    click.echo(line.getvalue(), nl=False)


def _print_notes(read: RunCurves) -> None:
    if not read.files:
        display.print_message("no event files: see docs/workloads.md for how a script writes them")
    if read.damaged:
        display.print_message(f"damaged, and read in part: {', '.join(read.damaged)}")
    if read.excluded:
        display.print_message(f"only the first {len(read.curves)} curves are read; the others are in the event files")
