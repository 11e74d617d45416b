"""A console that a `console_host` forks: the same program as `ConsoleProcess`, without the seconds of loading."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from aisbench_sandbox.engine.node import launcher
from tests.browser.console_process import ROOT, ConsoleProcess, Started
from tests.processes import IS_MEASURED


class ForkedProcess:
    """A process that is not a child of this one, handled as `subprocess.Popen` handles a child."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Something if it has ended; nobody but its parent can know its exit code."""
        return 0 if select.select([self._handle], [], [], 0)[0] else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        if not select.select([self._handle], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        os.close(self._handle)


class ConsoleHost:
    """The process that forks consoles; it ends with this one."""

    def __init__(self) -> None:
        command = [
            *(sys.executable, "-I", "-S", launcher.__file__, str(os.getpid())),
            *(sys.executable, "-m", "tests.browser.console_host"),
        ]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> ForkedProcess:
        """A console with these arguments of Streamlit."""
        assert self._process.stdin
        assert self._process.stdout
        request = {"arguments": arguments, "environment": dict(environment), "log": str(log)}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return ForkedProcess(int(self._process.stdout.readline()))


@cache
def host() -> ConsoleHost:
    """This process' only one."""
    return ConsoleHost()


class PreparedConsole(ConsoleProcess):
    """Begins at once. Where the start itself is looked at, or what a console costs, it is `ConsoleProcess`."""

    def _begin(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Started:
        return super()._begin(arguments, environment) if IS_MEASURED else host().fork(arguments, environment, self._log)
