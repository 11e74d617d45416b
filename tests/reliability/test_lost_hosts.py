"""The network of a follower's host fails without a word: another host goes on, and nothing happens twice."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.model import Run, RunState
from aisbench_core.running.following.beats import Beats
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC
from tests.flow.trouble import jobs_named
from tests.postgres_server import PASSWORD, USER, PostgresServer
from tests.reliability.hosts import ADDRESS, Host, are_possible, network
from tests.reliability.outcomes import campaign
from tests.sandbox_process import SandboxProcess
from tests.team_ledger import PASSWORD_VARIABLE

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not are_possible(), reason="network namespaces need Linux, root and iproute2"),
]

STATES = (RunState.UPLOADING, RunState.SUBMITTING, RunState.QUEUED, RunState.RUNNING, RunState.COLLECTING)
TIMES = 3
MS_PER_REQUEST = 150
LONGEST_SECONDS = 120.0
MOST_TAKEOVER_SECONDS = 25.0


class HostFollower:
    """`aisbench follow` on a host of its own."""

    def __init__(self, host: Host, shell: CommandLine) -> None:
        self.host = host
        command = host.command(sys.executable, "-m", "aisbench_core.interfaces.cli", "follow", "--quiet")
        environment = os.environ | shell.environment
        self._process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    def is_named_in(self, who: str) -> bool:
        """Whether a heartbeat is its own."""
        return f"(process {self._process.pid})" in who

    def end(self) -> None:
        """End it without a warning."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def wait(condition: Callable[[], bool], what: str) -> float:
    """Seconds until it holds."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() < started + LONGEST_SECONDS, f"waited {LONGEST_SECONDS} s in vain for: {what}"
        time.sleep(0.02)
    return time.monotonic() - started


def at(address: str, region: SandboxProcess) -> dict[str, Any]:
    """The region's profile, with that address of this machine in the place of all of them."""
    return {
        key: re.sub("//[0-9.]+:", f"//{address}:", cell) if isinstance(cell, str) else cell
        for key, cell in region.profile.items()
    }


@pytest.fixture
def lan() -> Iterator[None]:
    with network():
        yield


@pytest.fixture
def region(lan: None, tmp_path: Path) -> Iterator[SandboxProcess]:  # noqa: ARG001  # its address must exist
    sandbox = SandboxProcess(tmp_path / "region", "scripted", ("--host", "0.0.0.0", "--allow-remote"))  # noqa: S104  # of hosts of this test
    sandbox.data_dir.mkdir()
    sandbox.resume()
    sandbox.profile = at("127.0.0.1", sandbox)  # from which alone it takes scripts
    yield sandbox
    sandbox.stop()


@pytest.fixture
def database(lan: None) -> Iterator[PostgresServer]:  # noqa: ARG001  # its address must exist
    server = PostgresServer(ADDRESS)
    server.resume()
    server.create("lost")
    yield server
    server.stop()


@pytest.fixture
def shell(region: SandboxProcess, database: PostgresServer, tmp_path: Path) -> CommandLine:
    shell = CommandLine(tmp_path / "data", region)
    shell.add_profile("lab", at(ADDRESS, region))
    ledger = f"postgresql://{USER}@{ADDRESS}:{database.port}/lost"
    shell.environment |= {"AISBENCH_LEDGER": ledger, PASSWORD_VARIABLE: PASSWORD}
    return shell


@pytest.fixture
def core(shell: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Core:
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    return open_core(Settings(data_dir=shell.data_dir, profile="lab", ledger=shell.environment["AISBENCH_LEDGER"]))


@pytest.fixture
def followers(core: Core, shell: CommandLine) -> Iterator[list[HostFollower]]:  # noqa: ARG001  # after the ledger
    hosts = [Host("aisb-h1", 11), Host("aisb-h2", 12)]
    followers = [HostFollower(host, shell) for host in hosts]
    yield followers
    for follower in followers:
        follower.end()
    for host in hosts:
        host.remove()


def follower_of(core: Core, followers: list[HostFollower]) -> HostFollower | None:
    """Who follows the profile's runs now."""
    beats = [each.beat.who for each in Beats(core.ledger).list_shared(core.clock()) if "lab" in each.profiles]
    found = [one for one in followers for who in beats if one.is_named_in(who)]
    return found[0] if len(found) == 1 else None


def lose(core: Core, region: SandboxProcess, followers: list[HostFollower], state: RunState) -> tuple[Run, float]:
    """A run whose follower loses its network in a state; and after how many seconds the other one followed it."""
    region.script(by="hold", outputs=GOOD, log="step 1\n")
    run = core.runs.launch(SPEC, "lab", named(PERSON))

    def now() -> Run:
        return core.ledger.get(run.run_id)

    if state is RunState.COLLECTING:
        wait(lambda: now().state is RunState.RUNNING, "the job to run")
        region.advance(now().job_id)
    wait(lambda: now().state is state, f"the run to be {state}")
    wait(lambda: follower_of(core, followers) is not None, "one to follow")
    lost = follower_of(core, followers)
    assert lost
    other = next(one for one in followers if one is not lost)
    lost.host.pull_cable()
    if state is RunState.COLLECTING:
        seconds = wait(lambda: now().state.is_terminal, "the run to end")
    else:
        seconds = wait(lambda: follower_of(core, [other]) is other, "the other to follow")
        wait(lambda: now().state is RunState.RUNNING, "the job to run")
        region.advance(now().job_id)
        wait(lambda: now().state.is_terminal, "the run to end")
    lost.host.plug_in()
    return run, seconds


def test_another_host_goes_on_when_the_network_of_one_fails(
    core: Core, region: SandboxProcess, followers: list[HostFollower]
) -> None:
    region.latency(MS_PER_REQUEST, MS_PER_REQUEST)
    with campaign("Network of a follower's host lost in every state, ledger in PostgreSQL", __file__) as row:
        lost = [lose(core, region, followers, state) for _ in range(TIMES) for state in STATES]
        time.sleep(MOST_TAKEOVER_SECONDS)  # until the last one that was cut off is back, and has done what it wants
        for run, _ in lost:
            assert core.ledger.get(run.run_id).state is RunState.COMPLETED
            assert len(jobs_named(region, run.job_name)) == 1
        seconds = [taken for _, taken in lost]
        assert max(seconds) < MOST_TAKEOVER_SECONDS
        row.repetitions = f"{len(lost)}: {TIMES} in each of {', '.join(STATES)}"
        row.outcome = (
            f"nothing lost, nothing twice; the other followed after {median(seconds):.0f} s in the median, "
            f"{max(seconds):.0f} s at most"
        )
