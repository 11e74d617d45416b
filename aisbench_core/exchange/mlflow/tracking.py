"""Sends runs to an MLflow tracking server over its REST API, version 2.0 (https://mlflow.org/docs/latest/rest-api.html)."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from aisbench_core.base.errors import ConfigError, ServerUnavailable, clip_value
from aisbench_core.base.messages import Message
from aisbench_core.exchange.mlflow.keys import CONTENT, KEY

if TYPE_CHECKING:
    import requests

Json = dict[str, Any]

# Limits of one request to runs/log-batch: entries of each kind, of all kinds, and bytes (its own limit is 1 MB).
_MOST = {"metrics": 1000, "params": 100, "tags": 100}
_MOST_ENTRIES, MOST_BYTES = 1000, 900_000

TRIES, FIRST_WAIT_S = 4, 1.0
_SECONDS = (10.0, 60.0)  # to connect, and between two bytes of an answer
_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})

_UNKNOWN = "RESOURCE_DOES_NOT_EXIST"

T = TypeVar("T")


class SendOutcome(StrEnum):
    """What sending a run did to the tracking server."""

    NEW = "new"
    REPLACED = "replaced"
    EXISTING = "existing"


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run as MLflow keeps it; times are milliseconds since 1970, `points` are (key, step, milliseconds, value)."""

    run_id: str
    user: str
    status: str
    start: int | None
    end: int | None
    params: Mapping[str, str]
    tags: Mapping[str, str]
    points: Sequence[tuple[str, int, int, float]]

    @property
    def content_sha256(self) -> str:
        return hashlib.sha256(json.dumps(astuple(self)).encode()).hexdigest()


class _Refused(ConfigError):
    """The server answered a request with an error; `code` is MLflow's word for it."""

    def __init__(self, address: str, reply: "requests.Response") -> None:
        try:
            answer = reply.json()
        except ValueError:
            answer = None
        said = answer if isinstance(answer, dict) else {}
        self.code = str(said.get("error_code", ""))
        why = clip_value(said.get("message") or reply.reason)
        super().__init__(
            Message("{server} refuses it: HTTP {status}: {why}", server=address, status=reply.status_code, why=why),
            Message("MLFLOW_TRACKING_USERNAME and _PASSWORD, or _TOKEN, sign in to it")
            if reply.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
            else "",
        )


