"""Schemathesis against a real server, with the token of each role: no 5xx, and no answer that is not documented."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.model import Role
from tests import records as a
from tests.actors import TESTER
from tests.flow.api_process import ApiProcess, token_of
from tests.flow.following import SPEC, Bench, bench_on
from tests.flow.schemathesis_runs import fuzzed
from tests.sandbox_process import SandboxProcess

ENDPOINTS = 20  # at least so many are fuzzed: a document without its endpoints would pass


@pytest.fixture(scope="module")
def bench(scripted_sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Runs, results and a series, so that no answer is empty."""
    bench = bench_on(scripted_sandbox, tmp_path_factory.mktemp("schemathesis") / "data")
    core = bench.core
    for number in range(3):
        core.warehouse.record(a.record(f"run-{number}"))
        bench.launch()
    core.series.launch(core.series.plan(SPEC, {}, "sandbox").plan, "sandbox", TESTER)
    return bench


@pytest.fixture(scope="module")
def server(bench: Bench) -> Iterator[ApiProcess]:
    """A server of its own: what is launched here is nobody else's."""
    process = ApiProcess(bench.core.settings.data_dir)
    yield process
    assert "Traceback" not in process.stop()


# An admin reaches every endpoint, and a viewer is refused by most of them; the roles between are refused by fewer.
BETWEEN = [pytest.param(role, marks=pytest.mark.exhaustive) for role in (Role.ENGINEER, Role.LEAD)]


@pytest.mark.slow
@pytest.mark.parametrize("role", [Role.VIEWER, Role.ADMIN, *BETWEEN])
def test_no_request_breaks_the_server_or_gets_an_answer_that_is_not_documented(
    server: ApiProcess, bench: Bench, tmp_path: Path, role: Role
) -> None:
    token = token_of(bench, name=f"fuzz-{role}", role=role)

    found = fuzzed(server.url, token, tmp_path, "--phases", "fuzzing", "--max-examples", "1")

    assert found.passed == found.sent >= ENDPOINTS
