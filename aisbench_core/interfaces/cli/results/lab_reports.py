"""`aisbench lab-report`: numbered reports of the lab."""

from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Any

import click

from aisbench_core.exchange.lab_reports.service import CONTENT
from aisbench_core.exchange.report.details import LabDetails
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import (
    Group,
    choose_value,
    output_option,
    ruleset_option,
    run_filters,
    valid_only_option,
)
from aisbench_core.interfaces.cli.remote.paths import InputPath
from aisbench_core.interfaces.cli.results.details import read_details
from aisbench_core.interfaces.cli.results.results import full_id, query_of
from aisbench_core.store.ledger.issued_reports import IssuedReport

lab_report = Group("lab-report", help="Issue, authorise, amend and withdraw numbered reports of the lab.")


class StoredPart(StrEnum):
    """Of an issued report, for programs."""

    CONTENT = "content"
    AUTHORISATION = "authorisation"


@lab_report.command()
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@run_filters
@ruleset_option
@valid_only_option
@click.option(
    "--details", type=InputPath(), required=True, help="YAML with what the lab states; see docs/lab-report.md."
)
def issue(
    run_ids: tuple[str, ...], ruleset_id: str, details: Path, valid_only: bool, as_json: bool, **filters: Any
) -> None:
    """Prepare a numbered report about runs and all others of their series, and store it.

    `aisbench report --details` writes a draft of it.
    """
    stated, core = read_details(details), open_core(writing=True)
    query = None if run_ids else query_of(core, include_invalid=not valid_only, ruleset_id=ruleset_id, **filters)
    runs = core.reports.list_chosen(query) if query else [full_id(core, run_id) for run_id in run_ids]
    _print_report(core.lab_reports.issue(runs, stated, get_actor(), ruleset_id), as_json)


@lab_report.command("list")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many reports to skip.")
def list_reports(offset: int, as_json: bool) -> None:
    """List issued reports, the newest first."""
    listed = open_core(writing=False).lab_reports.stored.list_newest(offset)
    display.print_result([_as_dict(each) for each in listed], as_json, lambda: display.table_of(listed, COLUMNS))


@lab_report.command()
@click.argument("number", type=click.IntRange(1))
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="English, Chinese.")
@click.option("--pdf", "as_pdf", is_flag=True, help="Write PDF; default if FILE ends in .pdf.")
@click.option(
    "--part", type=choose_value(StoredPart), help="Write the report for programs, or the signed authorisation."
)
@output_option
def show(number: int, lang: str, as_pdf: bool, part: str | None, output: Path | None) -> None:
    """Write an issued report as HTML or PDF, marked with what was decided of it since."""
    reports, language = open_core(writing=False).lab_reports, ReportLanguage(lang)
    if part:
        is_content = part == StoredPart.CONTENT
        content = reports.read_files(number)[CONTENT] if is_content else reports.stored.get(number).envelope.encode()
        display.write_output(output, BytesIO(content))
    elif as_pdf or (output is not None and output.suffix.lower() == ".pdf"):
        display.write_output(output, BytesIO(reports.print_pdf(number, language)))
    else:
        display.write_text(output, reports.show(number, language))


@lab_report.command()
@click.argument("number", type=click.IntRange(1))
def authorise(number: int, as_json: bool) -> None:
    """Authorise a report that others prepared, about runs that others launched; the console signs it."""
    _print_report(open_core(writing=True).lab_reports.authorise(number, get_actor()), as_json)


@lab_report.command()
@click.argument("number", type=click.IntRange(1))
@click.option("--reason", required=True, help="What is different, as readers see it.")
@click.option("--details", type=InputPath(), help="What the lab states now; default: as before.")
def amend(number: int, reason: str, details: Path | None, as_json: bool) -> None:
    """Issue a report anew, under a new number; the old one says so and stays."""
    stated: LabDetails | None = read_details(details) if details else None
    _print_report(open_core(writing=True).lab_reports.amend(number, reason, get_actor(), stated), as_json)


@lab_report.command()
@click.argument("number", type=click.IntRange(1))
@click.option("--reason", required=True, help="Why, as readers see it.")
def withdraw(number: int, reason: str, as_json: bool) -> None:
    """Withdraw a report, which stays readable and is marked."""
    _print_report(open_core(writing=True).lab_reports.withdraw(number, reason, get_actor()), as_json)


COLUMNS: display.Columns[IssuedReport] = {
    "number": lambda report: str(report.number),
    "for": lambda report: display.clip_text(report.title),
    "prepared": lambda report: display.local_time(report.prepared_at),
    "by": lambda report: report.prepared_by,
    "authorised by": lambda report: report.authorised_by,
    "amends": lambda report: str(report.amends or ""),
    "amended by": lambda report: str(report.amended_by or ""),
    "withdrawn": lambda report: display.local_time(report.withdrawn_at),
}


def _print_report(report: IssuedReport, as_json: bool) -> None:
    display.print_result(_as_dict(report), as_json, lambda: str(report.number))


def _as_dict(report: IssuedReport) -> dict[str, object]:
    return display.as_dict(report) | {"involved": sorted(report.involved)}
