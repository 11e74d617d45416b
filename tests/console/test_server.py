"""The server object: headers on every answer, a clean start and a clean end."""

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from http.client import HTTPMessage
from pathlib import Path

import pytest

from aisbench_core.interfaces.web.page_base import SCRIPT
from aisbench_core.interfaces.web.security_headers import content_security_policy
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
READY_SECONDS = 120
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """The console on a free port, over an empty data folder."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
        cwd=ROOT,
        env={**os.environ, "AISBENCH_DATA_DIR": str(tmp_path_factory.mktemp("data"))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    base = f"http://127.0.0.1:{port}"
    _wait_until_it_answers(process, base)
    yield process, base
    process.kill()
    process.wait()


def _wait_until_it_answers(process: "subprocess.Popen[bytes]", base: str) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with DIRECT.open(f"{base}/_stcore/health", timeout=5):
                return
        except OSError:  # no answer yet, or none in time: a process is starting; there is nothing to be told by
            time.sleep(0.1)
    process.kill()
    process.wait()
    raise AssertionError("the console did not start")


@pytest.mark.parametrize("path", ["/", "/leaderboard", "/_stcore/health"])
def test_every_answer_carries_the_security_headers(server: tuple["subprocess.Popen[bytes]", str], path: str) -> None:
    _, base = server

    with DIRECT.open(base + path, timeout=READY_SECONDS) as answer:
        headers = answer.headers

    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] in ("no-store", "no-cache")


def test_each_browser_gets_an_id_that_no_script_reads_and_keeps_it(
    server: tuple["subprocess.Popen[bytes]", str],
) -> None:
    first, second = cookie_of(server[1]), cookie_of(server[1])

    again = cookie_of(server[1], sent=f"other=1; {first.partition(';')[0]}")
    foreign = cookie_of(server[1], sent="aisbench_browser=../../etc")

    name, _, value = first.partition(";")[0].partition("=")
    assert (name, len(value)) == ("aisbench_browser", 43)
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(first.split("; "))
    assert len({each.partition(";")[0] for each in (first, second, foreign)}) == 3
    assert again == first


def cookie_of(base: str, sent: str = "") -> str:
    """The cookie that comes with a page."""
    asking = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    asking.addheaders = [("Accept", "text/html,*/*"), ("Cookie", sent)]
    with asking.open(f"{base}/configure", timeout=READY_SECONDS) as answer:
        return str(answer.headers["Set-Cookie"])


@pytest.mark.parametrize("path", ["/", "/leaderboard", "/live?run=r1"])
def test_a_page_says_where_its_server_is_whatever_the_browser_kept(
    server: tuple["subprocess.Popen[bytes]", str], path: str
) -> None:
    kept = {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT", "Accept-Encoding": "gzip", "Range": "bytes=0-9"}
    asked = urllib.request.Request(server[1] + path, headers={"Accept": "text/html,*/*", **kept})

    with DIRECT.open(asked, timeout=READY_SECONDS) as answer:
        status, headers, page = answer.status, answer.headers, answer.read()

    assert (status, headers["ETag"], headers["Content-Length"]) == (200, None, str(len(page)))
    assert page.count(SCRIPT) == 1
    assert page.index(SCRIPT) < page.index(b"<script type=")


def test_scripts_and_styles_are_sent_compressed_to_whoever_takes_it(
    server: tuple["subprocess.Popen[bytes]", str],
) -> None:
    for file in names_of_assets(server[1]):
        plain, _ = fetch_answer(server[1] + file)

        answers = [fetch_answer(server[1] + file, {"Accept-Encoding": "gzip, br"}) for _ in range(2)]

        for body, headers in answers:
            assert (headers["Content-Encoding"], headers["Vary"]) == ("gzip", "Accept-Encoding")
            assert headers["Cache-Control"] == "public, immutable, max-age=31536000"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert int(headers["Content-Length"]) == len(body) < len(plain)
            assert gzip.decompress(body) == plain


def test_who_asks_for_a_part_of_a_script_or_for_none_gets_it_as_it_is(
    server: tuple["subprocess.Popen[bytes]", str],
) -> None:
    script = server[1] + names_of_assets(server[1])[0]
    plain, headers = fetch_answer(script)
    _, compressed = fetch_answer(script, {"Accept-Encoding": "gzip"})

    part, part_headers = fetch_answer(script, {"Accept-Encoding": "gzip", "Range": "bytes=0-9"})

    assert headers["Vary"] == part_headers["Vary"] == "Accept-Encoding"
    assert (part, part_headers["Content-Encoding"]) == (plain[:10], None)
    with pytest.raises(urllib.error.HTTPError, match="304") as unchanged:
        fetch_answer(script, {"Accept-Encoding": "gzip", "If-None-Match": compressed["ETag"]})
    unchanged.value.close()


def test_a_script_that_does_not_exist_is_not_kept_as_one(server: tuple["subprocess.Popen[bytes]", str]) -> None:
    for _ in range(2):
        _, headers = fetch_answer(f"{server[1]}/static/js/nothing.js", {"Accept-Encoding": "gzip"})

        assert (headers["Content-Encoding"], headers.get_content_type()) == (None, "text/html")


def names_of_assets(base: str) -> list[str]:
    """The script and the style that a page names."""
    page, _ = fetch_answer(base, {"Accept": "text/html"})
    return [f"/static/{name}" for name in re.findall(r'"\./static/((?:js/index|css/index)[^"]+)"', page.decode())]


def fetch_answer(address: str, headers: Mapping[str, str] | None = None) -> tuple[bytes, HTTPMessage]:
    """The body and the headers of an answer."""
    asked = urllib.request.Request(address, headers=dict(headers or {}))
    with DIRECT.open(asked, timeout=READY_SECONDS) as answer:
        return answer.read(), answer.headers


def test_metrics_and_the_agent_api_are_closed(server: tuple["subprocess.Popen[bytes]", str]) -> None:
    _, base = server

    for path in ("/_stcore/metrics", "/_stcore/agent/openapi.json"):
        with pytest.raises(urllib.error.HTTPError, match="404") as refusal:
            DIRECT.open(base + path, timeout=READY_SECONDS)
        refusal.value.close()
        assert refusal.value.headers["X-Frame-Options"] == "DENY"


def test_no_request_is_echoed_with_its_headers(server: tuple["subprocess.Popen[bytes]", str]) -> None:
    _, base = server

    for path in ("/", "/api/v1/runs"):
        for origin in ({}, {"Origin": base}):
            trace = urllib.request.Request(base + path, headers={"X-Mine": "canary", **origin}, method="TRACE")
            with pytest.raises(urllib.error.HTTPError, match=r"40[135]") as refusal:
                DIRECT.open(trace, timeout=READY_SECONDS)
            with refusal.value as answer:
                assert b"canary" not in answer.read()


@pytest.mark.parametrize("path", [".git/HEAD", ".git/", "aisbench.yaml", ".streamlit/secrets.toml", "data/", "app.py"])
def test_no_file_of_the_folder_is_served(server: tuple["subprocess.Popen[bytes]", str], path: str) -> None:
    page = _content(f"{server[1]}/")
    assert b"<html" in page

    answers = {
        _content(f"{server[1]}/{start}{path}") for start in ("", "static/", "app/static/", "media/", "static/../../")
    }

    assert answers <= {page, b""}  # an unknown path is the console's page, which says that there is none


def _content(url: str) -> bytes:
    """What an address shows; nothing if it is refused."""
    try:
        with DIRECT.open(url, timeout=READY_SECONDS) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as refusal:
        refusal.close()
        return b""


def test_no_page_of_another_origin_may_send_messages_to_the_consoles(
    server: tuple["subprocess.Popen[bytes]", str],
) -> None:
    with DIRECT.open(f"{server[1]}/_stcore/host-config", timeout=READY_SECONDS) as answer:
        assert json.load(answer)["allowedOrigins"] == []


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/_stcore/host-config", "/media/none", "/healthz"])
def test_no_page_of_another_origin_reads_an_answer(server: tuple["subprocess.Popen[bytes]", str], path: str) -> None:
    asked = urllib.request.Request(server[1] + path, headers={"Origin": "http://other.example"})
    try:
        with DIRECT.open(asked, timeout=READY_SECONDS) as answer:
            headers = answer.headers
    except urllib.error.HTTPError as refusal:
        with refusal:
            headers = refusal.headers

    assert headers["Content-Security-Policy"]
    assert not [name for name in headers if name.lower().startswith("access-control-")]


def test_no_request_hides_in_the_body_of_another(server: tuple["subprocess.Popen[bytes]", str]) -> None:
    address = server[1].removeprefix("http://")
    chunked_is_over = "0\r\n\r\n"
    hidden = f"GET /_stcore/metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    body = chunked_is_over + hidden
    both = (
        f"GET /healthz HTTP/1.1\r\nHost: {address}\r\nContent-Length: {len(body)}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )

    name, _, port = address.partition(":")
    with socket.create_connection((name, int(port)), timeout=READY_SECONDS) as connection:
        connection.sendall((both + body).encode())
        connection.shutdown(socket.SHUT_WR)
        answered = b"".join(iter(lambda: connection.recv(65536), b""))

    # Refused as a whole, or by the length of its chunks: then the second one is a request of its own, and refused.
    statuses = re.findall(rb"HTTP/1\.1 (\d+)", answered)
    assert statuses in ([b"400"], [b"200", b"404"])


def test_an_upload_from_another_page_is_refused(server: tuple["subprocess.Popen[bytes]", str]) -> None:
    _, base = server
    upload = urllib.request.Request(f"{base}/_stcore/upload_file/{uuid.uuid4()}/{uuid.uuid4()}", b"data", method="PUT")
    upload.add_header("Origin", "http://127.0.0.1:9999")

    with pytest.raises(urllib.error.HTTPError, match="403") as refusal:
        DIRECT.open(upload, timeout=READY_SECONDS)

    with refusal.value as answer:
        assert b"Only pages of the console itself" in answer.read()


def test_streamlit_run_refuses_to_listen_beyond_this_machine(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(free_port())]
    environment = {**os.environ, "AISBENCH_DATA_DIR": str(tmp_path)}

    refused = subprocess.run(
        [*command, "--server.address", "0.0.0.0"],  # noqa: S104 - it is refused
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=READY_SECONDS,
        check=False,
    )

    assert refused.returncode != 0
    assert "allow_network_access_without_sign_in" in refused.stderr


def test_the_policy_names_no_other_host_than_the_one_asked() -> None:
    policy = content_security_policy("bench.example:8501")

    assert re.findall(r"[a-z.]+example:\d+", policy) == ["bench.example:8501"] * 2


def test_a_host_header_cannot_write_the_policy() -> None:
    assert "evil" not in content_security_policy("a; script-src evil")


def test_it_ends_when_it_is_told_to(server: tuple["subprocess.Popen[bytes]", str]) -> None:
    process, _ = server

    process.send_signal(signal.SIGTERM)

    assert process.wait(90) in (0, -signal.SIGTERM)  # after its lifespan has ended, uvicorn passes the signal on
