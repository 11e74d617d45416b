"""What Prometheus scrapes from a real server, and the example rules that read it."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
import yaml

from aisbench_core.base.clock import utc_now
from aisbench_core.config.settings import HOME
from aisbench_core.model import Role, RunState
from tests import records as a
from tests.flow.api_process import ApiProcess, Program, require_problem, token_of
from tests.flow.following import Bench
from tests.sandbox_process import SandboxProcess

RULES = HOME / "docs" / "examples" / "prometheus" / "alerts.yaml"
PROBE_SECONDS = 30
LINE = re.compile(r'(?P<name>[a-z_]+)(\{(?P<labels>([a-z]+="[^"\\\n]*",?)*)\})? (?P<value>[0-9.e+-]+)')


def scraped(program: Program) -> dict[str, float]:
    """The samples by name and labels, of a text that keeps Prometheus' format."""
    reply = program.get("//metrics")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    text = reply.content.decode()
    assert text.endswith("\n")
    return dict(_samples(text))


def _samples(text: str) -> Iterator[tuple[str, float]]:
    family = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
        elif line.startswith("# TYPE "):
            assert line.split(" ")[2] == family
        else:
            match = LINE.fullmatch(line)
            assert match, line
            assert match["name"] == family
            yield line.rpartition(" ")[0], float(match["value"])


@pytest.fixture
def prometheus(api_server: ApiProcess, api_bench: Bench) -> Program:
    """A scraper with a token that may only read."""
    return Program(api_server.url, token_of(api_bench, name="monitoring", role=Role.VIEWER))


def test_metrics_say_how_the_runs_are(prometheus: Program, api_bench: Bench) -> None:
    ledger, now = api_bench.core.ledger, utc_now()
    before = scraped(prometheus)
    queued = replace(a.run("q-1"), state=RunState.QUEUED, updated_at=now - timedelta(hours=2), version=0)
    ledger.add(queued)
    ledger.add(replace(queued, run_id="q-2", updated_at=now, attempts=3))
    ledger.add(replace(a.run("f-1"), state=RunState.FAILED, version=0))
    ledger.beat("tester", now - timedelta(seconds=90))

    after = scraped(prometheus)

    assert "aisbench_follower_age_seconds" not in before  # nobody followed: not 0 seconds ago
    assert "aisbench_queue_oldest_seconds" not in before
    assert before['aisbench_runs{state="queued"}'] == 0
    assert 90 <= after["aisbench_follower_age_seconds"] < 150
    assert after["aisbench_followers"] == 0
    assert 7200 <= after["aisbench_queue_oldest_seconds"] < 7260
    assert (after['aisbench_runs{state="queued"}'], after['aisbench_runs{state="failed"}']) == (2, 1)
    assert after["aisbench_runs_retrying"] == 1
    assert after["aisbench_ledger_bytes"] > 10_000
    assert after["aisbench_disk_free_bytes"] > 0
    assert after['aisbench_build_info{version="0.1.0"}'] == 1
    assert after['aisbench_api_answers_total{status="200"}'] >= 1
    assert after["aisbench_api_in_flight"] == 0
    assert "aisbench_sessions" not in after  # there are no pages here


def test_a_scrape_never_waits_for_the_region_and_tells_its_latency_later(
    api_bench: Bench, sandbox: SandboxProcess
) -> None:
    sandbox.latency(modelarts_ms=700)
    server = ApiProcess(api_bench.core.settings.data_dir)
    program = Program(server.url, token_of(api_bench, role=Role.VIEWER))
    try:
        first = scraped(program)
        end = time.monotonic() + PROBE_SECONDS
        later = first
        while not any(name.startswith("aisbench_cloud_up") for name in later) and time.monotonic() < end:
            later = scraped(program)
    finally:
        server.stop()

    assert not any(name.startswith("aisbench_cloud") for name in first)
    labels = '{profile="sandbox",service="ModelArts"}'
    assert later[f"aisbench_cloud_up{labels}"] == 1
    assert 0.7 <= later[f"aisbench_cloud_latency_seconds{labels}"] < 20


def test_metrics_are_for_who_has_a_token(api_server: ApiProcess) -> None:
    require_problem(Program(api_server.url).get("//metrics"), 401, "token-refused")


def test_the_example_rules_read_metrics_that_there_are(prometheus: Program, api_bench: Bench) -> None:
    api_bench.core.ledger.beat("tester", utc_now())
    api_bench.core.ledger.add(replace(a.run("q-3"), state=RunState.QUEUED, version=0))
    there = {name.partition("{")[0] for name in scraped(prometheus)} | {"aisbench_cloud_up"}

    rules = [rule for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"] for rule in group["rules"]]
    named = {name for rule in rules for name in re.findall(r"aisbench_[a-z_]+", rule["expr"])}

    assert len(rules) == 6
    assert named <= there
    listed = set(re.findall(r"`(aisbench_[a-z_]+)`", (HOME / "docs" / "api.md").read_text("utf-8")))
    assert there - listed == set()
