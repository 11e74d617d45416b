"""The API in a process of its own, and a program that calls it."""

import json
import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from aisbench_core.model import Role
from aisbench_core.model.token import TokenRequest
from tests.actors import TESTER
from tests.flow.following import Bench
from tests.processes import start_aisbench

SPEC = {"workload": "quickstart_digits", "flavor": "sandbox.cpu.2cards", "cards_per_node": 2}
READY_SECONDS = 60
END_SECONDS = 30
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Reply:
    """What the API answered."""

    status: int
    headers: Message
    content: bytes

    @property
    def json(self) -> Any:
        """The content as JSON."""
        return json.loads(self.content)


@dataclass(frozen=True)
class Program:
    """Whoever calls the API with a token."""

    url: str
    token: str = ""

    def with_token(self, token: str) -> "Program":
        """The same with another token."""
        return replace(self, token=token)

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: Any) -> Reply:
        """Read something; lists are repeated parameters."""
        return self.send("GET", f"{path}?{urlencode(query, doseq=True)}" if query else path, None, headers)

    def post(self, path: str, body: object = None, **headers: str) -> Reply:
        """Change something; underscores in the names of headers are hyphens."""
        return self.send("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def send(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One request, below /api/v1 unless the path says otherwise. Bytes are sent as they are."""
        address = f"{self.url}{path[1:]}" if path.startswith("//") else f"{self.url}/api/v1{path}"
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        sent |= {"Content-Type": "application/json"} if content is not None else {}
        request = urllib.request.Request(address, content, {**sent, **(headers or {})}, method=method)
        try:
            with _DIRECT.open(request, timeout=60) as reply:
                return Reply(reply.status, reply.headers, reply.read())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.headers, error.read())


def token_of(bench: Bench, **request: Any) -> str:
    """The text of a new token, by default of an engineer."""
    return bench.core.tokens.create(TokenRequest(**{"name": "ci", "role": Role.ENGINEER, **request}), TESTER)[1].plain


def require_problem(reply: Reply, status: int, code: str) -> dict[str, Any]:
    """The fields of an error of this kind."""
    assert (reply.status, reply.headers["Content-Type"]) == (status, "application/problem+json"), reply.content
    problem: dict[str, Any] = reply.json
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["detail"]
    return problem


class ApiProcess:
    """`aisbench api serve` on a free port over a data folder."""

    def __init__(self, data_dir: Path, **settings: str) -> None:
        self.data_dir = data_dir
        environment = os.environ | {"AISBENCH_DATA_DIR": str(data_dir)}
        environment |= {f"AISBENCH_{name.upper()}": value for name, value in settings.items()}
        command = ("api", "serve", "--port", "0")
        self._process = start_aisbench(*command, environment=environment, merged=True)
        self.url = self._address()

    @property
    def process_id(self) -> int:
        """Of the server."""
        return self._process.pid

    def _address(self) -> str:
        watchdog = threading.Timer(READY_SECONDS, self._process.kill)
        watchdog.start()
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        watchdog.cancel()
        assert line.startswith("AISBench API: "), line + self._process.stdout.read()
        return line.removeprefix("AISBench API: ").strip()

    @property
    def pid(self) -> int:
        """The process' number."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was not ended yet."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._process.kill()
        self._process.communicate(timeout=END_SECONDS)

    def stop(self) -> str:
        """End it as Ctrl-C does; returns what it wrote after its address."""
        self._process.send_signal(signal.SIGINT)
        return self._process.communicate(timeout=END_SECONDS)[0]
