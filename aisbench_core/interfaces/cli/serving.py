"""`aisbench serve`: the console and a follower, optionally with a sandbox region."""

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
from functools import partial
from http import HTTPStatus
from pathlib import Path

import click

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import is_read_only, make_private_folder, require_writable
from aisbench_core.config.console_address import FORWARDED, SWITCH, is_loopback, require_permission, url_of
from aisbench_core.config.settings import (
    HOME,
    PROGRAM,
    SECRETS_FILE,
    Settings,
    load_profile,
    load_settings,
    profile_names,
    read_environment,
)
from aisbench_core.config.variables import sandbox_options, scrub_environment
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.options import command
from aisbench_core.interfaces.web.identity import require_complete, require_remote_proxy
from aisbench_core.interfaces.web.tls import TlsFiles, tls_files

READY_SECONDS = 60.0  # a first start compiles every module
POLL_SECONDS = 0.1
END_SECONDS = 15.0

CONSOLE = "the console"

_EXPOSE = "--dangerously-expose-keys-to-jobs"


@command()
@click.option("--sandbox", is_flag=True, help="Also start a sandbox region; no cloud account is needed.")
@click.option("--host", default="", metavar="ADDRESS", help="Address to listen on; default: host in the settings.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port, 0 for a free one; default: port in the settings.")
@click.option(SWITCH, "network", is_flag=True, help="Allow an address that other machines can reach.")
@click.option(_EXPOSE, "exposed", is_flag=True, help="Let sandbox jobs run even if they could read real keys.")
def serve(sandbox: bool, host: str, port: int | None, network: bool, exposed: bool) -> None:
    """Start the console and a follower, and run them until interrupted.

    By default the console listens on this machine only. Without sign-in (setting `identity`), anyone who can reach it
    can launch jobs, so any other address must be allowed explicitly. Ctrl-C stops all processes started here; jobs in
    the cloud keep running.
    """
    settings = load_settings()
    host = host or settings.host
    signed_in = settings.needs_sign_in
    require_permission(host, signed_in or network or settings.allow_network_access_without_sign_in)
    require_complete(settings, host)
    if sandbox:
        require_remote_proxy(settings)
    port = (settings.port if port is None else port) or _free_port(host)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end like Ctrl-C: stop the children first
    family = _Family(PROGRAM)
    try:
        _start_all(family, settings, sandbox, host, port, [SWITCH] if network else [], exposed)
        family.wait()
    except KeyboardInterrupt:
        display.print_message("\nstopping")
    finally:
        family.end()


