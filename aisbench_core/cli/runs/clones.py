"""`aisbench clone` and `diff`: a run as a spec to change, and what two runs or specs ask for differently."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core_for_reading, usual_rights
from aisbench_core.cli.exit_codes import DIFFERENT
from aisbench_core.cli.results.results import full_id
from aisbench_core.cli.runs.spec_options import SPEC_FILES, file_spec
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.model import FieldDifference, RunSpec


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Default: stdout.")
def clone(run_id: str, output: Path | None) -> None:
    """Print what a run was asked for as a spec, to change it and launch it with `aisbench run`.

    Of an imported run the spec holds what is known; the rest is named on stderr, and left to the workload's manifest.
    """
    from aisbench_core.authoring.specfile import to_yaml
    from aisbench_core.model import not_known

    core = open_core_for_reading()
    original = core.clones.original(full_id(core, run_id))
    text = to_yaml(core.clones.spec(original))
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
    unknown = not_known(original.known)
    if unknown:
        shown.talk(f"not known of {original.run_id}: {', '.join(unknown)}")


@click.command()
@click.argument("first", metavar="RUN|SPEC.yaml")
@click.argument("second", metavar="RUN|SPEC.yaml")
@as_json
def diff(first: str, second: str, as_json: bool) -> None:
    """Show what the second run or spec asks for differently than the first; exit code 7 if anything.

    A spec is filled in by its workload's manifest first. Of an imported run only what is known is compared; the rest is
    named on stderr.
    """
    from aisbench_core.model import differences, not_known

    core = open_core_for_reading()
    (before, known), (after, also) = _asked(core, first), _asked(core, second)
    told = known if also is None else also if known is None else known & also
    found = differences(before, after, told)
    unknown = not_known(told)
    answer = {"differences": found, "not_known": unknown}
    shown.answer(answer, as_json, lambda: table(found, first, second) if found else "nothing differs")
    if unknown:
        shown.talk(f"not known of both: {', '.join(unknown)}")
    if found:
        click.get_current_context().exit(DIFFERENT)


def table(found: "tuple[FieldDifference, ...]", first: str, second: str) -> str:
    """One line for each field that is not the same."""
    return shown.table(("field", first, second), [(each.field, text(each.original), text(each.now)) for each in found])


def text(value: object) -> str:
    """A field's value; `–` where it is not set."""
    if value is None:
        return formats.MISSING
    return str(value).lower() if isinstance(value, bool) else str(value)


def _asked(core: "Core", name: str) -> "tuple[RunSpec, frozenset[str] | None]":
    """What a run or a spec file asks for, and which of its fields are known (None: all)."""
    if name.endswith(SPEC_FILES):
        return core.filled(file_spec(name)), None
    original = core.clones.original(full_id(core, name))
    return original.spec, original.known


def _write(output: Path, text: str) -> None:
    try:
        with usual_rights():
            output.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(Message("{file} cannot be written: {why}", file=output, why=error.strerror)) from error
