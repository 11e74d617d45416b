"""`aisbench serve`: the console and a follower, and on request a sandbox region beside them."""

import ipaddress
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import shown
from aisbench_core.errors import AisbenchError

if TYPE_CHECKING:
    from aisbench_core.settings import Settings

READY_SECONDS = 60.0
LOOK_SECONDS = 0.1
END_SECONDS = 15.0

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@click.command()
@click.option("--sandbox", is_flag=True, help="Start a sandbox region as well; it needs no account.")
@click.option("--host", default="", metavar="ADDRESS", help="Address to listen on; default: the settings' host.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port, 0 for a free one; default: the settings' port.")
def serve(sandbox: bool, host: str, port: int | None) -> None:
    """Serve the console, and follow the runs, until stopped.

    The console listens on this machine only, unless --host says otherwise; it has no sign-in, so whoever reaches it
    can launch jobs. Ctrl-C ends everything that was started here; jobs in the cloud go on.
    """
    from aisbench_core.settings import HOME, load_settings

    settings = load_settings()
    host = host or settings.host
    port = (settings.port if port is None else port) or _free_port(host)
    _end_on_signals()
    family = _Family(HOME)
    try:
        _start_all(family, settings, sandbox, host, port)
        family.wait()
    except KeyboardInterrupt:
        shown.talk("\nending")
    finally:
        family.end()


class _Family:
    """The processes that were started here; when one of them ends, all of them do."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._members: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, arguments: Sequence[str], quiet: bool = False) -> None:
        """Start a Python module as a process of its own."""
        out = subprocess.DEVNULL if quiet else None
        self._members[name] = subprocess.Popen([sys.executable, "-m", *arguments], cwd=self._folder, stdout=out)

    def must_live(self) -> None:
        """Raise AisbenchError if one of them has ended."""
        for name, process in self._members.items():
            if process.poll() is not None:
                raise AisbenchError(f"{name} has ended with exit code {process.returncode}", "its message stands above")

    def wait(self) -> None:
        """Wait until one of them ends."""
        pause = threading.Event()
        while True:
            self.must_live()
            pause.wait(LOOK_SECONDS * 5)

    def end(self) -> None:
        """End them all, the last one first."""
        for process in reversed(self._members.values()):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._members.values():
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _start_all(family: _Family, settings: "Settings", sandbox: bool, host: str, port: int) -> None:
    address = f"http://{_shown_host(host)}:{port}"
    if _answers(f"{address}/_stcore/health"):
        raise AisbenchError(f"something answers at {address} already", "is a console running? otherwise use --port")
    if sandbox:
        folder = settings.data_dir / "sandbox"
        folder.mkdir(parents=True, exist_ok=True)
        before = _changed(folder / "profile.yaml")
        free = ["--modelarts-port", "0", "--obs-port", "0"]  # nobody types these addresses: the profile holds them
        family.start("the sandbox", ["aisbench_core.sandbox", "--data", str(folder), *free], quiet=True)
    console = ["streamlit", "run", "app.py", "--server.address", host, "--server.port", str(port)]
    family.start("the console", [*console, *_allowed_hosts(host)], quiet=True)
    if sandbox:
        _until(family, "the sandbox", lambda: _changed(folder / "profile.yaml") != before)
    family.start("the follower", ["aisbench_core.cli", "follow", "--quiet"], quiet=True)
    _until(family, "the console", lambda: _answers(f"{address}/_stcore/health"))
    click.echo(f"AISBench console: {address}")
    if sandbox:
        shown.talk("a sandbox region runs beside it: its results are rehearsals, not measurements")
    if not _is_loopback(host):
        shown.talk(f"it listens on {host}, and it has no sign-in: whoever reaches it can launch jobs on your account")
    shown.talk("Ctrl-C ends it")


def _until(family: _Family, name: str, ready: Callable[[], bool]) -> None:
    pause = threading.Event()
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        family.must_live()
        if time.monotonic() > deadline:
            raise AisbenchError(f"{name} was not ready within {READY_SECONDS:g} s", "look at data/console.log")
        pause.wait(LOOK_SECONDS)


def _answers(url: str) -> bool:
    try:
        with _DIRECT.open(url, timeout=1) as reply:
            return bool(reply.status == HTTPStatus.OK)
    except (urllib.error.URLError, OSError):
        return False


def _changed(file: Path) -> int:
    return file.stat().st_mtime_ns if file.exists() else 0


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _allowed_hosts(host: str) -> list[str]:
    """Under which names the console may be reached: on loopback only this machine's own (see config.toml)."""
    if _is_loopback(host):
        return []
    return ["--server.allowedHosts", "*" if _is_everywhere(host) else host]


def _is_everywhere(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")  # noqa: S104  # only compared: the person chose to listen everywhere


def _shown_host(host: str) -> str:
    if _is_everywhere(host):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _end_on_signals() -> None:
    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
