"""`aisbench export`, `report`, `mlflow` and `sql`: results for other programs, to print, or by SQL."""

import math
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

import click

from aisbench_core.base import formats
from aisbench_core.base.text_tables import TextColumn, TextTable, TextTableFormat, format_text_table
from aisbench_core.config.settings import read_environment
from aisbench_core.exchange.mlflow.tracking import SendOutcome, TrackingServer
from aisbench_core.exchange.report.pdf import print_page
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.exit_codes import INTERRUPTED, YOUR_INPUT
from aisbench_core.interfaces.cli.invocation import get_invocation
from aisbench_core.interfaces.cli.options import (
    Group,
    add_assignments,
    choose_value,
    command,
    output_option,
    ruleset_option,
    run_filters,
    sign_option,
    valid_only_option,
)
from aisbench_core.interfaces.cli.remote.paths import InputPath, UnsentPath
from aisbench_core.interfaces.cli.results.details import read_details
from aisbench_core.interfaces.cli.results.results import full_id, query_of
from aisbench_core.warehouse.open import queries
from aisbench_core.warehouse.open.memory import memory_limited
from aisbench_core.warehouse.open.queries import Cursor, Query, execute_query, has_both, too_slow
from aisbench_core.warehouse.open.reading import FileReader, Reader
from aisbench_core.warehouse.values.exports import Export, ExportFormat, ExportTable, SchemaKind

if TYPE_CHECKING:
    from aisbench_core.wiring import Core


@command()
@run_filters
@ruleset_option
@click.option(
    "--what", "rows", type=choose_value(ExportTable), default="runs", show_default=True, help="What a row is."
)
@click.option("--format", "file_format", type=choose_value(ExportFormat), help="Default: by FILE's suffix, else csv.")
@valid_only_option
@output_option
@sign_option
@click.option("--bom", is_flag=True, help="Start CSV with a byte order mark, for Excel.")
@click.option(
    "--schema", type=choose_value(SchemaKind), help="Write what describes the CSV, a run's record or the REST answers."
)
def export(
    output: Path | None,
    sign: Path | None,
    file_format: str | None,
    rows: str,
    bom: bool,
    schema: str | None,
    valid_only: bool,
    **filters: Any,
) -> None:
    """Export results for compliance reports and other programs; docs/columns.md describes the columns.

    One row per run (schema aisbench-compliance-csv/1), or with `--what series` one row of statistics per series or
    leaderboard row (aisbench-compliance-series/1). All formats hold the same rows; what was not measured is empty.
    Markdown and LaTeX have the columns that a paper has room for.
    """
    if schema:
        from aisbench_core.interfaces.cli.results.schemas import write_schema  # loads the REST API

        display.write_text(output, write_schema(SchemaKind(schema), ExportTable(rows)))
        return
    suffix = output.suffix.lower().removeprefix(".") if output else ""
    by_suffix = {each.extension: each for each in ExportFormat}
    form = ExportFormat(file_format) if file_format else by_suffix.get(suffix, ExportFormat.CSV)
    core = open_core(writing=False)
    query = query_of(core, include_invalid=not valid_only, **filters)
    # Would garble the terminal.
    if (
        output is None
        and form in (ExportFormat.EXCEL, ExportFormat.PARQUET, ExportFormat.ARROW)
        and sys.stdout.isatty()
    ):
        raise click.UsageError(f"{form} is a binary format: name a file with -o")
    export = Export(query, datetime.now(UTC), ExportTable(rows), form, bom)
    # Spooled first: an export that fails leaves an existing file as it was.
    with SpooledTemporaryFile(display.SPOOLED_BYTES) as content:
        count = core.exports.write(export, content, get_actor().name)
        _write_statement(core, sign, export.file_name, content)
        display.write_output(output, content)
    written = f"{count:,} series" if rows == "series" else display.format_count(count, "run")
    display.print_message(f"{written} of {query.region} written")


