"""Probes of a server without keys: whether it answers, its certificate and its clock."""

import http.client
import socket
import ssl
import time
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aisbench_core.cloud.addresses import Proxy, is_loopback, proxy_for, split_address
from aisbench_core.cloud.server_clock import seconds_ahead
from aisbench_core.model import Clock

PORTS = {"http": 80, "https": 443}
LOOPBACK_SECONDS = 1.0  # so long this machine takes at most to answer itself


@dataclass(frozen=True, slots=True)
class ServerProbe:
    """Response time in s; server clock minus ours in s, ± 0.5 (None without a Date header); expiry of the certificate;
    why it is not trusted (empty if it is)."""

    seconds: float
    ahead: float | None
    expires: datetime | None = None
    distrust: str = ""


def obs_proxy(address: str) -> Proxy | None:
    """The proxy that the OBS adapter uses: none for plain http."""
    return proxy_for(address) if split_address(address).scheme == "https" else None


def obs_trust() -> ssl.SSLContext:
    """The CAs that the OBS adapter trusts: the system's."""
    return ssl.create_default_context()


def modelarts_trust(address: str) -> ssl.SSLContext:
    """The CAs that the ModelArts SDK trusts: those shipped with `requests`, or REQUESTS_CA_BUNDLE.

    Raises OSError if that file cannot be read."""
    import requests  # takes 0.1 s, which commands without a cloud need not wait for
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    with requests.Session() as session:
        bundle = session.merge_environment_settings(address, {}, None, True, None)["verify"]
    authorities = Path(DEFAULT_CA_BUNDLE_PATH if bundle is True else str(bundle))
    if authorities.is_dir():
        return ssl.create_default_context(capath=str(authorities))
    return ssl.create_default_context(cafile=str(authorities))


def resolve_host(host: str) -> tuple[str, ...]:
    """The IP addresses of a host name, in the system's order. Raises OSError."""
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in infos))


def is_down_here(address: str) -> bool:
    """Whether an address is of this machine, and no program listens at it."""
    parts = split_address(address)
    if not is_loopback(address):
        return False
    try:
        socket.create_connection((parts.hostname or "", parts.port or PORTS[parts.scheme]), LOOPBACK_SECONDS).close()
    except OSError:
        return True
    return False


def probe_server(address: str, proxy: Proxy | None, trust: ssl.SSLContext, seconds: float, clock: Clock) -> ServerProbe:
    """GET / from a server. If its certificate is not trusted, ask again without verifying, to read its clock.

    Raises OSError or http.client.HTTPException when it does not answer."""
    try:
        return _get_root(address, proxy, trust, seconds, clock)
    except ssl.SSLCertVerificationError as error:
        any_trust = ssl.create_default_context()
        any_trust.check_hostname = False
        any_trust.verify_mode = ssl.CERT_NONE
        result = _get_root(address, proxy, any_trust, seconds, clock)
        return ServerProbe(result.seconds, result.ahead, None, error.verify_message or str(error))


def _get_root(address: str, proxy: Proxy | None, trust: ssl.SSLContext, seconds: float, clock: Clock) -> ServerProbe:
    connection = _make_connection(address, proxy, trust, seconds)
    try:
        connection.connect()
        expires = _read_expiry(connection.sock)
        # Both: the clock may be set meanwhile, and only it is comparable with the Date header.
        start, began = time.perf_counter(), clock()
        connection.request("GET", "/", headers={"User-Agent": "aisbench-console"})
        date = connection.getresponse().getheader("Date")
        took = time.perf_counter() - start
    finally:
        connection.close()
    return ServerProbe(took, seconds_ahead(date, began + timedelta(seconds=took / 2)), expires)


def _make_connection(
    address: str, proxy: Proxy | None, trust: ssl.SSLContext, seconds: float
) -> http.client.HTTPConnection:
    parts = split_address(address)
    host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 443)
    first = (proxy.host, proxy.port) if proxy else (host, port)
    if parts.scheme == "http":
        connection = http.client.HTTPConnection(*first, timeout=seconds)
    else:
        connection = http.client.HTTPSConnection(*first, timeout=seconds, context=trust)
    if proxy:
        pair = b64encode(f"{proxy.username}:{proxy.password or ''}".encode()).decode()
        connection.set_tunnel(host, port, {"Proxy-Authorization": f"Basic {pair}"} if proxy.username else {})
    return connection


def _read_expiry(sock: object) -> datetime | None:
    if not isinstance(sock, ssl.SSLSocket):
        return None
    # {} for a certificate that was not verified: `ssl` does not parse it then.
    ends = (sock.getpeercert() or {}).get("notAfter")
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(ends)), UTC) if ends else None
