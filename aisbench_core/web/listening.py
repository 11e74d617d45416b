"""On which addresses the console may listen; it has no sign-in."""

import ipaddress

from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

SWITCH = "--allow-network-access-without-sign-in"
SETTING = "allow_network_access_without_sign_in"


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
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
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
