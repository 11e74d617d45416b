"""`aisbench system`: the system description of a run, or of new runs of a profile."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.exit_codes import YOUR_INPUT
from aisbench_core.cli.options import Decorator, as_json, assignment, output_option, run_argument
from aisbench_core.cli.runs.configs import file_of

if TYPE_CHECKING:
    from aisbench_core.system.descriptions import SystemValues
    from aisbench_core.system.systems import Where

FILES = ("system.json", "config.json")

_where_argument: Decorator = click.argument("where", metavar="WHERE")


@click.group()
def system() -> None:
    """Show, edit, import and export system descriptions: 33 fields for reports, and the tester's configuration.

    WHERE is a run, or @PROFILE/FLAVOR (or @PROFILE) for the description that new runs get. Nothing is sent to a tester
    server: upstream does not offer a public one.
    """


@system.command("show")
@_where_argument
@as_json
def show(where: str, as_json: bool) -> None:
    """Show all fields with their values, and whether a value was stated or comes from the job."""
    _print(open_core(writing=False).systems.of(_where(where)), as_json, whole=True)


@system.command("edit")
@_where_argument
@click.argument("values", nargs=-1, required=True, metavar="FIELD=VALUE...", type=assignment("FIELD=VALUE"))
@as_json
def edit(where: str, values: Sequence[tuple[str, str]], as_json: bool) -> None:
    """State the values of fields; FIELD= clears one."""
    stated = {name.strip(): value for name, value in values}  # as pasted from a table: "cpu = …"
    _print(open_core(writing=True).systems.state(_where(where), stated, actor()), as_json, whole=False)


@system.command("keep")
@run_argument
@click.option("--any-flavor", is_flag=True, help="For every flavor of the profile, not only the run's.")
@as_json
def keep(run_id: str, any_flavor: bool, as_json: bool) -> None:
    """Use the description of a run for new runs of its profile and flavor (or pool)."""
    target = open_core(writing=True).systems.keep(run_id, actor(), any_flavor=any_flavor)
    display.result({"kept": str(target)}, as_json, lambda: str(target))


@system.command("import")
@_where_argument
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Print the values; change nothing.")
@as_json
def read(where: str, files: Sequence[Path], dry_run: bool, as_json: bool) -> None:
    """State the values of upstream's system.json and config.json; other fields are left unchanged.

    Unknown keys are reported and ignored. If a finding is an error, nothing is changed and the exit code is 2.
    """
    core = open_core(writing=not dry_run)
    target = _where(where)
    imported = core.systems.read([file_of(file) for file in files])
    findings = list(imported.findings)
    if not (dry_run or imported.has_errors):
        findings += core.systems.import_fields(target, imported, actor())
    display.result(
        {"values": imported.values, "findings": findings},
        as_json,
        lambda: display.fields(*((name, str(value)) for name, value in imported.values.items())) or "nothing found",
    )
    display.findings(findings)
    if imported.has_errors:
        click.get_current_context().exit(YOUR_INPUT)


@system.command("export")
@_where_argument
@click.option("--file", "name", type=click.Choice(FILES), default=FILES[0], show_default=True, help="Which file.")
@output_option
def write(where: str, name: str, output: Path | None) -> None:
    """Write system.json with all 33 keys, or config.json; fields without a value are empty strings."""
    text = open_core(writing=False).systems.files(_where(where))[name]
    if output is None:
        click.echo(text, nl=False)
    else:
        display.write_and_report(output, text)


def _where(text: str) -> "Where":
    from aisbench_core.system.systems import where_of

    return where_of(text)


def _print(described: "SystemValues", as_json: bool, *, whole: bool) -> None:
    """Print a description, or only how many of its fields have a value."""
    display.result(_json(described), as_json, lambda: _text(described) if whole else counts_text(described))
    display.findings(described.findings)


def _json(described: "SystemValues") -> dict[str, object]:
    from aisbench_core.model import FIELDS

    filled, fields = described.counted
    return {
        "stated": filled,
        "fields": fields,
        "values": {name: described.merged.values.get(name) for name in FIELDS},
        "from_job": sorted(described.job_fields),
        "findings": described.findings,
    }


def _text(described: "SystemValues") -> str:
    from aisbench_core.model import FIELDS

    values = described.merged.values
    rows = [
        (
            name,
            str(values.get(name, formats.MISSING)),
            "job" if name in described.job_fields else "stated" if name in values else "",
            field.description or "",
        )
        for name, field in FIELDS.items()
    ]
    return f"{display.table(('field', 'value', 'source', 'meaning'), rows)}\n\n{counts_text(described)}"


def counts_text(described: "SystemValues") -> str:
    filled, fields = described.counted
    return f"{filled} of {fields} fields stated, {described.counted_from_job} of them by the job"
