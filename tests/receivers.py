"""Receivers of notifications on this machine: a webhook over HTTP, and a mail server that keeps what it is given."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Hook:
    """What a webhook was sent; `status` is what it answers."""

    url: str = ""
    status: int = 204
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def events(self) -> list[dict[str, Any]]:
        """The events of all messages."""
        return [event for body in self.bodies for event in json.loads(body)["events"]]


@contextmanager
def webhook() -> Iterator[Hook]:
    """A webhook on a free port."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.bodies.append(body)
            hook.headers.append(dict(self.headers))
            self.send_response(hook.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing: tests read what arrived."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.url = f"http://127.0.0.1:{server.server_address[1]}/hook?token=tok-en-in-the-address"
    with _serving(server):
        yield hook


@contextmanager
def endless_webhook() -> Iterator[str]:
    """The address of a webhook that takes a message, and goes on answering until the caller leaves."""
    leaving = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            while not leaving.wait(0.05):
                try:
                    self.wfile.write(b".")
                    self.wfile.flush()
                except OSError:
                    return

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with _serving(server):
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        leaving.set()


@dataclass
class Mailbox:
    """What a mail server was given."""

    port: int = 0
    mails: list[str] = field(default_factory=list)


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    """A mail server on a free port that takes every mail."""
    box = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 here")
            while line := self.rfile.readline().decode().strip():
                word = line.split(" ", 1)[0].upper()
                if word == "DATA":
                    self._say("354 go on")
                    box.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())
                self._say({"QUIT": "221 bye", "EHLO": "250 here"}.get(word, "250 ok"))
                if word == "QUIT":
                    return

        def _say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    box.port = server.server_address[1]
    with _serving(server):
        yield box


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
