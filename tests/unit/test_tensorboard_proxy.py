"""TensorBoard below the console's address: what goes on to it, what comes back, and who is turned away."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from aisbench_core.config.console_address import ConsoleNames
from aisbench_core.interfaces.web.front_door import FrontDoor, FrontDoorMiddleware
from aisbench_core.interfaces.web.tensorboard_proxy import MOST_BODY, TensorBoardProxy

TOKEN = "t" * 43
BASE = f"/tensorboard/{TOKEN}"


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        names = ",".join(sorted(name.lower() for name in self.headers))
        content = f"{self.command} {self.path} [{names}] {body.decode()}".encode()
        self.send_response(304 if "unchanged" in self.path else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Set-Cookie", "from=tensorboard")
        self.send_header("Content-Security-Policy", "default-src *")
        self.send_header("Content-Length", "0" if "unchanged" in self.path else str(len(content)))
        self.end_headers()
        if self.command != "HEAD" and "unchanged" not in self.path:
            self.wfile.write(content)

    do_POST = do_HEAD = do_GET  # noqa: N815  # the server's names

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where the stand-in for TensorBoard listens."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


class Browser:
    """Asks a console that runs the checks of the real one."""

    def __init__(self, base: str) -> None:
        self.base = base

    def ask(self, method: str, path: str, content: bytes = b"", **headers: str) -> requests.Response:
        """`headers`: with the names' first letters small; Origin is the console's own, unless given."""
        sent = {"Origin": self.base, **{name.title(): value for name, value in headers.items()}}
        return requests.request(
            method,
            self.base + path,
            data=content or None,
            headers={name: value for name, value in sent.items() if value},
            allow_redirects=False,
            timeout=30,
        )


@pytest.fixture(scope="module")
def browser(port: int) -> Iterator[Browser]:
    """A browser on such a console."""
    ports = {TOKEN: port, "d" * 43: 1}
    app = Starlette(
        routes=[Route("/{path:path}", lambda request: PlainTextResponse(f"the app: {request.url.path}"))],
        middleware=[
            Middleware(FrontDoorMiddleware, front_door=lambda: FrontDoor(ConsoleNames("127.0.0.1"), network=True)),
            Middleware(TensorBoardProxy, port_of=ports.get),
        ],
    )
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    yield Browser(f"http://127.0.0.1:{listener.getsockname()[1]}")
    server.should_exit = True
    thread.join(30)
    listener.close()


def test_a_request_goes_on_without_cookies_and_comes_back_without_headers_of_its_own(browser: Browser) -> None:
    path = f"{BASE}/data/runs?tag=a%2Fb&run=%E4%B8%AD"
    answer = browser.ask("GET", path, cookie="aisbench_browser=secret", accept="*/*", dnt="1")

    assert answer.text.partition(" [")[0] == f"GET {path}"
    names = {*answer.text.partition("[")[2].partition("]")[0].split(",")}
    assert names - {"user-agent"} == {"accept", "accept-encoding", "host"}
    assert answer.headers["content-type"] == "application/json"
    assert not {"set-cookie", "content-security-policy"} & {name.lower() for name in answer.headers}


def test_a_form_of_its_own_pages_goes_on(browser: Browser) -> None:
    answer = browser.ask("POST", f"{BASE}/data/plugin/scalars", b"requests=1")

    assert answer.text.startswith(f"POST {BASE}/data/plugin/scalars [")
    assert answer.text.endswith("] requests=1")


@pytest.mark.parametrize("origin", ["", "null", "https://evil.example", "http://127.0.0.1:6006"])
def test_a_form_of_another_page_does_not(browser: Browser, origin: str) -> None:
    assert browser.ask("POST", f"{BASE}/data", b"x", origin=origin).status_code == 403


def test_another_name_is_turned_away_before(browser: Browser) -> None:
    assert browser.ask("GET", f"{BASE}/data/runs", host="evil.example").status_code == 403


@pytest.mark.parametrize("path", ["/tensorboard/", f"/tensorboard/{'x' * 42}/", "/tensorboard", "/live", f"/x{BASE}/"])
def test_every_other_path_is_the_consoles(browser: Browser, path: str) -> None:
    assert browser.ask("GET", path).text == f"the app: {path}"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"/tensorboard/{'u' * 43}/", 404),
        ("GET", f"/tensorboard/{'d' * 43}/", 502),
        ("GET", BASE, 307),
        ("HEAD", f"{BASE}/", 200),
        ("GET", f"{BASE}/unchanged", 304),
        ("DELETE", f"{BASE}/", 405),
        ("PUT", f"{BASE}/", 405),
    ],
)
def test_each_request_has_the_status_that_says_what_became_of_it(
    browser: Browser, method: str, path: str, status: int
) -> None:
    assert browser.ask(method, path).status_code == status


@pytest.mark.parametrize(
    "start", ["%2Ftensorboard%2F{token}%2F@", "/tensorboard%2F{token}/", "%2Ftensorboard/{token}/"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_target_that_names_a_host_goes_nowhere(browser: Browser, port: int, start: str, method: str) -> None:
    target = f"{start.format(token=TOKEN)}127.0.0.1:{port}/secret"
    host = browser.base.removeprefix("http://")
    with socket.create_connection(("127.0.0.1", int(host.partition(":")[2])), timeout=30) as raw:
        head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nOrigin: {browser.base}\r\nContent-Length: 0\r\n"
        raw.sendall(f"{head}Connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))

    assert answer.split()[1] in (b"400", b"404"), answer
    assert b"secret [" not in answer


def test_a_body_that_no_page_of_tensorboard_sends_is_refused(browser: Browser) -> None:
    assert browser.ask("POST", f"{BASE}/", b"x" * MOST_BODY).status_code == 200
    assert browser.ask("POST", f"{BASE}/", b"x" * (MOST_BODY + 1)).status_code == 413
