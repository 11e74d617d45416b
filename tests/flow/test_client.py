"""The Python client against a real server, also through a network that loses answers."""

import csv
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.interfaces.client import ApiProblem, Client, connection
from aisbench_core.model import Role
from tests import records as a
from tests.flow.api_process import SPEC, ApiProcess, token_of
from tests.flow.following import GOOD, Bench
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def console(api_server: ApiProcess, api_bench: Bench) -> Client:
    """A client of an engineer."""
    return Client(api_server.url, token_of(api_bench))


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server in this process, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_client_launches_waits_and_reads_the_result(
    console: Client, api_bench: Bench, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    sandbox.script(outputs=GOOD, log="step 1\nstep 2\n")

    run_id = console.launch(SPEC, "sandbox")["run_id"]
    follower = threading.Thread(target=lambda: api_bench.follow(api_bench.core.ledger.get(run_id)))
    follower.start()
    ended = console.wait(run_id, poll_seconds=0.05)
    follower.join()
    console.export(tmp_path / "runs.csv", rehearsals=True)

    assert ended["run"]["state"] == "completed"
    assert ended["result"]["throughput"] == 200.0
    assert run_id in console.table(rehearsals=True)["run_id"].to_pylist()
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as file:
        assert run_id in {row["run_id"] for row in csv.DictReader(file)}
    assert console.log(run_id).splitlines()[-1] == b"step 2"
    assert console.log(run_id, start=len(console.log(run_id))) == b""
    assert run_id in {row["best_run_id"] for row in console.leaderboard(rehearsals=True)}
    events = console.events(run_id)
    assert events["items"][0]["actor"] == "ci"
    assert console.events(run_id, events["next"])["items"] == []
    assert console.stop(run_id)["state"] == "completed"


def test_lists_are_read_to_their_end(console: Client, api_bench: Bench) -> None:
    for number in range(120):
        api_bench.core.ledger.add(replace(a.run(f"page-{number:03d}"), version=0))

    found = [run["run_id"] for run in console.runs(text="page-", state=("running", str(a.run("x").state)))]

    assert sorted(found) == [f"page-{number:03d}" for number in range(120)]


def test_a_refusal_has_the_servers_sentence_and_code(console: Client, api_bench: Bench, api_server: ApiProcess) -> None:
    with pytest.raises(ApiProblem, match=r"there is no run 'nothing' \(`aisbench runs` lists them\)") as missing:
        console.run("nothing")
    reader = Client(api_server.url, token_of(api_bench, role=Role.VIEWER))
    with pytest.raises(ApiProblem, match="needs the role engineer") as refused:
        reader.launch(SPEC)

    assert (missing.value.status, missing.value.code) == (404, "run-not-found")
    assert (refused.value.status, refused.value.code) == (403, "not-allowed")


def test_a_launch_whose_answers_are_lost_launches_once(
    console: Client, api_bench: Bench, api_server: ApiProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "FIRST_WAIT_S", 0.01)
    backend, lost = urlsplit(api_server.url), [2]

    class Lossy(BaseHTTPRequestHandler):
        """Passes requests on, and loses the first answers."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            connection = http.client.HTTPConnection(backend.hostname or "", backend.port)
            connection.request("POST", self.path, body, dict(self.headers))
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            if lost[0]:
                lost[0] -= 1
                return
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    before = api_bench.core.ledger.count()
    with listening(Lossy) as address:
        launched = Client(address, token_of(api_bench)).launch(SPEC, "sandbox")

    assert lost == [0]
    assert api_bench.core.ledger.count() == before + 1
    assert console.run(launched["run_id"])["run"]["run_id"] == launched["run_id"]


def test_a_server_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FIRST_WAIT_S", 0.01)

    with pytest.raises(ApiProblem, match="does not answer") as silent:
        Client("http://127.0.0.1:9", "aisb_x").get("/runs")

    assert (silent.value.status, silent.value.code) == (0, "no-answer")
    assert "aisb_x" not in str(silent.value) + repr(Client("http://127.0.0.1:9", "aisb_x"))


def test_a_token_is_not_sent_where_a_redirect_leads() -> None:
    reached = list[str]()

    class Elsewhere(BaseHTTPRequestHandler):
        """Redirects to itself."""

        def do_GET(self) -> None:
            reached.append(self.path)
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with listening(Elsewhere) as address, pytest.raises(ApiProblem, match="HTTP 302"):
        Client(address, "aisb_x").get("/runs")

    assert reached == ["/api/v1/runs"]


@pytest.mark.parametrize("server", ["bench.example", "ftp://bench.example", "https://", "http://bench.example"])
def test_an_address_that_would_show_the_token_is_refused(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError):
        Client(server, "aisb_x")

    Client("http://bench.example", "aisb_x", unencrypted=True)
    monkeypatch.setenv("AISBENCH_UNENCRYPTED", "1")
    Client("http://bench.example", "aisb_x")


@pytest.mark.parametrize(("status", "tries"), [(503, connection.TRIES), (429, 1), (500, 1)])
def test_only_what_passes_soon_is_tried_again(monkeypatch: pytest.MonkeyPatch, status: int, tries: int) -> None:
    monkeypatch.setattr(connection, "FIRST_WAIT_S", 0.01)
    asked = list[str]()

    class Refusing(BaseHTTPRequestHandler):
        """Refuses everything."""

        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with listening(Refusing) as address, pytest.raises(ApiProblem) as refused:
        Client(address, "aisb_x").get("/runs")

    assert (refused.value.status, len(asked)) == (status, tries)


def test_a_client_does_with_series_and_schedules_what_the_pages_do(console: Client, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    plan = {"spec": SPEC, "repeats": 2}

    planned = console.plan_series(plan, "sandbox")
    series_id = console.launch_series(plan, "sandbox", key="client")["series"]["series_id"]
    again = console.launch_series(plan, "sandbox", key="client")["series"]["series_id"]
    budget = console.set_series_budget(series_id, 9.5)
    console.stop_series(series_id)
    stopped = console.wait_series(series_id, poll_seconds=0.01)
    rerun = console.rerun_series(series_id)
    other = console.launch_series(plan, "sandbox")["series"]["series_id"]

    assert (planned["can_launch"], planned["estimate"]["cells"], again) == (True, 2, series_id)
    assert budget["series"]["node_hours"]["budget"] == 9.5
    assert stopped["series"]["state"] == "stopped"
    assert rerun["rows"][0]["cells"][0]["attempts"] == 2
    assert console.compare_series(other, baseline=series_id)["outcome"] == "not enough data"
    assert {series_id, other} <= {each["series_id"] for each in console.all_series()}
    assert console.put_schedule("client", plan, "0 2 * * *", weekly_hours=3)["schedule"]["weekly_hours"] == 3
    assert console.pause_schedule("client")["schedule"]["paused"] is True
    assert console.resume_schedule("client")["schedule"]["paused"] is False
    assert "client" in {each["name"] for each in console.schedules()}
    console.remove_schedule("client")
    with pytest.raises(ApiProblem, match="there is no schedule 'client'"):
        console.schedule("client")


def test_a_client_checks_specs_and_says_something_of_runs(
    console: Client, api_bench: Bench, api_server: ApiProcess, tmp_path: Path
) -> None:
    lead = Client(api_server.url, token_of(api_bench, role=Role.LEAD))
    run_id = api_bench.launch().run_id
    api_bench.core.warehouse.record(a.record("spent"))

    checked = console.check(SPEC, "sandbox", hours=2)
    console.rename(run_id, "first")
    console.tag(run_id, add=["night"], remove=["day"])
    noted = console.note(run_id, "warm")
    console.note(run_id, "cold", since=noted["noted_at"])
    assert lead.set_aside(run_id, "cold cache")["set_aside"] == "cold cache"
    assert lead.set_aside(run_id, "")["set_aside"] == ""
    said = console.annotations(run_id)

    assert checked["can_launch"] is True
    assert (said["name"], said["tags"], said["note"]) == ("first", ["night"], "cold")
    assert console.explain(run_id)["situation"] == "nothing"
    assert "ann" in {row["name"] for row in console.spending("person")["items"]}
    assert {*console.spending("month", first="2026-03", last="2026-03")} >= {"items", "total", "months"}
    console.export_spending(tmp_path / "spending.csv", "month", first="2026-03")
    with (tmp_path / "spending.csv").open(encoding="utf-8", newline="") as file:
        assert [*next(csv.DictReader(file))][:2] == ["month", "currency"]
    with pytest.raises(ApiProblem, match="only a failed run"):
        console.collect(run_id)
    for decide in (lead.approve, lead.decline):
        with pytest.raises(ApiProblem, match="only launches that wait for approval can be approved or declined"):
            decide(run_id)


@pytest.mark.parametrize(("ask", "tries"), [("stop_series", connection.TRIES), ("rerun_series", 1)])
def test_what_is_not_the_same_when_sent_twice_is_sent_once(
    monkeypatch: pytest.MonkeyPatch, ask: str, tries: int
) -> None:
    monkeypatch.setattr(connection, "FIRST_WAIT_S", 0.01)
    asked = list[str]()

    class Losing(BaseHTTPRequestHandler):
        """Takes requests, and answers none."""

        def do_POST(self) -> None:
            asked.append(self.path)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with listening(Losing) as address, pytest.raises(ApiProblem, match="does not answer"):
        getattr(Client(address, "aisb_x"), ask)("s-1")

    assert len(asked) == tries
