"""Limits of exports, reports and imports: over the API, in the shell, and what a busy server answers."""

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from aisbench_core.config.process_account import process_account
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access.operations import Operations
from aisbench_core.interfaces.api.admission import MOST_UNDER_WAY
from aisbench_core.interfaces.api.app import MOST_AT_ONCE
from aisbench_core.model import Role
from tests import records as a
from tests.flow.api_process import Program, Reply, require_problem, token_of
from tests.flow.command_line import CommandLine
from tests.flow.following import Bench
from tests.unit.old_logs import BERT

MOST = Settings.model_fields["operations_at_once"].default
REGION = "cn-north-9"


@contextmanager
def busy(data_dir: Path, who: str) -> Iterator[None]:
    """Somebody who has as many operations under way as one may."""
    with ExitStack() as stack:
        for _ in range(MOST):
            stack.enter_context(Operations(data_dir, MOST).count_operation(who))
        yield


def test_an_export_too_many_over_the_api_is_told_when_to_try_again(program: Program, api_bench: Bench) -> None:
    api_bench.core.warehouse.record(a.record("exported"))
    with busy(api_bench.core.settings.data_dir, "ci"):
        refused = program.get("/export", region=REGION)
        read = program.get("/leaderboard", region=REGION)

    problem = require_problem(refused, 429, "too-many-operations")
    assert "ci has as many exports, reports and imports under way" in problem["detail"]
    assert problem["hint"] == "try again when one of them has ended"
    assert refused.headers["Retry-After"] == "2"
    assert read.status == 200
    assert program.get("/export", region=REGION).status == 200


@contextmanager
def waiting_bodies(program: Program, count: int) -> Iterator[list[socket.socket]]:
    """Requests whose bodies do not arrive."""
    parts = urlsplit(program.url)
    head = f"POST /api/v1/runs HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    head += f"Idempotency-Key: k\r\nAuthorization: Bearer {program.token}\r\nContent-Length: 9\r\n\r\n"
    with ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30))
            for _ in range(count)
        ]
        for connection in connections:
            connection.sendall(head.encode())
        yield connections


def test_bodies_that_do_not_arrive_keep_only_their_own_person_waiting(program: Program, api_bench: Bench) -> None:
    mallory = program.with_token(token_of(api_bench, name="mallory"))
    ann = program.with_token(token_of(api_bench, name="ann", role=Role.VIEWER))
    with waiting_bodies(mallory, MOST_AT_ONCE * 2) as connections:
        refused = wait_for_refusal(mallory)
        still_waiting = wait_until_the_rest_is_answered(connections)
        others = [ann.get("/runs"), ann.get("/warehouse/views"), ann.get("//metrics")]

    problem = require_problem(refused, 429, "too-many-requests")
    assert problem["detail"] == f"mallory has {MOST_UNDER_WAY} requests under way, as many as one person may have"
    assert int(refused.headers["Retry-After"]) >= 1
    assert [reply.status for reply in others] == [200, 200, 200]
    assert len(still_waiting) == MOST_UNDER_WAY


def wait_until_the_rest_is_answered(connections: list[socket.socket]) -> list[socket.socket]:
    """Those without an answer, as soon as they are no more than one person may have; after 10 s all are dropped."""
    while len(connections) > MOST_UNDER_WAY:
        answered = select.select(connections, [], [], 30)[0]
        assert answered, "nothing was answered in 30 s"
        connections = [connection for connection in connections if connection not in answered]
    return connections


def wait_for_refusal(program: Program) -> Reply:
    while (reply := program.get("/runs")).status == 200:
        pass
    return reply


@pytest.mark.slow
def test_a_body_that_stops_is_dropped(program: Program) -> None:
    with waiting_bodies(program, 1) as [connection], HTTPResponse(connection) as answer:
        answer.begin()
        body = answer.read()

    assert (answer.status, answer.reason) == (408, "Request Timeout")
    assert b"only 0 bytes of the body arrived in 10 s" in body
    assert program.get("/runs").status == 200


def test_nobody_without_a_token_keeps_the_server_waiting_for_a_body(program: Program) -> None:
    with waiting_bodies(program.with_token("aisbench_unknown"), 1) as [connection]:
        assert connection.recv(4096).startswith(b"HTTP/1.1 401")


def test_a_shell_says_what_is_too_much_and_leaves_files_as_they_are(shell: CommandLine, tmp_path: Path) -> None:
    old, report, log = tmp_path / "old.csv", tmp_path / "report.html", tmp_path / "bert.log"
    old.write_text("as it was", "utf-8")
    log.write_text(BERT, "utf-8")
    shell.answer("import", str(log))

    with busy(shell.data_dir, process_account()):
        refused = [
            shell.type(*words)
            for words in (
                ("export", "--region", "imported", "-o", str(old)),
                ("report", "--region", "imported", "-o", str(report)),
                ("import", "--replace", str(log)),
            )
        ]

    assert [each.exit_code for each in refused] == [2, 2, 2]
    assert all("try again when one of them has ended" in each.stderr for each in refused)
    assert old.read_text("utf-8") == "as it was"
    assert not report.exists()
    assert shell.type("export", "--region", "imported", "-o", str(tmp_path / "new.csv")).exit_code == 0


def test_an_export_of_too_many_runs_is_refused_with_both_numbers(shell: CommandLine, tmp_path: Path) -> None:
    shell.environment |= {"AISBENCH_EXPORT_MOST_RUNS": "1"}
    for name, text in {"one": BERT, "two": BERT.replace("450.58", "460.58")}.items():
        (tmp_path / f"{name}.log").write_text(text, "utf-8")
    shell.answer("import", str(tmp_path / "one.log"), str(tmp_path / "two.log"))

    refused = shell.type("export", "--region", "imported")

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "export: runs: an export holds as many as `export_most_runs` allows (1) (found 2)" in refused.stderr


def test_an_import_that_is_too_large_is_refused_before_anything_is_read(shell: CommandLine, tmp_path: Path) -> None:
    shell.environment |= {"AISBENCH_IMPORT_MOST_MB": "1"}
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "large.log").write_bytes(BERT.encode() + b"\n" * 2**20)
    (folder / "small.log").write_text(BERT, "utf-8")

    refused = shell.type("import", str(folder))

    assert refused.exit_code == 2
    assert "an import has as many MB as `import_most_mb` allows (1) (found at least 2 MB)" in refused.stderr
    assert shell.type("leaderboard", "--region", "imported", "--json").stdout.count("run_id") == 0
    assert shell.type("import", str(folder / "small.log")).exit_code == 0
