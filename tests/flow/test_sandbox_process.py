"""The sandbox as a program: what it writes, what it refuses to start with, and how it ends."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from aisbench_core.config.credentials import find_credentials
from aisbench_core.config.settings import Settings, load_profile
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, await_true


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """A start that is expected to fail."""
    command = [sys.executable, "-m", "aisbench_sandbox", "--modelarts-port", "0", "--obs-port", "0", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_its_profile_and_keys_are_what_the_product_reads(tmp_path: Path) -> None:
    sandbox = SandboxProcess.start(tmp_path / "sandbox")
    settings = Settings(data_dir=tmp_path)

    profile = load_profile(settings, "sandbox")
    credentials = find_credentials(settings, profile, {})

    sandbox.stop()
    assert (profile.region, profile.project_id, profile.rehearsal) == ("sandbox", "sandbox-project", True)
    assert (profile.obs_server, profile.modelarts_endpoint) == (sandbox.obs_url, sandbox.modelarts_url)
    assert credentials.access_key.get_secret_value() == sandbox.keys[0]


def test_keys_are_private_and_stay_the_same_over_restarts(tmp_path: Path) -> None:
    sandbox = SandboxProcess.start(tmp_path / "sandbox")
    keys = sandbox.keys

    sandbox.restart()

    assert sandbox.keys == keys
    assert stat.S_IMODE((tmp_path / "sandbox" / "credentials.yaml").stat().st_mode) == 0o600
    assert sandbox.stop() == 0


def test_a_second_sandbox_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    sandbox = SandboxProcess.start(tmp_path / "sandbox")

    second = run("--data", str(tmp_path / "sandbox"))

    assert (second.returncode, second.stdout) == (1, "")
    assert "another sandbox already uses" in second.stderr
    assert sandbox.admin("GET", "faults") == []
    sandbox.stop()


def test_a_busy_port_is_named_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]

        refused = run("--data", str(tmp_path), "--obs-port", str(port))

    assert refused.returncode == 1
    assert f"port {port}" in refused.stderr
    assert "--obs-port" in refused.stderr
    assert not (tmp_path / "profile.yaml").exists()


def test_an_address_that_others_reach_has_to_be_asked_for(tmp_path: Path) -> None:
    refused = run("--data", str(tmp_path), "--host", "0.0.0.0")  # noqa: S104 - it is refused

    assert refused.returncode == 2
    assert "--allow-remote" in refused.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_even_while_a_client_is_connected(tmp_path: Path, number: signal.Signals) -> None:
    sandbox = SandboxProcess.start(tmp_path / "sandbox")
    client = TrainingClient(sandbox)
    assert client.keys("") == []

    os.kill(sandbox.pid, number)

    assert sandbox.stop() == 0


def test_objects_and_jobs_are_files_that_a_person_can_read(tmp_path: Path) -> None:
    sandbox = SandboxProcess.start(tmp_path / "sandbox")
    TrainingClient(sandbox).put("code/train.py", "print('hello')")

    sandbox.stop()

    stored = tmp_path / "sandbox" / "obs" / "sandbox-bench" / "code" / "train.py"
    assert stored.read_text() == "print('hello')"
    assert yaml.safe_load((tmp_path / "sandbox" / "profile.yaml").read_text())["bucket"] == "sandbox-bench"


def test_requests_that_are_broken_off_do_not_disturb_the_next_ones(tmp_path: Path) -> None:
    sandbox = SandboxProcess.start(tmp_path / "sandbox")
    host, port = "127.0.0.1", int(sandbox.modelarts_url.rpartition(":")[2])
    for text in (b"POST /v2/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf", b"\x16\x03\x01 not http", b""):
        with socket.create_connection((host, port)) as connection:
            connection.sendall(text)

    await_true(lambda: sandbox.admin("GET", "faults") == [], "an answer")
    assert sandbox.stop() == 0
