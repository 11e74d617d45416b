"""`open_warehouse("https://…")`: what a server answers is what its own warehouse answers, row by row."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyarrow import ipc

import aisbench_core
from aisbench_core.base.errors import ConfigError, QueryError, RunNotFound, SpecError
from aisbench_core.interfaces.api.app import MOST_EXCLUSIVE_OF_PERSON
from aisbench_core.interfaces.client import ApiProblem, Client, connection
from aisbench_core.interfaces.client.logins import Logins
from aisbench_core.model import Role
from aisbench_core.warehouse.answers.views import VIEWS
from aisbench_core.warehouse.open.frames import OpenWarehouse
from tests import records as a
from tests.flow.api_process import ApiProcess, Program, require_problem, token_of
from tests.flow.following import Bench
from tests.flow.remote_shell import RemoteShell
from tests.flow.test_client import listening

LONG = "select count(*) from range(100000000000) t(i) where i % 7 = 3"


@pytest.fixture(scope="module", autouse=True)
def _filled(api_bench: Bench) -> None:
    """Rows for every view, of measurements and of rehearsals."""
    cells = [a.record(f"of-series-{number}", throughputs=[1000.0] * 8) for number in range(3)]
    series = [replace(each, run=replace(each.run, series_id="s-1", series_index=1)) for each in cells]
    api_bench.core.warehouse.record_many([*a.every_sort(), *series])


@pytest.fixture
def here(api_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenWarehouse]:
    monkeypatch.setenv("AISBENCH_DATA_DIR", str(api_bench.core.settings.data_dir))
    with aisbench_core.open_warehouse() as opened:
        yield opened


@pytest.fixture
def there(api_server: ApiProcess, api_bench: Bench) -> Iterator[OpenWarehouse]:
    token = token_of(api_bench, role=Role.VIEWER, read_only=True)
    with aisbench_core.open_warehouse(api_server.url, token=token) as opened:
        yield opened


def require_same(theirs: pd.DataFrame, ours: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(theirs, ours)
    assert theirs.attrs == ours.attrs


@pytest.mark.parametrize("view", [view.name for view in VIEWS])
def test_every_view_has_the_same_rows_and_columns(here: OpenWarehouse, there: OpenWarehouse, view: str) -> None:
    query = f"from {view} order by all"

    ours = here.sql(query)
    require_same(there.sql(query), ours)

    assert len(ours) > 0


def test_every_method_answers_the_same(here: OpenWarehouse, there: OpenWarehouse) -> None:
    filters: dict[str, Any] = {"region": "cn-north-9", "models": a.FACTS.model, "node_counts": [1, 2]}
    for theirs, ours in zip(*(_answers(opened, filters) for opened in (there, here)), strict=True):
        require_same(theirs, ours)


def _answers(opened: OpenWarehouse, filters: dict[str, Any]) -> Iterator[pd.DataFrame]:
    yield opened.leaderboard(**filters)
    yield opened.leaderboard(**filters, include_invalid=True, sort="runs", descending=False)
    yield opened.leaderboard(region="lab")  # rehearsals, because it has nothing else
    yield opened.leaderboard(region="cn-north-9", rehearsal=True)
    yield opened.runs(**filters)
    yield opened.runs(region="cn-north-9", validity="incomplete")
    yield opened.runs(region="cn-north-9", rehearsal=True, sort="throughput", limit=1, offset=1)
    yield opened.runs(region="cn-north-9", models="none")
    yield opened.runs(region="imported", origin="imported", text="imported")
    yield opened.ranks(["two-0", "one-1"])
    yield opened.series("s-1")
    yield opened.scaling("one-0")
    yield opened.history("one-0")
    yield opened.history("one-0", include_invalid=True)
    yield opened.regions()
    yield opened.views()
    yield opened.sql("select count(*) as n from v_runs where created_at_utc >= ?", [datetime(2026, 1, 1)])  # noqa: DTZ001
    yield opened.sql("select $text as t, $none as n, list_sum($list) as l", {"text": "ä", "none": None, "list": [1, 2]})


def test_measurements_and_rehearsals_are_never_in_one_answer(there: OpenWarehouse) -> None:
    measured = there.runs(region="cn-north-9", include_invalid=True)
    rehearsed = there.runs(region="cn-north-9", rehearsal=True)

    assert (measured.attrs["rehearsal"], rehearsed.attrs["rehearsal"]) == (False, True)
    assert not measured["rehearsal"].any()
    assert rehearsed["rehearsal"].all()
    assert set(rehearsed["run_id"]) == {"both-0", "both-1"}


def test_what_cannot_be_answered_is_a_sentence_with_the_kind_that_it_has_here(
    here: OpenWarehouse, there: OpenWarehouse
) -> None:
    wrong: list[tuple[type[Exception], Any]] = [
        (QueryError, lambda opened: opened.sql("drop table runs")),
        (QueryError, lambda opened: opened.sql("select no_such_column from v_runs")),
        (QueryError, lambda opened: opened.sql("from read_csv('/etc/passwd')")),
        (QueryError, lambda opened: opened.sql("select cast('x' || i as integer) from range(100000) t(i)")),
        (RunNotFound, lambda opened: opened.scaling("nowhere")),
        (RunNotFound, lambda opened: opened.history("nowhere")),
        (SpecError, lambda opened: opened.runs(region="cn-north-9", model="x")),
        (SpecError, lambda opened: opened.leaderboard(region="cn-north-9", validity="valid")),
    ]

    for kind, ask in wrong:
        with pytest.raises(kind) as ours:
            ask(here)
        with pytest.raises(kind) as theirs:
            ask(there)
        assert str(theirs.value) == str(ours.value)
    with pytest.raises(ApiProblem, match="region: must be one of"):
        there.leaderboard()
    with pytest.raises(ApiProblem, match="sort"):
        there.runs(region="cn-north-9", sort="luck")
    with pytest.raises(SpecError, match="values: must be text, a number, a time, or a list of them"):
        there.sql("select ?", [object()])


def test_a_query_that_takes_too_long_is_ended_on_the_server(there: OpenWarehouse, program: Program) -> None:
    with pytest.raises(QueryError, match=r"the query took longer than 0\.5 s"):
        there.sql(LONG, seconds=0.5)

    refused = program.post("/warehouse/sql", {"query": "select 1", "seconds": 1e9})
    require_problem(refused, 422, "spec-error")


def test_an_answer_that_fails_under_way_is_no_shorter_answer(there: OpenWarehouse) -> None:
    late = "select case when i = 3000000 then cast('x' || i as integer) else i end as n from range(3000001) t(i)"

    with pytest.raises(ApiProblem, match="is incomplete: the connection broke") as broken:
        there.sql(late)

    assert broken.value.code == "half-answer"
    assert there.sql("select 1 as n")["n"].tolist() == [1]  # its place is free again


def test_who_leaves_early_frees_the_place(api_server: ApiProcess, api_bench: Bench) -> None:
    console = Client(api_server.url, token_of(api_bench, name="impatient"))
    endless = {"query": "select i, repeat('y', 1000) || i as s from range(1000000000) t(i)", "seconds": 600}

    for _ in range(8):  # more than one person, and the server, take at once
        with console.batches("/warehouse/sql", endless) as reader:
            assert reader.read_next_batch().num_rows > 0

    assert console.get("/token")["name"] == "impatient"


def test_a_person_has_so_many_answers_under_way_and_is_told_so(api_server: ApiProcess, api_bench: Bench) -> None:
    program = Program(api_server.url, token_of(api_bench, name="busy"))
    with ExitStack() as held:
        for _ in range(4):
            held.enter_context(api_bench.core.operations.count_operation("busy"))
        refused = program.post("/warehouse/sql", {"query": "select 1"})

    require_problem(refused, 429, "too-many-operations")
    assert int(refused.headers["Retry-After"]) >= 1


def test_a_client_waits_for_its_own_other_answers(
    api_server: ApiProcess, api_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "FIRST_WAIT_S", 0.05)
    opened = aisbench_core.open_warehouse(api_server.url, token=token_of(api_bench, name="busy"))
    with ExitStack() as held:
        for _ in range(4):
            held.enter_context(api_bench.core.operations.count_operation("busy"))
        freed = threading.Timer(0.2, held.close)
        freed.start()

        answer = opened.sql("select 1 as n")

        freed.join()
    assert answer["n"].tolist() == [1]


def test_the_token_is_given_or_in_the_environment(
    api_server: ApiProcess, api_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="there is no token for"):
        aisbench_core.open_warehouse(api_server.url)
    with pytest.raises(ConfigError, match="http would send the token"):
        aisbench_core.open_warehouse("http://bench.example", token="aisb_x")
    monkeypatch.setenv("AISBENCH_TOKEN", token_of(api_bench, role=Role.VIEWER))

    with aisbench_core.open_warehouse(api_server.url) as opened:
        assert opened.sql("select 1 as n")["n"].tolist() == [1]
    with aisbench_core.open_warehouse(api_server.url, token="aisb_no") as wrong, pytest.raises(ApiProblem) as refused:
        wrong.regions()
    assert refused.value.status == 401


def test_programs_use_the_server_and_the_token_of_a_login(
    api_server: ApiProcess, api_bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    token = token_of(api_bench, name="ann", role=Role.VIEWER)
    with pytest.raises(ConfigError, match="no server is named, and `aisbench login` has stored none"):
        Client()
    RemoteShell(api_server.url, "", tmp_path).type("login", api_server.url, stdin=token, XDG_CONFIG_HOME=str(tmp_path))

    with aisbench_core.open_warehouse(f"{api_server.url}/") as opened:
        answer = opened.sql("select 1 as n")["n"].tolist()

    assert answer == [1]
    assert Client().get("/token")["name"] == "ann"
    with pytest.raises(ConfigError, match=r"there is no token for https://other\.example"):
        Client("https://other.example")
    Logins(tmp_path / "aisbench").add("https://other.example", "aisb_x")
    with pytest.raises(
        ConfigError, match=r"there are tokens for several servers: http://127.*, https://other\.example"
    ):
        Client()
    monkeypatch.setenv("AISBENCH_SERVER", api_server.url)
    assert Client().get("/token")["name"] == "ann"
    (tmp_path / "aisbench" / "tokens.json").chmod(0o644)
    with pytest.raises(ConfigError, match="can be read by others"):
        aisbench_core.open_warehouse(api_server.url)


def test_a_server_that_is_none_of_ours_is_said() -> None:
    class Foreign(BaseHTTPRequestHandler):
        """Answers everything with a page."""

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>welcome</html>")

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with listening(Foreign) as address, pytest.raises(ApiProblem, match="is incomplete: the connection broke"):
        aisbench_core.open_warehouse(address, token="aisb_x").regions()


def test_answers_come_in_batches(api_server: ApiProcess, api_bench: Bench) -> None:
    program = Program(api_server.url, token_of(api_bench))

    reply = program.post("/warehouse/sql", {"query": "select i from range(100000) t(i)"})
    batches = [batch.num_rows for batch in ipc.open_stream(reply.content)]

    assert reply.headers["Content-Type"] == "application/vnd.apache.arrow.stream"
    assert reply.headers["Transfer-Encoding"] == "chunked"
    assert sum(batches) == 100_000
    assert max(batches) <= 8192


def test_times_are_aware(there: OpenWarehouse) -> None:
    at = there.runs(region="cn-north-9", text="one-0")["created_at_utc"].iloc[0]

    assert at == pd.Timestamp(a.T0)
    assert at.tzinfo is not None
    assert a.T0.tzinfo is UTC


def test_answers_that_nobody_reads_keep_only_their_own_person_waiting(api_server: ApiProcess, api_bench: Bench) -> None:
    endless = {"query": "select i, repeat('y', 1000) || i as s from range(1000000000) t(i)", "seconds": 600}
    mallory = Client(api_server.url, token_of(api_bench, name="mallory"))
    ann = Program(api_server.url, token_of(api_bench, name="ann", role=Role.VIEWER))
    with ExitStack() as unread:
        for _ in range(MOST_EXCLUSIVE_OF_PERSON):
            unread.enter_context(mallory.batches("/warehouse/sql", endless))

        others = [ann.post("/warehouse/sql", {"query": "select 1"}), ann.get("/export", region="cn-north-9")]

    assert [reply.status for reply in others] == [200, 200]


def test_a_query_for_more_memory_than_there_is_leaves_the_server_as_it_was(
    api_server: ApiProcess, api_bench: Bench
) -> None:
    program = Program(api_server.url, token_of(api_bench, role=Role.VIEWER))
    program.post("/warehouse/sql", {"query": "select 1"})
    before = peak_memory(api_server)

    refused = program.post("/warehouse/sql", {"query": "select repeat('x', 4000000000)", "seconds": 10})

    assert "memory" in require_problem(refused, 422, "query-error")["detail"]
    assert peak_memory(api_server) - before < 200 * 1024**2


def peak_memory(server: ApiProcess) -> int:
    """Bytes of the server's process at most so far."""
    status = Path(f"/proc/{server.pid}/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
