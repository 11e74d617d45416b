"""The sandbox's OBS on a free loopback port, for tests that speak to it over HTTP."""

import hashlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import uvicorn
from botocore.config import Config
from obs import ObsClient

from aisbench_sandbox.obs.routes import obs_app
from aisbench_sandbox.obs.storage.objects import LARGEST_COPY, Objects

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
def serving(root: Path, largest_copy: int = LARGEST_COPY) -> Iterator[Served]:
    # asyncio sends small packets at once only on sockets that say they are TCP; else an answer waits 40 ms for an ACK
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        served = Served(listener.getsockname()[1], Objects(root, largest_copy))
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


@contextmanager
def emptied(served: Served) -> Iterator[Served]:
    """The same server with one empty bucket and the right time, left without any."""
    served.ahead = timedelta()
    served.objects.create_bucket(BUCKET)
    yield served
    for bucket in served.objects.buckets():
        served.objects.empty_bucket(bucket.name)
        served.objects.delete_bucket(bucket.name)


@contextmanager
def sdk(served: Served, secret: str = SECRET, access: str = ACCESS, **options: Any) -> Iterator[Any]:
    """The official SDK, with the path style and without retries."""
    options = {"long_conn_mode": True, "max_retry_count": 0, "path_style": True} | options
    client = ObsClient(access, secret, server=served.url, **options)
    yield client
    client.close()


@contextmanager
def boto3_client(served: Served) -> Iterator[Any]:
    config = Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})
    keys = {"aws_access_key_id": ACCESS, "aws_secret_access_key": SECRET}
    client = boto3.client("s3", endpoint_url=served.url, region_name="sandbox", config=config, **keys)
    yield client
    client.close()


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _wait_until_ready(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.005)
