"""Who may reach the console: names and origins, addresses beyond this machine, Streamlit's inner endpoints."""

import socket

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.config.console_address import ConsoleNames, WebOrigin, is_loopback, require_permission, url_of
from aisbench_core.config.settings import load_settings
from aisbench_core.interfaces.web.front_door import FrontDoor

UUID = "01234567-89ab-cdef-0123-456789abcdef"
HOME = "127.0.0.1:8501"
OWN = f"http://{HOME}"


def refused(
    host: str | None = HOME,
    origin: str | None = None,
    *,
    path: str = "/_stcore/stream",
    kind: str = "websocket",
    method: str = "GET",
    listening: str = "127.0.0.1",
    reached: str = "127.0.0.1",
    scheme: str = "",
    public_url: str = "",
    network: bool = False,
) -> int | None:
    """The status that a request is refused with."""
    headers = [(b"host", host.encode())] if host is not None else []
    headers += [(b"origin", origin.encode())] if origin is not None else []
    scope = {
        "type": kind,
        "scheme": scheme or ("ws" if kind == "websocket" else "http"),
        "path": path,
        "method": method,
        "headers": headers,
        "server": (reached, 8501),
    }
    refusal = FrontDoor(ConsoleNames(listening, WebOrigin.parse(public_url)), network).refusal(scope)
    return refusal and refusal[0]


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (HOME, OWN),
        ("localhost:8501", "http://localhost:8501"),
        ("[::1]:8501", "http://[::1]:8501"),
        ("localhost:9000", "http://localhost:9000"),  # through an SSH tunnel
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("LOCALHOST:8501", "http://localhost:8501"),
    ],
)
def test_pages_of_the_console_open_its_web_socket(host: str, origin: str) -> None:
    assert refused(host, origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "http://127.0.0.1:9999",
        "http://127.0.0.1",
        "http://localhost:8501",
        "https://127.0.0.1:8501",
        "http://127.0.0.1:8501.evil.example",
        "http://evil.example:8501",
        "http://127.0.0.1:8501@evil.example",
        "http://evil.example#@127.0.0.1:8501",
        "http://127.0.0.1:8501/",
        "file://127.0.0.1:8501",
        "chrome-extension://127.0.0.1:8501",
    ],
)
def test_other_pages_and_programs_that_name_no_page_do_not(origin: str | None) -> None:
    assert refused(HOME, origin) == 403


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "evil.example:8501", "127.0.0.1.evil.example:8501", "a@127.0.0.1", "10.0.0.5:8501"],
)
def test_a_name_that_was_made_to_lead_here_reaches_nothing(host: str | None) -> None:
    assert refused(host, f"http://{host}") == 403
    assert refused(host, kind="http", path="/") == 403


def test_several_hosts_or_origins_are_nobody() -> None:
    door = FrontDoor(ConsoleNames("127.0.0.1"), network=False)
    scope = {"type": "websocket", "scheme": "ws", "path": "/_stcore/stream", "server": ("127.0.0.1", 8501)}
    host, origin = (b"host", HOME.encode()), (b"origin", OWN.encode())

    assert door.refusal({**scope, "headers": [host, origin]}) is None
    assert door.refusal({**scope, "headers": [host, origin, origin]}) is not None
    assert door.refusal({**scope, "headers": [host, host, origin]}) is not None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST", "PATCH"])
def test_what_changes_something_needs_a_page_of_the_console(method: str) -> None:
    path = f"/_stcore/upload_file/{UUID}/{UUID}"

    assert refused(HOME, OWN, kind="http", method=method, path=path) is None
    assert refused(HOME, "http://127.0.0.1:9999", kind="http", method=method, path=path) == 403
    assert refused(HOME, None, kind="http", method=method, path=path) == 403


@pytest.mark.parametrize(
    "path", ["/", "/leaderboard", "/_stcore/health", "/configure/_stcore/host-config", "/media/a.csv"]
)
def test_pages_are_served_to_whoever_names_the_console(path: str) -> None:
    assert refused(kind="http", path=path) is None


@pytest.mark.parametrize(
    "path",
    [
        *("/_stcore/metrics", "/_stcore/metrics/", "//_stcore/metrics", "/_stcore/script-health-check"),
        *(
            "/_stcore/agent/interact",
            "/_stcore/agent/mcp",
            "/_stcore/agent/openapi.json",
            "/base/_stcore/metrics",
            "/_stcore/upload_file/a/b",
        ),
    ],
)
def test_inner_endpoints_that_no_page_needs_are_closed(path: str) -> None:
    assert refused(kind="http", path=path) == 404


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "path",
    [
        *("/api", "/api/run-logs/r/0", "/api/v1", "/API/v1/runs", "/api/v1x/runs", "/api./v1/runs", "/apis", "/api/"),
        *("/metrics/", "/metrics/run-logs/r/0", "/healthz;/live", "/Readyz", "/metricsx"),
    ],
)
def test_what_a_proxy_may_take_for_a_path_of_programs_is_closed_to_people(path: str, kind: str) -> None:
    assert refused(HOME, OWN, path=path, kind=kind) == 404


@pytest.mark.parametrize("path", ["/api/v1/_stcore/stream", "/metrics", "/healthz", "/api/v1/runs"])
def test_no_web_socket_opens_at_a_path_of_programs(path: str) -> None:
    assert refused(HOME, OWN, path=path) == 404


