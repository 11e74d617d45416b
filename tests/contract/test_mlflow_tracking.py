"""Runs go to an MLflow tracking server: to a stand-in here, and by `make test-frameworks` to MLflow's own."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import requests

from aisbench_core.base.errors import AisbenchError, ConfigError, ServerUnavailable
from aisbench_core.config.settings import Settings
from aisbench_core.exchange.mlflow.tracking import SendOutcome, TrackedRun, TrackingServer, split_batches
from aisbench_core.model import MetricSample
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.mlflow_server import TrackingServer as StandIn
from tests.mlflow_server import real_tracking_server, tracking_server

QUERY = BoardQuery("cn-north-9", include_invalid=True)
EXPERIMENT = "AISBench mindspore_resnet (cn-north-9)"
RUN = TrackedRun("run-1", "ann", "FINISHED", 1, 2, {"model": "resnet50"}, {"aisbench.run_id": "run-1"}, ())


@dataclass(frozen=True)
class Mlflow:
    """A tracking server, and its store."""

    address: str
    store: Path

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.store)) as con:
            return con.execute(sql).fetchall()


@pytest.fixture(params=["stand-in", pytest.param("mlflow", marks=pytest.mark.frameworks)])
def mlflow(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mlflow]:
    store = tmp_path / "mlflow.db"
    if request.param == "mlflow":
        with real_tracking_server(store) as address:
            yield Mlflow(address, store)
    else:
        with tracking_server(store) as server:
            yield Mlflow(server.address, store)


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with tracking_server(tmp_path / "mlflow.db") as server:
        yield server


@pytest.fixture
def core(tmp_path: Path) -> Core:
    return open_core(Settings(data_dir=tmp_path / "data"))


def connect(address: str, variables: Mapping[str, str] | None = None) -> TrackingServer:
    return TrackingServer(address, variables or {}, wait=lambda _seconds: None)


def export(core: Core, address: str) -> Mapping[SendOutcome, int]:
    return core.mlflow.export(QUERY, connect(address))


def test_runs_arrive_once_and_a_changed_one_replaces_its_older_one(core: Core, mlflow: Mlflow) -> None:
    """One test, because each start of MLflow itself takes many seconds."""
    odd = {"k" * 300 + "1": 1, "k" * 300 + "2": 2, 'it\'s "so": ✓': "y" * 10_000, "a/../b": 1, "nul": "a\0b"}
    samples = tuple(MetricSample(a.T0, 0, "npuUtil", float(number)) for number in range(2_500))
    core.warehouse.record_many([a.record("plain"), a.record("odd", parameters=odd), a.record("long", samples=samples)])

    first, second = export(core, mlflow.address), export(core, mlflow.address)
    core.warehouse.record(a.record("plain", throughputs=[500.0] * 8))
    third = export(core, mlflow.address)

    assert (first, second) == (Counter({SendOutcome.NEW: 3}), Counter({SendOutcome.EXISTING: 3}))
    assert third == {SendOutcome.REPLACED: 1, SendOutcome.EXISTING: 2}
    rest = ("FINISHED", "ann", 600_000, EXPERIMENT)
    assert mlflow.rows(
        "select runs.name, status, user_id, end_time - start_time, experiments.name, runs.lifecycle_stage"
        " from runs join experiments using (experiment_id) order by 1, 6"
    ) == [
        ("long", *rest, "active"), ("odd", *rest, "active"), ("plain", *rest, "active"), ("plain", *rest, "deleted"),
    ]  # fmt: skip
    assert mlflow.rows(
        "select value from latest_metrics join runs using (run_uuid)"
        " where lifecycle_stage = 'active' and name = 'plain' and key = 'throughput'"
    ) == [(4000.0,)]
    assert mlflow.rows("select count(*), max(step) from metrics where key like 'platform.%'") == [(2_500, 2_499)]
    lengths: dict[object, object] = dict(mlflow.rows("select key, length(value) from params"))  # type: ignore[arg-type]
    assert lengths["parameters." + "k" * 239] == 1
    assert lengths["parameters.it_s _so__ _"] == 6000
    assert {"parameters.a_.._b", "parameters.nul"} < lengths.keys()


def test_a_run_that_broke_off_is_sent_anew_and_no_half_of_it_stays(stand_in: StandIn) -> None:
    waits: list[float] = []
    server = TrackingServer(stand_in.address, {}, waits.append)
    number = server.experiment_id("speed", "")
    search, create, batch, update = 200, 200, "lost", 200
    stand_in.statuses = [search, create, batch, 503, search, 429, search, create, 200, update]

    outcome = server.send(number, RUN)

    assert outcome is SendOutcome.REPLACED
    assert waits == [1.0, 2.0, 4.0]
    with closing(sqlite3.connect(stand_in.store)) as con:
        stages = con.execute("select lifecycle_stage, status from runs order by 1").fetchall()
    assert stages == [("active", "FINISHED"), ("deleted", "RUNNING")]


def test_a_server_that_stays_busy_or_is_away_is_an_error_that_may_pass(stand_in: StandIn) -> None:
    stand_in.statuses = [503] * 4

    with pytest.raises(ServerUnavailable, match="is busy: HTTP 503"):
        connect(stand_in.address).experiment_id("speed", "")
    with pytest.raises(ServerUnavailable, match="does not answer: ConnectionError"):
        connect("http://127.0.0.1:9").experiment_id("speed", "")
    assert len(stand_in.requests) == 4


def test_it_signs_in_with_a_name_or_a_token_and_says_neither(stand_in: StandIn) -> None:
    name = {"MLFLOW_TRACKING_USERNAME": "ann", "MLFLOW_TRACKING_PASSWORD": "secret-word"}
    token = {"MLFLOW_TRACKING_TOKEN": "secret-token"}
    for variables, expected in ((name, "Basic YW5uOnNlY3JldC13b3Jk"), (token, "Bearer secret-token")):
        stand_in.authorization = expected
        assert connect(stand_in.address, variables).experiment_id("speed", "")

    stand_in.authorization = "another"
    for variables in (name, token, {}):
        with pytest.raises(ConfigError, match="HTTP 401: You are not authenticated") as refused:
            connect(stand_in.address, variables).experiment_id("speed", "")
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sqlite:///runs.db", "is not the address of a tracking server"),
        ("runs.db", "is not the address of a tracking server"),
        ("http://ann:secret@mlflow.example", "holds more than host and path"),
        ("https://mlflow.example/?token=secret", "holds more than host and path"),
    ],
)
def test_addresses_that_are_none_or_hold_secrets_are_refused(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        connect(address)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("status", [302, 200])
def test_another_program_at_the_address_is_named(status: int, stand_in: StandIn) -> None:
    server = connect(f"{stand_in.address}/elsewhere")
    stand_in.statuses = [status]

    with pytest.raises(AisbenchError, match=f"HTTP {status}" if status == 302 else "HTTP 404"):
        server.experiment_id("speed", "")


def test_an_experiment_that_was_deleted_is_named_with_the_way_to_restore_it(stand_in: StandIn) -> None:
    number = connect(stand_in.address).experiment_id("speed", "")
    with closing(sqlite3.connect(stand_in.store)) as con:
        con.execute("update experiments set lifecycle_stage = 'deleted' where name = 'speed'")
        con.commit()

    with pytest.raises(ConfigError, match=f"restore it: mlflow experiments restore --experiment-id {number}"):
        connect(stand_in.address).experiment_id("speed", "")


def test_two_exports_at_once_leave_each_run_once(stand_in: StandIn) -> None:
    number = connect(stand_in.address).experiment_id("speed", "")
    threads = [threading.Thread(target=lambda: connect(stand_in.address).send(number, RUN)) for _ in range(2)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connect(stand_in.address).send(number, RUN)

    with closing(sqlite3.connect(stand_in.store)) as con:
        assert con.execute("select count(*) from runs where lifecycle_stage = 'active'").fetchone() == (1,)


def test_batches_keep_the_limits_of_one_request() -> None:
    texts = {f"p{number}": "电" * 6000 for number in range(250)}
    points = [("loss", number, 1, 0.5) for number in range(2_500)]
    batches = list(split_batches(replace(RUN, params=texts, points=points)))

    sizes = [
        len(requests.Request(json=batch, method="POST", url="http://x").prepare().body or b"") for batch in batches
    ]
    assert max(sizes) < 1_000_000
    assert all(len(batch.get("params", ())) <= 100 and sum(map(len, batch.values())) <= 1000 for batch in batches)
    assert sum(len(batch.get("params", ())) for batch in batches) == 250
    assert sum(len(batch.get("metrics", ())) for batch in batches) == 2_500
