"""`aisbench serve`: the console and a follower, and on request a sandbox region beside them."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import shown
from aisbench_core.errors import AisbenchError
from aisbench_core.messages import Message
from aisbench_core.private_files import make_private_folder
from aisbench_core.read_only import is_read_only, require_writable
from aisbench_core.secret_files import sandbox_options, scrubbed, secrets_file
from aisbench_core.web.listening import SWITCH, is_loopback, require_permission, url_of

if TYPE_CHECKING:
    from aisbench_core.settings import Settings

READY_SECONDS = 60.0
LOOK_SECONDS = 0.1
END_SECONDS = 15.0

_EXPOSE = "--dangerously-expose-keys-to-jobs"
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@click.command()
@click.option("--sandbox", is_flag=True, help="Start a sandbox region as well; it needs no account.")
@click.option("--host", default="", metavar="ADDRESS", help="Address to listen on; default: the settings' host.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port, 0 for a free one; default: the settings' port.")
@click.option(SWITCH, "network", is_flag=True, help="Needed for addresses that other machines can reach.")
@click.option(_EXPOSE, "exposed", is_flag=True, help="Let the sandbox run jobs even where they can read real keys.")
def serve(sandbox: bool, host: str, port: int | None, network: bool, exposed: bool) -> None:
    """Serve the console, and follow the runs, until stopped.

    The console listens on this machine only. It has no sign-in, so whoever reaches it can launch jobs; another --host
    is therefore refused without a switch that says so. Ctrl-C ends everything that was started here; jobs in the
    cloud go on.
    """
    from aisbench_core.settings import HOME, load_settings

    settings = load_settings()
    host = host or settings.host
    require_permission(host, network or settings.allow_network_access_without_sign_in)
    port = (settings.port if port is None else port) or _free_port(host)
    _end_on_signals()
    family = _Family(HOME)
    try:
        _start_all(family, settings, sandbox, host, port, [SWITCH] if network else [], exposed)
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

    def start(
        self, name: str, arguments: Sequence[str], quiet: bool = False, variables: Mapping[str, str] | None = None
    ) -> None:
        """Start a Python module as a process of its own, which ends with this one, however that ends.

        It has these variables, or else ours."""
        out = subprocess.DEVNULL if quiet else None
        command = [sys.executable, "-m", "aisbench_core.cli.child", str(os.getpid()), *arguments]
        self._members[name] = subprocess.Popen(command, cwd=self._folder, stdout=out, env=variables)

    def must_live(self) -> None:
        """Raise AisbenchError if one of them has ended."""
        for name, process in self._members.items():
            if process.poll() is not None:
                raise AisbenchError(
                    Message("{program} has ended with exit code {code}", program=name, code=process.returncode),
                    Message("its message stands above"),
                )

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


def _start_all(
    family: _Family, settings: "Settings", sandbox: bool, host: str, port: int, switches: list[str], exposed: bool
) -> None:
    address = url_of(host, port)
    if _answers(f"{address}/_stcore/health"):
        raise AisbenchError(
            Message("something answers at {address} already", address=address),
            Message("is a console running? otherwise use --port"),
        )
    if sandbox:
        require_writable(settings.data_dir)
        folder = settings.data_dir / "sandbox"
        make_private_folder(folder)
        before = _changed(folder / "profile.yaml")
        _start_sandbox(family, settings, folder, exposed)
    console = ["streamlit", "run", "app.py", "--server.address", host, "--server.port", str(port), "--", *switches]
    family.start("the console", console, quiet=True)
    if sandbox:
        _until(family, "the sandbox", lambda: _changed(folder / "profile.yaml") != before)
    if is_read_only(settings.data_dir):
        shown.talk(f"the folder {settings.data_dir} is read-only: results are shown, nothing is followed or launched")
    else:
        family.start("the follower", ["aisbench_core.cli", "follow", "--quiet"], quiet=True)
    _until(family, "the console", lambda: _answers(f"{address}/_stcore/health"))
    click.echo(f"AISBench console: {address}")
    if sandbox:
        shown.talk("a sandbox region runs beside it: its results are rehearsals, not measurements")
    if not is_loopback(host):
        shown.talk(f"it listens on {host}, and it has no sign-in: whoever reaches it can launch jobs on your account")
    shown.talk("Ctrl-C ends it")


def _start_sandbox(family: _Family, settings: "Settings", folder: Path, exposed: bool) -> None:
    """Its jobs run other people's code: they get neither our variables nor our files."""
    from aisbench_core.settings import HOME, environment

    private = (settings.data_dir, settings.warehouse_path, HOME / ".streamlit", HOME / "aisbench.yaml")
    options = sandbox_options(private, _key_files(settings), environment())
    free = ["--modelarts-port", "0", "--obs-port", "0"]  # nobody types these addresses: the profile holds them
    arguments = ["aisbench_sandbox", "--data", str(folder), *free, *options, *([_EXPOSE] if exposed else [])]
    family.start("the sandbox", arguments, quiet=True, variables=scrubbed(environment()))


def _key_files(settings: "Settings") -> Iterator[Path]:
    """Every file that may hold keys of a real account, whether it exists or not."""
    from aisbench_core.settings import HOME, load_profile, profile_names

    yield settings.credentials_path
    yield secrets_file(HOME)
    for name in profile_names(settings):
        with suppress(AisbenchError):  # a profile that cannot be read is said elsewhere
            profile = load_profile(settings, name)
            if profile.credentials_file and not profile.rehearsal:
                yield settings.data_dir / Path(profile.credentials_file).expanduser()


def _until(family: _Family, name: str, ready: Callable[[], bool]) -> None:
    pause = threading.Event()
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        family.must_live()
        if time.monotonic() > deadline:
            raise AisbenchError(
                Message("{program} was not ready within {seconds:g} s", program=name, seconds=READY_SECONDS),
                Message("look at data/console.log"),
            )
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


def _end_on_signals() -> None:
    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