class _Family:
    """The child processes. While they start, and for the console always: when one ends, all are stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._members: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, arguments: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        """Start a Python module in a child process, with these environment variables or, by default, ours."""
        command = [sys.executable, "-m", "aisbench_core.interfaces.cli.child", str(os.getpid()), *arguments]
        # Only the address of the console goes to stdout; errors still reach stderr.
        self._members[name] = subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL, env=variables)

    def check_alive(self) -> None:
        """Raise AisbenchError if a process has ended."""
        for name, process in self._members.items():
            if process.poll() is not None:
                raise AisbenchError(
                    Message("{program} exited with code {code}", program=name, code=process.returncode),
                    Message("see its error message above"),
                )

    def wait(self) -> None:
        """Wait until the console ends, and report any other process that ends before it. Raises AisbenchError.

        Without its region or follower the console still shows every run and result."""
        pause = threading.Event()
        while self._members[CONSOLE].poll() is None:
            for name, process in [*self._members.items()]:
                if name != CONSOLE and process.poll() is not None:
                    del self._members[name]
                    display.print_message(
                        f"{name} exited with code {process.returncode}; the console goes on without it"
                    )
                    display.print_message("to start it again, press Ctrl-C and repeat this command")
            pause.wait(POLL_SECONDS * 5)
        self.check_alive()

    def end(self) -> None:
        """Stop all processes, the last one first."""
        for process in reversed(self._members.values()):  # the follower before the sandbox that it calls
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._members.values():
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()  # it ignored SIGTERM for END_SECONDS


def _start_all(
    family: _Family, settings: Settings, sandbox: bool, host: str, port: int, switches: list[str], exposed: bool
) -> None:
    tls = tls_files(settings)
    address = url_of(host, port, "https" if tls else "http")
    answers = partial(_is_answering, f"{address}/_stcore/health", tls)
    if answers():
        raise AisbenchError(
            Message("another server already answers at {address}", address=address),
            Message("if it is not the console, choose another --port"),
        )
    if sandbox:
        require_writable(settings.data_dir)
        folder = settings.data_dir / "sandbox"
        make_private_folder(folder)
        before = _get_modified_ns(folder / "profile.yaml")  # the sandbox writes it when it is ready
        _start_sandbox(family, settings, folder, exposed)
    encryption = ["--server.sslCertFile", str(tls.certificate), "--server.sslKeyFile", str(tls.key)] if tls else []
    console = ["streamlit", "run", "app.py", "--server.address", host, "--server.port", str(port), *encryption]
    # With sign-in, the address of a connection is the connection's, whatever a header says; see web/identity.py.
    # Messages link to where the console is really served, whatever the settings say.
    served = {**read_environment(), "AISBENCH_HOST": host, "AISBENCH_PORT": str(port)}
    variables = {**served, FORWARDED: ""} if settings.needs_sign_in else served
    family.start(CONSOLE, [*console, "--", *switches], variables)  # starts while the sandbox does
    if sandbox:
        _wait_until(family, "the sandbox", lambda: _get_modified_ns(folder / "profile.yaml") != before)
    if is_read_only(settings.data_dir):
        display.print_message(f"the folder {settings.data_dir} is read-only: runs are neither launched nor followed")
    else:
        family.start("the follower", ["aisbench_core.interfaces.cli", "--local", "follow", "--quiet"], served)
    _wait_until(family, CONSOLE, answers)
    click.echo(f"AISBench console: {address}")
    if sandbox:
        display.print_message(f"a sandbox region is running as well: its results are {display.REHEARSALS}")
    if not is_loopback(host) and not settings.needs_sign_in:
        display.print_message(
            f"listening on {host} without sign-in: anyone who can reach it can launch jobs on your account"
        )
    display.print_message("press Ctrl-C to stop")


def _start_sandbox(family: _Family, settings: Settings, folder: Path, exposed: bool) -> None:
    """Start the sandbox without access to our variables and files, because its jobs run other people's code."""
    private = (settings.data_dir, settings.warehouse_path, HOME / ".streamlit", HOME / "aisbench.yaml")
    options = sandbox_options(private, _key_files(settings), read_environment())
    free = ["--modelarts-port", "0", "--obs-port", "0"]  # free ports: the profile holds the addresses
    arguments = ["aisbench_sandbox", "--data", str(folder), *free, *options, *([_EXPOSE] if exposed else [])]
    family.start("the sandbox", arguments, variables=scrub_environment(read_environment()))


def _key_files(settings: Settings) -> Iterator[Path]:
    """Every file that may hold keys of a real account, existing or not."""
    yield settings.credentials_path
    yield SECRETS_FILE
    for name in profile_names(settings):
        with suppress(AisbenchError):  # reported where the profile is used
            profile = load_profile(settings, name)
            if profile.credentials_file and not profile.rehearsal:
                yield settings.data_dir / Path(profile.credentials_file).expanduser()


def _wait_until(family: _Family, name: str, ready: Callable[[], bool]) -> None:
    pause = threading.Event()
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        family.check_alive()
        if time.monotonic() > deadline:
            raise AisbenchError(
                Message("{program} was not ready within {seconds:g} s", program=name, seconds=READY_SECONDS),
                Message("see data/console.log"),
            )
        pause.wait(POLL_SECONDS)


def _is_answering(url: str, tls: TlsFiles | None) -> bool:
    # A proxy cannot reach localhost.
    handlers = [urllib.request.HTTPSHandler(context=tls.client_context())] if tls else []
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({}), *handlers).open(url, timeout=1) as reply:
            return bool(reply.status == HTTPStatus.OK)
    except (urllib.error.URLError, OSError):
        return False


def _get_modified_ns(file: Path) -> int:
    return file.stat().st_mtime_ns if file.exists() else 0  # in ns: a restart within a second counts


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))  # another process may take it meanwhile; then the console says so
        return int(probe.getsockname()[1])
