"""A server on loopback that answers what a test tells it to, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, Any], tuple[int, bytes]]
"""What is answered to (method and target, JSON that was sent or None): status and body."""


@dataclass
class Answering:
    """Where it listens, and every request line that it was sent."""

    port: int
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def answering(answer: Answer) -> Iterator[Answering]:
    """The server, running; it speaks as a service and, asked to CONNECT, as a proxy."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            state.asked.append(f"{self.command} {self.path}")
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = answer(state.asked[-1], json.loads(body) if body else None)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_HEAD = do_CONNECT = answer  # noqa: N815  # http.server looks for these names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Answering(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
