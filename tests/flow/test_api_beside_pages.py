"""The API on the console's port, behind the checks of the console's pages."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.console_process import ConsoleProcess
from tests.flow.api_process import SPEC, Program, require_problem, token_of
from tests.flow.following import Bench
from tests.flow.remote_shell import RemoteShell, command_processes, wait_until

pytestmark = pytest.mark.slow

ENDLESS = "select count(*) from range(1000000000000) t(a)"


@pytest.fixture(scope="module")
def console(api_bench: Bench) -> Iterator[ConsoleProcess]:
    process = ConsoleProcess.start(api_bench.core.settings.data_dir)
    yield process
    process.stop()


def test_a_program_calls_the_console_without_an_origin(console: ConsoleProcess, api_bench: Bench) -> None:
    program = Program(console.url, token_of(api_bench))

    launched = program.post("/runs", {"spec": SPEC}, Idempotency_Key="beside")
    page = program.get("//")

    assert launched.status == 201
    assert program.get("/runs").json["items"][0]["run_id"] == launched.json["run_id"]
    assert b"<html" in page.content
    assert program.get("//healthz").json == {"status": "ok"}
    assert program.get("//readyz").json == {"status": "ready"}


def test_a_command_runs_on_the_consoles_port_and_ends_with_its_client(
    console: ConsoleProcess, api_bench: Bench, tmp_path: Path
) -> None:
    api_bench.launch()
    shell = RemoteShell(console.url, token_of(api_bench), tmp_path, profile="sandbox")

    listed = shell.type("runs", "--json")
    following = shell.start("logs", json.loads(listed.stdout)["runs"][0]["run_id"], "--follow")
    wait_until(lambda: command_processes(console.pid), "the command's process")
    shell.end()
    wait_until(lambda: not command_processes(console.pid), "its end")

    assert listed.exit_code == 0, listed.output
    assert following.returncode == -signal.SIGKILL


def test_a_console_stops_although_a_command_runs(api_bench: Bench, tmp_path: Path) -> None:
    console = ConsoleProcess.start(api_bench.core.settings.data_dir)
    pid = console.pid
    shell = RemoteShell(console.url, token_of(api_bench), tmp_path, profile="sandbox")
    waiting = shell.start("sql", ENDLESS, "--seconds", "600")
    wait_until(lambda: command_processes(pid), "the command's process")

    console.stop()
    _, stderr = waiting.communicate(timeout=60)

    assert waiting.returncode == 3
    assert "broke" in stderr
    assert command_processes(pid) == []


def test_a_page_elsewhere_gains_nothing(console: ConsoleProcess) -> None:
    stranger = Program(console.url)

    with_cookie = {"Cookie": "aisbench_browser=" + "x" * 43, "Origin": "http://elsewhere.example"}
    posted = stranger.send("POST", "/runs", {"spec": SPEC}, {**with_cookie, "Idempotency-Key": "k"})
    rebound = stranger.get("/openapi.json", {"Host": "rebound.example"})

    require_problem(posted, 401, "token-refused")
    assert "Access-Control-Allow-Origin" not in posted.headers
    assert rebound.status == 403
    assert stranger.get("//_stcore/metrics").status == 404
