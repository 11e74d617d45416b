"""The sandbox's OBS on a free loopback port, for tests that speak to it over HTTP."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import uvicorn

from aisbench_core.sandbox.objects import Objects
from aisbench_core.sandbox.obs_routes import obs_app

BUCKET = "sandbox-bench"
ACCESS = "SANDBOXACCESSKEY"
SECRET = "sandbox/secret+key"


@dataclass
class Served:
    """A running OBS: where it listens, what it stores, and a clock that can be moved."""

    port: int
    objects: Objects
    ahead: timedelta = field(default_factory=timedelta)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@contextmanager
def serving(root: Path) -> Iterator[Served]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        served = Served(listener.getsockname()[1], Objects(root))
        app = obs_app(served.objects, {ACCESS: SECRET}, served.now)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            _wait_until_ready(server, thread)
            yield served
        finally:
            server.should_exit = True
            thread.join()


def _wait_until_ready(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.005)
