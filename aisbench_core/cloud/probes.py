"""One look at a server without keys: does it answer, is its certificate trusted, what time does it have?"""

import http.client
import socket
import ssl
import time
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import requests
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from aisbench_core.cloud.addresses import Proxy, proxy_for, split
from aisbench_core.model import Clock

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen: seconds until the answer, the server's clock minus ours in seconds (within half a second; None
    if it did not say), when its certificate ends, and why that is not trusted; empty when it is."""

    seconds: float
    ahead: float | None
    expires: datetime | None = None
    distrust: str = ""


def way_to_obs(address: str) -> Proxy | None:
    """The proxy that the OBS adapter takes; it takes none for plain http."""
    return proxy_for(address) if split(address).scheme == "https" else None


def trust_of_obs() -> ssl.SSLContext:
    """What the OBS adapter trusts: the system's authorities."""
    return ssl.create_default_context()


def trust_of_modelarts(address: str) -> ssl.SSLContext:
    """What the ModelArts SDK trusts: the authorities that `requests` brings, or REQUESTS_CA_BUNDLE.

    Raises OSError if that file cannot be read."""
    with requests.Session() as session:
        bundle = session.merge_environment_settings(address, {}, None, True, None)["verify"]
    authorities = Path(DEFAULT_CA_BUNDLE_PATH if bundle is True else str(bundle))
    if authorities.is_dir():
        return ssl.create_default_context(capath=str(authorities))
    return ssl.create_default_context(cafile=str(authorities))


def addresses_of(host: str) -> tuple[str, ...]:
    """What a host's name stands for here, in the system's order. Raises OSError."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


def look(address: str, proxy: Proxy | None, trust: ssl.SSLContext, seconds: float, clock: Clock) -> Look:
    """Ask a server for its root. A certificate that is not trusted is looked past, to see its clock all the same.

    Raises OSError or http.client.HTTPException when it does not answer."""
    try:
        return _look(address, proxy, trust, seconds, clock)
    except ssl.SSLCertVerificationError as error:
        seen = _look(address, proxy, _any_trust(), seconds, clock)
        return Look(seen.seconds, seen.ahead, None, error.verify_message or str(error))


def _look(address: str, proxy: Proxy | None, trust: ssl.SSLContext, seconds: float, clock: Clock) -> Look:
    connection = _connection(address, proxy, trust, seconds)
    try:
        connection.connect()
        expires = _expiry(connection.sock)
        start, began = time.perf_counter(), clock()
        connection.request("GET", "/", headers={"User-Agent": "aisbench-console"})
        date = connection.getresponse().getheader("Date")
        took = time.perf_counter() - start
    finally:
        connection.close()
    return Look(took, _ahead(date, began + timedelta(seconds=took / 2)), expires)


def _connection(address: str, proxy: Proxy | None, trust: ssl.SSLContext, seconds: float) -> http.client.HTTPConnection:
    parts = split(address)
    host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 443)
    first = (proxy.host, proxy.port) if proxy else (host, port)
    if parts.scheme == "http":
        connection = http.client.HTTPConnection(*first, timeout=seconds)
    else:
        connection = http.client.HTTPSConnection(*first, timeout=seconds, context=trust)
    if proxy:
        connection.set_tunnel(host, port, _proxy_headers(proxy))
    return connection


def _proxy_headers(proxy: Proxy) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{proxy.username}:{proxy.password or ''}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(pair).decode()}"}


def _expiry(sock: object) -> datetime | None:
    """When the certificate ends; only a certificate that was checked is told in words."""
    if not isinstance(sock, ssl.SSLSocket):
        return None
    ends = (sock.getpeercert() or {}).get("notAfter")
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(ends)), UTC) if ends else None


def _ahead(date: str | None, middle: datetime) -> float | None:
    if not date:
        return None
    try:
        told = parsedate_to_datetime(date)
    except ValueError:
        return None
    told = told.replace(tzinfo=UTC) if told.tzinfo is None else told
    return (told - middle).total_seconds() + 0.5  # the header leaves out what is less than a second


def _any_trust() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
