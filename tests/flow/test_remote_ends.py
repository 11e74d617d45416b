"""Commands over a server that end early: interrupted, killed, shut out, or refused; and logging in."""

import base64
import json
import signal
import stat
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.cli.served_process import MOST_MEMORY
from aisbench_core.interfaces.commands.running import AT_ONCE_PER_NAME
from aisbench_core.model import Role
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.flow.api_process import ApiProcess, Program, require_problem
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, SPEC
from tests.flow.remote_shell import (
    RemoteShell,
    another_server,
    command_processes,
    kill,
    served_by,
    token_for,
    wait_until,
)
from tests.ports import free_port
from tests.sandbox_process import SandboxProcess

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(scripted_sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    """A server that tests leave running; its jobs run until somebody stops them."""
    shell = CommandLine(tmp_path_factory.mktemp("lasting") / "data", scripted_sandbox)
    process = start_server(shell)
    yield process
    process.stop()


@pytest.fixture
def core(server: ApiProcess, sandbox: SandboxProcess) -> Core:
    """Its data folder, with the runs of other tests."""
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    return open_core(Settings(data_dir=server.data_dir, profile="lab"))


@pytest.fixture
def engineer(server: ApiProcess, core: Core, tmp_path: Path) -> Iterator[RemoteShell]:
    shell = RemoteShell(server.url, token_for(core, Role.ENGINEER, "ann"), tmp_path)
    yield shell
    shell.end()


@pytest.fixture
def mortal(shell: CommandLine) -> Iterator[ApiProcess]:
    """A server that a test may end."""
    process = start_server(shell)
    yield process
    if process.is_running:
        process.stop()


def start_server(shell: CommandLine, **settings: str) -> ApiProcess:
    return ApiProcess(shell.data_dir, profile="lab", poll_seconds="0.05", tick_seconds="0.02", **settings)


def launched(core: Core, before: int = 0) -> str:
    """The id of the only run that was not there before."""
    wait_until(lambda: core.ledger.count() > before, "the run")
    [run, *others] = core.ledger.page()
    assert len(others) == before
    return run.run_id


def test_ctrl_c_ends_the_command_there_and_not_the_run(server: ApiProcess, engineer: RemoteShell, core: Core) -> None:
    before = core.ledger.count()
    following = engineer.start("run", "quickstart_digits", "--wait")
    run_id = launched(core, before)
    wait_until(lambda: core.ledger.get(run_id).state == "running", "the job")

    following.send_signal(signal.SIGINT)
    stdout, stderr = following.communicate(timeout=90)

    assert (following.returncode, stdout) == (130, f"{run_id}\n")
    assert f"no longer waiting; run {run_id} continues. To stop it: aisbench stop {run_id}" in stderr
    assert core.ledger.get(run_id).state == "running"
    wait_until(lambda: not command_processes(server.pid), "the end of the command's process")


def test_kills_in_the_middle_leave_no_process_and_no_second_run(mortal: ApiProcess, tmp_path: Path) -> None:
    """First the client is killed, then the command's process, then the server."""
    core = open_core(Settings(data_dir=mortal.data_dir, profile="lab"))
    engineer = RemoteShell(mortal.url, token_for(core, Role.ENGINEER, "ann"), tmp_path)
    client = engineer.start("run", "quickstart_digits", "--wait")
    run_id = launched(core)
    kill(client.pid)
    client.communicate()
    wait_until(lambda: not command_processes(mortal.pid), "the end of the client's command")

    followed = engineer.start("logs", run_id, "--follow")
    wait_until(lambda: command_processes(mortal.pid), "the command's process")
    kill(command_processes(mortal.pid)[0])
    _, said = followed.communicate(timeout=90)
    assert followed.returncode == 1
    assert "the server ended it: SIGKILL" in said

    followed = engineer.start("logs", run_id, "--follow")
    wait_until(lambda: command_processes(mortal.pid), "the command's process")
    mortal.kill()
    _, said = followed.communicate(timeout=90)
    assert followed.returncode == 3
    assert "broke" in said
    wait_until(lambda: not command_processes(mortal.pid), "the end of the killed server's command")
    assert core.ledger.count() == 1


def test_a_server_that_follows_no_runs_follows_none_for_a_command(shell: CommandLine, tmp_path: Path) -> None:
    server, core = (
        start_server(shell, console_follows="false"),
        open_core(Settings(data_dir=shell.data_dir, profile="lab")),
    )
    engineer = RemoteShell(server.url, token_for(core, Role.ENGINEER, "ann"), tmp_path)
    waiting = engineer.start("run", "quickstart_digits", "--wait")
    assert waiting.stderr
    while "preparing" not in waiting.stderr.readline():
        assert waiting.poll() is None

    waiting.send_signal(signal.SIGINT)
    waiting.communicate(timeout=90)

    assert waiting.returncode == 130
    assert core.ledger.last_beat() is None
    assert core.ledger.page()[0].state == "preparing"
    server.stop()


def test_who_may_add_no_channel_is_refused_before_an_address_is_asked_for(
    server: ApiProcess, core: Core, tmp_path: Path
) -> None:
    viewer = RemoteShell(server.url, token_for(core, Role.VIEWER, "eve"), tmp_path)

    refused = viewer.type("notify", "add", "lab")  # with nothing on stdin

    assert "channel.save needs the role admin" in refused.stderr
    [entry] = core.audit.entries(AuditQuery(who="eve"), TESTER)
    assert (entry.act.change, entry.act.outcome) == ("channel.save", "refused")


def test_a_revoked_token_ends_what_runs_with_it(server: ApiProcess, core: Core, tmp_path: Path) -> None:
    engineer = RemoteShell(server.url, token_for(core, Role.ENGINEER, "mia"), tmp_path)
    before = core.ledger.count()
    following = engineer.start("run", "quickstart_digits", "--wait")
    run_id = launched(core, before)

    (token,) = [each for each in core.tokens.all() if each.name == "mia"]
    core.tokens.revoke(token.token_id, TESTER)
    _, stderr = following.communicate(timeout=60)

    assert following.returncode == 2
    assert stderr.endswith("error: this token was revoked by tester (`aisbench token create` creates a new one)\n")
    assert not core.ledger.get(run_id).state.is_terminal
    assert engineer.type("runs").exit_code == 2


def test_a_token_has_only_so_many_commands_at_once(engineer: RemoteShell, core: Core, server: ApiProcess) -> None:
    run_id = core.runs.launch(SPEC, "lab", TESTER).run_id
    following = [follow_log(server, engineer, run_id, str(number)) for number in range(AT_ONCE_PER_NAME)]
    wait_until(lambda: len(command_processes(server.pid)) == AT_ONCE_PER_NAME, "all of them")

    refused = engineer.type("runs")
    for each in following:
        each.close()
    wait_until(lambda: not command_processes(server.pid), "their end")

    assert refused.exit_code == 3
    assert f"{AT_ONCE_PER_NAME} commands are running in your name already" in refused.stderr
    assert engineer.type("runs").exit_code == 0


def follow_log(server: ApiProcess, engineer: RemoteShell, run_id: str, key: str) -> HTTPResponse:
    """The records of a command that follows a run's log, as they come."""
    body = json.dumps({"command": ["logs"], "arguments": [run_id, "--follow"]}).encode()
    headers = {"Authorization": f"Bearer {engineer.environment['AISBENCH_TOKEN']}", "Idempotency-Key": key}
    headers["Content-Type"] = "application/json"
    request = urllib.request.Request(f"{server.url}/api/v1/commands", body, headers)
    records: HTTPResponse = urllib.request.urlopen(request, timeout=60)
    return records


def limits_of(server: ApiProcess) -> str:
    """What the system grants the only command's process."""
    (process,) = command_processes(server.pid)
    return Path(f"/proc/{process}/limits").read_text("ascii")


def test_input_that_a_command_does_not_read_is_refused_and_its_memory_is_limited(
    server: ApiProcess, engineer: RemoteShell, core: Core
) -> None:
    program = Program(server.url, engineer.environment["AISBENCH_TOKEN"])
    run_id = core.runs.launch(SPEC, "lab", TESTER).run_id

    with follow_log(server, engineer, run_id, "unread") as records:
        command = json.loads(records.readline())["command"]
        wait_until(lambda: str(MOST_MEMORY) in limits_of(server), "the limit of its memory")
        replies = [program.post(f"/commands/{command}/input", {"text": "x" * 100_000}) for _ in range(12)]

    assert replies[0].status == 200
    require_problem(replies[-1], 409, "input-refused")


def test_a_query_over_a_server_is_limited_in_time(engineer: RemoteShell) -> None:
    refused = engineer.type("sql", "select 1", "--seconds", "601")

    assert refused.exit_code == 2
    assert "over a server, a query may take at most 600 s" in refused.stderr


def test_a_command_is_carried_out_once_for_its_key(server: ApiProcess, engineer: RemoteShell, core: Core) -> None:
    program = Program(server.url, engineer.environment["AISBENCH_TOKEN"])
    request = {"command": ["run"], "arguments": ["quickstart_digits"], "variables": {"AISBENCH_PROFILE": "lab"}}
    before = core.ledger.count()

    first = program.post("/commands", request, Idempotency_Key="once")
    again = program.post("/commands", request, Idempotency_Key="once")
    without = program.post("/commands", request)

    records = [json.loads(line) for line in first.content.splitlines()]
    assert (records[0]["kind"], records[-1]) == ("started", {"kind": "exit", "code": 0})
    require_problem(again, 409, "command-key-reused")
    require_problem(without, 400, "api-error")
    assert core.ledger.count() == before + 1


UNLISTED = [["serve"], ["--debug", "runs"], ["nothing"], []]
LIKE_SERVE = [pytest.param(command, marks=pytest.mark.exhaustive) for command in (["restore"], ["follow"])]


@pytest.mark.parametrize("command", [*UNLISTED, *LIKE_SERVE])
def test_a_server_runs_only_what_is_listed(server: ApiProcess, engineer: RemoteShell, command: list[str]) -> None:
    program = Program(server.url, engineer.environment["AISBENCH_TOKEN"])

    reply = program.post("/commands", {"command": command, "arguments": ["--help"]}, Idempotency_Key=str(command))

    if reply.status == 200:
        assert json.loads(reply.content.splitlines()[-1]) == {"kind": "exit", "code": 2}
    else:
        require_problem(reply, 422, "spec-error")


def test_a_request_cannot_lead_out_of_its_folder(server: ApiProcess, engineer: RemoteShell, core: Core) -> None:
    program = Program(server.url, engineer.environment["AISBENCH_TOKEN"])
    base: dict[str, Any] = {"command": ["import"], "arguments": ["x"]}
    wrong: list[dict[str, Any]] = [
        {"paths": [{"typed": "x", "absolute": "/a/../../b", "kind": "file"}]},
        {"paths": [{"typed": "x", "absolute": "/x", "kind": "folder", "files": [{"path": "../y", "data": ""}]}]},
        {"paths": [{"typed": "x", "absolute": "/x", "kind": "folder", "files": [{"path": "q\n/../../y", "data": ""}]}]},
        {"paths": [{"typed": "x", "absolute": "/a\n/../../b"}]},
        {"paths": [{"typed": "x", "absolute": "/a\0b", "kind": "file"}]},
        {"variables": {"TZ": ":/etc/passwd"}},
        {"variables": {"AISBENCH_DATA_DIR": "/srv"}},
    ]

    replies = [program.post("/commands", base | each, Idempotency_Key="x") for each in wrong]
    unsent = program.post("/commands", base | {"arguments": [str(core.settings.ledger_path)]}, Idempotency_Key="unsent")

    for reply in replies:
        require_problem(reply, 422, "spec-error")
    records = [json.loads(line) for line in unsent.content.splitlines()]
    said = b"".join(base64.b64decode(each["data"]) for each in records if each["kind"] == "stderr").decode()
    assert f"{core.settings.ledger_path} does not exist" in said
    assert records[-1]["code"] != 0


# --- the server -----------------------------------------------------------------------------------------


def test_a_server_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    nobody = RemoteShell(f"http://127.0.0.1:{free_port()}", "aisb_x", tmp_path).type("runs")
    elsewhere = RemoteShell("http://bench.example", "aisb_x", tmp_path).type("runs")
    nonsense = RemoteShell("bench.example", "aisb_x", tmp_path).type("runs")
    with another_server(404) as url:
        old = RemoteShell(url, "aisb_x", tmp_path).type("runs")
        no_tls = RemoteShell(url.replace("http:", "https:"), "aisb_x", tmp_path).type("runs")
    with another_server(502) as url:
        busy = RemoteShell(url, "aisb_x", tmp_path).type("runs")

    assert [each.exit_code for each in (nobody, elsewhere, nonsense, old, no_tls, busy)] == [3, 2, 2, 2, 2, 3]
    assert "does not answer: [SSL: " in no_tls.stderr
    assert "does not answer: [Errno 111] Connection refused" in nobody.stderr
    assert "http would send the token to bench.example unencrypted" in elsewhere.stderr
    assert "AISBENCH_UNENCRYPTED=1" in elsewhere.stderr
    assert "is not an address of a server" in nonsense.stderr
    assert "does not run commands: it answered HTTP 404" in old.stderr
    assert "answered HTTP 502" in busy.stderr


def test_an_answer_reaches_the_server_that_a_balancer_chose(tmp_path: Path) -> None:
    """As deploy/haproxy/haproxy.cfg does: it sets a cookie, and expects it with the next request."""
    cookies = []

    class Balancer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            cookies.append((self.path.rpartition("/")[2], self.headers.get("Cookie", "")))
            ask = {"kind": "ask", "prompt": "revoke? ", "how": "line", "to_stderr": True}
            records = [{"kind": "started", "command": "0" * 32, "version": "1"}, ask, {"kind": "exit", "code": 0}]
            lines = records if self.path.endswith("/commands") else [{}]
            content = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
            self.send_response(200)
            self.send_header("Set-Cookie", "aisbench_console=console-2; path=/; HttpOnly; secure")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with served_by(Balancer) as url:
        result = RemoteShell(url, "aisb_x", tmp_path).type("people", "revoke", "bob", stdin="y\n")

    assert result.exit_code == 0, result.output
    assert cookies == [("commands", ""), ("input", "aisbench_console=console-2")]


def test_a_server_writes_only_what_the_command_names(tmp_path: Path) -> None:
    named, other = tmp_path / "runs.csv", tmp_path / "other.csv"
    parts = [{"kind": "file", "name": str(file), "data": "aGVyZQ==", "complete": True} for file in (named, other)]
    with another_server(200, *parts, {"kind": "exit", "code": 0}) as url:
        result = RemoteShell(url, "aisb_x", tmp_path).type("export", "-o", str(named))

    assert (named.read_text("utf-8"), other.exists()) == ("here", False)
    assert result.exit_code == 2
    assert f"the server sent a file that was not asked for: {other}" in result.stderr


def test_half_an_answer_and_another_version_are_said(tmp_path: Path) -> None:
    started = {"kind": "started", "command": "0" * 32, "version": "9.9.9"}
    said = {"kind": "stdout", "data": "b25lCg=="}
    with another_server(200, started, {"kind": "new", "of": "later"}, said) as url:
        half = RemoteShell(url, "aisb_x", tmp_path).type("runs")
    with another_server(200, started, said, {"kind": "exit", "code": 2}) as url:
        failed = RemoteShell(url, "aisb_x", tmp_path).type("runs")

    assert (half.exit_code, half.stdout) == (3, "one\n")
    assert "the command may have run and was not repeated" in half.stderr
    assert (failed.exit_code, failed.stdout) == (2, "one\n")
    assert "the server has version 9.9.9 of aisbench, this machine 0." in failed.stderr


def test_a_login_stores_a_checked_token_for_nobody_else(server: ApiProcess, core: Core, tmp_path: Path) -> None:
    token = token_for(core, Role.LEAD, "ann")
    here = RemoteShell(server.url, "", tmp_path)
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    file = tmp_path / "config" / "aisbench" / "tokens.json"

    before = here.type("whoami", **config)
    wrong = here.type("login", server.url, stdin=token[:-3] + "xyz\n", **config)
    stored_wrong = file.exists()
    done = here.type("login", f"{server.url}/", stdin=f"{token}\n", **config)
    mode = stat.S_IMODE(file.stat().st_mode)
    who = here.type("whoami", "--json", **config)
    other = here.type("whoami", AISBENCH_TOKEN=token_for(core, Role.VIEWER, "vic"), **config)
    file.chmod(0o644)
    open_to_all = here.type("whoami", **config)
    file.chmod(0o600)
    out = here.type("logout", **config)
    after = here.type("whoami", **config)

    assert "there is no token for" in before.stderr
    assert (wrong.exit_code, stored_wrong) == (2, False)
    assert "this token is not valid" in wrong.stderr
    assert (done.exit_code, mode) == (0, 0o600)
    assert f"export AISBENCH_SERVER={server.url}" in done.stderr
    assert token not in done.output
    owner = json.loads(who.stdout)
    assert (owner["server"], owner["name"], owner["role"]) == (server.url, "ann", "lead")
    assert other.stdout.startswith("vic  viewer")
    assert (open_to_all.exit_code, "can be read by others" in open_to_all.stderr) == (2, True)
    assert (out.exit_code, after.exit_code) == (0, 2)
    assert json.loads(file.read_text("utf-8")) == {}


def test_whoami_on_this_machine_is_the_user_of_the_shell(shell: CommandLine) -> None:
    answer = shell.answer("whoami")

    assert (answer["server"], answer["role"]) == (None, "admin")
