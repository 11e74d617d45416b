"""What a client enters into a running command arrives once, though nobody answers that it has."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from aisbench_core.interfaces.client import ApiProblem, Client


@contextmanager
def gateway(received: list[tuple[str, bytes]]) -> Iterator[str]:
    """The address of a proxy that passes everything on, and loses each answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers.get("Content-Length") or 0))))
            self.send_response(504)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_input_and_interrupts_are_sent_once() -> None:
    received: list[tuple[str, bytes]] = []

    with gateway(received) as address:
        client = Client(address, "a token")
        with pytest.raises(ApiProblem, match="504"):
            client.answer_command("c0ffee", "https://hooks.example.org")
        with pytest.raises(ApiProblem, match="504"):
            client.interrupt_command("c0ffee")

    assert received == [
        ("/api/v1/commands/c0ffee/input", b'{"text": "https://hooks.example.org"}'),
        ("/api/v1/commands/c0ffee/interrupt", b""),
    ]
