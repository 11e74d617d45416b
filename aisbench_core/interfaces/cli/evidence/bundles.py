"""`aisbench evidence bundle` and `aisbench verify`: evidence in one file, and what is wrong with one."""

from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import click

from aisbench_core.base import formats
from aisbench_core.exchange.evidence.checking import CheckedBundle, check_content
from aisbench_core.exchange.evidence.file_statements import check_file
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.exit_codes import DIFFERENT
from aisbench_core.interfaces.cli.options import command, run_filters, valid_only_option
from aisbench_core.interfaces.cli.remote.paths import InputPath, OutputPath
from aisbench_core.interfaces.cli.results.results import query_of


@command()
@click.argument("names", metavar="[RUN|SERIES|VIEW]...", nargs=-1)
@run_filters
@valid_only_option
@click.option("--without-logs", is_flag=True, help="Leave out logs and event files.")
@click.option("-o", "--output", type=OutputPath(), required=True, metavar="FILE", help="The zip file to write.")
def bundle(
    names: tuple[str, ...], without_logs: bool, output: Path, valid_only: bool, as_json: bool, **filters: Any
) -> None:
    """Write runs, series, the runs of a saved view, or what the filters select, as signed evidence into FILE.

    It holds raw result files, records, logs, code, rulesets, verdicts, report and tables, and all attempts of a run's
    series. `aisbench verify` checks it, as does the script in it, which needs Python 3.8 only.
    """
    core = open_core(writing=True)
    query = query_of(core, include_invalid=not valid_only, **filters) if not names else None
    chosen = core.reports.list_chosen(query) if query else names
    with SpooledTemporaryFile(display.SPOOLED_BYTES) as content, core.operations.count_operation(get_actor().name):
        made = core.bundles.write(chosen, content, get_actor(), with_logs=not without_logs)
        display.write_output(output, content)
    for name, reason in made.absent.items():
        display.print_message(f"left out: {name}: {reason}")
    text = (
        f"{display.format_count(len(made.run_ids), 'run')}, {formats.format_size(made.size)}, signed with "
        f"{made.fingerprint}"
    )
    display.print_result(display.as_dict(made), as_json, lambda: text)


@command()
@click.argument("file", metavar="FILE", type=InputPath())
@click.option("--statement", type=InputPath(), help="What `--sign` wrote about an export or a report, which FILE is.")
@click.pass_context
def verify(ctx: click.Context, /, file: Path, statement: Path | None, as_json: bool) -> None:
    """Check a bundle of evidence, and name what was changed since it was signed.

    With a statement, FILE is an export or a report. Values of a bundle are computed again from the raw files. Exit
    code 7 if anything differs. Who signed is known if the key is one of `aisbench evidence keys`.
    """
    find_key, name = open_core(writing=False).signing_keys.find, display.file_name(file.name)
    with file.open("rb") as content:
        if statement:
            found = check_file(content, name, statement.read_text("utf-8", "replace"), find_key)
        else:
            found = check_content(content, name, find_key)
    answer = {
        "problems": found.problems,
        "fingerprint": found.fingerprint,
        "signed_by": _name_signer(found),
        "is_trusted": found.is_trusted,
        "runs": found.run_ids,
    }
    good = "every file is as it was signed, and every value follows from the raw files"
    lines: list[str] = [*found.problems] or ["the file is as it was signed" if statement else good]
    if found.fingerprint:
        lines.append(f"signed by {_name_signer(found)}, {found.fingerprint}, at {found.made_at}")
    display.print_result(answer, as_json, lambda: "\n".join(lines))
    ctx.exit(DIFFERENT if found.problems else 0)


def _name_signer(found: CheckedBundle) -> str:
    if found.signer is None:
        return "an unknown key"
    owner = "this console" if found.signer.is_ours else found.signer.owner
    return owner if found.is_trusted or found.problems else f"{owner}, whose key is no longer trusted"