@command()
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@run_filters
@ruleset_option
@valid_only_option
@click.option("--lang", type=choose_value(ReportLanguage), default="both", show_default=True, help="English, Chinese.")
@click.option("--pdf", "as_pdf", is_flag=True, help="Write PDF; default if FILE ends in .pdf.")
@click.option("--full", is_flag=True, help="With all values, checks and hashes of each run.")
@click.option("--details", type=InputPath(), help="YAML with what the lab states: a draft of a lab's report.")
@output_option
@sign_option
def report(
    run_ids: tuple[str, ...],
    output: Path | None,
    sign: Path | None,
    lang: str,
    as_pdf: bool,
    full: bool,
    details: Path | None,
    valid_only: bool,
    **filters: Any,
) -> None:
    """Write a printable report about the given runs, or about those that the filters select, as HTML or PDF.

    Its first page has a summary in sentences, statistics and charts; an appendix has a row per run, and configuration,
    system description, checks and hashes, each said once. It is in English and Chinese, on A4. The HTML page is
    self-contained; PDF needs the extra `pdf` and Pango. `aisbench lab-report issue` numbers and stores one.
    """
    if full and details:
        raise click.UsageError("--full and --details exclude each other")
    pdf = as_pdf or (output is not None and output.suffix.lower() == ".pdf")
    if pdf and output is None and sys.stdout.isatty():
        raise click.UsageError("PDF is a binary format: name a file with -o")
    core = open_core(writing=False)
    query = query_of(core, include_invalid=not valid_only, **filters) if not run_ids else None
    runs = core.reports.list_chosen(query) if query else [full_id(core, run_id) for run_id in run_ids]
    language, ruleset_id = ReportLanguage(lang), filters["ruleset_id"]
    write = core.reports.write_pdf if pdf else core.reports.write
    with core.operations.count_operation(get_actor().name):
        content: str | bytes
        if details:
            page = core.lab_reports.draft(runs, read_details(details), language, ruleset_id)
            content = print_page(page) if pdf else page
        else:
            content = write(runs, language, ruleset_id, full=full, query=query)
    written = BytesIO(content if isinstance(content, bytes) else content.encode())
    _write_statement(core, sign, "report.pdf" if pdf else "report.html", written)
    display.write_output(output, written)
    display.print_message(f"{display.format_count(len(runs), 'run')} reported")


def _write_statement(core: "Core", target: Path | None, name: str, content: IO[bytes]) -> None:
    if target:
        display.write_text(target, core.file_statements.write(name, content, get_actor()))


@command()
@click.argument("run_id", metavar="RUN")
@output_option
def mllog(run_id: str, output: Path | None) -> None:
    """Write a run as an MLPerf training log, for the checkers of mlperf-logging.

    These are the `:::MLLOG` lines that it printed, or else lines of what is known of it: each parameter under its name,
    times, throughput, accuracy. `aisbench system export` writes its system.
    """
    core = open_core(writing=False)
    display.write_text(output, core.mlperf.write(full_id(core, run_id)))


mlflow = Group("mlflow", help="Export runs to MLflow; `aisbench import` reads an MLflow store.")


@mlflow.command("export")
@click.argument("url", required=False)
@run_filters
@valid_only_option
def export_to_mlflow(url: str | None, valid_only: bool, **filters: Any) -> None:
    """Send runs to the MLflow tracking server at URL; default: MLFLOW_TRACKING_URI.

    There is one experiment per workload, region and kind. Metrics that were not measured are missing; rehearsals are
    tagged. It can be repeated: runs that are there stay, and one that has changed replaces its older one, which MLflow
    keeps as deleted. To sign in, set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN.
    """
    address = url or read_environment().get("MLFLOW_TRACKING_URI")
    if not address:
        raise click.UsageError("name the URL of a tracking server, or set MLFLOW_TRACKING_URI")
    server = TrackingServer(address, read_environment())
    core = open_core(writing=False)
    query = query_of(core, include_invalid=not valid_only, **filters)
    sent = core.mlflow.export(query, server)
    counts = ", ".join(f"{sent[outcome]:,} {outcome}" for outcome in SendOutcome)
    display.print_message(
        f"{display.format_count(sent.total(), 'run')} of {query.region} are in {server.address}: {counts}"
    )


SQL_FORMATS = ("table", "csv", "json", "parquet", *(form.value for form in TextTableFormat))
MAX_TABLE_ROWS = 100
# Of a cell in a table; the other formats have all of it.
MAX_CELL_WIDTH = 60

SERVED_SECONDS = 600.0
SECONDS = 60.0  # a forgotten join of two large tables must not run all night
# How much longer than the time limit to wait for the engine to stop by itself.
GRACE_S = 1.0

_TABLES = ("table", *TextTableFormat)

_SNAPSHOT = UnsentPath(path_type=Path, dir_okay=False, exists=True)
_OVER_RUNS = re.compile(r"\bfrom\s+\"?(v_|runs\b|results\b)", re.I)


