"""How a console knows who somebody is, as settings write it."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network

from aisbench_core.base.messages import Message
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.model import Role

LOOPBACK = r"(127\.0\.0\.1|localhost|\[::1\])"
ISSUER = rf"^(https://[^\s?#]+|http://{LOOPBACK}(:\d{{1,5}})?(/[^\s?#]*)?)?$"
"""What a provider calls itself. Without TLS only on this machine: anybody on the way could sign in as anybody."""

HEADER_NAME = r"^[A-Za-z][A-Za-z0-9-]{0,63}$"

Network = IPv4Network | IPv6Network


class Identity(StrEnum):
    """Who says who somebody is: nobody, a reverse proxy, or an OpenID Connect provider."""

    NONE = "none"
    PROXY = "proxy"
    OIDC = "oidc"


def parse_networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks that are separated by commas. Raises ValueError."""
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())


def parse_roles(text: str) -> Mapping[str, Role]:
    """`group=role`, separated by commas. Raises ValueError."""
    pairs = (part.rpartition("=") for part in text.split(",") if part.strip())
    return {group.strip(): Role(role.strip()) for group, _, role in pairs}


def make_validator(parse: Callable[[str], object]) -> Callable[[str], str]:
    """A validator for a text that is parsed again when it is needed."""

    def check(text: str) -> str:
        try:
            parse(text)
        except ValueError as error:
            raise make_refusal(Message("cannot be read: {why}", why=str(error))) from None
        return text

    return check
