"""Processes that run a test's own functions: forked from one that has loaded the program, which takes a second."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import TextIO

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(
    [
        "aisbench_core.interfaces.api.serving",
        "aisbench_core.interfaces.cli",
        "aisbench_core.wiring",
        "aisbench_core.cloud.modelarts_v2.service",
        "aisbench_core.cloud.obs.objects",
        "numpy.random",
        "optuna",
        "pandas",  # which DuckDB imports for the first value of a query
        "tests.team_warehouse",
    ]
)


IS_MEASURED = "AISBENCH_TESTS_CONTEXT" in os.environ
"""Whether coverage asks which test each process runs for: a fork would say the one for which its server was started."""

_AS_TYPED = """
import signal, sys
sys.modules |= {hidden}
from aisbench_core.interfaces.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def start_aisbench(
    *words: str, environment: Mapping[str, str], merged: bool = False, without: str | None = None
) -> "AisbenchProcess":
    """`aisbench` in a process of its own, with pipes and an empty stdin.

    `merged`: stderr goes to stdout, too. `without`: a library that cannot be imported there."""
    if not IS_MEASURED:
        return ForkedProcess(words, environment, merged, without)
    program = _AS_TYPED.format(hidden={without: None} if without else {})
    return subprocess.Popen(
        [sys.executable, "-c", program, *words], env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if merged else subprocess.PIPE,
    )  # fmt: skip


class ForkedProcess:
    """A command that was forked from a process that has loaded the program, handled as `subprocess.Popen`."""

    def __init__(
        self, words: tuple[str, ...], environment: Mapping[str, str], merged: bool, without: str | None
    ) -> None:
        outputs = [FORKED.Pipe(duplex=False) for _ in range(1 if merged else 2)]
        ways = [way for _, way in outputs]
        # As a daemon it ends with the tests, should one of them leave it behind.
        self._process = FORKED.Process(target=_run, args=(words, dict(environment), ways, without), daemon=True)
        self._process.start()
        for way in ways:
            way.close()
        self.stdout, self.stderr = _open_text(outputs[0][0]), _open_text(outputs[-1][0]) if not merged else None

    @property
    def pid(self) -> int:
        """The process' number."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or the signal that ended it as a negative number; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it without a warning."""
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its exit code."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("aisbench", timeout or 0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; what it has written, and was not read yet."""
        texts = ["", ""]

        def read(number: int, stream: TextIO) -> None:
            texts[number] = stream.read()

        streams = [stream for stream in (self.stdout, self.stderr) if stream and not stream.closed]
        readers = [threading.Thread(target=read, args=each, daemon=True) for each in enumerate(streams)]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join()
        for stream in streams:
            stream.close()
        return texts[0], texts[1]


AisbenchProcess = ForkedProcess | subprocess.Popen[str]


def _open_text(end: Connection) -> TextIO:
    with end:
        return os.fdopen(os.dup(end.fileno()), "r", encoding="utf-8")


def _run(words: tuple[str, ...], environment: Mapping[str, str], ways: list[Connection], without: str | None) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    for number, way in ((1, ways[0]), (2, ways[-1])):
        os.dup2(way.fileno(), number)
    for way in ways:
        way.close()
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    if without:
        sys.modules[without] = None  # type: ignore[assignment]  # as Python marks what is not to be found
    sys.argv = ["aisbench", *words]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores Ctrl-C
    from aisbench_core.interfaces.cli import main

    main()
