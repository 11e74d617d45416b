"""Schemathesis against a real server for minutes: every phase, with an engineer's and an admin's token."""

from pathlib import Path

from aisbench_core.model import Role
from tests.flow.api_process import ApiProcess, token_of
from tests.flow.following import Bench
from tests.flow.schemathesis_runs import fuzzed
from tests.flow.test_api_schemathesis import bench, server  # noqa: F401  # fixtures
from tests.reliability.outcomes import campaign

SECONDS = 150


def test_no_request_breaks_the_server(server: ApiProcess, bench: Bench, tmp_path: Path) -> None:  # noqa: F811
    sent = 0
    with campaign("Requests to the API by Schemathesis", __file__) as row:
        for role in (Role.ENGINEER, Role.ADMIN):
            token = token_of(bench, name=f"fuzz-{role}", role=role)
            options = ("--phases", "coverage,fuzzing,stateful", "--max-examples", "20", "--max-time", str(SECONDS))
            sent += fuzzed(server.url, token, tmp_path, *options, seconds=4 * SECONDS).sent
        row.repetitions = f"{sent:,} requests, with the tokens of two roles"
        row.outcome = "no 5xx, every answer as documented"
