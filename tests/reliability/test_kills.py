"""kill -9, twenty times in every state: follower, console and sandbox."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from aisbench_core.model import LINE, Run, RunState
from aisbench_core.wiring import Core
from tests.actors import named
from tests.browser.conftest import QUICK
from tests.browser.console_process import ConsoleProcess
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC
from tests.flow.killable import Killable
from tests.flow.killings import MS_PER_REQUEST, Killings, Victim, walk, walk_and_stop
from tests.flow.trouble import jobs_named
from tests.reliability.outcomes import campaign
from tests.sandbox_process import SandboxProcess

TIMES, MOST_ROUNDS = 20, 60
STATES = [*LINE[: LINE.index(RunState.COLLECTING) + 1], RunState.STOPPING]
LONGEST_SECONDS = 120.0


class KillableConsole:
    """A console that follows, as a victim."""

    def __init__(self, shell: CommandLine, core: Core) -> None:
        self._console = ConsoleProcess(shell.data_dir, {**QUICK, "profile": "lab", "tick_seconds": "0.02"})
        self._core = core

    def start(self) -> None:
        self._console.resume()
        mine = f"(process {self._console.pid})"
        self.wait(lambda: mine in getattr(self._core.ledger.last_beat(), "who", ""), "the console to follow")

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        await_true(condition, what)

    def kill(self) -> None:
        self._console.kill()


def await_true(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {LONGEST_SECONDS} s in vain for: {what}"
        time.sleep(0.002)


@pytest.fixture
def follower(shell: CommandLine, core: Core) -> Iterator[Killable]:
    follower = Killable(shell, core)
    yield follower
    follower.kill()


@pytest.fixture
def console(shell: CommandLine, core: Core) -> Iterator[KillableConsole]:
    console = KillableConsole(shell, core)
    yield console
    console.kill()


def kill_in_every_state(
    core: Core, sandbox: SandboxProcess, victim: Victim, times: int = TIMES, most_rounds: int = MOST_ROUNDS
) -> Killings:
    """Walk runs through all states until the victim was killed so often in each of them, then let all runs end."""
    sandbox.latency(MS_PER_REQUEST, MS_PER_REQUEST)
    killings = Killings(core, sandbox, victim)
    completed: list[Run] = []
    stopped: list[Run] = []
    while len(completed) < most_rounds and any(killings.hits[state] < times for state in STATES):
        completed.append(walk(core, sandbox, killings, unlucky=len(completed) % 2 == 1))
        stopped.append(walk_and_stop(core, killings, victim))
    victim.start()
    victim.wait(lambda: not core.ledger.active(), "all runs to end")
    victim.kill()
    assert all(killings.hits[state] >= times for state in STATES), killings.hits
    killings.assert_nothing_lost_or_doubled(completed, stopped)
    return killings


def test_a_killed_follower_loses_nothing(core: Core, sandbox: SandboxProcess, follower: Killable) -> None:
    with campaign("Follower killed in every state", __file__) as row:
        killings = kill_in_every_state(core, sandbox, follower)
        row.repetitions = counted(killings.hits)
        row.outcome = "nothing lost, nothing twice"


def test_a_killed_console_loses_nothing(core: Core, sandbox: SandboxProcess, console: KillableConsole) -> None:
    with campaign("Console that follows killed in every state", __file__) as row:
        killings = kill_in_every_state(core, sandbox, console)
        row.repetitions = counted(killings.hits)
        row.outcome = "nothing lost, nothing twice"


def test_a_killed_sandbox_delays_runs_and_loses_none(core: Core, sandbox: SandboxProcess, follower: Killable) -> None:
    with campaign("Sandbox killed in every state", __file__) as row:
        follower.start()
        hits: Counter[RunState] = Counter()
        runs = [kill_the_sandbox(core, sandbox, state, hits) for _ in range(TIMES) for state in STATES]
        await_true(lambda: not core.ledger.active(), "all runs to end")

        ended = Counter(core.ledger.get(run.run_id).state for run in runs)
        assert set(ended) <= {RunState.COMPLETED, RunState.STOPPED}, ended
        jobs = {run.run_id: len(jobs_named(sandbox, run.job_name)) for run in runs}
        assert set(jobs.values()) == {1}, {run_id: count for run_id, count in jobs.items() if count != 1}
        assert all(core.warehouse.runs.find_row(run.run_id) for run in runs)
        row.repetitions = counted(hits)
        row.outcome = "nothing lost, nothing twice"


def kill_the_sandbox(core: Core, sandbox: SandboxProcess, state: RunState, hits: Counter[RunState]) -> Run:
    """Kill the sandbox while a run is in that state, start it again, and wait until the run has ended."""
    script = {"by": "hold"} if state is RunState.STOPPING else {"by": "look"}
    sandbox.script(outputs=GOOD, log="step 1\n", **script)
    sandbox.latency(MS_PER_REQUEST, MS_PER_REQUEST)
    run = core.runs.launch(SPEC, "lab", named(PERSON))

    def now() -> RunState:
        return core.ledger.get(run.run_id).state

    if state is RunState.STOPPING:
        await_true(lambda: now() is RunState.RUNNING, "the run to run")
        core.runs.stop(run.run_id, named(PERSON))
    await_true(lambda: now() is state or now().is_terminal, f"the run to be {state}")
    sandbox.kill()
    hits[now()] += 1
    sandbox.resume()
    await_true(lambda: now().is_terminal, f"run {run.run_id} to end")
    return run


def counted(hits: Counter[RunState]) -> str:
    """How often in which state."""
    return f"{hits.total()}: " + ", ".join(f"{state} {hits[state]}" for state in hits)
