"""Which addresses are on the internet: no form of an IPv6 address leads to a private IPv4 one."""

import ipaddress
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network

# Their last 32 bits are an IPv4 address: IPv4-compatible, IPv4-translated (RFC 2765), and NAT64's (RFC 6052).
_TRANSLATED = tuple(map(IPv6Network, ("::/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
# Translators of the local network (RFC 8215), which lead into it.
_LOCAL_TRANSLATORS = IPv6Network("64:ff9b:1::/48")
# Interface identifiers of ISATAP (RFC 5214), the IPv4 address behind them.
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(address: str) -> bool:
    """Whether an address, also one that an IPv6 address stands for, is that of a host on the internet."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if found.is_multicast:
        return False
    if isinstance(found, IPv4Address):
        return found.is_global
    inner = tuple(_inner_addresses(found))
    # Python 3.11.2 calls no address of 6to4 global.
    stands_for_another = found in _TRANSLATED[-1] or found.ipv4_mapped is not None or found.sixtofour is not None
    own = stands_for_another or found.is_global
    return own and found not in _LOCAL_TRANSLATORS and all(each.is_global and not each.is_multicast for each in inner)


def _inner_addresses(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to."""
    number = int(address)
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if any(address in network for network in _TRANSLATED) or (number >> 32) & 0xFFFFFFFF in _ISATAP:
        yield IPv4Address(number & 0xFFFFFFFF)
