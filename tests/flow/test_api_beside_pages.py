"""The API on the console's port, behind the checks of the console's pages."""

from collections.abc import Iterator

import pytest

from tests.browser.console_process import ConsoleProcess
from tests.flow.api_process import SPEC, Program, require_problem, token_of
from tests.flow.following import Bench

pytestmark = pytest.mark.slow


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


def test_a_page_elsewhere_gains_nothing(console: ConsoleProcess) -> None:
    stranger = Program(console.url)

    with_cookie = {"Cookie": "aisbench_browser=" + "x" * 43, "Origin": "http://elsewhere.example"}
    posted = stranger.send("POST", "/runs", {"spec": SPEC}, {**with_cookie, "Idempotency-Key": "k"})
    rebound = stranger.get("/openapi.json", {"Host": "rebound.example"})

    require_problem(posted, 401, "token-refused")
    assert "Access-Control-Allow-Origin" not in posted.headers
    assert rebound.status == 403
    assert stranger.get("//_stcore/metrics").status == 404
