"""SQL that people write, in processes of their own: whatever it asks for, the server loses neither memory nor time.

One step of the engine can allocate gigabytes, or ignore interrupts for minutes. A query's process (child.py) has limits
that the system keeps, and its answer comes in pieces. Starting Python for each query would take longer than most
answers, so a process that has loaded everything forks the others.
"""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from aisbench_core.base.errors import AisbenchError, ConfigError, DiskError, QueryError, WarehouseBusy, WarehouseError
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.base.messages.stored import from_data, to_data
from aisbench_core.warehouse.open.memory import too_large
from aisbench_core.warehouse.open.queries import Query, too_slow
from aisbench_core.warehouse.open.reading import FileReader, Reader

PART_BYTES = 1024 * 1024
# Of what it says at its end, and of that what is logged of a bug.
MOST_SAID, MOST_LOGGED = 1024 * 1024, 4000

# How long one that was killed may take to give back its memory and files.
END_S = 10.0

PID = "!q"
DONE: Mapping[str, Any] = {}
"""What a process says after a whole answer, where others say their error."""

_CLOSED = -1
_KINDS = {kind.__name__: kind for kind in (QueryError, WarehouseError, WarehouseBusy, ConfigError, DiskError)}


class QueryProcesses:
    """Answers each query in a process of its own. Threads may share it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._forking: tuple[subprocess.Popen[bytes], socket.socket] | None = None

    @property
    def pid(self) -> int:
        """The process that forks the others; 0 before the first query."""
        return self._forking[0].pid if self._forking else 0

    def iter_answer(self, reader: Reader, query: Query) -> Generator[bytes]:
        """The answer as an Arrow stream, in pieces. Closing the generator ends the process.

        Raises QueryError and WarehouseError as `executed` does."""
        temporary = tempfile.TemporaryDirectory(prefix="aisbench-query-", ignore_cleanup_errors=True)
        with temporary as folder, ExitStack() as opened:
            source = _describe_source(reader, Path(folder))
            start = time.monotonic()
            process = opened.enter_context(closing(self._fork_process()))
            process.send({"query": asdict(query), **source})
            while part := process.read_part():
                yield part
            said = process.read_end()
            if said.strip() != json.dumps(DONE).encode():
                raise _parse_error(said, query, time.monotonic() - start)

    def close(self) -> None:
        """End the process that forks; the next query starts another one. Queries go on."""
        with self._guard:
            self._end_forking()

    def _fork_process(self) -> "QueryProcess":
        with self._guard:
            try:
                return QueryProcess(self._open_channel())
            except (OSError, struct.error):  # the system has ended it, for its memory or with a signal to all
                self._end_forking()
                return QueryProcess(self._open_channel())

    def _open_channel(self) -> socket.socket:
        if self._forking is None:
            ours, theirs = socket.socketpair()
            with theirs:
                command = [sys.executable, "-m", "aisbench_core.warehouse.open.child"]
                self._forking = (subprocess.Popen(command, stdin=theirs.fileno()), ours)
        return self._forking[1]

    def _end_forking(self) -> None:
        forking, self._forking = self._forking, None
        if forking:
            process, channel = forking
            channel.close()
            process.kill()
            process.wait()


class QueryProcess:
    """One of them: what goes in, and what comes out."""

    def __init__(self, channel: socket.socket) -> None:
        """Raises OSError or struct.error if the process at the other end of the channel has ended."""
        (task, self._task), (self._answer, answer), (self._said, said) = (os.pipe() for _ in range(3))
        self._pid = 0
        try:
            socket.send_fds(channel, [b"\0"], [task, answer, said])
            [self._pid] = struct.unpack(PID, channel.recv(struct.calcsize(PID), socket.MSG_WAITALL))
        except (OSError, struct.error):
            self.close()
            raise
        finally:
            for end in (task, answer, said):
                os.close(end)

    def send(self, task: Mapping[str, Any]) -> None:
        with suppress(BrokenPipeError), self._open_writable() as file:  # one that has ended says why
            file.write(json.dumps(task).encode())

    def read_part(self) -> bytes:
        return os.read(self._answer, PART_BYTES)

    def read_end(self) -> bytes:
        """What it says at its end."""
        with os.fdopen(os.dup(self._said), "rb") as file:
            return file.read(MOST_SAID)

    def close(self) -> None:
        """End it and wait until it writes no more, unless it has ended: then its number may be another process's."""
        if self._pid and not self._has_ended(0.0):
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._has_ended(END_S)
        for end in (self._task, self._answer, self._said):
            if end != _CLOSED:
                os.close(end)

    def _has_ended(self, seconds: float) -> bool:
        """Whether it has ended within these seconds: that closes its pipes, whatever ended it."""
        ends = select.poll()
        ends.register(self._said, 0)  # that it was closed is always reported
        return bool(ends.poll(seconds * 1000))

    def _open_writable(self) -> IO[bytes]:
        end, self._task = self._task, _CLOSED
        return os.fdopen(end, "wb")


def _describe_source(reader: Reader, folder: Path) -> Mapping[str, Any]:
    """Where the process reads: a copy in its folder, the file itself if there is no room, or a team's lake."""
    if isinstance(reader, FileReader):
        try:
            return {"copy": str(reader.link_copy(folder))}
        except (OSError, DiskError):
            return {"file": str(reader.location)}
    location = reader.location
    lake = {"catalog": location.catalog, "data_path": location.data_path, "access": asdict(location.access())}
    return {"lake": lake, "folder": str(folder)}


def _parse_error(said: bytes, query: Query, seconds: float) -> Exception:
    text = said.decode(errors="replace").strip()
    try:
        return error_of(json.loads(text.rpartition("\n")[2]))
    except (ValueError, KeyError, TypeError):
        if text:
            return RuntimeError(f"a query's process failed: {text[-MOST_LOGGED:]}")
        # It was ended: at its deadline, or by the system or a library for want of memory.
        return too_slow(query.seconds) if seconds >= query.seconds else too_large()


def data_of(error: AisbenchError) -> dict[str, Any]:
    """An error as JSON data."""
    texts = {"message": str(error.message), "hint": str(error.hint)}
    return {"kind": type(error).__name__, **texts, "data": [to_data(error.message), to_data(error.hint)]}


def error_of(data: Mapping[str, Any]) -> AisbenchError:
    """The error of such data. Raises KeyError, TypeError and ValueError if it is none."""
    message, hint = (
        _parse_sentence(text, each) for text, each in zip((data["message"], data["hint"]), data["data"], strict=True)
    )
    return _KINDS[data["kind"]](message, hint)


def _parse_sentence(text: str, data: object) -> Message:
    sentence = from_data(text, data)
    return sentence if isinstance(sentence, Message) else make_verbatim(sentence)
