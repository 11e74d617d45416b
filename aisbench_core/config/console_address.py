"""Where the console listens, and which Host and Origin headers it accepts; it has no sign-in.

Pages cannot forge these headers: Host is the address in the browser, Origin the page that sends the request. A page of
another port has another origin. With DNS rebinding, a foreign page has an origin equal to its Host, so the name itself
must be one of the console's.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message

SWITCH = "--allow-network-access-without-sign-in"
SETTING = "allow_network_access_without_sign_in"

FORWARDED = "FORWARDED_ALLOW_IPS"
"""By this variable uvicorn decides whose X-Forwarded-For replaces the address of a connection, which we must see."""


def require_permission(address: str, allowed: bool) -> None:
    """Raise ConfigError for an address that other machines can reach, unless that was explicitly allowed."""
    if not allowed and not is_loopback(address):
        raise ConfigError(
            Message(
                "the console would listen on {address}, and it has no sign-in: "
                "everybody who reaches it could launch jobs on your account",
                address=address or Message("every address"),
            ),
            Message(
                "leave it on 127.0.0.1 and use an SSH tunnel, or allow it: {switch}, or {setting}: true in the "
                "settings",
                switch=SWITCH,
                setting=SETTING,
            ),
        )


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address: 127.0.0.0/8, ::1 or localhost."""
    ip = _parse_ip(address)
    if ip is None:
        return address == "localhost"
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_loopback


def is_wildcard(address: str) -> bool:
    """Whether an address means all addresses of this machine."""
    return address in ("", "0.0.0.0", "::")  # noqa: S104  # only compared


def url_of(address: str, port: int, scheme: str = "http") -> str:
    """The URL for browsers on this machine of a server that listens on an address."""
    if is_wildcard(address):
        return f"{scheme}://127.0.0.1:{port}"
    return f"{scheme}://[{address}]:{port}" if ":" in address else f"{scheme}://{address}:{port}"


def query_string(parameters: Iterable[tuple[str, str]]) -> str:
    """Parameters as the end of an address, the question mark included."""
    return f"?{urlencode([*parameters])}"


_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class WebOrigin:
    """Scheme, name and port, which browsers compare for the same-origin policy."""

    scheme: str
    name: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "WebOrigin | None":
        """Parse an Origin header; None for `null` and other text that is not the origin of a web page."""
        scheme, separator, host = text.partition("://")
        return cls.of(scheme.lower(), host) if separator else None

    @classmethod
    def of(cls, scheme: str, host: str) -> "WebOrigin | None":
        """The origin of pages served under a Host header."""
        match = _HOST.fullmatch(host)
        if match is None or scheme not in _DEFAULT_PORTS:
            return None
        return cls(scheme, match["name"].lower().strip("[]"), int(match["port"] or _DEFAULT_PORTS[scheme]))


@dataclass(frozen=True, slots=True)
class ConsoleNames:
    """The names of a console: its listening address, and the public origin of a proxy in front of it."""

    address: str
    proxy: WebOrigin | None = None

    def is_addressed_by(self, host: str) -> bool:
        """Whether a Host header names this console."""
        origin = WebOrigin.of("http", host)
        if origin is None:
            return False
        if is_loopback(origin.name) or (self.proxy and origin.name == self.proxy.name):
            return True
        if is_loopback(self.address):
            return False
        # DNS rebinding needs a foreign name: IP addresses and this machine's name are safe.
        own = (self.address.lower(), socket.gethostname().lower())
        return origin.name in own or (is_wildcard(self.address) and _parse_ip(origin.name) is not None)

    def is_own_page(self, origin: str, scheme: str, host: str) -> bool:
        """Whether a page of this origin is the console's, for a request with this scheme and Host."""
        page = WebOrigin.parse(origin)
        if page is None or not self.is_addressed_by(host):
            return False
        return page in (WebOrigin.of(scheme, host), self.proxy)


def _parse_ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None
