"""The example rules and the dashboard in a real Prometheus that scrapes a real console."""

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import yaml
from filelock import FileLock
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from aisbench_core.base.clock import utc_now
from aisbench_core.model import Role, RunState
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.flow.api_process import token_of
from tests.flow.following import Bench, bench_on
from tests.ports import free_port
from tests.sandbox_process import SandboxProcess
from tests.source_tree import HOME

EXAMPLES = HOME / "docs" / "examples"
RULES = EXAMPLES / "prometheus" / "alerts.yaml"
DASHBOARD: dict[str, Any] = json.loads((EXAMPLES / "grafana" / "aisbench.json").read_text("utf-8"))
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
COLUMNS = 24
SECONDS = 120
# Which Grafana puts in place of these when it asks.
VARIABLES = {"$instance": ".*", "$__rate_interval": "1m"}
MISSING = "install Prometheus: make does it as root (Debian: apt-get install prometheus)"


def expressions() -> list[str]:
    return [target["expr"] for panel in PANELS for target in panel["targets"]]


def tool(*words: str, folder: Path = RULES.parent) -> str:
    """What promtool says, of success."""
    try:
        done = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.fail(MISSING)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_finds_the_rules_right_and_they_fire_when_they_should() -> None:
    assert "6 rules found" in tool("check", "rules", RULES.name)
    assert "SUCCESS" in tool("test", "rules", "alerts_test.yaml")
    tests = yaml.safe_load((RULES.parent / "alerts_test.yaml").read_text("utf-8"))["tests"]
    fired = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case.get("exp_alerts")}
    silent = {case["alertname"] for test in tests for case in test["alert_rule_test"] if not case.get("exp_alerts")}
    rules = {rule["alert"] for rule in yaml.safe_load(RULES.read_text("utf-8"))["groups"][0]["rules"]}
    assert fired == silent == rules


def test_every_panel_says_what_it_shows_in_which_unit_and_lies_on_no_other() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert panel["title"], panel
        assert panel["description"].endswith("."), panel
        assert panel["fieldConfig"]["defaults"]["unit"] in ("s", "short", "bytes", "reqps")
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= COLUMNS
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    assert [pair for pair in combinations(PANELS, 2) if _overlap(*(panel["gridPos"] for panel in pair))] == []
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(PANELS)))
    assert used - {"__rate_interval"} == {variable["name"] for variable in DASHBOARD["templating"]["list"]}


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(
        one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
        for start, size in (("x", "w"), ("y", "h"))
    )


def test_grafanas_own_model_loads_the_dashboard_and_knows_everything_in_it() -> None:
    loaded = json.loads(JSONEncoder().encode(Dashboard.from_json(DASHBOARD)))

    assert unknown(DASHBOARD, loaded) == []


def unknown(written: Any, loaded: Any, place: str = "") -> list[str]:
    """What a model changed or left out of a document; what it adds are its defaults."""
    if isinstance(written, dict) and isinstance(loaded, dict):
        missing = object()
        return [found for key in written for found in unknown(written[key], loaded.get(key, missing), f"{place}/{key}")]
    if isinstance(written, list) and isinstance(loaded, list) and len(written) == len(loaded):
        pairs = enumerate(zip(written, loaded, strict=True))
        return [found for number, pair in pairs for found in unknown(*pair, f"{place}/{number}")]
    return [] if written == loaded else [place]


def test_a_field_that_grafana_does_not_know_is_found() -> None:
    wrong = {**DASHBOARD, "panels": [{**PANELS[0], "titel": "Follower"}]}

    assert unknown(wrong, json.loads(JSONEncoder().encode(Dashboard.from_json(wrong)))) == ["/panels/0/titel"]


def test_the_dashboard_shows_every_metric_that_is_documented() -> None:
    listed = set(re.findall(r"`(aisbench_[a-z_]+)`", (HOME / "docs" / "api.md").read_text("utf-8")))

    assert {name for text in expressions() for name in re.findall(r"aisbench_[a-z_]+", text)} == listed


# --- with data -----------------------------------------------------------------------------------------------


class Prometheus:
    """A Prometheus on this machine, which scrapes one server every second."""

    def __init__(self, folder: Path, target: str, token: str) -> None:
        self._url = f"http://127.0.0.1:{free_port()}"
        (folder / "token").write_text(token, "utf-8")
        scrape = {
            "job_name": "aisbench", "static_configs": [{"targets": [urlsplit(target).netloc]}],
            "authorization": {"credentials_file": str(folder / "token")},
        }  # fmt: skip
        every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config = {"global": every, "rule_files": [str(RULES)], "scrape_configs": [scrape]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config), "utf-8")
        tool("check", "config", "prometheus.yml", folder=folder)
        options = {"config.file": f"{folder}/prometheus.yml", "storage.tsdb.path": f"{folder}/data"}
        options |= {"web.listen-address": urlsplit(self._url).netloc}
        command = ["prometheus", *(f"--{name}={value}" for name, value in options.items())]
        self._log = (folder / "log").open("wb")
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log)

    def answer(self, path: str, **query: str) -> Any:
        """The data of an answer of its HTTP API; None while it does not answer."""
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"{self._url}/api/v1/{path}?{urlencode(query)}", timeout=10
            ) as reply:
                return json.load(reply)["data"]
        except OSError:
            assert self._process.poll() is None, Path(self._log.name).read_text("utf-8")
            return None

    def without_data(self, queries: Sequence[str]) -> list[str]:
        """Those of the queries that nothing answers."""
        return [query for query in queries if not (self.answer("query", query=query) or {}).get("result")]

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(30)
        self._log.close()


@pytest.fixture(scope="module")
def bench(scripted_sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A data folder with runs of every kind, one of them in the queue."""
    bench = bench_on(scripted_sandbox, tmp_path_factory.mktemp("monitored") / "data")
    bench.core.warehouse.record(a.record("recorded"))
    queued = replace(a.run("queued"), state=RunState.QUEUED, version=0, updated_at=utc_now())
    bench.core.ledger.add(queued)
    bench.core.ledger.beat("tester", utc_now())
    return bench


@pytest.fixture
def prometheus(bench: Bench, tmp_path: Path) -> Iterator[Prometheus]:
    """It scrapes a console in which nobody follows, so that the runs stay as they are."""
    data_dir = bench.core.settings.data_dir
    with FileLock(data_dir / "follower.lock"):
        console = ConsoleProcess.start(data_dir)
        started = Prometheus(tmp_path, console.url, token_of(bench, name="monitoring", role=Role.VIEWER))
        yield started
        started.stop()
        console.stop()


@pytest.mark.slow
def test_every_query_of_the_dashboard_and_every_rule_has_an_answer_in_a_real_prometheus(prometheus: Prometheus) -> None:
    queries = expressions()
    for name, value in VARIABLES.items():
        queries = [query.replace(name, value) for query in queries]

    end, missing = time.monotonic() + SECONDS, queries
    while missing and time.monotonic() < end:
        time.sleep(0.5)  # it scrapes every second, and tells nobody
        missing = prometheus.without_data(missing)
    rules = prometheus.answer("rules")["groups"][0]["rules"]
    servers = prometheus.answer("label/instance/values", **{"match[]": "aisbench_build_info"})

    assert missing == []
    assert {rule["name"]: rule["health"] for rule in rules} == dict.fromkeys((rule["name"] for rule in rules), "ok")
    assert len(rules) == 6
    assert len(servers) == 1
