"""`aisbench follow`, `explain` and `notify`, and waiting for runs, with a follower if there is none."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from aisbench_core.base.errors import AisbenchError, LedgerUnavailable
from aisbench_core.base.messages import Message
from aisbench_core.domain.access.guard import require_first
from aisbench_core.domain.authoring.specfile import to_yaml
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.exit_codes import HELD, INTERRUPTED, RUN_FAILED
from aisbench_core.interfaces.cli.invocation import get_invocation
from aisbench_core.interfaces.cli.job_text import explanation_text
from aisbench_core.interfaces.cli.options import Group, choose_value, command
from aisbench_core.model import NewsKind
from aisbench_core.people.notifications.channels import (
    DEFAULT_KINDS,
    WEBHOOK,
    NotificationChannel,
    NotificationChannels,
    channel_of,
)

if TYPE_CHECKING:
    from aisbench_core.model import Delivery, Run, Series
    from aisbench_core.running.series.matrix import Matrix
    from aisbench_core.wiring import Core

STOPPING = (signal.SIGTERM, signal.SIGINT)
RETRY_SECONDS = 1.0
POLL_SECONDS = 0.25  # reads the local ledger only, never the cloud


@command()
@click.option("--quiet", is_flag=True, help="Print errors only.")
def follow(quiet: bool) -> None:
    """Run a follower until interrupted: it uploads, submits, monitors and collects all runs.

    One follower is active, and others wait to take over; with a ledger in PostgreSQL, followers share the profiles.
    While PostgreSQL does not answer, it says why, waits, and goes on by itself.
    Stop it with Ctrl-C or SIGTERM: no run is lost, and the next follower continues.
    """
    core = open_core(writing=True)
    stop = _stop_on_signals()
    message = (lambda _: None) if quiet else display.print_message
    # Fail on a damaged ledger now; the follower would wait for a repaired one.
    active = _await_answer(lambda: _active_follower(core), LedgerUnavailable, "waiting for the ledger", stop)
    message(active or "following all runs; press Ctrl-C to stop")
    with _warehouse_reported(core, stop):
        core.following.follower(stop).run_forever(stop)
    for number in STOPPING:  # while it exits, Python puts back the default, which would kill this process
        signal.signal(number, signal.SIG_IGN)
    message("stopped following; runs continue in the cloud, and the next follower picks them up")


@contextmanager
def _warehouse_reported(core: Core, stop: threading.Event) -> Iterator[None]:
    """Say on stderr if a team's warehouse does not answer now, and when it does: runs are followed meanwhile."""
    if not core.settings.has_team_warehouse:
        yield
        return
    outage = "results are stored once the warehouse answers"
    thread = threading.Thread(target=_await_answer, args=(core.warehouse.revision, AisbenchError, outage, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()  # to end the process inside DuckDB would crash it


def _await_answer(answer: Callable[[], str], passing: type[AisbenchError], outage: str, stop: threading.Event) -> str:
    """The answer; until there is one, each error that may pass is printed once. Empty if `stop` is set meanwhile."""
    last_error = ""
    while not stop.is_set():
        try:
            answered = answer()
        except passing as error:
            if str(error) != last_error:
                display.print_message(f"{outage}: {error}")
            last_error = str(error)
        else:
            if last_error:
                display.print_message("PostgreSQL answers; continuing")
            return answered
        stop.wait(RETRY_SECONDS)
    return ""


def _stop_on_signals() -> threading.Event:
    # A handler runs between two instructions of the main thread. If that thread holds the event's lock just then,
    # setting the event in the handler would deadlock. So Python only writes the signal's number to a pipe, and another
    # thread reads it and sets the event.
    stop = threading.Event()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # a full pipe must not block the signal handler
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in STOPPING:
        signal.signal(number, lambda *_: None)  # without a handler the process would end at once

    def listen() -> None:
        os.read(reader, 1)
        stop.set()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    return stop


def wait_for(core: Core, run: Run, with_log: bool) -> Run:
    """The run after its end, or held; progress (and its log) goes to stderr. Exits with 130 on Ctrl-C."""
    pause = threading.Event()
    printed = ""
    position = 0
    with follow_meanwhile(core, f"run {run.run_id} continues. To stop it: aisbench stop {run.run_id}"):
        while True:
            run = core.ledger.get(run.run_id)
            printed = _print_state(core, run, printed)
            if with_log:
                position = print_log(core, run.run_id, 0, position, err=True)
            if run.state.is_terminal or run.state == "held":  # an approval can take days
                return run
            pause.wait(POLL_SECONDS)


def wait_for_series(core: Core, series_id: str) -> Matrix:
    """The series when nothing more happens without a user; changes of cells go to stderr. Exits with 130 on Ctrl-C."""
    pause = threading.Event()
    states: dict[int, str] = {}
    with follow_meanwhile(core, f"series {series_id} continues. To stop it: aisbench series stop {series_id}"):
        while True:
            matrix = core.series.matrix(series_id)
            for title, cell in [(row.planned.title, cell) for row in matrix.rows for cell in row.cells]:
                state = str(cell.tries[-1].state)
                if states.get(cell.index, "planned") != state:
                    number = f"cell {cell.index} of {len(matrix.cells)}"
                    display.print_message(f"{number}, {title}, repeat {cell.repeat}: {state}")
                states[cell.index] = state
            # On hold a user must raise the budget.
            waits = matrix.series.held or matrix.hold
            if matrix.state.has_ended or (waits and matrix.state == "held"):
                return matrix
            pause.wait(POLL_SECONDS * 2)


@contextmanager
def follow_meanwhile(core: Core, on_interrupt: str) -> Iterator[None]:
    """Follow in this process unless another does. Nobody else might, and the wait would never end."""
    try:
        with nullcontext() if _is_left_to_others(core) else core.following.in_background():
            yield
    except KeyboardInterrupt:
        display.print_message(f"\nno longer waiting; {on_interrupt}")
        click.get_current_context().exit(INTERRUPTED)


def _is_left_to_others(core: Core) -> bool:
    """Whether this is a command on a server that follows no runs."""
    return bool(get_invocation().served) and not core.settings.console_follows


def warn_without_follower(core: Core) -> None:
    if not _active_follower(core):
        display.print_message("no follower is active: start `aisbench follow` or the console")


def _active_follower(core: Core) -> str:
    beat = core.ledger.last_beat()
    if beat is None or not beat.is_fresh(core.clock()):
        return ""
    if core.settings.has_team_ledger:
        return f"{beat.who} leads; followers share the profiles"
    return f"{beat.who} is already following; waiting to take over"


def print_log(core: Core, run_id: str, node: int, position: int, err: bool = False) -> int:
    """Print a node's log from a position on; returns the next position."""
    while True:
        text, end = core.files.log_read(run_id, node, position)
        if end == position:  # a read returns 1 MB at most
            return position
        click.echo(text, nl=False, err=err)
        position = end


def _print_state(core: Core, run: Run, printed: str) -> str:
    """Print the state and progress if the line differs from the last one printed; returns the line."""
    progress = core.ledger.progress(run.run_id)
    share = ""
    if progress and progress.has_no_total and progress.state is run.state:
        share = f" {progress.unit}"
    elif progress and progress.is_plausible and progress.state is run.state:
        # In quarters: a line for each file of an upload would flood the terminal.
        share = f" {int(progress.fraction * 4) * 25} % of {progress.total} {progress.unit}"
    elif progress and progress.stage and progress.state is run.state:
        share = f" {progress.stage}"
    line = f"{display.format_state(run)}{share}" + (f": {run.explanation}" if run.explanation else "")
    if line != printed:
        display.print_message(f"{display.local_time(run.updated_at)}  {line}")
    return line


def end_with(run: Run) -> None:
    end_if_held(run)
    if run.state != "completed":
        click.get_current_context().exit(RUN_FAILED)


def end_if_held(run: Run) -> None:
    """Exit with 9 if the run waits for an approval."""
    if run.state == "held":
        _end_held(run.run_id, run.explanation)


def end_if_series_held(series: Series) -> None:
    """Exit with 9 if the series waits for an approval."""
    if series.held:
        _end_held(series.series_id, series.held)


def _end_held(subject: str, reason: str) -> None:
    display.print_message(f"held: {reason}")
    display.print_message(f"a lead or an admin lets it begin: aisbench approve {subject}")
    click.get_current_context().exit(HELD)


@command()
@click.option("--corrected", is_flag=True, help="Print the corrected spec as YAML, for `aisbench run`.")
def explain(run_id: str, corrected: bool, as_json: bool) -> None:
    """Explain why a run failed or hangs: first error, probable cause, what to do.

    Rules search what the platform says about the job, its logs and its exit codes; see docs/diagnosis.md. The answer
    may be that the cause is unknown.
    """
    causes = open_core(writing=False).causes
    if corrected:
        click.echo(to_yaml(causes.correct_spec(run_id)), nl=False)
        return
    found = causes.explain(run_id)
    display.print_result(found, as_json, lambda: explanation_text(found))


notify = Group(
    "notify",
    help="Notify people about runs by mail, chat or webhook; see docs/notifications.md.",
)


@notify.command("list")
def list_channels(as_json: bool) -> None:
    """List the channels, without the keys of their addresses."""
    channels = open_core(writing=False).notifications.channels.all()
    columns: display.Columns[NotificationChannel] = {
        "channel": lambda channel: channel.name,
        "address": lambda channel: channel.masked,
        "events": lambda channel: ", ".join(channel.events),
        "workloads": lambda channel: display.format_value(", ".join(channel.workloads)),
        "people": lambda channel: display.format_value(", ".join(channel.people)),
        "view": lambda channel: display.format_value(channel.view),
    }
    plain = [_to_plain(channel) for channel in channels]
    display.print_result(plain, as_json, lambda: display.table_of(channels, columns))


@notify.command("add")
@click.argument("name")
@click.option("--event", "events", multiple=True, type=choose_value(NewsKind), help="What is told; can be repeated.")
@click.option("--workload", "workloads", multiple=True, help="Only runs of this workload; can be repeated.")
@click.option("--person", "people", multiple=True, help="Only runs that this person launched; can be repeated.")
@click.option("--view", default="", help="Only runs that this saved view of the leaderboard shows.")
@click.option("--language", type=click.Choice(["en", "zh"]), default="en", help="Language of the messages.")
@click.option("--replace", is_flag=True, help="Replace the channel if there is one of that name.")
def add_channel(
    name: str,
    events: tuple[str, ...],
    workloads: tuple[str, ...],
    people: tuple[str, ...],
    view: str,
    language: str,
    replace: bool,
    as_json: bool,
) -> None:
    """Add a channel.

    The address is asked for, or read from stdin if that is no terminal, since arguments can be seen by others: the
    first line is the address, the second one the secret of a webhook. ${AISBENCH_NOTIFY_…} stands for that variable
    in the environment of the process that follows runs.
    """
    core = open_core(writing=True)
    require_first(get_actor(), NotificationChannels.save.__qualname__)
    url, secret = _read_address(WEBHOOK)
    answers = {
        "name": name, "url": url, "events": events or DEFAULT_KINDS, "workloads": workloads, "people": people,
        "view": view, "language": language,
    }  # fmt: skip
    channel = channel_of(answers | ({"secret": secret} if secret else {}), Message("channel"))
    core.notifications.channels.save(channel, get_actor(), replace=replace)
    display.print_result(_to_plain(channel), as_json, lambda: f"{channel.name}: {channel.masked}")


@notify.command("remove")
@click.argument("name")
def remove_channel(name: str) -> None:
    """Remove a channel, and what it was still to be sent."""
    open_core(writing=True).notifications.remove(name, get_actor())


@notify.command("test")
@click.argument("name")
def test_channel(name: str) -> None:
    """Send a test to a channel now."""
    open_core(writing=True).notifications.test(name, get_actor())
    display.print_message("sent")


@notify.command("log")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, help="How many, the newest first.")
def show_log(limit: int, as_json: bool) -> None:
    """List what was sent, and what is still to be sent, with the last error."""
    deliveries, _ = open_core(writing=False).notifications.outbox.page(limit)
    columns: display.Columns[Delivery] = {
        "at": lambda each: display.local_time(each.notification.at),
        "event": lambda each: each.notification.kind.value,
        "subject": lambda each: each.notification.subject,
        "channel": lambda each: each.channel,
        "state": lambda each: each.state.value,
        ">attempts": lambda each: str(each.attempts),
        "error": lambda each: display.format_value(each.error),
    }
    display.print_result(deliveries, as_json, lambda: display.table_of(deliveries, columns))


def _read_address(webhooks: tuple[str, ...]) -> tuple[str, str]:
    """The address, and a webhook's secret."""
    if not sys.stdin.isatty():
        lines = [*sys.stdin.read().splitlines(), "", ""]
        return lines[0], lines[1]
    url = click.prompt("address", hide_input=True, err=True)
    is_webhook = url.partition("://")[0].lower() in webhooks
    return url, click.prompt("secret that signs messages", hide_input=True, err=True) if is_webhook else ""


def _to_plain(channel: NotificationChannel) -> dict[str, object]:
    return {"address": channel.masked} | channel.model_dump(mode="json", exclude={"url", "secret"})
