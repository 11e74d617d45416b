"""`aisbench mindinsight`: starts MindInsight over the summary files of a run, where it is installed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import click

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import read_environment
from aisbench_core.config.variables import scrub_environment
from aisbench_core.domain.summaries.curves import event_files
from aisbench_core.domain.summaries.event_files import is_mindspore
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.options import command

START_SECONDS = 120.0
_ADDRESS = re.compile(r"Web address: (http://\S+)")


@command()
@click.argument("run_id", metavar="RUN")
@click.option("--port", type=click.IntRange(1, 65535), default=8080, show_default=True, help="Port on this machine.")
@click.option("--program", metavar="PATH", default="mindinsight", show_default=True, help="MindInsight's command.")
def mindinsight(run_id: str, port: int, program: str) -> None:
    """Start MindInsight over the files that a run wrote with MindSpore's SummaryRecord, and print its address.

    MindInsight is installed in an environment of its own, because it needs older libraries than the console. It goes on
    in the background and has no sign-in, but only this machine reaches it: `mindinsight stop --port PORT` ends it.
    """
    core = open_core(writing=False)
    run = core.ledger.get(run_id)
    found = shutil.which(program)
    if found is None:
        raise ConfigError(
            Message("there is no program {program}", program=program),
            Message("install MindInsight in an environment of its own, and name its command with --program"),
        )
    folder = _find_base(run.run_id, core.files.summaries(run.run_id))
    workspace = core.settings.data_dir / "mindinsight"
    click.echo(f"MindInsight: {_start_program(Path(found), folder, port, workspace)}")
    display.print_message(f"to stop it: {found} stop --port {port}")


def _find_base(run_id: str, summaries: Path) -> Path:
    """The folder that MindInsight is given: it looks into that one and those directly in it, and follows no link."""
    folders = {file.parent.resolve() for file in event_files(summaries) if is_mindspore(file.name)}
    if not folders:
        raise ConfigError(
            Message("run {run} has no event files of MindSpore", run=run_id),
            Message("see docs/workloads.md, Curves"),
        )
    return Path(os.path.commonpath(folders))


def _start_program(program: Path, folder: Path, port: int, workspace: Path) -> str:
    """The address of a started MindInsight. Raises AisbenchError with what it said last if it does not start."""
    variables = scrub_environment(read_environment())  # it needs no keys
    variables["PATH"] = f"{program.parent}{os.pathsep}{variables.get('PATH', '')}"  # its server is a program beside it
    arguments = ("--summary-base-dir", str(folder), "--port", str(port), "--workspace", str(workspace))
    try:
        done = subprocess.run(
            [str(program), "start", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=variables,
            timeout=START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AisbenchError(Message("MindInsight did not start: {line}", line=str(error))) from error
    address = _ADDRESS.search(done.stdout)
    if done.returncode or address is None:
        lines = done.stdout.strip().splitlines()
        line = lines[-1] if lines else Message("no output")
        raise AisbenchError(Message("MindInsight did not start: {line}", line=line))
    return address[1]
