"""Several followers of one ledger in PostgreSQL: each follows the runs of its share of the profiles."""

import time
from collections.abc import Iterator

import pytest

from aisbench_core.model import Run, RunState
from aisbench_core.running.following.beats import Beats
from aisbench_core.wiring import Core
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC
from tests.flow.killable import Killable
from tests.flow.test_two_followers import core, hook, ledger_url
from tests.flow.trouble import jobs_named
from tests.sandbox_process import SandboxProcess

__all__ = ["core", "hook", "ledger_url"]

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

PROFILES = ("lab", "lab2", "lab3", "lab4")
QUIET_SECONDS = 2.0


@pytest.fixture
def runs(core: Core, sandbox: SandboxProcess) -> list[Run]:
    """A run of each profile, whose job is held by the region."""
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    folder = core.settings.profiles_dir
    written = (folder / "lab.yaml").read_text("utf-8")
    for name in PROFILES[1:]:
        (folder / f"{name}.yaml").write_text(written.replace("name: lab", f"name: {name}"), "utf-8")
    return [core.runs.launch(SPEC, name, named(PERSON)) for name in PROFILES]


@pytest.fixture
def followers(shell: CommandLine, core: Core) -> Iterator[list[Killable]]:
    """Two that are not started yet."""
    followers = [Killable(shell, core), Killable(shell, core)]
    yield followers
    for follower in followers:
        follower.kill()


def shares(core: Core) -> dict[str, tuple[str, ...]]:
    """The profiles of each follower, by its name."""
    return {one.beat.who: one.profiles for one in Beats(core.ledger).list_shared(core.clock()) if one.profiles}


def are_running(core: Core) -> bool:
    """Whether all jobs run."""
    return {run.state for run in core.ledger.active()} == {RunState.RUNNING}


def test_followers_share_the_profiles_and_take_over_those_of_one_that_is_killed(
    core: Core, sandbox: SandboxProcess, shell: CommandLine, followers: list[Killable], runs: list[Run]
) -> None:
    first, second = followers
    first.start()
    first.wait(lambda: [*shares(core).values()] == [PROFILES], "the only follower to follow all profiles")
    second.launch()
    second.wait(lambda: [*map(len, shares(core).values())] == [2, 2], "two to share the profiles")
    assert sorted(sum(shares(core).values(), ())) == [*PROFILES]
    second.wait(lambda: are_running(core), "all jobs to run")

    health = shell.type("health").stdout
    assert all(f"{who}: {', '.join(profiles)}" in health for who, profiles in shares(core).items())
    before, until = shares(core), time.monotonic() + QUIET_SECONDS
    while time.monotonic() < until:
        assert shares(core) == before, "profiles change hands without need"

    first.kill()
    second.wait(lambda: PROFILES in shares(core).values(), "the other to take over")
    for run in runs:
        sandbox.advance(core.ledger.get(run.run_id).job_id)
    second.wait(lambda: not core.ledger.active(), "all runs to end")
    assert [core.ledger.get(run.run_id).state for run in runs] == [RunState.COMPLETED] * len(runs)
    assert [len(jobs_named(sandbox, run.job_name)) for run in runs] == [1] * len(runs)


@pytest.mark.usefixtures("runs")
def test_a_console_follows_only_while_no_follower_does(core: Core, followers: list[Killable]) -> None:
    follower = followers[0]

    def leader() -> str:
        beat = core.ledger.last_beat()
        return beat.who if beat else ""

    with core.following.in_background():
        follower.wait(lambda: [*shares(core).values()] == [PROFILES], "the console to follow")
        console = leader()
        follower.launch()
        follower.wait(lambda: follower.is_named_in(leader()), "the follower to lead")
        follower.wait(lambda: shares(core).get(leader()) == PROFILES, "the follower to follow all profiles")

        follower.kill()
        follower.wait(lambda: leader() == console, "the console to lead again")
        follower.wait(lambda: shares(core).get(console) == PROFILES, "the console to follow all profiles again")
