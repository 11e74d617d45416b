"""Two consoles and a command line that launch at once on one data folder, and thirty browser sessions on one."""

import itertools
import re
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aisbench_core.model import RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import Core
from tests import records as a
from tests.browser.conftest import QUICK
from tests.browser.console_process import ConsoleProcess
from tests.browser.visit import Visit
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD
from tests.flow.trouble import jobs_named
from tests.reliability.outcomes import campaign
from tests.sandbox_process import SandboxProcess

ROUNDS = 10
SESSIONS, SECONDS = 30, 300.0
LONGEST_SECONDS = 180.0
PAGES = ("/configure", "/runs", "/live", "/series", "/leaderboard", "/compare", "/scaling", "/history", "/import")

Open = Callable[[ConsoleProcess], Visit]


@pytest.fixture
def consoles(shell: CommandLine) -> Iterator[list[ConsoleProcess]]:
    """Two of them on one data folder."""
    both = [ConsoleProcess.start(shell.data_dir, profile="lab", **QUICK) for _ in range(2)]
    yield both
    for console in both:
        console.kill()


def test_two_consoles_and_a_command_line_make_one_job_of_each_launch(
    core: Core, shell: CommandLine, sandbox: SandboxProcess, consoles: list[ConsoleProcess], session: Open
) -> None:
    sandbox.script(by="look", outputs=GOOD)
    visits = [session(console) for console in consoles]
    words = ("run", "quickstart_digits", "--set", "flavor=sandbox.cpu.2cards", "--cards", "2")
    with campaign("Two consoles and a command line", __file__) as row:
        launched = []
        for number in range(ROUNDS):
            typed = shell.start(*words)
            launched += [visit.launch_draft() for visit in visits]
            launched.append(typed.communicate(timeout=LONGEST_SECONDS)[0].split()[0])
            console = consoles[number % 2]
            console.kill()
            console.resume()
        await_end(core)

        assert sorted(launched) == sorted(run.run_id for run in core.ledger.page(limit=500))
        for run_id in launched:
            run = core.ledger.get(run_id)
            assert run.state is RunState.COMPLETED, run.detail
            assert len(jobs_named(sandbox, run.job_name)) == 1
            assert core.warehouse.runs.find_row(run_id)
        row.repetitions = f"{len(launched)} launches from three sides, {ROUNDS} kills of a console"
        row.outcome = f"{len(launched)} runs, each with one job and one result"


def await_end(core: Core) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while core.ledger.active():
        assert time.monotonic() < deadline, "runs do not end"
        time.sleep(0.1)


def test_thirty_sessions_walk_through_all_pages(shell: CommandLine, session: Open) -> None:
    Warehouse(shell.data_dir / "warehouse.duckdb").record_many(a.records([8000.0 + n for n in range(40)], "run"))
    console = ConsoleProcess.start(shell.data_dir, profile="lab", **QUICK)
    try:
        with campaign("Browser sessions", __file__) as row:
            visits = [session(console) for _ in range(SESSIONS)]
            turns = walk_for(SECONDS, visits)
            troubles = [trouble for visit in visits for trouble in visit.troubles()]
            assert troubles == []
            assert "incident" not in console.said
            row.repetitions = f"{SESSIONS} sessions, {len(turns) * SESSIONS} pages in {SECONDS / 60:g} minutes"
            row.outcome = (
                f"no error on any page; {SESSIONS} pages opened at once all stood after "
                f"{statistics.median(turns):.1f} s in the median; console: {memory_mb(console.pid)} MB at the end"
            )
    finally:
        console.kill()


def walk_for(seconds: float, visits: list[Visit]) -> list[float]:
    """Let all sessions go to their next pages at the same moment, again and again; how long each turn took."""
    turns, end = [], time.monotonic() + seconds
    for turn in itertools.count():
        begun = time.monotonic()
        for number, visit in enumerate(visits):
            visit.page.goto(visit.url(PAGES[(turn + number) % len(PAGES)]), wait_until="commit")
        for visit in visits:
            visit.settle()
            assert "Incident" not in visit.says()
        turns.append(time.monotonic() - begun)
        if time.monotonic() > end:
            break
    return turns


def memory_mb(pid: int) -> int:
    """What a process holds now."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    held = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    assert held
    return int(held[1]) // 1024
