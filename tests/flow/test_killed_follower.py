"""The follower is killed in every state, again and again: nothing is lost, nothing happens twice."""

from collections.abc import Iterator

import pytest

from aisbench_core.model import Run
from aisbench_core.wiring import Core
from tests.flow.command_line import CommandLine
from tests.flow.killable import Killable
from tests.flow.killings import MS_PER_REQUEST, Killings, walk, walk_and_stop
from tests.sandbox_process import SandboxProcess

KILLS_PER_ROUND = 7
MOST_ROUNDS = 20
"""A busy machine may let a state pass by before it is seen: then there is one more run."""


@pytest.fixture
def follower(shell: CommandLine, core: Core) -> Iterator[Killable]:
    follower = Killable(shell, core)
    yield follower
    follower.kill()


@pytest.mark.parametrize("rounds", [2, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_a_follower_that_is_killed_in_every_state_loses_nothing_and_does_nothing_twice(
    core: Core, sandbox: SandboxProcess, follower: Killable, rounds: int
) -> None:
    sandbox.latency(MS_PER_REQUEST, MS_PER_REQUEST)
    killings = Killings(core, sandbox, follower)

    completed: list[Run] = []
    stopped: list[Run] = []
    while len(completed) < rounds or (len(completed) < MOST_ROUNDS and not killings.in_every_state()):
        completed.append(walk(core, sandbox, killings, unlucky=len(completed) == 1))
        stopped.append(walk_and_stop(core, killings, follower))
    follower.start()
    follower.wait(lambda: not core.ledger.active(), "all runs to end")
    follower.kill()

    assert sum(killings.hits.values()) >= rounds * KILLS_PER_ROUND
    assert killings.in_every_state(), killings.hits
    killings.assert_nothing_lost_or_doubled(completed, stopped)
