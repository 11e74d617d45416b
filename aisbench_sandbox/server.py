"""The sandbox as one process: two HTTP ports over one folder, from start to clean shutdown."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from filelock import FileLock, Timeout
from starlette.types import ASGIApp

from aisbench_core.base.private_files import make_private_folder, restrict_access
from aisbench_sandbox.capacity import Plan
from aisbench_sandbox.connections import CuttableConnection
from aisbench_sandbox.engine.engine import EngineLimits, default_cards
from aisbench_sandbox.engine.node.container import Containers
from aisbench_sandbox.region import NOTHING, EngineKind, Protected, Region, RegionLocation

NAME = "AISBench sandbox"
_LAST_ANSWERS_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the sandbox. Port 0: any free port."""

    data: Path
    host: str = "127.0.0.1"
    modelarts_port: int = 8610
    obs_port: int = 8611
    engine: EngineKind = EngineKind.SUBPROCESS
    limits: EngineLimits = field(default_factory=lambda: EngineLimits(default_cards()))
    containers: Containers = Containers.AUTO
    plan: Plan | None = None
    protected: Protected = NOTHING


class CannotStart(Exception):
    """The sandbox cannot run here; the message says why and what to do."""


def serve_region(options: Options, say: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Run until SIGTERM or SIGINT; `say` gets one line once both ports answer, `warn` gets warnings for the user.

    Raises CannotStart."""
    data = options.data.resolve()
    make_private_folder(data)
    # A folder from before may be open to others.
    restrict_access([data])
    with (
        _alone_in(data),
        _open_listener(options.host, options.modelarts_port, "--modelarts-port") as modelarts,
        _open_listener(options.host, options.obs_port, "--obs-port") as obs,
    ):
        location = RegionLocation(data, _format_url(modelarts), _format_url(obs))
        region = Region(location, options.engine, options.limits, options.containers, options.plan, options.protected)
        if region.caution:
            warn(region.caution)
        try:
            asyncio.run(_run_servers(region, modelarts, obs, say))
        finally:
            region.close()


async def _run_servers(
    region: Region, modelarts: socket.socket, obs: socket.socket, say: Callable[[str], None]
) -> None:
    servers = [_build_server(region.modelarts_app()), _build_server(region.obs_app())]
    tasks = [
        asyncio.create_task(server.serve(sockets=[listener]))
        for server, listener in zip(servers, (modelarts, obs), strict=True)
    ]
    # In the event loop, where it may touch the servers.
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _end_servers, servers)
    # uvicorn has no event for this.
    while not all(server.started for server in servers):
        await asyncio.sleep(0.005)
    # Only now do the addresses in it answer.
    region.write_profile()
    location = region.location
    say(f"sandbox ready: {NAME}, ModelArts {location.modelarts_url}, OBS {location.obs_url}, data {location.data}")
    await asyncio.gather(*tasks)


class _Server(uvicorn.Server):
    """A server without signal handlers: two of them share this process, which handles signals in one place."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _build_server(app: ASGIApp) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            http=CuttableConnection,
            # Neither is used, and importing them takes time.
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,  # a fault may offset the region's clock
            headers=[("server", NAME)],
            # uvicorn's 5 s would close connections that clients keep between two polls.
            timeout_keep_alive=60,
            timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
        )
    )


def _end_servers(servers: list[_Server]) -> None:
    for server in servers:
        server.should_exit = True


@contextlib.contextmanager
def _alone_in(data: Path) -> Iterator[None]:
    # The system frees it when its holder dies, even by kill -9.
    lock = FileLock(data / "sandbox.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise CannotStart(f"another sandbox already uses {data}: stop it, or choose another --data") from None
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _open_listener(host: str, port: int, option: str) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets with this protocol number; else an answer waits 40 ms for an ACK
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        # A restarted sandbox gets its port back, although old connections are still closing.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            reason = error.strerror or str(error)
            raise CannotStart(f"port {port} of {host} cannot be used ({reason}): choose another {option}") from error
        listener.listen(512)
        yield listener


def _format_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
