"""`aisbench` on a machine of its own, which has nothing but a server's address and a token."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main
from aisbench_core.model import Role
from aisbench_core.model.token import TokenRequest
from aisbench_core.wiring import Core
from tests.actors import TESTER
from tests.processes import AisbenchProcess, start_aisbench

LONGEST_SECONDS = 90.0


class RemoteShell:
    """Types commands that run on a server, in one token's name."""

    def __init__(self, url: str, token: str, home: Path, profile: str = "lab") -> None:
        self.url = url
        self._started: list[AisbenchProcess] = []
        self.environment = {
            "AISBENCH_SERVER": url, "AISBENCH_TOKEN": token, "AISBENCH_DATA_DIR": str(home / "no-data-here"),
            "HOME": str(home), "AISBENCH_PROFILE": profile,
        }  # fmt: skip

    def type(self, *words: str, stdin: str = "", **variables: str) -> Result:
        """One command, to its end."""
        return CliRunner(env=self.environment | variables).invoke(main, words, input=stdin)

    def start(self, *words: str) -> AisbenchProcess:
        """A command in a process of its own."""
        process = start_aisbench(*words, environment={**os.environ, **self.environment})
        self._started.append(process)
        return process

    def end(self) -> None:
        """End every process that was started."""
        for process in self._started:
            process.kill()
            process.communicate()


def token_for(core: Core, role: Role, name: str = "", **request: Any) -> str:
    """The text of a token with a role, of a person named after it."""
    asked = TokenRequest(name=name or f"some-{role}", role=role, **request)
    return core.tokens.create(asked, TESTER)[1].plain


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition, at most so long."""
    end = time.monotonic() + LONGEST_SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited in vain for: {what}"
        time.sleep(0.05)


def command_processes(server: int) -> list[int]:
    """The processes that run commands for a server, which they name in their arguments."""
    marks = (b"aisbench_core.interfaces.cli.served_process", str(server).encode())
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:  # it has ended
            continue
        found += [int(entry.name)] if all(mark in words for mark in marks) else []
    return found


def kill(process: int) -> None:
    """End a process without a warning."""
    os.kill(process, signal.SIGKILL)


@contextmanager
def another_server(status: int, *records: Mapping[str, object]) -> Iterator[str]:
    """A server that answers commands with these records."""
    content = b"".join(json.dumps(each).encode() + b"\n" for each in records)

    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with served_by(Other) as url:
        yield url


@contextmanager
def served_by(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server that answers so."""
    listening = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}"
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
