"""The proxies of deploy/ on ports of this machine, before a console or a server that says what reached it."""

import base64
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol

from aisbench_core.config.process_account import process_account
from tests.contract.certificates import self_signed
from tests.haproxy import NAME, PASSWORD, haproxy_command
from tests.ports import free_port
from tests.source_tree import HOME

DEPLOY = HOME / "deploy"
HASHED = "$2b$04$abcdefghijklmnopqrstuuT7IHFNMyKInT8JypKF6WaIaympKkYoS"
"""ann's password, at the least cost that bcrypt has: what `caddy hash-password` writes takes a quarter of a second."""


def program(name: str) -> str:
    """The path of a proxy; Debian has some where only root looks."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert found, f"install {name}: make does it as root (Debian: apt-get install {name})"
    return found


def nginx(folder: Path, port: int, backend: str, plain: int = 0) -> list[str]:
    """The command of an nginx with the file of deploy/, on a free port and with files of this folder."""
    (folder / "htpasswd").write_text(f"ann:{{PLAIN}}{PASSWORD}\n", "utf-8")
    text = (DEPLOY / "nginx.conf").read_text("utf-8").replace("/etc/aisbench/tls", str(folder))
    text = re.sub(r"^\s*listen \[::\].*\n", "", text.replace("/etc/aisbench", str(folder)), flags=re.M)
    text = text.replace("rate=20r/s", "rate=10000r/s")  # tests knock more often than anybody
    text = text.replace("listen 80;", f"listen 127.0.0.1:{plain or free_port()};").replace(
        "listen 443", f"listen 127.0.0.1:{port}"
    )
    process = f"user {process_account()}; daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
    paths = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        process + "http { access_log off;\n" + paths + text.replace("http://127.0.0.1:8501", backend) + "}\n", "utf-8"
    )
    return [program("nginx"), "-c", str(config), "-e", str(folder / "error.log")]


def caddy(folder: Path, port: int, backend: str, plain: int = 0) -> list[str]:
    """The same for Caddy."""
    (folder / "caddy-people").write_text(f"ann {HASHED}\n", "utf-8")
    text = (DEPLOY / "Caddyfile").read_text("utf-8").replace("/etc/aisbench/tls", str(folder))
    text = text.replace("/etc/aisbench", str(folder)).replace("127.0.0.1:8501", backend.removeprefix("http://"))
    options = "{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system " + str(folder) + "\n}\n"
    config = folder / "Caddyfile"
    text = text.replace(f"\n{NAME} {{", f"\n{NAME}:{port} {{\n\tbind 127.0.0.1")
    text = text.replace(f"http://{NAME} {{", f"http://{NAME}:{plain or free_port()} {{\n\tbind 127.0.0.1")
    config.write_text(options + text, "utf-8")
    return [program("caddy"), "run", "--adapter", "caddyfile", "--config", str(config)]


def haproxy(folder: Path, port: int, backend: str, plain: int = 0) -> list[str]:
    """The same for HAProxy, before one console."""
    return haproxy_command(folder, port, [backend], plain=plain)


class Proxy(Protocol):
    """Makes the command of a proxy; `plain` is its port without TLS."""

    def __call__(self, folder: Path, port: int, backend: str, plain: int = 0) -> list[str]: ...


Command = Callable[[Path, int, str], list[str]]


@contextmanager
def running(command: Command, folder: Path, backend: str) -> Iterator[int]:
    """The port of a proxy before a server."""
    pem = self_signed(folder, datetime.now(UTC) + timedelta(days=1))
    for name in ("fullchain.pem", "key.pem"):
        (folder / name).write_text(pem.read_text("utf-8"), "utf-8")
    port = free_port()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command(folder, port, backend), stdout=log, stderr=log)
        try:
            _wait_for(port, process, folder)
            yield port
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(port: int, process: "subprocess.Popen[bytes]", folder: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        assert process.poll() is None, (folder / "log").read_text("utf-8")
        assert time.monotonic() < deadline
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return


class Door:
    """Requests to the proxy, as to the name that is in its certificate's place."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._tls = ssl.create_default_context()
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE  # a test's own certificate

    def __call__(self, path: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and content of the answer."""
        raw = socket.create_connection(("127.0.0.1", self._port), 30)
        connection = HTTPSConnection(NAME, timeout=30, context=self._tls)
        connection.sock = self._tls.wrap_socket(raw, server_hostname=NAME)
        connection.request("GET", path, headers={"Host": NAME, **headers})
        reply = connection.getresponse()
        status, found = reply.status, {name.lower(): value for name, value in reply.getheaders()}
        content = b"" if status == 101 else reply.read()
        connection.close()
        return status, found, content


def basic(name: str, password: str) -> dict[str, str]:
    """The header of somebody who types a name and a password."""
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


ANN = basic("ann", PASSWORD)
SOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode(),
}  # fmt: skip


@contextmanager
def echo() -> Iterator[str]:
    """The address of a server that answers with the headers of the request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # http.server looks for this name
            content = str(self.headers).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
