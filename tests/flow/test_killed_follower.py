"""The follower is killed in every state, again and again: nothing is lost, nothing happens twice."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aisbench_core.core import Core
from aisbench_core.model import LINE, Run, RunState
from aisbench_core.settings import Settings
from aisbench_core.warehouse import BoardQuery
from aisbench_core.wiring import open_core
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC
from tests.flow.killable import Killable
from tests.flow.trouble import jobs_named
from tests.sandbox_process import SandboxProcess

ROUNDS = 3
MOST_ROUNDS = 20
"""A busy machine may let a state pass by before it is seen: then there is one more run."""

MS_PER_REQUEST = 40
CREATE = {"service": "modelarts", "method": "POST", "path": "/training-jobs$"}
WAY = ["uploading", "submitting", "queued", "running", "collecting", "completed"]


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    return CommandLine(tmp_path / "data", sandbox)


@pytest.fixture
def core(shell: CommandLine) -> Core:
    return open_core(Settings(data_dir=shell.data_dir, profile="lab"))


@pytest.fixture
def follower(shell: CommandLine, core: Core) -> Iterator[Killable]:
    follower = Killable(shell, core)
    yield follower
    follower.kill()


class Killings:
    """Kills the follower while it is at work on a run, and remembers in which state the run was then."""

    def __init__(self, core: Core, sandbox: SandboxProcess, follower: Killable) -> None:
        self.hits: Counter[RunState] = Counter()
        self._core = core
        self._sandbox = sandbox
        self._follower = follower

    def state(self, run: Run) -> RunState:
        return self._core.ledger.get(run.run_id).state

    def in_every_state(self) -> bool:
        """Whether there is no state left in which it was not killed."""
        return set(self.hits) >= {*LINE, RunState.STOPPING}

    def kill_in(self, run: Run, state: RunState, also: Callable[[], bool] = lambda: True) -> None:
        """Start a follower, and kill it in the middle of what it does for the run in that state."""
        self._sandbox.forget_requests()
        self._follower.start()
        self._follower.wait(
            lambda: self._is_past(run, state) or (self.state(run) is state and self._is_asking() and also()),
            f"run {run.run_id} to be in the middle of {state}",
        )
        self._follower.kill()
        self.hits[self.state(run)] += 1

    def _is_past(self, run: Run, state: RunState) -> bool:
        order = [*LINE[:-1], RunState.STOPPING, RunState.COLLECTING, *RunState]
        return order.index(self.state(run)) > order.index(state)

    def _is_asking(self) -> bool:
        return any(any(counts.values()) for counts in self._sandbox.requests().values())


def walk(core: Core, sandbox: SandboxProcess, killings: Killings, unlucky: bool) -> Run:
    """A run whose follower is killed in each state; `unlucky`: where it is worst."""
    run = core.launch(SPEC, "lab", PERSON)
    record = core.settings.runs_dir / run.run_id / "record.json"
    for state in (RunState.PREPARING, RunState.UPLOADING):
        killings.kill_in(run, state)
    if unlucky:
        sandbox.faults({**CREATE, "drop": "after"})
        killings.kill_in(run, RunState.SUBMITTING, lambda: core.ledger.get(run.run_id).is_retrying)
        assert len(jobs_named(sandbox, run.job_name)) == 1, "the job is there, and nobody knows"
    killings.kill_in(run, RunState.SUBMITTING)
    killings.kill_in(run, RunState.QUEUED)
    killings.kill_in(run, RunState.RUNNING)
    sandbox.advance(core.ledger.get(run.run_id).job_id)
    killings.kill_in(run, RunState.COLLECTING, record.exists if unlucky else lambda: True)
    return run


def walk_and_stop(core: Core, killings: Killings, follower: Killable) -> Run:
    """A run that is stopped while it runs, and whose follower is killed while it stops the job."""
    run = core.launch(SPEC, "lab", PERSON)
    follower.start()
    follower.wait(lambda: killings.state(run) is RunState.RUNNING, "the run to run")
    follower.kill()
    core.stop(run.run_id, PERSON)
    killings.kill_in(run, RunState.STOPPING)
    return run


def test_a_follower_that_is_killed_in_every_state_loses_nothing_and_does_nothing_twice(
    core: Core, sandbox: SandboxProcess, follower: Killable
) -> None:
    sandbox.latency(MS_PER_REQUEST, MS_PER_REQUEST)
    killings = Killings(core, sandbox, follower)

    completed: list[Run] = []
    stopped: list[Run] = []
    while len(completed) < ROUNDS or (len(completed) < MOST_ROUNDS and not killings.in_every_state()):
        completed.append(walk(core, sandbox, killings, unlucky=len(completed) == 1))
        stopped.append(walk_and_stop(core, killings, follower))
    follower.start()
    follower.wait(lambda: not core.ledger.active(), "all runs to end")
    follower.kill()

    assert sum(killings.hits.values()) >= 20
    assert killings.in_every_state(), killings.hits
    assert [killings.state(run) for run in completed] == [RunState.COMPLETED] * len(completed)
    assert [killings.state(run) for run in stopped] == [RunState.STOPPED] * len(stopped)
    for run in completed + stopped:
        assert len(jobs_named(sandbox, run.job_name)) == 1
    recorded = core.warehouse.runs(BoardQuery("sandbox", include_invalid=True))
    assert sorted(row.run_id for row in recorded.rows) == sorted(run.run_id for run in completed + stopped)
    assert [len(core.warehouse.rank_results(run.run_id)) for run in completed] == [SPEC.card_count] * len(completed)
    assert [moves(core, run) for run in completed] == [WAY] * len(completed)
    assert [moves(core, run)[-2:] for run in stopped] == [["collecting", "stopped"]] * len(stopped)


def moves(core: Core, run: Run) -> list[str]:
    """The states that a run came to, as its events tell."""
    words = [event.message.partition(":")[0] for event in core.ledger.events(run.run_id)]
    return [word for word in words if word in set(RunState)]
