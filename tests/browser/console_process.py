"""The console in a process of its own, as a person's browser meets it: an address, sudden death and return."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from aisbench_sandbox.engine.node import launcher
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
READY_SECONDS = 120.0
END_SECONDS = 90.0
LOOK_SECONDS = 0.05
_IDLE: set[int] = set()
"""Ports of consoles that have ended. A browser compiles the scripts of an address once, whoever serves them."""

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Started(Protocol):
    """What is asked of a process that was started."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int, /) -> None: ...
    def kill(self) -> None: ...


class ConsoleProcess:
    """Serves the console on a free port over one data folder, and follows its runs; `resume` keeps the port."""

    def __init__(self, data_dir: Path, settings: Mapping[str, str]) -> None:
        self.data_dir = data_dir
        self._settings = {f"AISBENCH_{name.upper()}": value for name, value in settings.items()}
        self._port = _IDLE.pop() if _IDLE else free_port()
        self._process: Started | None = None

    @classmethod
    def start(cls, data_dir: Path, **settings: str) -> Self:
        """A console that answers. Settings are given by their names in aisbench.yaml."""
        console = cls(data_dir, settings)
        console.resume()
        return console

    def set(self, **settings: str) -> None:
        """Change settings; they hold from the next start on."""
        self._settings |= {f"AISBENCH_{name.upper()}": value for name, value in settings.items()}

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """The process that serves it."""
        assert self._process
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was started, and not ended by a test."""
        return self._process is not None

    @property
    def said(self) -> str:
        """Everything that it wrote, on its output and to its log."""
        files = (self._log, self.data_dir / "console.log")
        return "".join(file.read_text("utf-8") for file in files if file.exists())

    @property
    def _log(self) -> Path:
        return self.data_dir / "console-process.log"

    def resume(self) -> None:
        """Start (again), on the port of the last time."""
        _IDLE.discard(self._port)
        who = {"LOGNAME": "tester"}  # pictures show who follows
        environment = os.environ | who | {"AISBENCH_DATA_DIR": str(self.data_dir)} | self._settings
        self._process = self._begin(["run", "app.py", "--server.port", str(self._port)], environment)
        self._wait_until_it_answers(self._process)

    def _begin(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Started:
        """Start `streamlit` with these arguments."""
        command = [
            # Should the tests be killed, their consoles end with them.
            *(sys.executable, "-I", "-S", launcher.__file__, str(os.getpid())),
            *(sys.executable, "-m", "streamlit", *arguments),
        ]
        with self._log.open("ab") as log:
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it as Ctrl-C does. Its port is the next console's."""
        self._end(signal.SIGTERM)
        _IDLE.add(self._port)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(END_SECONDS)
        finally:
            process.kill()
            process.wait()

    def _wait_until_it_answers(self, process: Started) -> None:
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end and process.poll() is None:
            try:
                with _DIRECT.open(f"{self.url}/_stcore/health", timeout=5):
                    return
            except OSError:  # refused, broken off, or no answer in time
                time.sleep(LOOK_SECONDS)  # a process is starting; there is nothing to be told by
        process.kill()
        process.wait()
        raise AssertionError(f"the console did not start:\n{self.said}")
