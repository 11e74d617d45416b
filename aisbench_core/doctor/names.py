"""Whether the names of a region are known here; private clouds often need lines in /etc/hosts."""

import ipaddress
from collections.abc import Iterator, Mapping

from aisbench_core.cloud.addresses import is_loopback, proxy_for, split
from aisbench_core.cloud.probes import addresses_of
from aisbench_core.doctor.diagnosis import Diagnosis, State
from aisbench_core.settings import Profile

PUBLIC = ("myhuaweicloud.com", "myhuaweicloud.cn", "myhuaweicloud.eu", "huaweicloud.com")
UNKNOWN = "ADDRESS"
ASK = "add these lines to /etc/hosts; the cloud's administrators know the addresses"


def hosts_of(profile: Profile) -> Mapping[str, str]:
    """The host names that a profile needs, by check. Addresses that are numbers or on this machine need none."""
    obs, modelarts = profile.obs_server, profile.training_endpoint
    named = {"dns.obs": _name(obs), "dns.bucket": "", "dns.modelarts": _name(modelarts), "dns.swr": ""}
    if named["dns.obs"] and split(obs).scheme == "https":  # plain http is asked as /bucket/key
        named["dns.bucket"] = f"{profile.bucket}.{named['dns.obs']}"
    service, _, cloud = named["dns.modelarts"].partition(".")
    if service == "modelarts" and cloud:
        named["dns.swr"] = f"swr.{cloud}"
    return named


def is_private(host: str) -> bool:
    """Whether a name is not one of the public cloud."""
    return not host.endswith(tuple(f".{domain}" for domain in PUBLIC))


def look_at_name(check: str, host: str, profile: Profile) -> Iterator[Diagnosis]:
    """Whether one name is known here; if not, what to write into /etc/hosts."""
    if not host:
        return
    try:
        found = addresses_of(host)
    except (OSError, UnicodeError) as error:
        yield _unknown(check, host, profile, getattr(error, "strerror", None) or str(error))
        return
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    yield Diagnosis(check, State.OK, f"{host} is {found[0]}{more}")


def _unknown(check: str, host: str, profile: Profile, reason: str) -> Diagnosis:
    found = f"{host} is not known here ({reason})"
    if check != "dns.swr" and proxy_for(f"https://{host}"):
        return Diagnosis(check, State.OK, f"{found}, and need not be: the proxy looks it up")
    state = State.WARN if check == "dns.swr" else State.FAIL
    if not is_private(host):
        return Diagnosis(check, state, found, "check the region in the profile, the network and its name server")
    return Diagnosis(check, state, found, ASK, (f"{_address_for(check, profile)} {host}",))


def _address_for(check: str, profile: Profile) -> str:
    """A bucket is where its OBS is; the other addresses are known to the cloud's administrators only."""
    if check != "dns.bucket":
        return UNKNOWN
    try:
        return addresses_of(_name(profile.obs_server))[0]
    except OSError:
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
