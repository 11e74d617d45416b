"""Checks that the host names of a region resolve; private clouds often need lines in /etc/hosts."""

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import suppress

from aisbench_core.cloud.addresses import is_loopback, proxy_for, split
from aisbench_core.cloud.probes import resolve
from aisbench_core.doctor.diagnosis import Diagnosis, State
from aisbench_core.messages import Message
from aisbench_core.settings import Profile

PUBLIC = ("myhuaweicloud.com", "myhuaweicloud.cn", "myhuaweicloud.eu", "huaweicloud.com")
UNKNOWN = "ADDRESS"
ASK = Message("add these lines to /etc/hosts; the cloud's administrators know the addresses")


def host_names(profile: Profile) -> Mapping[str, str]:
    """The host names that a profile needs, by check; empty for IP addresses and loopback, which need no DNS."""
    obs, modelarts = profile.obs_server, profile.training_endpoint
    named = {"dns.obs": _name(obs), "dns.bucket": "", "dns.modelarts": _name(modelarts), "dns.swr": ""}
    # Over plain http the SDK sends /bucket/key to the server itself.
    if named["dns.obs"] and split(obs).scheme == "https":
        named["dns.bucket"] = f"{profile.bucket}.{named['dns.obs']}"
    # The registry has no address in the profile, but the same domain.
    service, _, cloud = named["dns.modelarts"].partition(".")
    if service == "modelarts" and cloud:
        named["dns.swr"] = f"swr.{cloud}"
    return named


def is_private(host: str) -> bool:
    """Whether a host is outside the public cloud's domains."""
    return not host.endswith(tuple(f".{domain}" for domain in PUBLIC))


def check_name(check: str, host: str, profile: Profile) -> Iterator[Diagnosis]:
    """Whether a host name resolves; if not, the line for /etc/hosts."""
    if not host:
        return
    try:
        addresses = resolve(host)
    except (OSError, UnicodeError) as error:  # UnicodeError: a label of the name is empty or too long
        yield _unknown(check, host, profile, getattr(error, "strerror", None) or str(error))
        return
    message = Message("{host} is {address}", host=host, address=addresses[0])
    if len(addresses) > 1:
        message = Message("{message} and {count} more", message=message, count=len(addresses) - 1)
    yield Diagnosis(check, State.OK, message)


def _unknown(check: str, host: str, profile: Profile, reason: str) -> Diagnosis:
    message = Message("{host} does not resolve ({reason})", host=host, reason=reason)
    if check != "dns.swr" and proxy_for(f"https://{host}"):
        needless = Message("{message}, and need not: the proxy resolves it", message=message)
        return Diagnosis(check, State.OK, needless)
    state = State.WARN if check == "dns.swr" else State.FAIL
    if not is_private(host):
        advice = Message("check the region in the profile, the network and its DNS server")
        return Diagnosis(check, state, message, advice)
    return Diagnosis(check, state, message, ASK, (f"{_address_for(check, profile)} {host}",))


def _address_for(check: str, profile: Profile) -> str:
    if check == "dns.bucket":  # a bucket has the address of its OBS server; nothing here tells the others
        with suppress(OSError):
            return resolve(_name(profile.obs_server))[0]
    return UNKNOWN


def _name(address: str) -> str:
    host = split(address).hostname or ""
    if is_loopback(address):
        return ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    return ""
