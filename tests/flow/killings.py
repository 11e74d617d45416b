"""Whoever follows is killed in the middle of what it does for a run, in every state; and what must hold after it."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from aisbench_core.model import LINE, Run, RunState
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.wiring import Core
from tests.actors import named
from tests.flow.following import PERSON, SPEC
from tests.flow.trouble import jobs_named
from tests.sandbox_process import SandboxProcess
from tests.stored_cards import rank_results_of

MS_PER_REQUEST = 40
CREATE = {"service": "modelarts", "method": "POST", "path": "/training-jobs$"}
WAY = ["uploading", "submitting", "queued", "running", "collecting", "completed"]


class Victim(Protocol):
    """A process that follows runs, and can be killed and started again."""

    def start(self) -> None:
        """Start one that has begun to follow."""

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that it does."""

    def kill(self) -> None:
        """End it without a warning."""


class Killings:
    """Kills the follower while it is at work on a run, and remembers in which state the run was then."""

    def __init__(self, core: Core, sandbox: SandboxProcess, follower: Victim) -> None:
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

    def assert_nothing_lost_or_doubled(self, completed: Sequence[Run], stopped: Sequence[Run]) -> None:
        """Each run ended as it should, with one job, one result and one event per move."""
        core = self._core
        assert [self.state(run) for run in completed] == [RunState.COMPLETED] * len(completed)
        assert [self.state(run) for run in stopped] == [RunState.STOPPED] * len(stopped)
        for run in [*completed, *stopped]:
            assert len(jobs_named(self._sandbox, run.job_name)) == 1
        recorded = core.warehouse.runs.list_rows(BoardQuery("sandbox", include_invalid=True, limit=1000))
        assert sorted(row.run_id for row in recorded.rows) == sorted(run.run_id for run in [*completed, *stopped])
        assert [len(rank_results_of(core.warehouse, run.run_id)) for run in completed] == [SPEC.card_count] * len(
            completed
        )
        for run in completed:
            record = core.files.record(run.run_id)
            said = [(event.at, event.message) for event in record.events if event.source == "cloud"] if record else []
            assert said
            assert len(said) == len(set(said)), "the platform's events are stored once"
        assert [moves(core, run) for run in completed] == [WAY] * len(completed)
        assert [moves(core, run)[-2:] for run in stopped] == [["collecting", "stopped"]] * len(stopped)

    def _is_past(self, run: Run, state: RunState) -> bool:
        order = [*LINE[:-1], RunState.STOPPING, RunState.COLLECTING, *RunState]
        return order.index(self.state(run)) > order.index(state)

    def _is_asking(self) -> bool:
        return any(any(counts.values()) for counts in self._sandbox.requests().values())


def walk(core: Core, sandbox: SandboxProcess, killings: Killings, unlucky: bool) -> Run:
    """A run whose follower is killed in each state; `unlucky`: where it is worst."""
    run = core.runs.launch(SPEC, "lab", named(PERSON))
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


def walk_and_stop(core: Core, killings: Killings, follower: Victim) -> Run:
    """A run that is stopped while it runs, and whose follower is killed while it stops the job."""
    run = core.runs.launch(SPEC, "lab", named(PERSON))
    follower.start()
    follower.wait(lambda: killings.state(run) is RunState.RUNNING, "the run to run")
    follower.kill()
    core.runs.stop(run.run_id, named(PERSON))
    killings.kill_in(run, RunState.STOPPING)
    return run


def moves(core: Core, run: Run) -> list[str]:
    """The states that a run came to, as its events tell."""
    words = [event.message.partition(":")[0] for event in core.ledger.events(run.run_id)]
    return [word for word in words if word in set(RunState)]
