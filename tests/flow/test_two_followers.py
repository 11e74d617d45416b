"""Two followers share a ledger in PostgreSQL: whichever is killed, the other goes on, and nothing happens twice."""

import json
from collections import defaultdict
from collections.abc import Iterator

import pytest

from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Settings
from aisbench_core.model import Run
from aisbench_core.people.notifications.channels import channel_of
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC
from tests.flow.killings import MS_PER_REQUEST, Killings, walk, walk_and_stop
from tests.flow.trouble import jobs_named
from tests.flow.two_followers import TwoFollowers
from tests.postgres_server import PASSWORD, PostgresServer
from tests.receivers import Hook, webhook
from tests.sandbox_process import SandboxProcess
from tests.team_ledger import PASSWORD_VARIABLE, url_of

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

MOST_ROUNDS = 12


@pytest.fixture
def ledger_url(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database for the ledger alone."""
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    postgres.create("followed")
    yield url_of(postgres, "followed")
    postgres.drop("followed")


@pytest.fixture
def hook() -> Iterator[Hook]:
    """Who is told of every end of a run."""
    with webhook() as started:
        yield started


@pytest.fixture
def core(shell: CommandLine, ledger_url: str, hook: Hook) -> Core:
    """A console of the team."""
    notify = "AISBENCH_NOTIFY_PRIVATE_ADDRESSES"
    shell.environment |= {"AISBENCH_LEDGER": ledger_url, PASSWORD_VARIABLE: PASSWORD, notify: "true"}
    settings = Settings(data_dir=shell.data_dir, profile="lab", ledger=ledger_url, notify_private_addresses=True)
    core = open_core(settings)
    channel = {"name": "lab", "url": hook.url, "secret": "0123456789abcdef", "events": ["completed", "stopped"]}
    core.notifications.channels.save(channel_of(channel, Message("channel")), named(PERSON))
    return core


@pytest.fixture
def followers(shell: CommandLine, core: Core) -> Iterator[TwoFollowers]:
    followers = TwoFollowers(shell, core)
    yield followers
    followers.end()


@pytest.mark.parametrize("rounds", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_the_other_goes_on_where_a_killed_one_was_and_does_nothing_twice(
    core: Core, sandbox: SandboxProcess, followers: TwoFollowers, hook: Hook, rounds: int
) -> None:
    sandbox.latency(MS_PER_REQUEST, MS_PER_REQUEST)
    killings = Killings(core, sandbox, followers)

    completed: list[Run] = []
    stopped: list[Run] = []
    while len(completed) < rounds or (len(completed) < MOST_ROUNDS and not killings.in_every_state()):
        completed.append(walk(core, sandbox, killings, unlucky=not completed))
        stopped.append(walk_and_stop(core, killings, followers))
    followers.start()
    followers.wait(lambda: not core.ledger.active(), "all runs to end")

    assert killings.in_every_state(), killings.hits
    killings.assert_nothing_lost_or_doubled(completed, stopped)
    assert max(followers.takeovers) < 10
    expected = {f"completed:{run.run_id}" for run in completed} | {f"stopped:{run.run_id}" for run in stopped}
    followers.wait(lambda: {event["id"] for event in hook.events()} >= expected, "everybody to be told")
    messages = defaultdict[str, set[str]](set)
    for body in hook.bodies:
        message = json.loads(body)
        for event in message["events"]:
            messages[event["id"]].add(message["id"])
    assert messages.keys() == expected
    assert {len(ids) for ids in messages.values()} == {1}, "what is told again has the same id"


def test_a_follower_that_loses_its_database_stops_leading_and_goes_on_when_it_is_back(
    core: Core, sandbox: SandboxProcess, followers: TwoFollowers, postgres: PostgresServer
) -> None:
    followers.start()
    before = core.ledger.last_beat()

    postgres.kill()
    postgres.resume()

    run = core.runs.launch(SPEC, "lab", named(PERSON))
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    followers.wait(lambda: not core.ledger.active(), "the run to end")
    beat = core.ledger.last_beat()
    assert before
    assert beat
    assert beat.at > before.at
    assert len(jobs_named(sandbox, run.job_name)) == 1
    assert core.warehouse.runs.find_row(run.run_id)
