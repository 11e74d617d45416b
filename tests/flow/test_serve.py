"""`aisbench serve --sandbox`: what `make run` starts, as a person meets it."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return os.environ | {"AISBENCH_DATA_DIR": str(tmp_path / "data"), "AISBENCH_POLL_SECONDS": "0.5"}


@pytest.fixture
def served(environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "aisbench_core.cli", "serve", "--sandbox", "--port", "0"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def address_of(served: "subprocess.Popen[str]") -> str:
    assert served.stdout is not None
    line = served.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert found, line
    return found[0]


def aisbench(environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "aisbench_core.cli", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_one_command_serves_the_console_and_carries_runs_to_their_end(
    served: "subprocess.Popen[str]", environment: dict[str, str]
) -> None:
    address = address_of(served)

    with _DIRECT.open(address, timeout=60) as page:
        status = page.status
    run = aisbench(environment, "run", "quickstart_digits", "--cards", "2", "--param", "epochs=2", "--wait")

    assert status == 200
    assert run.returncode == 0, run.stderr
    assert "completed" in run.stderr


def test_ending_it_ends_everything_that_it_started(served: "subprocess.Popen[str]") -> None:
    address_of(served)

    served.send_signal(signal.SIGTERM)
    served.communicate(timeout=60)

    assert served.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(served.pid, 0)


def test_a_second_one_on_the_same_port_says_so(served: "subprocess.Popen[str]", environment: dict[str, str]) -> None:
    port = address_of(served).rpartition(":")[2]

    second = aisbench(environment, "serve", "--port", port)

    assert second.returncode == 1
    assert "answers at" in second.stderr
    assert "--port" in second.stderr
