"""`aisbench logs`: logs as they are, or lines as the run's page shows them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base.errors import DamagedLedger
from aisbench_core.domain.logs.first_errors import RankError, in_order
from aisbench_core.domain.logs.lines import Line, LineFilter, LogLevel
from aisbench_core.domain.logs.patterns import LogPattern
from aisbench_core.domain.logs.searching import MOST_COUNTED, NodeHits
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.exit_codes import INTERRUPTED
from aisbench_core.interfaces.cli.following import POLL_SECONDS, print_log, warn_without_follower
from aisbench_core.interfaces.cli.maintenance.cleaning import removal_text
from aisbench_core.interfaces.cli.options import command

if TYPE_CHECKING:
    from aisbench_core.wiring import Core


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which lines of which nodes are printed, and how."""

    node: int | None
    all_nodes: bool
    tail: int | None
    since: str
    grep: str
    regex: str
    level: str | None
    no_system: bool
    errors: bool
    follow: bool
    as_json: bool

    @property
    def nodes(self) -> list[int] | None:
        return None if self.all_nodes or self.errors else [self.node or 0]

    @property
    def wanted(self) -> LineFilter:
        return LineFilter(LogLevel(self.level or "none"), system=not self.no_system)

    @property
    def is_raw(self) -> bool:
        """Whether the log is printed as it is."""
        return not (self.all_nodes or self.since or self.level or self.no_system or self.as_json)

    def check(self) -> None:
        """Raises click.UsageError for options that cannot be combined."""
        groups = {
            "--errors": ("grep", "regex", "follow", "tail", "since", "level", "no_system", "node"),
            "--grep": ("regex", "follow", "tail", "since"),
            "--regex": ("follow", "tail", "since"),
            "--follow": ("tail", "since", "as_json"),
            "--tail": ("since",),
            "--all-nodes": ("node",),
        }
        for option, excluded in groups.items():
            if _is_given(getattr(self, option[2:].replace("-", "_"))):
                for name in excluded:
                    if _is_given(getattr(self, name)):
                        other = "json" if name == "as_json" else name.replace("_", "-")
                        raise click.UsageError(f"{option} cannot be combined with --{other}")


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != ""


@command()
@click.option("--node", type=click.IntRange(0), metavar="N", help="Number of the node; default: 0.")
@click.option("--all-nodes", is_flag=True, help="All nodes, by time where lines carry one.")
@click.option("--tail", type=click.IntRange(1), metavar="LINES", help="Print the last lines only.")
@click.option("--since", default="", metavar="TIME", help="From a time on, such as 03:04 or '2026-01-02 03:04:05'.")
@click.option("--grep", default="", metavar="TEXT", help="Lines with this text; lower-case text matches any case.")
@click.option("--regex", default="", metavar="PATTERN", help="Lines that match this regular expression (RE2).")
@click.option("--level", type=click.Choice(["warning", "error"]), help="Lines of this level, or worse.")
@click.option("--no-system", is_flag=True, help="Without the lines of the platform.")
@click.option("--errors", is_flag=True, help="Print the first error of each rank of all nodes, the earliest first.")
@click.option("--follow", is_flag=True, help="Print new lines until the run ends. Ctrl-C stops printing, not the run.")
def logs(run_id: str, as_json: bool, **options: Any) -> None:
    """Print logs, as far as they were fetched.

    Without an option that chooses lines, the log of a node is printed as it is. With one, colours are removed and
    control characters made visible; lines of several nodes begin with the number of the node. TIME is as the lines
    write it.
    """
    choice = _Choice(**options, as_json=as_json)
    choice.check()
    core = open_core(writing=False)
    with suppress(DamagedLedger):  # fetched logs can be read without the ledger
        run_id = core.ledger.get(run_id).run_id
    core.files.nodes(run_id)
    display.warn_of_old_files(core.files.log_problem(run_id))
    if choice.follow:
        _follow_log(core, run_id, choice)
    elif choice.errors:
        _print_first_errors(core, run_id, as_json)
    elif choice.grep or choice.regex:
        _print_hits(core, run_id, choice)
    elif not choice.is_raw:
        _print_lines(_read_lines(core, run_id, choice), choice)
    elif choice.tail:
        click.echo(core.files.log_tail(run_id, choice.node or 0, choice.tail), nl=False)
    elif print_log(core, run_id, choice.node or 0, 0) == 0:
        _say_why_it_is_empty(core, run_id, choice.node or 0)


def _read_lines(core: Core, run_id: str, choice: _Choice) -> Iterable[Line]:
    if choice.tail:
        return core.logs.last(run_id, choice.tail, choice.nodes, choice.wanted).lines
    since = core.logs.moment(run_id, choice.since, choice.nodes) if choice.since else None
    return core.logs.whole(run_id, choice.nodes, choice.wanted, since)