@command()
@click.argument("query", metavar="QUERY")
@add_assignments("-p", "--param", "values", form="NAME=VALUE", help="Value of $NAME in the query; can be repeated.")
@click.option(
    "--format", "file_format", type=click.Choice(SQL_FORMATS), default="table", show_default=True, help="Format."
)
@output_option
@click.option("--limit", type=click.IntRange(1), help=f"Maximum number of rows; default: {MAX_TABLE_ROWS} in a table.")
@click.option("--seconds", type=click.FloatRange(0.1, 86_400), default=SECONDS, show_default=True, help="Time limit.")
@click.option("--snapshot", type=_SNAPSHOT, metavar="FILE", help="Query a file of `aisbench warehouse snapshot`.")
def sql(
    query: str,
    values: tuple[tuple[str, str], ...],
    file_format: str,
    output: Path | None,
    limit: int | None,
    seconds: float,
    snapshot: Path | None,
) -> None:
    """Run a SELECT on the warehouse, over the views described in docs/open.md or the tables.

    QUERY is DuckDB SQL, or - to read it from stdin. It cannot change data, or read or write files. Runs can be recorded
    at the same time. `show tables` lists the views, `describe v_runs` the columns of one.
    """
    if get_invocation().served and seconds > SERVED_SECONDS:
        raise click.UsageError(f"over a server, a query may take at most {SERVED_SECONDS:g} s")
    if file_format == "parquet" and output is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is a binary format: name a file with -o")
    if query == "-":
        query = sys.stdin.read()
    reader = _open_reader(snapshot)
    most = limit or (MAX_TABLE_ROWS if file_format in _TABLES else None)
    try:
        with (
            _hard_limit(seconds, reader),
            memory_limited(),
            execute_query(reader, Query(query, dict(values), seconds)) as cur,
        ):
            mixed = _print_answer(cur, file_format, output, most)
        # Aggregates hide the column.
        if mixed or (_OVER_RUNS.search(query) and "rehearsal" not in query.lower() and has_both(reader)):
            display.print_message(
                "note: these numbers may include rehearsals; add `where not rehearsal` to exclude them"
            )
    except KeyboardInterrupt:
        display.print_message("interrupted")
        click.get_current_context().exit(INTERRUPTED)
    finally:
        reader.close()


@contextmanager
def _hard_limit(seconds: float, reader: Reader) -> Iterator[None]:
    """End the process when the time limit is over and the engine does not stop.

    DuckDB checks for interrupts between steps, and one step, such as sorting a list of millions, can take minutes."""

    def end() -> None:
        reader.remove_copy()  # os._exit runs no clean-up
        display.print_message(f"error: {too_slow(seconds)}")
        sys.stderr.flush()
        os._exit(YOUR_INPUT)  # sys.exit would end this thread only

    timer = threading.Timer(seconds + GRACE_S, end)
    timer.daemon = True  # it must not keep a finished command alive
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _open_reader(snapshot: Path | None) -> Reader:
    if snapshot is None:
        from aisbench_core.wiring import open_reader

        return open_reader()

    return FileReader(snapshot, foreign=True)  # only its rows are used, not its views and macros


def _print_answer(cur: Cursor, file_format: str, output: Path | None, most: int | None) -> bool:
    """Print or write the rows; returns whether they hold both measurements and rehearsals."""
    if output is None and file_format not in _TABLES:  # rows go out as they come, so that pipes can start early
        return _write_rows(cur, file_format, sys.stdout.buffer, most)
    with SpooledTemporaryFile(display.SPOOLED_BYTES) as content:  # a query that fails leaves an existing file as it was
        mixed = _write_rows(cur, file_format, content, most)
        if output is not None:
            display.write_output(output, content)
        else:
            content.seek(0)
            click.echo(content.read().decode(), nl=False)
    return mixed


def _write_rows(cur: Cursor, file_format: str, target: IO[bytes], most: int | None) -> bool:
    if file_format == "parquet":
        display.print_message(display.format_count(queries.write_parquet(cur, most, target), "row"))
        return False
    columns, kinds = queries.list_names(cur), set[object]()
    index = columns.index("rehearsal") if "rehearsal" in columns else None

    def note_kind(row: tuple[Any, ...]) -> tuple[Any, ...]:
        if index is not None:
            kinds.add(row[index])
        return row

    answer = queries.iter_rows(cur)
    rows = map(note_kind, islice(answer, most))
    if file_format in _TABLES:
        table = list(rows)
        target.write(_format_answer(columns, table, file_format).encode())
        count = len(table)
    else:
        count = (queries.write_csv if file_format == "csv" else queries.write_json)(columns, rows, target)
    more = most is not None and next(answer, None) is not None  # one row beyond the limit says whether there are more
    display.print_message(display.format_count(count, "row") + ("; there are more, see --limit" if more else ""))
    return {True, False} <= kinds


def _format_answer(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], file_format: str) -> str:
    heads = [_align_head(name, (row[index] for row in rows)) for index, name in enumerate(columns)]
    cells = [[*map(_format_cell, row)] for row in rows]
    if file_format == "table":
        return display.format_table(heads, cells) + "\n"
    named = [TextColumn(head.removeprefix(">"), is_number=head.startswith(">")) for head in heads]
    return format_text_table(TextTable("", named, cells), TextTableFormat(file_format))


def _align_head(name: str, cells: Iterable[object]) -> str:
    kinds = {type(cell) for cell in cells} - {type(None)}
    return f">{name}" if kinds and kinds <= {int, float} else name


def _format_cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return formats.MISSING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.10g}"
    text = f"{value.isoformat(timespec='seconds')}Z" if isinstance(value, datetime) else str(value)
    return formats.clip_text(text, MAX_CELL_WIDTH)
