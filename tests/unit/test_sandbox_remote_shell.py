"""What starts MPI's daemons on the other nodes: a command runs over there, for those who know the secret."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from aisbench_sandbox.engine.boot import remote_shell
from tests.ports import free_port

SHELL = (sys.executable, "-I", "-S", remote_shell.__file__)


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[str]:
    """`other=ADDRESS:PORT` of a node that works in its own directory."""
    port = free_port()
    (tmp_path / "there").mkdir()
    environment = {**os.environ, remote_shell.SECRET: "known", "NODE": "other"}
    command = [*SHELL, "serve", "127.0.0.1", str(port)]
    server = subprocess.Popen(command, env=environment, cwd=tmp_path / "there")
    yield f"other=127.0.0.1:{port}"
    server.kill()
    server.wait()


def _run(hosts: str, host: str, command: str, word: str = "known") -> int:
    environment: Mapping[str, str] = {**os.environ, remote_shell.SECRET: word, remote_shell.HOSTS: hosts}
    return subprocess.run([*SHELL, "run", host, *command.split()], env=environment, timeout=60, check=False).returncode


def test_a_command_runs_on_the_other_node_and_its_code_comes_back(listening: str, tmp_path: Path) -> None:
    code = _run(listening, "other", "echo $NODE > found.txt; exit 5")

    assert code == 5
    assert (tmp_path / "there" / "found.txt").read_text() == "other\n"


def test_who_does_not_know_the_secret_runs_nothing(listening: str, tmp_path: Path) -> None:
    code = _run(listening, "other", "echo $NODE > found.txt", word="guessed")

    assert code == 255
    assert not (tmp_path / "there" / "found.txt").exists()
