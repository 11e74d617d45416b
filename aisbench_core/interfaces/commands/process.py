"""A command in a process of its own: started, limited, and ended with whoever waits for it."""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from aisbench_core.base.errors import AisbenchError, QueryError, TokenRefused
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import PROGRAM, read_environment
from aisbench_core.interfaces.commands.folders import new_folder, remove_folder
from aisbench_core.interfaces.commands.records import MOST_LINE, encode_record, error_record
from aisbench_core.interfaces.commands.request import CommandRequest, InputRequest, ServedBy, Variables

LOG = logging.getLogger(__name__)

MOST_SECONDS = 24 * 3600.0
MOST_OUTPUT_BYTES = 1024**3
# A proxy ends connections on which nothing happens, often after a minute, and a client must notice a dead server.
ALIVE_SECONDS = 10.0
CHECK_SECONDS = 5.0
# How long the last records may take to reach the client of a command that was ended.
LAST_RECORDS_SECONDS = 5.0

# Of what the interpreter itself says, for this server's log.
MOST_NOISE = 4000

ENDED = 2  # as for other input that exceeds a limit
KILLED = 1
INTERRUPTED = 130

# The client's machine decides these; of the others it may set its own, or leave this server's.
_TERMINAL = ("TZ", "COLUMNS", "NO_COLOR")
# A command runs here, and its tracebacks are for this server's log.
_NOT_PASSED = ("AISBENCH_SERVER", "AISBENCH_TOKEN", "AISBENCH_DEBUG", *_TERMINAL)


class InputRefused(AisbenchError):
    """A command has not yet read what it was answered before."""


class CommandProcess:
    """One command. `records` starts it; whoever calls that must also call `close`."""

    def __init__(
        self, command_id: str, token_id: str, key: str, request: CommandRequest, check: Callable[[], None]
    ) -> None:
        """`check`: raises TokenRefused if the token opens nothing any more."""
        self.command_id = command_id
        self._token_id = token_id
        self._key = key
        self._request = request
        self._check = check
        self._process: asyncio.subprocess.Process | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reason: AisbenchError | None = None
        self._is_ended = asyncio.Event()
        self._folder: Path | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def records(self) -> AsyncGenerator[bytes, None]:
        """Start it; what happens, a line each. The last one has the exit code."""
        process = await self._start_process()
        self._tasks = [asyncio.create_task(self._watch_limits()), asyncio.create_task(_log_noise(process.stderr))]
        yield encode_record("started", command=self.command_id, version=version("aisbench-console"))
        async for line in self._read_lines(process):
            yield line
        code = await process.wait()
        if self._reason:
            yield error_record(self._reason)
        elif code < 0 and code != -signal.SIGINT:
            signal_name = signal.Signals(-code).name
            yield error_record(AisbenchError(Message("the server ended it: {signal}", signal=signal_name)))
        yield encode_record("exit", code=self._exit_code(code))

    async def close(self) -> None:
        """End the process if it runs, and remove its files."""
        self._send_signal(signal.SIGKILL)
        for task in self._tasks[:1]:  # the other one ends with the process
            task.cancel()
        if self._process:
            await self._process.wait()
        if self._folder:
            await asyncio.to_thread(remove_folder, self._folder)

    async def wait_until_ended(self) -> None:
        """Wait until it was ended from here, and its last records have had their time."""
        await self._is_ended.wait()
        await asyncio.sleep(LAST_RECORDS_SECONDS)

    def answer(self, answer: InputRequest) -> None:
        """Pass a line of input on. Threads may call it. Raises InputRefused while earlier ones wait to be read."""
        stdin = self._process.stdin if self._process else None
        if stdin and stdin.transport.get_write_buffer_size() > MOST_LINE:
            raise InputRefused(Message("the command has not read earlier answers"), Message("answer what it asks"))
        if self._loop:
            self._loop.call_soon_threadsafe(self._write_line, answer.model_dump_json().encode() + b"\n")

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self._send_signal(signal.SIGINT)

    async def _start_process(self) -> asyncio.subprocess.Process:
        self._folder = folder = await asyncio.to_thread(new_folder)
        self._loop = asyncio.get_running_loop()
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "aisbench_core.interfaces.cli.child", str(os.getpid())),
            "aisbench_core.interfaces.cli.served_process",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            limit=MOST_LINE, cwd=PROGRAM, env=child_variables(self._request.variables, read_environment()),
            start_new_session=True, umask=0o077,
        )  # fmt: skip
        served = ServedBy(token_id=self._token_id, key=self._key, folder=str(folder))
        for value in (served, self._request):
            self._write_line(value.model_dump_json().encode() + b"\n")
        return self._process

    async def _read_lines(self, process: asyncio.subprocess.Process) -> AsyncIterator[bytes]:
        size = 0
        while process.stdout and not self._reason:
            try:
                line = await asyncio.wait_for(process.stdout.readline(), ALIVE_SECONDS)
            except TimeoutError:
                line = encode_record("alive")
            if not line:
                return
            size += len(line)
            if size > MOST_OUTPUT_BYTES * 4 // 3:  # in Base64
                self._kill_group(
                    QueryError(Message("the answer is longer than {most} bytes", most=f"{MOST_OUTPUT_BYTES:,}"))
                )
            else:
                yield line

    async def _watch_limits(self) -> None:
        """End it at the time limit, and when its token opens nothing any more."""
        end = time.monotonic() + MOST_SECONDS
        while not self._reason:
            await asyncio.sleep(CHECK_SECONDS)
            if time.monotonic() > end:
                limit = Message("a command may take {hours:g} hours", hours=MOST_SECONDS / 3600)
                self._kill_group(QueryError(limit, Message("a run that it waited for goes on")))
            try:
                await asyncio.to_thread(self._check)
            except TokenRefused as error:
                self._kill_group(error)
            except AisbenchError:  # the ledger cannot be read now; it is asked again
                continue

    def _kill_group(self, reason: AisbenchError) -> None:
        self._reason = reason
        self._is_ended.set()
        self._send_signal(signal.SIGKILL)

    def _send_signal(self, number: signal.Signals) -> None:
        # It leads a group of its own, with whatever it has started.
        if self._process and self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _write_line(self, line: bytes) -> None:
        stdin = self._process.stdin if self._process else None
        if stdin and not stdin.is_closing():
            stdin.write(line)

    def _exit_code(self, code: int) -> int:
        if self._reason:
            return ENDED
        if code == -signal.SIGINT:
            return INTERRUPTED
        return code if code >= 0 else KILLED


def child_variables(sent: Variables, own: Mapping[str, str]) -> dict[str, str]:
    """The variables of the child process: this server's, with those that shape output from the client."""
    passed = {name: value for name, value in own.items() if name not in _NOT_PASSED}
    return passed | {name: value for name, value in sent.model_dump().items() if value is not None}


async def _log_noise(stderr: asyncio.StreamReader | None) -> None:
    """Log what does not come from the command itself, such as a crash of the interpreter; it may hold anything."""
    noise = b""
    while stderr and (piece := await stderr.read(MOST_NOISE)):
        noise = (noise + piece)[-MOST_NOISE:]
    if noise:
        LOG.warning("a command's process said: %s", noise.decode(errors="replace"))
