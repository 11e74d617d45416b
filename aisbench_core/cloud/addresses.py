"""Loopback addresses, and the proxy for any other address."""

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy from the environment. `repr` leaves out its password."""

    host: str
    port: int
    username: str | None = None
    password: str | None = field(default=None, repr=False)


def split_address(address: str) -> SplitResult:
    """Parse an address; one without a scheme is https, as in the SDKs."""
    return urlsplit(address if "://" in address else f"https://{address}")


def is_loopback(address: str) -> bool:
    """Whether an address is 127.0.0.0/8, ::1 or localhost."""
    host = split_address(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_proxied(host: str) -> bool:
    """Whether a program that only follows the proxy variables uses a proxy for this host."""
    from requests.utils import should_bypass_proxies  # takes 0.1 s, which commands without a cloud need not wait for

    return not should_bypass_proxies(f"http://{host}", None)


def proxy_for(address: str) -> Proxy | None:
    """The proxy for an address, by HTTPS_PROXY, ALL_PROXY and NO_PROXY; never one for loopback."""
    if is_loopback(address):
        return None
    from requests.utils import get_environ_proxies, select_proxy

    url = split_address(address).geturl()
    proxy = select_proxy(url, get_environ_proxies(url)) or ""
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if not parts.hostname:
        return None
    username, password = (unquote(part) if part else None for part in (parts.username, parts.password))
    return Proxy(parts.hostname, parts.port or 8080, username, password)
