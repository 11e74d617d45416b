"""`aisbench export` and `report`: what is known about results, as files and to be printed."""

import shutil
import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import open_core_for_reading, usual_rights
from aisbench_core.cli.results.results import by_ruleset, filters, full_id, query_of
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.warehouse import ExportFormat

SMALL_EXPORT = 16 * 1024 * 1024
"""Bytes that a file may take up in memory before it is there."""

FORMATS = ("csv", "xlsx", "parquet", "json")
TABLES = ("runs", "series")
LANGUAGES = ("en", "zh", "both")


@click.command()
@filters
@by_ruleset
@click.option("--what", type=click.Choice(TABLES), default="runs", show_default=True, help="What a row is.")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="Default: by the name of the file, else csv.")
@click.option("--valid-only", is_flag=True, help="Leave out runs, or groups of them, without a valid result.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Default: stdout.")
@click.option("--bom", is_flag=True, help="Begin CSV with a byte order mark, for Excel.")
def export(output: Path | None, kind: str | None, what: str, bom: bool, valid_only: bool, **chosen: Any) -> None:
    """Write results for a compliance report or another program; docs/export.md says what the columns mean.

    One row per run (schema aisbench-compliance-csv/1), or with `--what series` one row of statistics per series or row
    of the leaderboard (aisbench-compliance-series/1). The same rows in every format; what was not measured is empty.
    """
    from aisbench_core.warehouse import Export, ExportTable

    core = open_core_for_reading()
    query = query_of(core, include_invalid=not valid_only, **chosen)
    asked = Export(query, datetime.now(UTC), ExportTable(what), _format(kind, output), bom)
    with SpooledTemporaryFile(SMALL_EXPORT) as whole:  # a report that is there already outlives a failure
        count = core.warehouse.export(asked, whole)
        if output is None:
            whole.seek(0)
            shutil.copyfileobj(whole, sys.stdout.buffer)
        else:
            copy_to(output, whole)
    shown.talk(f"{count} {what if count != 1 or what == 'series' else 'run'} of {query.region} written")


@click.command()
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@filters
@by_ruleset
@click.option("--valid-only", is_flag=True, help="Of the filter's runs, leave out those without a valid result.")
@click.option("--lang", type=click.Choice(LANGUAGES), default="both", show_default=True, help="English, Chinese.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Default: stdout.")
def report(run_ids: tuple[str, ...], output: Path | None, lang: str, valid_only: bool, **chosen: Any) -> None:
    """Write a report to print: one HTML page about the named runs, or those that the options choose.

    Identification, results with statistics and charts, system description, configuration, checks and hashes, in English
    and Chinese. The page needs no other file and loads nothing; a browser prints it on A4 or saves it as PDF.
    """
    from aisbench_core.report.words import ReportLanguage

    core = open_core_for_reading()
    query = query_of(core, include_invalid=not valid_only, **chosen) if not run_ids else None
    runs = core.reports.chosen(query) if query else [full_id(core, run_id) for run_id in run_ids]
    page = core.reports.write(runs, ReportLanguage(lang), chosen["ruleset_id"])
    if output is None:
        click.echo(page, nl=False)
    else:
        copy_to(output, BytesIO(page.encode()))
    shown.talk(f"{len(runs)} {'run' if len(runs) == 1 else 'runs'} reported")


def copy_to(output: Path, whole: IO[bytes]) -> None:
    """Write a file that was made whole first. Raises ConfigError when it cannot be written."""
    whole.seek(0)
    try:
        with usual_rights(), output.open("wb") as target:
            shutil.copyfileobj(whole, target)
    except OSError as error:
        raise ConfigError(Message("{file} cannot be written: {why}", file=output, why=error.strerror)) from error


def _format(kind: str | None, output: Path | None) -> "ExportFormat":
    from aisbench_core.warehouse import ExportFormat

    ending = output.suffix.lower().removeprefix(".") if output else ""
    chosen = ExportFormat(kind or (ending if ending in FORMATS else "csv"))
    if output is None and chosen in (ExportFormat.EXCEL, ExportFormat.PARQUET) and sys.stdout.isatty():
        raise click.UsageError(f"{chosen} is no text for a terminal: name a file with -o")
    return chosen
