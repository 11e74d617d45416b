"""TensorBoard over the event files of chosen runs: started on demand, only for this machine, and ended with us."""

import importlib.util
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import read_environment
from aisbench_core.config.variables import scrub_environment
from aisbench_core.domain.summaries.curves import event_files
from aisbench_core.domain.summaries.event_files import is_mindspore

PREFIX = "/tensorboard/"
MOST = 4
"""Processes at once; each takes about 150 MB. A further one ends the oldest."""

INSTALL = "pip install --constraint constraints.txt --editable '.[tensorboard]'"
READY_SECONDS = 60.0
POLL_SECONDS = 0.1
END_SECONDS = 5.0
RELOAD_SECONDS = 10

_ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)/")
_MOST_LOG = 64 * 1024


@dataclass(frozen=True, slots=True)
class TensorBoard:
    """A process that answers below `path` at a port of this machine. The path cannot be guessed by other programs."""

    run_ids: tuple[str, ...]
    token: str
    port: int
    process: "subprocess.Popen[bytes]"
    folder: Path

    @property
    def path(self) -> str:
        """Where it answers, on its own port and below the console's address."""
        return f"{PREFIX}{self.token}/"

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def end(self) -> None:
        """End the process, and remove its folder."""
        self.process.terminate()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def is_installed() -> bool:
    """Whether the extra `tensorboard` is installed."""
    return importlib.util.find_spec("tensorboard") is not None


class TensorBoards:
    """The processes that this process has started. Threads may share it."""

    def __init__(self) -> None:
        self._running: list[TensorBoard] = []
        self._guard = threading.Lock()

    def find(self, run_ids: tuple[str, ...]) -> TensorBoard | None:
        """The one that shows just these runs; None if there is none that still runs."""
        return next((one for one in self._running if one.run_ids == run_ids and one.is_alive), None)

    def start(self, folders: Mapping[str, Path], port: int = 0) -> TensorBoard:
        """One that shows the event files in the folders of these runs, as they grow; the one that does already.

        Raises ConfigError if TensorBoard is not installed or a run has nothing for it, AisbenchError if it fails."""
        if not is_installed():
            raise ConfigError(
                Message("TensorBoard is not installed"), Message("install it: {command}", command=INSTALL)
            )
        for run_id, folder in folders.items():
            if all(is_mindspore(file.name) for file in event_files(folder)):
                raise ConfigError(
                    Message("run {run} has no event files for TensorBoard", run=run_id),
                    Message("see docs/workloads.md, Curves"),
                )
        with self._guard:
            self._drop_ended()
            if (running := self.find(tuple(folders))) is not None:
                return running
            while len(self._running) >= MOST:
                self._running.pop(0).end()
            started = _start_server(folders, port)
            self._running.append(started)
            return started

    def port_of(self, token: str) -> int | None:
        """The port of the one with this token, if it still runs."""
        return next((one.port for one in self._running if one.token == token and one.is_alive), None)

    def close(self) -> None:
        """End all of them."""
        with self._guard:
            while self._running:
                self._running.pop().end()

    def _drop_ended(self) -> None:
        for one in [one for one in self._running if not one.is_alive]:
            one.end()
            self._running.remove(one)


def _start_server(folders: Mapping[str, Path], port: int) -> TensorBoard:
    folder = Path(tempfile.mkdtemp(prefix="aisbench-tensorboard-"))
    token = secrets.token_urlsafe(32)
    shown = folder / "runs"
    shown.mkdir()
    for run_id, summaries in folders.items():
        (shown / run_id).symlink_to(summaries.resolve(), target_is_directory=True)
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *_CHILD,
                str(os.getpid()),
                "aisbench_core.domain.summaries.tensorboard_process",
                *_build_arguments(shown, port),
            ],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=scrub_environment(read_environment()),  # it needs no keys
        )
    with suppress(BrokenPipeError), process.stdin as stdin:  # type: ignore[union-attr]  # a pipe, as asked for
        stdin.write(f"{PREFIX}{token}\n".encode())
    starting = TensorBoard(tuple(folders), token, port, process, folder)
    end = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < end:
        if match := _ADDRESS.search(_read_log(log)):
            return TensorBoard(starting.run_ids, token, int(match[1]), process, folder)
        time.sleep(POLL_SECONDS)
    lines = _read_log(log).decode("utf-8", "replace").strip().splitlines()
    starting.end()
    raise AisbenchError(Message("TensorBoard did not start: {line}", line=lines[-1] if lines else Message("no output")))


# Ends with us even after kill -9.
_CHILD = (sys.executable, "-m", "aisbench_core.interfaces.cli.child")


def _build_arguments(folder: Path, port: int) -> list[str]:
    return [
        *("--logdir", str(folder), "--host", "127.0.0.1", "--port", str(port)),
        # The fast loader is a server of its own on another port, which everybody on this machine could ask.
        *("--load_fast", "false", "--reload_multifile", "true", "--reload_interval", str(RELOAD_SECONDS)),
    ]


def _read_log(log: Path) -> bytes:
    with log.open("rb") as file:
        return file.read(_MOST_LOG)