class TrackingServer:
    """A tracking server. `variables` are MLflow's own for a name and password, or a token; none are in an error."""

    def __init__(self, address: str, variables: Mapping[str, str], wait: Callable[[float], None] = time.sleep) -> None:
        """Raises ConfigError if it is not the address of a server."""
        import requests

        self.address = _require_address(address)
        self._wait = wait
        self._session = requests.Session()
        name, password = variables.get("MLFLOW_TRACKING_USERNAME"), variables.get("MLFLOW_TRACKING_PASSWORD")
        if name and password:
            self._session.auth = (name, password)
        elif token := variables.get("MLFLOW_TRACKING_TOKEN"):
            self._session.auth = _sign_with(token)

    def experiment_id(self, name: str, note: str) -> str:
        """The id of the experiment of that name, which is created if there is none.

        Raises ConfigError and ServerUnavailable."""
        return self._retry_work(lambda: self._find_experiment(name) or self._create_experiment(name, note))

    def send(self, experiment_id: str, run: TrackedRun) -> SendOutcome:
        """Send a run, unless it is there with the same content; what is there of it with other content is deleted.

        Raises ConfigError and ServerUnavailable."""
        return self._retry_work(lambda: self._send_run(experiment_id, run))

    def _retry_work(self, work: Callable[[], T]) -> T:
        """Do it, and again while the server is busy or out of reach: twice must be as once."""
        for number in range(TRIES - 1):
            try:
                return work()
            except ServerUnavailable:
                self._wait(FIRST_WAIT_S * 2**number)
        return work()

    def _find_experiment(self, name: str) -> str | None:
        try:
            found = self._send_request("GET", "experiments/get-by-name", {"experiment_name": name})["experiment"]
        except _Refused as refused:
            if refused.code == _UNKNOWN:
                return None
            raise
        if found.get("lifecycle_stage") == "deleted":
            raise ConfigError(
                Message("the experiment {name} is deleted in MLflow", name=name),
                Message("restore it: mlflow experiments restore --experiment-id {id}", id=found["experiment_id"]),
            )
        return str(found["experiment_id"])

    def _create_experiment(self, name: str, note: str) -> str:
        tags = [{"key": "mlflow.note.content", "value": note}] if note else []
        return str(self._send_request("POST", "experiments/create", {"name": name, "tags": tags})["experiment_id"])

    def _send_run(self, experiment_id: str, run: TrackedRun) -> SendOutcome:
        key, content = hashlib.sha256(f"aisbench {run.run_id}".encode()).hexdigest()[:32], run.content_sha256
        found = self._find_runs(experiment_id, key)
        same = [run_id for run_id, tags in found.items() if tags.get(CONTENT) == content][:1]
        if not same:
            self._create_run(experiment_id, replace(run, tags={**run.tags, KEY: key, CONTENT: content}))
        # The old one goes last, so that a break between leaves two rather than none.
        for run_id in found.keys() - {*same}:
            self._send_request("POST", "runs/delete", {"run_id": run_id})
        return SendOutcome.EXISTING if same else SendOutcome.REPLACED if found else SendOutcome.NEW

    def _find_runs(self, experiment_id: str, key: str) -> dict[str, dict[str, str]]:
        """The tags of the experiment's runs with this key, by id; without CONTENT unless a run was sent whole."""
        query = {"experiment_ids": [experiment_id], "filter": f"tags.`{KEY}` = '{key}'", "max_results": 1000}
        found = {}
        for run in self._send_request("POST", "runs/search", query).get("runs", ()):
            tags = {tag["key"]: tag["value"] for tag in run["data"].get("tags", ())}
            if run["info"]["status"] == "RUNNING":
                tags.pop(CONTENT, None)
            found[run["info"]["run_id"]] = tags
        return found

    def _create_run(self, experiment_id: str, run: TrackedRun) -> None:
        own = {"user_id": run.user, "run_name": run.run_id, "start_time": run.start or 0}
        # The key comes first, so that another try finds what is half sent.
        key = [{"key": KEY, "value": run.tags[KEY]}]
        created = self._send_request("POST", "runs/create", {"experiment_id": experiment_id, "tags": key, **own})
        run_id = created["run"]["info"]["run_id"]
        for batch in split_batches(run):
            self._send_request("POST", "runs/log-batch", {"run_id": run_id, **batch})
        end = {"end_time": run.end} if run.end else {}
        self._send_request("POST", "runs/update", {"run_id": run_id, "status": run.status, **end})

    def _send_request(self, method: str, path: str, content: Json) -> Json:
        import requests

        sent: Json = {"params": content} if method == "GET" else {"json": content}
        try:
            reply = self._session.request(
                # A redirect is an error: it could lead the password elsewhere.
                method, f"{self.address}/api/2.0/mlflow/{path}", **sent, timeout=_SECONDS, allow_redirects=False
            )  # fmt: skip
        except requests.RequestException as error:
            raise ServerUnavailable(
                Message("{server} does not answer: {why}", server=self.address, why=type(error).__name__),
                Message("start it, as with `mlflow server`, or name another address"),
            ) from error
        if reply.status_code in _MAY_PASS:
            raise ServerUnavailable(
                Message("{server} is busy: HTTP {status}", server=self.address, status=reply.status_code)
            )
        if reply.status_code != HTTPStatus.OK:
            raise _Refused(self.address, reply)
        try:
            answer: Json = reply.json()
        except requests.JSONDecodeError as error:
            raise ConfigError(Message("{server} does not answer as MLflow does", server=self.address)) from error
        return answer


def split_batches(run: TrackedRun) -> Iterator[dict[str, list[Json]]]:
    """Everything of a run, in bodies of requests to runs/log-batch that keep its limits."""
    batch: defaultdict[str, list[Json]] = defaultdict(list)
    size = 0
    for kind, entry in _iter_entries(run):
        entry_bytes = len(json.dumps(entry)) + 2  # the comma between two
        count = sum(map(len, batch.values()))
        if len(batch[kind]) == _MOST[kind] or count == _MOST_ENTRIES or size + entry_bytes > MOST_BYTES:
            yield batch
            batch, size = defaultdict(list), 0
        batch[kind].append(entry)
        size += entry_bytes
    yield batch


def _iter_entries(run: TrackedRun) -> Iterator[tuple[str, Json]]:
    for kind, values in (("params", run.params), ("tags", run.tags)):
        for key, value in values.items():
            yield kind, {"key": key, "value": value}
    for key, step, at, number in run.points:
        yield "metrics", {"key": key, "value": number, "timestamp": at, "step": step}


def _require_address(text: str) -> str:
    """The address without a slash at its end. Names, passwords and queries in it would be seen in errors and lists."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            Message("{address} is not the address of a tracking server", address=clip_value(text)),
            Message("for a file, start one: mlflow server --backend-store-uri sqlite:///runs.db"),
        )
    if parts.username or parts.password or parts.query:
        raise ConfigError(
            Message("the address of the tracking server holds more than host and path"),
            Message("set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"),
        )
    return text.rstrip("/")


def _sign_with(token: str) -> "Callable[[requests.PreparedRequest], requests.PreparedRequest]":
    def sign(request: "requests.PreparedRequest") -> "requests.PreparedRequest":
        request.headers["Authorization"] = f"Bearer {token}"
        return request

    return sign
