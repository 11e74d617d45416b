"""`aisbench system`: what is stated of the tested system, of a run or of all new runs of a profile."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading, user
from aisbench_core.cli.runs.configs import file_of, write_file

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.system.described import Described
    from aisbench_core.system.systems import Where


@click.group()
def system() -> None:
    """Show, edit, import and export system descriptions: 33 fields for reports, and the tester's configuration.

    WHERE is a run, or @PROFILE/FLAVOR (or @PROFILE) for the description that new runs there take over. Nothing is
    ever sent to a tester server: upstream has not opened that.
    """


@system.command("show")
@click.argument("where", metavar="WHERE")
@as_json
def show(where: str, as_json: bool) -> None:
    """Show every field: its value, and whether somebody stated it or the job says it."""
    core = open_core_for_reading()
    described = core.systems.of(_where(where))
    shown.answer(_answers(described), as_json, lambda: _text(described))
    _talk(described)


@system.command("edit")
@click.argument("where", metavar="WHERE")
@click.argument("values", nargs=-1, required=True, metavar="FIELD=VALUE...")
@as_json
def edit(where: str, values: Sequence[str], as_json: bool) -> None:
    """State fields; FIELD= with nothing behind it takes a statement back."""
    core = open_core()
    described = core.systems.state(_where(where), dict(map(_pair, values)), user())
    shown.answer(_answers(described), as_json, lambda: _counted(described))
    _talk(described)


@system.command("keep")
@click.argument("run_id", metavar="RUN")
@click.option("--any-flavor", is_flag=True, help="For every flavor of the profile, not only the run's own.")
@as_json
def keep(run_id: str, any_flavor: bool, as_json: bool) -> None:
    """Keep what is stated of a run for new runs of its profile and flavor (or pool)."""
    kept = open_core().systems.keep(run_id, user(), any_flavor=any_flavor)
    shown.answer({"kept": str(kept)}, as_json, lambda: str(kept))


@system.command("import")
@click.argument("where", metavar="WHERE")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what was found; change nothing.")
@as_json
def read(where: str, files: Sequence[Path], dry_run: bool, as_json: bool) -> None:
    """State what upstream's system.json and config.json hold; other fields stay as they are.

    Unknown keys are named and left out. Exits with 2, and changes nothing, when a finding is an error.
    """
    core = (open_core_for_reading if dry_run else open_core)()
    place = _where(where)
    found = core.systems.read([file_of(file) for file in files])
    findings = list(found.findings)
    if not (dry_run or found.has_errors):
        findings += core.systems.bring(place, found, user())
    shown.answer(
        {"values": found.values, "findings": findings},
        as_json,
        lambda: shown.listing((name, str(value)) for name, value in found.values.items()) or "nothing was found",
    )
    for finding in findings:
        shown.talk(shown.finding(finding))
    if found.has_errors:
        click.get_current_context().exit(2)


@system.command("export")
@click.argument("where", metavar="WHERE")
@click.option(
    "--file",
    "name",
    type=click.Choice(["system.json", "config.json"]),
    default="system.json",
    show_default=True,
    help="Which of the two.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write here instead of stdout.")
def write(where: str, name: str, output: Path | None) -> None:
    """Write system.json with all 33 keys, or config.json; what is not stated is empty text."""
    text = open_core_for_reading().systems.files(_where(where))[name]
    if output is None:
        click.echo(text, nl=False)
        return
    write_file(output, text)
    shown.talk(f"written: {output}")


def counted(core: "Core", run_id: str) -> str:
    """How many fields of a run's description have a value."""
    return _counted(core.systems.of(run_id))


def _where(text: str) -> "Where":
    from aisbench_core.system.systems import where_of

    return where_of(text)


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise click.BadParameter(f"{text!r} is not FIELD=VALUE", param_hint="FIELD=VALUE")
    return name.strip(), value


def _answers(described: "Described") -> dict[str, object]:
    from aisbench_core.model import FIELDS

    filled, fields = described.counted
    values = described.whole.values
    return {
        "stated": filled,
        "fields": fields,
        "values": {name: values.get(name) for name in FIELDS},
        "from_job": sorted(described.from_job),
        "findings": described.findings,
    }


def _text(described: "Described") -> str:
    from aisbench_core.model import FIELDS

    values, known = described.whole.values, described.from_job
    rows = [
        (
            name,
            str(values.get(name, formats.MISSING)),
            "job" if name in known else "stated" if name in values else "",
            field.description or "",
        )
        for name, field in FIELDS.items()
    ]
    return f"{shown.table(('field', 'value', 'source', 'meaning'), rows)}\n\n{_counted(described)}"


def _counted(described: "Described") -> str:
    filled, fields = described.counted
    return f"{filled} of {fields} fields stated, {described.counted_from_job} of them by the job"


def _talk(described: "Described") -> None:
    for finding in described.findings:
        shown.talk(shown.finding(finding))
