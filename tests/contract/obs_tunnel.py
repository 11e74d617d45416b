"""A proxy that leads every name to one port of this machine, so that clients may use names that nobody resolves."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Tunnel(socketserver.StreamRequestHandler):
    """Answers CONNECT, then passes bytes on in both directions until either side ends."""

    target = 0

    def handle(self) -> None:
        while self.rfile.readline().strip():
            pass
        with socket.create_connection(("127.0.0.1", self.target)) as there:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pass_on, args=(there, self.connection))
            back.start()
            _pass_on(self.connection, there)
            back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # one side has gone
        return


@contextmanager
def tunnel(port: int) -> Iterator[int]:
    """The port of a proxy that leads to `port`."""
    handler = type("Tunnel", (_Tunnel,), {"target": port})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()
