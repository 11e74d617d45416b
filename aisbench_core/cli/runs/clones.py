"""`aisbench clone` and `diff`: a run as an editable spec, and the differences between two runs or specs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import display
from aisbench_core.cli.core import open_core
from aisbench_core.cli.exit_codes import DIFFERENT
from aisbench_core.cli.options import as_json, output_option, run_argument
from aisbench_core.cli.results.results import full_id
from aisbench_core.cli.runs.spec_options import SPEC_FILES, file_spec, yaml_of

if TYPE_CHECKING:
    from aisbench_core.model import RunSpec
    from aisbench_core.wiring import Core


@click.command()
@run_argument
@output_option
def clone(run_id: str, output: Path | None) -> None:
    """Print the spec of a run, to edit it and launch it with `aisbench run`.

    The spec of an imported run holds only what is known; the missing fields are listed on stderr, and the workload's
    manifest decides them.
    """
    from aisbench_core.model import unknown_fields

    core = open_core(writing=False)
    original = core.clones.original(full_id(core, run_id))
    display.write_text(output, yaml_of(core.clones.spec(original)))
    if unknown := unknown_fields(original.known):
        display.message(f"unknown for {original.run_id}: {', '.join(unknown)}")


@click.command()
@click.argument("first", metavar="RUN|SPEC.yaml")
@click.argument("second", metavar="RUN|SPEC.yaml")
@as_json
def diff(first: str, second: str, as_json: bool) -> None:
    """Show the differences between two runs or specs; exit code 7 if there are any.

    A spec is completed by its workload's manifest first. For imported runs only known fields are compared; the others
    are listed on stderr.
    """
    from aisbench_core.model import differences, unknown_fields

    core = open_core(writing=False)
    (before, fields), (after, other_fields) = _spec(core, first), _spec(core, second)
    compared = fields if other_fields is None else other_fields if fields is None else fields & other_fields
    changed = differences(before, after, compared)
    unknown = unknown_fields(compared)
    heads = ("field", first, second)
    rows = [(field.field, display.value(field.original), display.value(field.now)) for field in changed]
    display.result(
        {"differences": changed, "not_known": unknown},
        as_json,
        lambda: display.table(heads, rows) if rows else "no differences",
    )
    if unknown:
        display.message(f"unknown for one of them, not compared: {', '.join(unknown)}")
    if changed:
        click.get_current_context().exit(DIFFERENT)


def _spec(core: "Core", name: str) -> "tuple[RunSpec, frozenset[str] | None]":
    """The spec of a file or run, and which of its fields are known (None: all)."""
    if name.endswith(SPEC_FILES):
        return core.workloads.filled(file_spec(name)), None  # as a launch would, or every default were a difference
    original = core.clones.original(full_id(core, name))
    return original.spec, original.known
