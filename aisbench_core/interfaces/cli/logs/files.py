"""`aisbench files`: the files of a run's folder, as a list or one by one."""

from collections.abc import Mapping
from pathlib import Path

import click

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.options import command, output_option


@command()
@click.argument("run_id", metavar="RUN")
@click.argument("name", metavar="[NAME]", required=False)
@output_option
def files(run_id: str, name: str | None, output: Path | None, as_json: bool) -> None:
    """List the files of a run's folder, or print one: its spec, record, logs, metrics and event files.

    docs/running.md#files says what each is. Code, inputs and outputs are in OBS: `aisbench region files`.
    """
    if as_json and name:
        raise click.UsageError("--json is for the list, without NAME")
    if output and not name:
        raise click.UsageError("--output needs the NAME of a file")
    core = open_core(writing=False)
    if name is None:
        sizes = core.files.sizes(run_id)
        answer = [{"name": each, "size": size} for each, size in sizes.items()]
        display.print_result(answer, as_json, lambda: _format_sizes(sizes))
        return
    with core.files.file(run_id, name).open("rb") as content:
        display.write_output(output, content)


def _format_sizes(sizes: Mapping[str, int]) -> str:
    return display.format_table(("name", ">size"), [(name, formats.format_size(size)) for name, size in sizes.items()])
