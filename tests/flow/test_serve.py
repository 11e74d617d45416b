"""`aisbench serve --sandbox`: what `make run` starts, as a person meets it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main
from tests.processes import start_aisbench

GONE_SECONDS = 60
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return environment_over(tmp_path / "data")


def environment_over(data_dir: Path) -> dict[str, str]:
    return os.environ | {"AISBENCH_DATA_DIR": str(data_dir), "AISBENCH_POLL_SECONDS": "0.5", "AISBENCH_SK": "canary"}


@pytest.fixture
def served(environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """A console that a test may end."""
    with serving(environment) as process:
        yield process


@dataclass(frozen=True)
class Site:
    """A console, where it is, and what it was started with."""

    pid: int
    address: str
    environment: dict[str, str]


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One that every test leaves running."""
    environment = environment_over(tmp_path_factory.mktemp("lasting") / "data")
    with serving(environment) as process:
        yield Site(process.pid, address_of(process), environment)


@contextlib.contextmanager
def serving(environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "aisbench_core.interfaces.cli", "serve", "--sandbox", "--port", "0"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    yield process
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def address_of(served: "subprocess.Popen[str]") -> str:
    assert served.stdout is not None
    line = served.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert found, line
    return found[0]


def type_in(environment: dict[str, str], *words: str) -> Result:
    """A command in this process."""
    return CliRunner(env=environment).invoke(main, words)


def aisbench(environment: dict[str, str], *words: str) -> tuple[int | None, str]:
    """The exit code of a command that does not begin to serve, and what it says on stderr."""
    ended = start_aisbench(*words, environment=environment)
    stderr = ended.communicate(timeout=120)[1]
    return ended.returncode, stderr


def test_one_command_serves_the_console_and_carries_runs_to_their_end(lasting: Site) -> None:
    with _DIRECT.open(lasting.address, timeout=60) as page:
        status = page.status
    run = type_in(lasting.environment, "run", "quickstart_digits", "--cards", "2", "--param", "epochs=2", "--wait")

    assert status == 200
    assert run.exit_code == 0, run.stderr
    assert "completed" in run.stderr


def test_messages_of_its_follower_link_to_the_port_that_is_served(lasting: Site) -> None:
    port = lasting.address.rpartition(":")[2]

    programs = [Path(f"/proc/{child}") for child in children_of(lasting.pid)]
    followers = [program for program in programs if b"follow" in (program / "cmdline").read_bytes().split(b"\0")]

    assert len(followers) == 1
    assert f"AISBENCH_PORT={port}".encode() in (followers[0] / "environ").read_bytes().split(b"\0")


def test_a_server_that_commands_are_sent_to_does_not_keep_a_console_from_following(environment: dict[str, str]) -> None:
    remote = environment | {"AISBENCH_SERVER": "https://bench.example", "AISBENCH_TOKEN": "aisb_x"}
    command = [sys.executable, "-m", "aisbench_core.interfaces.cli", "--local", "serve", "--port", "0"]
    with subprocess.Popen(command, env=remote, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        try:
            address_of(served)
            followed = wait_for_follower(environment)
            served.terminate()
            _, stderr = served.communicate(timeout=GONE_SECONDS)
        finally:
            served.kill()  # its children end with it

    assert followed
    assert "exited with code" not in stderr


def wait_for_follower(environment: dict[str, str]) -> bool:
    """Whether a process follows runs, within a minute."""
    end = time.monotonic() + GONE_SECONDS
    while time.monotonic() < end:
        if json.loads(type_in(environment, "health", "--json").stdout or "{}").get("followed"):
            return True
        time.sleep(0.1)
    return False


def test_the_sandbox_starts_without_the_consoles_keys_and_knows_what_to_hide(lasting: Site) -> None:
    (sandbox,) = [each for each in children_of(lasting.pid) if b"aisbench_sandbox" in words_of(each, "cmdline")]
    words, variables = words_of(sandbox, "cmdline"), words_of(sandbox, "environ")

    assert b"AISBENCH_SK=canary" in words_of(lasting.pid, "environ")
    assert not [each for each in variables if b"canary" in each]
    data = Path(lasting.environment["AISBENCH_DATA_DIR"])
    assert words[words.index(b"--hide") + 1] == os.fsencode(data)
    assert words[words.index(b"--real-keys") + 1] == os.fsencode(data / "credentials.yaml")
    assert b"--beside-real-keys" in words


@pytest.mark.parametrize("settings", [{"AISBENCH_IDENTITY": "proxy", "AISBENCH_TRUSTED_PROXIES": "192.0.2.7"}])
def test_a_console_with_sign_in_is_served_to_nobody_but_its_proxy(
    environment: dict[str, str], settings: dict[str, str], request: pytest.FixtureRequest
) -> None:
    environment.update(settings)
    address = address_of(request.getfixturevalue("served"))  # it starts with these settings
    spoofed = urllib.request.Request(address, headers={"X-Forwarded-User": "root", "X-Forwarded-For": "192.0.2.7"})

    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        _DIRECT.open(spoofed, timeout=60)

    with refused.value as answer:
        assert b"only through its proxy" in answer.read()


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def words_of(pid: int, file: str) -> list[bytes]:
    return Path(f"/proc/{pid}/{file}").read_bytes().split(b"\0")


def test_ending_it_ends_everything_that_it_started(served: "subprocess.Popen[str]") -> None:
    address_of(served)

    served.send_signal(signal.SIGTERM)
    served.communicate(timeout=60)

    assert served.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(served.pid, 0)


def test_nothing_is_left_behind_when_it_is_killed(served: "subprocess.Popen[str]") -> None:
    address_of(served)
    group = served.pid

    served.kill()
    served.wait()

    assert _ends_within(GONE_SECONDS, group)


def _ends_within(seconds: float, group: int) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)  # processes of others end; there is nothing to be told by
    return False


def test_the_console_outlives_its_sandbox_and_says_so(
    served: "subprocess.Popen[str]", environment: dict[str, str]
) -> None:
    address = address_of(served)
    (sandbox,) = [each for each in children_of(served.pid) if b"aisbench_sandbox" in words_of(each, "cmdline")]

    os.kill(sandbox, signal.SIGKILL)

    assert served.stderr is not None
    said = next(line for line in served.stderr if "exited" in line)
    assert said.startswith("the sandbox exited with code -9; the console goes on without it")
    with _DIRECT.open(address, timeout=60) as page:
        assert page.status == 200
    assert served.poll() is None
    assert type_in(environment, "runs").exit_code == 0


def test_a_second_one_on_the_same_port_says_so(lasting: Site) -> None:
    port = lasting.address.rpartition(":")[2]

    code, stderr = aisbench(lasting.environment, "serve", "--port", port)

    assert code == 1
    assert "answers at" in stderr
    assert "--port" in stderr


@pytest.mark.parametrize("words", [("--host", "0.0.0.0"), ()], ids=["typed", "from the settings"])  # noqa: S104 - refused
def test_other_machines_are_not_served_without_a_switch_that_says_it(
    environment: dict[str, str], words: tuple[str, ...]
) -> None:
    code, stderr = aisbench(environment | {"AISBENCH_HOST": "::"}, "serve", "--port", "0", *words)

    assert code == 2
    assert "no sign-in" in stderr
    assert "--allow-network-access-without-sign-in" in stderr


@pytest.mark.parametrize("trusted", ["127.0.0.1", "10.0.0.2, ::1", "0.0.0.0/0"])
def test_beside_a_sandbox_no_program_of_this_machine_may_say_who_somebody_is(
    environment: dict[str, str], trusted: str
) -> None:
    identity = {"AISBENCH_IDENTITY": "proxy", "AISBENCH_TRUSTED_PROXIES": trusted}

    code, stderr = aisbench(environment | identity, "serve", "--sandbox", "--port", "0")

    assert code == 2, stderr
    assert "jobs of the sandbox run on this machine, and could sign in as anybody" in stderr


@pytest.mark.parametrize(("identity", "missing"), [("proxy", "trusted_proxies"), ("oidc", "oidc_issuer")])
def test_a_sign_in_that_lacks_something_is_a_sentence(environment: dict[str, str], identity: str, missing: str) -> None:
    code, stderr = aisbench(environment | {"AISBENCH_IDENTITY": identity}, "serve", "--port", "0")

    assert code == 2
    assert stderr.startswith(f"error: identity: {identity} needs {missing}")
    assert "Traceback" not in stderr
