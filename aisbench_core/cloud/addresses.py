"""Which addresses are on this machine, and which proxy leads to the others."""

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from requests.utils import get_environ_proxies, select_proxy, should_bypass_proxies


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy that the environment names; its password shows in no text."""

    host: str
    port: int
    username: str | None = None
    password: str | None = field(default=None, repr=False)


def split(address: str) -> SplitResult:
    """An address in its parts; one without a scheme is https, as the SDKs take it."""
    return urlsplit(address if "://" in address else f"https://{address}")


def is_loopback(address: str) -> bool:
    """Whether an address leads to this machine: 127.0.0.0/8, ::1 or localhost."""
    host = split(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_led_away(host: str) -> bool:
    """Whether programs that know nothing but the proxy variables would ask a proxy for this host."""
    return not should_bypass_proxies(f"http://{host}", None)


def proxy_for(address: str) -> Proxy | None:
    """The proxy for an https address, by HTTPS_PROXY, ALL_PROXY and NO_PROXY; this machine never needs one."""
    if is_loopback(address):
        return None
    url = split(address).geturl()
    found = select_proxy(url, get_environ_proxies(url))
    if not found:
        return None
    parts = urlsplit(found if "://" in found else f"http://{found}")
    if not parts.hostname:
        return None
    username, password = (unquote(part) if part else None for part in (parts.username, parts.password))
    return Proxy(parts.hostname, parts.port or 8080, username, password)