@pytest.mark.parametrize(
    "path",
    [
        *("//live", "/live//", "/x/../live", "/./live", "/live/..", "/live/.", "/run-logs\\r\\0", "/live\n", "/\x00"),
        *("/metrics\n", "//api/v1/runs", "/x/../api/v1/runs"),
    ],
)
def test_a_path_that_a_proxy_reads_otherwise_is_refused(path: str) -> None:
    assert refused(HOME, OWN, path=path) == 400
    assert refused(path=path, kind="http") == 400


def test_a_proxy_is_let_in_by_its_name_alone() -> None:
    url = "https://bench.example.com"

    assert refused("bench.example.com", "https://bench.example.com", public_url=url) is None
    assert refused(HOME, "https://bench.example.com", public_url=url) is None
    assert refused(HOME, OWN, public_url=url) is None
    assert refused("bench.example.com", "https://other.example.com", public_url=url) == 403
    assert refused("bench.example.com", "http://127.0.0.1:9999", public_url=url) == 403
    assert refused("other.example.com", "https://bench.example.com", public_url=url) == 403


def test_a_proxy_is_named_with_scheme_name_and_port_only() -> None:
    assert load_settings({"AISBENCH_PUBLIC_URL": "https://bench.example.com:8443/"}).public_url
    with pytest.raises(Exception, match="public_url"):
        load_settings({"AISBENCH_PUBLIC_URL": "bench.example.com/console"})


@pytest.mark.parametrize("listening", ["0.0.0.0", "::", ""])  # noqa: S104 - nothing listens here
def test_a_console_for_everybody_is_reached_by_addresses_and_this_machines_name(listening: str) -> None:
    name = socket.gethostname().lower()

    for host in ("10.0.0.5:8501", "[fe80::1]:8501", "localhost:8501", f"{name}:8501"):
        assert refused(host, f"http://{host}", listening=listening, reached="10.0.0.5", network=True) is None
    for host in ("evil.example:8501", "10.0.0.5.evil.example:8501"):
        assert refused(host, f"http://{host}", listening=listening, reached="10.0.0.5", network=True) == 403


def test_other_machines_get_nothing_without_the_switch_however_the_server_was_started() -> None:
    assert refused(kind="http", path="/", reached="10.0.0.5") == 403
    assert refused("10.0.0.5:8501", kind="http", path="/", listening="10.0.0.5", reached="10.0.0.5") == 403
    assert (
        refused("10.0.0.5:8501", kind="http", path="/", listening="10.0.0.5", reached="10.0.0.5", network=True) is None
    )


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "::ffff:127.0.0.1"])
def test_this_machine_needs_no_switch(address: str) -> None:
    assert is_loopback(address)
    require_permission(address, allowed=False)


@pytest.mark.parametrize("address", ["", "0.0.0.0", "::", "10.0.0.5", "bench.example.com", "localhost.example.com"])  # noqa: S104  # refused
def test_every_other_address_needs_it(address: str) -> None:
    with pytest.raises(ConfigError, match="no sign-in") as refusal:
        require_permission(address, allowed=False)

    assert "--allow-network-access-without-sign-in" in refusal.value.hint
    require_permission(address, allowed=True)


def test_an_address_is_shown_as_a_browser_on_this_machine_takes_it() -> None:
    assert url_of("::", 8501) == "http://127.0.0.1:8501"
    assert url_of("::1", 8501) == "http://[::1]:8501"
    assert url_of("10.0.0.5", 443, "https") == "https://10.0.0.5:443"


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/openapi.json", "/metrics", "/healthz", "/readyz"])
def test_programs_send_no_origin_but_name_this_host(path: str) -> None:
    assert refused(path=path, kind="http", method="POST") is None
    assert refused(origin="http://elsewhere.example", path=path, kind="http", method="POST") is None
    assert refused(host="rebound.example", path=path, kind="http") == 403
    assert refused(path=path, kind="http", reached="10.0.0.7", listening="10.0.0.7") == 403


@pytest.mark.parametrize("path", ["/api/v2/runs", "/api/v1", "/runs", "/_stcore/metrics", "/x/metrics", "/metrics/x"])
def test_other_paths_are_not_for_programs(path: str) -> None:
    assert refused(path=path, kind="http", method="POST") in (403, 404)


@pytest.mark.parametrize("name", ["x-forwarded-host", "x-forwarded-for", "forwarded", "x-real-ip", "x-original-host"])
def test_what_a_proxy_would_add_lets_nobody_in(name: str) -> None:
    scope = {"type": "http", "scheme": "http", "method": "GET", "path": "/", "server": ("192.0.2.1", 8501)}
    door = FrontDoor(ConsoleNames("0.0.0.0"), network=False)  # noqa: S104  # it is refused

    headers = [(b"host", HOME.encode()), (name.encode(), b"127.0.0.1"), (name.encode(), b"for=127.0.0.1")]

    assert door.refusal({**scope, "headers": headers}) is not None
    foreign = [(b"host", b"rebound.example"), (name.encode(), HOME.encode())]
    assert door.refusal({**scope, "server": ("127.0.0.1", 8501), "headers": foreign}) is not None
