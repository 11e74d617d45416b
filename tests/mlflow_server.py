"""MLflow tracking servers for tests: a stand-in with MLflow's limits on a store that MLflow made, and MLflow itself.

The stand-in answers as the REST documentation of MLflow 3.17 says; `make test-frameworks` runs its tests with both.
"""

import json
import os
import posixpath
import re
import sqlite3
import subprocess
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.ports import free_port

HOME = Path(__file__).parents[1]
TABLES = HOME / "tests/stores/mlflow/3.17.2.sql"
REAL = HOME / ".bench/mlflow/bin/mlflow"

PREFIX = "/api/2.0/mlflow/"
LIMITS = {"metrics": 1000, "params": 100, "tags": 100}

Json = dict[str, Any]


class Refusal(Exception):
    """An answer of MLflow that is an error."""

    def __init__(self, status: int, code: str, message: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class TrackingServer(ThreadingHTTPServer):
    """The stand-in. `statuses`: what it answers instead, in this order; "lost": carried out, and not answered."""

    daemon_threads = True

    def __init__(self, store: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.store = store
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.statuses: list[int | str] = []
        self.requests: list[tuple[str, str]] = []
        self.authorization: str | None = None
        if not store.exists():
            with closing(sqlite3.connect(store)) as con:
                con.executescript(
                    re.sub(r"(?m)^INSERT INTO (?!alembic|experiments VALUES \(0).*$", "", TABLES.read_text())
                )

    def answer(self, path: str, sent: Json) -> Json:
        """Carry out a request. Raises Refusal."""
        work = getattr(self, "_" + path.replace("/", "_").replace("-", "_"), None)
        if work is None:
            raise Refusal(404, "ENDPOINT_NOT_FOUND")
        with closing(sqlite3.connect(self.store)) as con:
            answer: Json = work(con, sent)
            con.commit()
        return answer

    def _experiments_get_by_name(self, con: sqlite3.Connection, sent: Json) -> Json:
        sql = "select experiment_id, name, lifecycle_stage from experiments where name = ?"
        for number, name, stage in con.execute(sql, [sent["experiment_name"]]):
            return {"experiment": {"experiment_id": str(number), "name": name, "lifecycle_stage": stage}}
        raise Refusal(404, "RESOURCE_DOES_NOT_EXIST", "Could not find experiment")

    def _experiments_create(self, con: sqlite3.Connection, sent: Json) -> Json:
        sql = "insert into experiments (name, lifecycle_stage) values (?, 'active')"
        return {"experiment_id": str(con.execute(sql, [sent["name"]]).lastrowid)}

    def _runs_create(self, con: sqlite3.Connection, sent: Json) -> Json:
        run_id = uuid.uuid4().hex
        con.execute(
            "insert into runs (run_uuid, name, user_id, status, start_time, lifecycle_stage, experiment_id)"
            " values (?, ?, ?, 'RUNNING', ?, 'active', ?)",
            [run_id, sent["run_name"], sent["user_id"], sent["start_time"], int(sent["experiment_id"])],
        )
        self._store_texts(con, run_id, "tags", sent["tags"])
        return {"run": {"info": {"run_id": run_id}}}

    def _runs_update(self, con: sqlite3.Connection, sent: Json) -> Json:
        change = [sent["status"], sent.get("end_time"), sent["run_id"]]
        con.execute("update runs set status = ?, end_time = ? where run_uuid = ?", change)
        return {}

    def _runs_delete(self, con: sqlite3.Connection, sent: Json) -> Json:
        con.execute("update runs set lifecycle_stage = 'deleted' where run_uuid = ?", [sent["run_id"]])
        return {}

    def _runs_search(self, con: sqlite3.Connection, sent: Json) -> Json:
        found = re.fullmatch(r"tags\.`([^`]+)` = '([^']*)'", sent["filter"])
        assert found
        sql = (
            "select run_uuid, status from runs join tags using (run_uuid) where key = ? and value = ?"
            " and lifecycle_stage = 'active' and experiment_id = ?"
        )
        runs = []
        for run_id, status in con.execute(sql, [*found.groups(), int(sent["experiment_ids"][0])]).fetchall():
            tags = con.execute("select key, value from tags where run_uuid = ?", [run_id]).fetchall()
            pairs = [{"key": key, "value": value} for key, value in tags]
            runs.append({"info": {"run_id": run_id, "status": status}, "data": {"tags": pairs}})
        return {"runs": runs} if runs else {}

    def _runs_log_batch(self, con: sqlite3.Connection, sent: Json) -> Json:
        if len(json.dumps(sent)) > 1_000_000 or sum(len(sent.get(kind, ())) for kind in LIMITS) > 1000:
            raise Refusal(400, "INVALID_PARAMETER_VALUE", "too much in one batch")
        for kind, most in LIMITS.items():
            if len(sent.get(kind, ())) > most:
                raise Refusal(400, "INVALID_PARAMETER_VALUE", f"at most {most} {kind}")
        for kind in ("params", "tags"):
            self._store_texts(con, sent["run_id"], kind, sent.get(kind, ()))
        for metric in sent.get("metrics", ()):
            _require_name(metric["key"])
            row = [metric["key"], metric["value"], metric["timestamp"], sent["run_id"], metric["step"]]
            con.execute("insert or ignore into metrics values (?, ?, ?, ?, ?, 0)", row)
        con.execute("delete from latest_metrics where run_uuid = ?", [sent["run_id"]])
        con.execute(
            "insert into latest_metrics (key, value, timestamp, step, is_nan, run_uuid)"
            " select key, value, timestamp, step, is_nan, run_uuid from (select *, row_number() over"
            " (partition by key order by step desc, timestamp desc, value desc) as place"
            " from metrics where run_uuid = ?) where place = 1",
            [sent["run_id"]],
        )
        return {}

    def _store_texts(self, con: sqlite3.Connection, run_id: str, table: str, entries: list[Json]) -> None:
        for entry in entries:
            _require_name(entry["key"])
            if len(entry["value"]) > (6000 if table == "params" else 8000):
                raise Refusal(400, "INVALID_PARAMETER_VALUE", "the value is too long")
            kind = "insert" if table == "params" else "insert or replace"
            con.execute(f"{kind} into {table} values (?, ?, ?)", [entry["key"], entry["value"], run_id])


def _require_name(name: str) -> None:
    path = posixpath.normpath(name)
    if not re.fullmatch(r"[/\w.\- ]+", name) or path != name or path.startswith(("/", "..")) or len(name) > 250:
        raise Refusal(400, "INVALID_PARAMETER_VALUE", f"Invalid value {name!r}")


class _Requests(BaseHTTPRequestHandler):
    server: TrackingServer

    def do_GET(self) -> None:
        self._answer(dict(parse_qsl(urlsplit(self.path).query)))

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, sent: Json) -> None:
        here, path = self.server, urlsplit(self.path).path.removeprefix(PREFIX)
        here.requests.append((self.command, path))
        planned = here.statuses.pop(0) if here.statuses else 200
        if here.authorization not in (None, self.headers.get("Authorization")):
            self._reply(401, {"message": "You are not authenticated."})
        elif isinstance(planned, int) and planned != 200:
            self._reply(planned, {})
        else:
            try:
                status, answer = 200, here.answer(path, sent)
            except Refusal as refusal:
                status, answer = refusal.status, {"error_code": refusal.code, "message": refusal.message}
            if planned == "lost":
                self.close_connection = True
            else:
                self._reply(status, answer)

    def _reply(self, status: int, answer: Json) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing: the output is the tests'."""


@contextmanager
def tracking_server(store: Path) -> Iterator[TrackingServer]:
    """The stand-in, on this file, which it makes if there is none."""
    with TrackingServer(store) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def real_tracking_server(store: Path) -> Iterator[str]:
    """The address of MLflow's own server, on this file."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    words: list[str | Path] = [
        REAL,
        "server",
        "--backend-store-uri",
        f"sqlite:///{store}",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    words += ["--workers", "1", "--artifacts-destination", str(store.parent / "artifacts")]
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "PATH": f"{REAL.parent}:{os.environ['PATH']}"}
    with (
        (store.parent / "server.log").open("w") as log,
        subprocess.Popen(words, stdout=log, stderr=log, env=environment, start_new_session=True) as process,
    ):
        try:
            _wait_for(lambda: urllib.request.urlopen(f"{address}/health", timeout=5).read() == b"OK", 120)
            yield address
        finally:
            os.killpg(process.pid, 15)


def _wait_for(holds: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(OSError):
            if holds():
                return
        time.sleep(0.1)
    raise AssertionError(f"not after {seconds} s")
