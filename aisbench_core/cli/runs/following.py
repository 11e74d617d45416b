"""`aisbench follow`, and waiting for a run: progress on stderr, and a follower where there is none."""

import os
import signal
import threading
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import open_core
from aisbench_core.cli.exit_codes import INTERRUPTED, RUN_FAILED

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.model import Run
    from aisbench_core.series.matrix import Matrix

LOOK_SECONDS = 0.25


@click.command()
@click.option("--quiet", is_flag=True, help="Say nothing as long as nothing is wrong.")
def follow(quiet: bool) -> None:
    """Follow all runs until stopped: upload, submit, watch, collect.

    Only one process follows at a time; this one waits in line while another does. End it with Ctrl-C or SIGTERM: no run
    is lost, and the next follower carries on.
    """
    core = open_core()
    core.followed()  # a damaged ledger is refused here; a follower would wait for another one
    stop = _ending_on_signals()
    talk = (lambda _: None) if quiet else shown.talk
    talk(_waits_for(core) or "following all runs; Ctrl-C ends it")
    core.follower(stop).run_forever(stop)
    talk("stopped following; runs go on in the cloud and are picked up by the next follower")


def _ending_on_signals() -> threading.Event:
    """An event that SIGTERM and Ctrl-C set.

    A handler runs between two instructions of the main thread, which may hold the event's own lock just then, and would
    wait for itself. So Python only writes the signal's number into a pipe, and a thread that reads sets the event."""
    stop = threading.Event()
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # without a handler the process would end at once

    def listen() -> None:
        os.read(heard, 1)
        stop.set()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    return stop


def wait_for(core: "Core", run: "Run", with_log: bool) -> "Run":
    """The run once it has ended, with progress (and its log) on stderr. Exits with 4 unless it was completed."""
    try:
        with core.following():
            ended = _watch(core, run, with_log)
    except KeyboardInterrupt:
        shown.talk(f"\nnot waiting any longer; run {run.run_id} goes on. `aisbench stop {run.run_id}` ends it")
        click.get_current_context().exit(INTERRUPTED)
    return ended


def wait_for_series(core: "Core", series_id: str) -> "Matrix":
    """The series once nothing more happens without a person, with every change of a cell on stderr."""
    try:
        with core.following():
            return _watch_series(core, series_id)
    except KeyboardInterrupt:
        shown.talk(f"\nnot waiting any longer; series {series_id} goes on. `aisbench series stop {series_id}` ends it")
        click.get_current_context().exit(INTERRUPTED)


def _watch_series(core: "Core", series_id: str) -> "Matrix":
    pause = threading.Event()
    said: dict[int, str] = {}
    while True:
        matrix = core.series.look(series_id)
        for row in matrix.rows:
            for cell in row.cells:
                now = str(cell.tries[-1].state)
                if said.setdefault(cell.index, "planned") != now:
                    said[cell.index] = now
                    shown.talk(
                        f"cell {cell.index} of {len(matrix.cells)}, {row.asked.title}, repeat {cell.repeat}: {now}"
                    )
        if matrix.state.has_ended or (matrix.hold and matrix.state == "held"):
            return matrix
        pause.wait(LOOK_SECONDS * 2)


def say_who_follows(core: "Core") -> None:
    """Say so if nobody carries runs on."""
    if not _waits_for(core):
        shown.talk("nobody follows the runs now: start `aisbench follow`, or the console")


def _waits_for(core: "Core") -> str:
    beat = core.followed()
    if beat is None or not beat.is_fresh(core.clock()):
        return ""
    return f"{beat.who} follows the runs already; waiting in line to take over"


def _watch(core: "Core", run: "Run", with_log: bool) -> "Run":
    pause = threading.Event()
    said = ""
    position = 0
    while True:
        run = core.ledger.get(run.run_id)
        said = _say(core, run, said)
        if with_log:
            position = print_log(core, run.run_id, 0, position, err=True)
        if run.state.is_terminal:
            return run
        pause.wait(LOOK_SECONDS)


def print_log(core: "Core", run_id: str, node: int, position: int, err: bool = False) -> int:
    """Print what a node's log holds from a position on; returns the next position."""
    while True:
        text, after = core.files.log_read(run_id, node, position)
        if after == position:
            return position
        click.echo(text, nl=False, err=err)
        position = after


def _say(core: "Core", run: "Run", said: str) -> str:
    """One line for each state and each quarter of its progress; returns what was said last."""
    progress = core.ledger.progress(run.run_id)
    where = ""
    if progress and progress.total and progress.state is run.state:
        where = f" {int(progress.fraction * 4) * 25} % of {progress.total} {progress.unit}"
    text = f"{shown.state(run)}{where}" + (f": {run.detail}" if run.detail else "")
    if text != said:
        shown.talk(f"{shown.moment(run.updated_at)}  {text}")
    return text


def end_with(run: "Run") -> None:
    """Exit with 4 unless the run was completed."""
    from aisbench_core.model import RunState

    if run.state is not RunState.COMPLETED:
        click.get_current_context().exit(RUN_FAILED)
