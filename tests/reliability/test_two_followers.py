"""kill -9, fifty times in every state: whichever of two followers leads, while they share a ledger in PostgreSQL."""

from statistics import median

import pytest

from aisbench_core.wiring import Core
from tests.flow.test_two_followers import core, followers, hook, ledger_url
from tests.flow.two_followers import TwoFollowers
from tests.reliability.outcomes import campaign
from tests.reliability.test_kills import counted, kill_in_every_state
from tests.sandbox_process import SandboxProcess

__all__ = ["core", "followers", "hook", "ledger_url"]

pytestmark = pytest.mark.postgres

TIMES, MOST_ROUNDS = 50, 150


def test_the_other_of_two_followers_goes_on(core: Core, sandbox: SandboxProcess, followers: TwoFollowers) -> None:
    with campaign("One of two followers killed in every state, ledger in PostgreSQL", __file__) as row:
        killings = kill_in_every_state(core, sandbox, followers, TIMES, MOST_ROUNDS)
        row.repetitions = counted(killings.hits)
        seconds = followers.takeovers
        row.outcome = (
            "nothing lost, nothing twice; the other followed "
            f"{median(seconds):.2f} s after the kill in the median, {max(seconds):.2f} s at most"
        )