def _print_lines(lines: Iterable[Line], choice: _Choice) -> None:
    """As they are read: a log may have 10 GB."""
    if not choice.as_json:
        for line in lines:
            click.echo(_format_line(line, choice))
        return
    between = "[\n"
    for line in lines:
        click.echo(between + display.to_json(_to_plain(line)), nl=False)
        between = ",\n"
    click.echo("[]" if between == "[\n" else "\n]")


def _format_line(line: Line, choice: _Choice) -> str:
    return line.text if choice.nodes else f"{line.node}: {line.text}"


def _to_plain(line: Line) -> dict[str, object]:
    return _plain_time(line.at) | display.pick_fields(line, "node", "offset", "level", "is_system", "text")


def _plain_time(at: datetime | None) -> dict[str, object]:
    """`at` is no time of ours: the line does not say in which time zone it is."""
    return {"at": at.isoformat() if at else None}


def _print_hits(core: Core, run_id: str, choice: _Choice) -> None:
    pattern = LogPattern(choice.grep or choice.regex, is_regex=bool(choice.regex))
    found = []
    results = core.logs.search(run_id, pattern, choice.nodes, choice.wanted, most_lines=MOST_COUNTED)
    for hits in _by_node(results, core.logs.sizes(run_id, choice.nodes)):
        if choice.as_json:
            lines = [_to_plain(line) for line in hits.lines]
            found.append(display.pick_fields(hits, "node", "count", "has_more") | {"lines": lines})
            continue
        for line in hits.lines:
            click.echo(_format_line(line, choice))
        if hits.has_more:
            display.print_message(f"node {hits.node}: more than {hits.count:,} lines match; these are the first")
    if choice.as_json:
        click.echo(display.to_json(found))


def _by_node(results: Iterable[NodeHits], nodes: Iterable[int]) -> Iterator[NodeHits]:
    """What was found in each whole log, in the order of nodes: two are searched at a time, and either may be first."""
    done: dict[int, NodeHits] = {}
    awaited = deque(sorted(nodes))
    for hits in results:
        if hits.is_done:
            done[hits.node] = hits
        while awaited and awaited[0] in done:
            yield done.pop(awaited.popleft())
    yield from (done[node] for node in sorted(done))  # of logs that came or went meanwhile


def _print_first_errors(core: Core, run_id: str, as_json: bool) -> None:
    errors: Sequence[RankError] = in_order(core.logs.first_errors(run_id))
    columns: display.Columns[RankError] = {
        ">node": lambda error: str(error.line.node),
        ">rank": lambda error: display.format_value(error.rank),
        "at": lambda error: display.format_value(error.at),
        "error": lambda error: error.cause,
    }
    plain = [
        display.pick_fields(error, "rank", "cause") | _plain_time(error.at) | {"line": _to_plain(error.line)}
        for error in errors
    ]
    display.print_result(plain, as_json, lambda: display.table_of(errors, columns) if errors else "no errors")


def _say_why_it_is_empty(core: Core, run_id: str, node: int) -> None:
    nodes = ", ".join(map(str, core.files.nodes(run_id))) or "none yet"
    display.print_message(f"no log of node {node}; nodes with a log: {nodes}")
    for removal in (each for each in core.cleaning.removals(run_id) if each.part == "folder"):
        display.print_message(f"the run's folder: {removal_text(removal)}")


def _follow_log(core: Core, run_id: str, choice: _Choice) -> None:
    if not core.ledger.get(run_id).state.is_terminal:
        warn_without_follower(core)
    print_new = _new_bytes(core, run_id, choice.node or 0) if choice.is_raw else _new_lines(core, run_id, choice)
    pause = threading.Event()
    try:
        while True:
            ended = core.ledger.get(run_id).state.is_terminal  # read before the log, or its last lines could be missed
            print_new(ended)
            if ended:
                return
            pause.wait(POLL_SECONDS)
    except KeyboardInterrupt:
        display.print_message(f"\nno longer printing; run {run_id} continues")
        click.get_current_context().exit(INTERRUPTED)


def _new_bytes(core: Core, run_id: str, node: int) -> Callable[[bool], None]:
    position = 0

    def print_new(_ended: bool) -> None:
        nonlocal position
        position = print_log(core, run_id, node, position)

    return print_new


def _new_lines(core: Core, run_id: str, choice: _Choice) -> Callable[[bool], None]:
    positions: dict[int, int] = {}

    def print_new(ended: bool) -> None:
        nonlocal positions
        while True:
            added = core.logs.read_added(run_id, positions, choice.nodes, ended=ended)
            _print_lines((line for line in added.lines if choice.wanted.accepts(line)), choice)
            if dict(added.positions) == positions:
                return
            positions = dict(added.positions)

    return print_new
