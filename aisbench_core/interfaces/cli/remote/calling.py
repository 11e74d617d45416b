"""Sends a command to the server, and prints what comes back as if it had run here."""

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from http.client import HTTPException, HTTPResponse
from importlib.metadata import version
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import click
from click import termui

from aisbench_core.base.errors import ConfigError, ServerUnavailable
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.invocation import get_invocation
from aisbench_core.interfaces.cli.remote.lists import CLIENT, LOCAL, REMOTE
from aisbench_core.interfaces.cli.remote.paths import OutputPath
from aisbench_core.interfaces.cli.remote.request import request_of
from aisbench_core.interfaces.cli.remote.server import CommandServer, named_server, problems_of, server_at
from aisbench_core.interfaces.client import ApiProblem
from aisbench_core.interfaces.commands.records import MOST_LINE, parse_record

INTERRUPTED = 130


def runs_on_server(context: click.Context) -> bool:
    """Whether the environment names a server for this command. Raises ConfigError for one that no server runs."""
    root, name = context.find_root(), command_name(context)
    if root.params.get("local") or get_invocation(context).served or name in CLIENT or not named_server():
        return False
    if name not in REMOTE:
        raise ConfigError(
            Message(
                "AISBENCH_SERVER is set, and {command} {reason}", command=f"aisbench {name}", reason=LOCAL.get(name, "")
            ),
            Message("to run it on this machine: aisbench --local {name}", name=name),
        )
    return True


def command_name(context: click.Context) -> str:
    """Its words without the program's."""
    return context.command_path.partition(" ")[2]


def run_on_server(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Run a command on the server, and exit as it does there."""
    server = server_at(named_server())
    request = request_of(context, command_name(context).split(), arguments)
    with problems_of(server), server.client.start_command(request) as reply:
        code = CommandAnswer(server, reply, _output_files(context)).show()
    context.exit(code)


def _output_files(context: click.Context) -> set[str]:
    return {typed for typed, kind in get_invocation(context).files.items() if isinstance(kind, OutputPath)}


class CommandAnswer:
    """The records of a command, printed and written while they come."""

    def __init__(self, server: CommandServer, reply: HTTPResponse, files: set[str]) -> None:
        """`files`: what the command may write on this machine."""
        self._server = server
        self._reply = reply
        self._files = files
        set_by = reply.headers.get_all("Set-Cookie", [])
        self._cookie = "; ".join(each.partition(";")[0] for each in set_by)
        self._command_id = ""
        self._server_version = ""
        self._contents: dict[str, SpooledTemporaryFile[bytes]] = {}

    def show(self) -> int:
        """The exit code, after everything was printed. Raises ServerUnavailable if the connection breaks."""
        with self._handle_interrupts():
            for record in self._iterate_records():
                match record.get("kind"):
                    case "started":
                        self._command_id = str(record.get("command", ""))
                        self._server_version = str(record.get("version", ""))
                    case "stdout" | "stderr" as name:
                        _print_bytes(name, record.get("data", b""))
                    case "file":
                        self._receive_part(record)
                    case "ask":
                        self._server.client.answer_command(self._command_id, _read_input(record), self._cookie)
                    case "exit":
                        return self._check_exit_code(int(record.get("code", 1)))
        raise self._make_break_error("")

    def _iterate_records(self) -> Iterator[Mapping[str, Any]]:
        try:
            while line := self._reply.readline(MOST_LINE):
                yield parse_record(line)
        except (OSError, HTTPException) as error:
            raise self._make_break_error(str(error)) from error

    def _make_break_error(self, why: str) -> ServerUnavailable:
        return ServerUnavailable(
            Message("the connection to {server} broke: {why}", server=self._server.address, why=why or "it ended"),
            Message("the command may have run and was not repeated; runs continue"),
        )

    def _check_exit_code(self, code: int) -> int:
        if code in (1, 2) and self._server_version != (own := version("aisbench-console")):
            display.print_message(f"the server has version {self._server_version} of aisbench, this machine {own}")
        return code

    def _receive_part(self, record: Mapping[str, Any]) -> None:
        """Part of a file. Only what the command names is written, as the command would write it here."""
        name = str(record.get("name", ""))
        if name not in self._files:
            raise ConfigError(Message("the server sent a file that was not asked for: {name}", name=name))
        if name not in self._contents:  # a snapshot does not fit into memory
            self._contents[name] = SpooledTemporaryFile(display.SPOOLED_BYTES)  # noqa: SIM115  # closed when complete
        content = self._contents[name]
        content.write(record.get("data", b""))
        if record.get("complete"):
            with self._contents.pop(name):
                display.write_output(Path(name), content)

    @contextmanager
    def _handle_interrupts(self) -> Iterator[None]:
        """Ctrl-C interrupts the command on the server, which says what it leaves behind. A second one only ends this.

        The handler raises nothing at first: an exception in the midst of reading would lose a part of a record."""
        pressed = threading.Event()

        def interrupt(*_: object) -> None:
            if pressed.is_set() or not self._command_id:
                raise KeyboardInterrupt
            pressed.set()
            threading.Thread(target=self._interrupt_command, daemon=True).start()

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupt_command(self) -> None:
        with suppress(ApiProblem):  # it has ended meanwhile
            self._server.client.interrupt_command(self._command_id, self._cookie)


def _print_bytes(name: str, data: bytes) -> None:
    stream = sys.stdout if name == "stdout" else sys.stderr
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()


def _read_input(record: Mapping[str, Any]) -> str | None:
    """What is entered here: all of stdin, or a line after the command's question."""
    if record.get("how") == "all":
        return sys.stdin.read()
    prompt = termui.hidden_prompt_func if record.get("how") == "hidden" else termui.visible_prompt_func
    try:
        with redirect_stdout(sys.stderr if record.get("to_stderr") else sys.stdout):
            return str(prompt(str(record.get("prompt", ""))))
    except EOFError:
        return None
