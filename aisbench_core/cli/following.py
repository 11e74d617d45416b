"""`aisbench follow` and `logs`, and waiting for runs: progress on stderr, and a follower if there is none."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import display
from aisbench_core.cli.cleaning import removal_text
from aisbench_core.cli.core import open_core
from aisbench_core.cli.exit_codes import INTERRUPTED, RUN_FAILED
from aisbench_core.cli.options import command
from aisbench_core.errors import DamagedLedger

if TYPE_CHECKING:
    from aisbench_core.model import Run
    from aisbench_core.series.matrix import Matrix
    from aisbench_core.wiring import Core

POLL_SECONDS = 0.25  # reads the local ledger only, never the cloud


@command()
@click.option("--quiet", is_flag=True, help="Print errors only.")
def follow(quiet: bool) -> None:
    """Run a follower until interrupted: it uploads, submits, monitors and collects all runs.

    Only one follower is active at a time; others wait to take over. Stop it with Ctrl-C or SIGTERM: no run is lost, and
    the next follower continues.
    """
    core = open_core(writing=True)
    core.ledger.last_beat()  # fail on a damaged ledger now; the follower would wait for a repaired one
    stop = _stop_on_signals()
    message = (lambda _: None) if quiet else display.message
    message(_active_follower(core) or "following all runs; press Ctrl-C to stop")
    core.following.follower(stop).run_forever(stop)
    message("stopped following; runs continue in the cloud, and the next follower picks them up")


def _stop_on_signals() -> threading.Event:
    # A handler runs between two instructions of the main thread. If that thread holds the event's lock just then,
    # setting the event in the handler would deadlock. So Python only writes the signal's number to a pipe, and another
    # thread reads it and sets the event.
    stop = threading.Event()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # a full pipe must not block the signal handler
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # without a handler the process would end at once

    def listen() -> None:
        os.read(reader, 1)
        stop.set()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    return stop


def wait_for(core: "Core", run: "Run", with_log: bool) -> "Run":
    """The run after its end; progress (and its log) goes to stderr. Exits with 130 on Ctrl-C."""
    pause = threading.Event()
    printed = ""
    position = 0
    with _following(core, f"run {run.run_id} continues. To stop it: aisbench stop {run.run_id}"):
        while True:
            run = core.ledger.get(run.run_id)
            printed = _print_state(core, run, printed)
            if with_log:
                position = print_log(core, run.run_id, 0, position, err=True)
            if run.state.is_terminal:
                return run
            pause.wait(POLL_SECONDS)


def wait_for_series(core: "Core", series_id: str) -> "Matrix":
    """The series when nothing more happens without a user; changes of cells go to stderr. Exits with 130 on Ctrl-C."""
    pause = threading.Event()
    states: dict[int, str] = {}
    with _following(core, f"series {series_id} continues. To stop it: aisbench series stop {series_id}"):
        while True:
            matrix = core.series.matrix(series_id)
            for title, cell in [(row.planned.title, cell) for row in matrix.rows for cell in row.cells]:
                state = str(cell.tries[-1].state)
                if states.get(cell.index, "planned") != state:
                    number = f"cell {cell.index} of {len(matrix.cells)}"
                    display.message(f"{number}, {title}, repeat {cell.repeat}: {state}")
                states[cell.index] = state
            # On hold a user must raise the budget.
            if matrix.state.has_ended or (matrix.hold and matrix.state == "held"):
                return matrix
            pause.wait(POLL_SECONDS * 2)


@contextmanager
def _following(core: "Core", on_interrupt: str) -> Iterator[None]:
    """Follow in this process unless another does. Nobody else might, and the wait would never end."""
    try:
        with core.following.in_background():
            yield
    except KeyboardInterrupt:
        display.message(f"\nno longer waiting; {on_interrupt}")
        click.get_current_context().exit(INTERRUPTED)


def warn_without_follower(core: "Core") -> None:
    if not _active_follower(core):
        display.message("no follower is active: start `aisbench follow` or the console")


def _active_follower(core: "Core") -> str:
    beat = core.ledger.last_beat()
    if beat is None or not beat.is_fresh(core.clock()):
        return ""
    return f"{beat.who} is already following; waiting to take over"


def print_log(core: "Core", run_id: str, node: int, position: int, err: bool = False) -> int:
    """Print a node's log from a position on; returns the next position."""
    while True:
        text, end = core.files.log_read(run_id, node, position)
        if end == position:  # a read returns 1 MB at most
            return position
        click.echo(text, nl=False, err=err)
        position = end


def _print_state(core: "Core", run: "Run", printed: str) -> str:
    """Print the state and progress if the line differs from the last one printed; returns the line."""
    progress = core.ledger.progress(run.run_id)
    share = ""
    if progress and progress.total and progress.state is run.state:
        # In quarters: a line for each file of an upload would flood the terminal.
        share = f" {int(progress.fraction * 4) * 25} % of {progress.total} {progress.unit}"
    line = f"{display.state(run)}{share}" + (f": {run.detail}" if run.detail else "")
    if line != printed:
        display.message(f"{display.local_time(run.updated_at)}  {line}")
    return line


def end_with(run: "Run") -> None:
    if run.state != "completed":
        click.get_current_context().exit(RUN_FAILED)


@command()
@click.option("--node", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Number of the node.")
@click.option("--tail", type=click.IntRange(1), metavar="LINES", help="Print the last lines only.")
@click.option("--follow", is_flag=True, help="Print new lines until the run ends. Ctrl-C stops printing, not the run.")
def logs(run_id: str, node: int, tail: int | None, follow: bool) -> None:
    """Print the log of a node, as far as it was fetched."""
    core = open_core(writing=False)
    with suppress(DamagedLedger):  # fetched logs can be read without the ledger
        run_id = core.ledger.get(run_id).run_id
    if follow:
        _follow_log(core, run_id, node)
        return
    if tail:
        click.echo(core.files.log_tail(run_id, node, tail), nl=False)
    elif print_log(core, run_id, node, 0) == 0:
        nodes = ", ".join(map(str, core.files.nodes(run_id))) or "none yet"
        display.message(f"no log of node {node}; nodes with a log: {nodes}")
        for removal in (each for each in core.cleaning.removals(run_id) if each.part == "folder"):
            display.message(f"the run's folder: {removal_text(removal)}")


def _follow_log(core: "Core", run_id: str, node: int) -> None:
    if not core.ledger.get(run_id).state.is_terminal:
        warn_without_follower(core)
    pause = threading.Event()
    position = 0
    try:
        while True:
            ended = core.ledger.get(run_id).state.is_terminal  # read before the log, or its last lines could be missed
            position = print_log(core, run_id, node, position)
            if ended:
                return
            pause.wait(POLL_SECONDS)
    except KeyboardInterrupt:
        display.message(f"\nno longer printing; run {run_id} continues")
        click.get_current_context().exit(INTERRUPTED)
