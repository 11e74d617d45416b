"""`aisbench logs`: what the training code printed."""

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import open_core_for_reading
from aisbench_core.cli.exit_codes import INTERRUPTED
from aisbench_core.cli.runs.following import LOOK_SECONDS, print_log, say_who_follows
from aisbench_core.errors import DamagedLedger

if TYPE_CHECKING:
    from aisbench_core.core import Core


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--node", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Which node's log.")
@click.option("--tail", type=click.IntRange(1), metavar="LINES", help="Only the last lines.")
@click.option("--follow", is_flag=True, help="Go on printing until the run has ended. Ctrl-C stops the printing only.")
def logs(run_id: str, node: int, tail: int | None, follow: bool) -> None:
    """Print a node's log, as far as it has been fetched."""
    core = open_core_for_reading()
    with suppress(DamagedLedger):  # what was fetched can be read without it
        run_id = core.ledger.get(run_id).run_id
    if follow:
        _follow(core, run_id, node)
        return
    if tail:
        click.echo(core.files.log_tail(run_id, node, tail), nl=False)
    elif print_log(core, run_id, node, 0) == 0:
        known = ", ".join(map(str, core.files.nodes(run_id))) or "none yet"
        shown.talk(f"there is no log of node {node}; nodes with a log: {known}")


def _follow(core: "Core", run_id: str, node: int) -> None:
    if not core.ledger.get(run_id).state.is_terminal:
        say_who_follows(core)
    pause = threading.Event()
    position = 0
    try:
        while True:
            ended = core.ledger.get(run_id).state.is_terminal  # asked first: nothing is printed after the end
            position = print_log(core, run_id, node, position)
            if ended:
                return
            pause.wait(LOOK_SECONDS)
    except KeyboardInterrupt:
        shown.talk(f"\nnot printing any longer; run {run_id} goes on")
        click.get_current_context().exit(INTERRUPTED)
