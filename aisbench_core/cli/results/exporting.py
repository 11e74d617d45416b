"""`aisbench export`, `report` and `mlflow`: results as files for other programs, or to print."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.cli import display
from aisbench_core.cli.core import open_core
from aisbench_core.cli.options import output_option, overwrite_option, ruleset_option, run_filters, valid_only_option
from aisbench_core.cli.results.results import full_id, query_of

if TYPE_CHECKING:
    from aisbench_core.warehouse import ExportFormat

FORMATS = ("csv", "xlsx", "parquet", "json")
TABLES = ("runs", "series")
LANGUAGES = ("en", "zh", "both")


@click.command()
@run_filters
@ruleset_option
@click.option("--what", "rows", type=click.Choice(TABLES), default="runs", show_default=True, help="What a row is.")
@click.option("--format", "file_format", type=click.Choice(FORMATS), help="Default: by FILE's suffix, else csv.")
@valid_only_option
@output_option
@click.option("--bom", is_flag=True, help="Start CSV with a byte order mark, for Excel.")
def export(
    output: Path | None, file_format: str | None, rows: str, bom: bool, valid_only: bool, **filters: Any
) -> None:
    """Export results for compliance reports and other programs; docs/export.md describes the columns.

    One row per run (schema aisbench-compliance-csv/1), or with `--what series` one row of statistics per series or
    leaderboard row (aisbench-compliance-series/1). All formats hold the same rows; what was not measured is empty.
    """
    from aisbench_core.warehouse import Export, ExportTable

    core = open_core(writing=False)
    query = query_of(core, include_invalid=not valid_only, **filters)
    export = Export(query, datetime.now(UTC), ExportTable(rows), _format(file_format, output), bom)
    with SpooledTemporaryFile(
        display.SPOOLED_BYTES
    ) as content:  # an export that fails leaves an existing file as it was
        count = core.warehouse.export(export, content)
        display.write_output(output, content)
    written = f"{count:,} series" if rows == "series" else display.count(count, "run")
    display.message(f"{written} of {query.region} written")


@click.command()
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@run_filters
@ruleset_option
@valid_only_option
@click.option("--lang", type=click.Choice(LANGUAGES), default="both", show_default=True, help="English, Chinese.")
@output_option
def report(run_ids: tuple[str, ...], output: Path | None, lang: str, valid_only: bool, **filters: Any) -> None:
    """Write a printable report about the given runs, or about those that the filters select: one HTML page.

    It has identification, results with statistics and charts, system description, configuration, checks and hashes, in
    English and Chinese. The page is self-contained; a browser prints it on A4 or saves it as PDF.
    """
    from aisbench_core.report.words import ReportLanguage

    core = open_core(writing=False)
    query = query_of(core, include_invalid=not valid_only, **filters) if not run_ids else None
    runs = core.reports.chosen(query) if query else [full_id(core, run_id) for run_id in run_ids]
    display.write_text(output, core.reports.write(runs, ReportLanguage(lang), filters["ruleset_id"]))
    display.message(f"{display.count(len(runs), 'run')} reported")


@click.group()
def mlflow() -> None:
    """Export runs to MLflow; `aisbench import` reads an MLflow store."""


@mlflow.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@run_filters
@valid_only_option
@overwrite_option
def export_to_mlflow(file: Path, valid_only: bool, replace: bool, **filters: Any) -> None:
    """Write runs to FILE, a new MLflow store in SQLite; view it with `mlflow ui --backend-store-uri sqlite:///FILE`.

    There is one experiment per workload, region and kind. Metrics that were not measured are missing; rehearsals are
    tagged.
    """
    core = open_core(writing=False)
    query = query_of(core, include_invalid=not valid_only, **filters)
    with display.user_umask():
        count = core.mlflow.export(query, file, replace=replace)
    display.message(f"{display.count(count, 'run')} of {query.region} written to {file}")


def _format(name: str | None, output: Path | None) -> "ExportFormat":
    from aisbench_core.warehouse import ExportFormat

    suffix = output.suffix.lower().removeprefix(".") if output else ""
    file_format = ExportFormat(name or (suffix if suffix in FORMATS else "csv"))
    # Would garble the terminal.
    if output is None and file_format in (ExportFormat.EXCEL, ExportFormat.PARQUET) and sys.stdout.isatty():
        raise click.UsageError(f"{file_format} is a binary format: name a file with -o")
    return file_format
