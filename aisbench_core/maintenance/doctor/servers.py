"""Checks of a region's servers: whether names resolve and servers answer, certificates and clocks."""

import ipaddress
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from http.client import HTTPException

from aisbench_core.base.formats import format_duration
from aisbench_core.base.messages import Message
from aisbench_core.cloud.addresses import Proxy, is_loopback, proxy_for, split_address
from aisbench_core.cloud.probes import ServerProbe, probe_server, resolve_host
from aisbench_core.config.settings import Profile
from aisbench_core.maintenance.doctor.diagnosis import Diagnosis, State
from aisbench_core.model import Clock
from aisbench_core.store.ledger.database.clock import NOTABLE_SKEW

PUBLIC = ("myhuaweicloud.com", "myhuaweicloud.cn", "myhuaweicloud.eu", "huaweicloud.com")
UNKNOWN = "ADDRESS"
ASK = Message("add these lines to /etc/hosts; the cloud's administrators know the addresses")


def host_names(profile: Profile) -> Mapping[str, str]:
    """The host names that a profile needs, by check; empty for IP addresses and loopback, which need no DNS."""
    obs, modelarts = profile.obs_server, profile.training_endpoint
    named = {
        "dns.obs": _get_host_name(obs),
        "dns.bucket": "",
        "dns.modelarts": _get_host_name(modelarts),
        "dns.swr": "",
    }
    # Over plain http the SDK sends /bucket/key to the server itself.
    if named["dns.obs"] and split_address(obs).scheme == "https":
        named["dns.bucket"] = f"{profile.bucket}.{named['dns.obs']}"
    # The registry has no address in the profile, but the same domain.
    service, _, cloud = named["dns.modelarts"].partition(".")
    if service == "modelarts" and cloud:
        named["dns.swr"] = f"swr.{cloud}"
    return named


def _is_private(host: str) -> bool:
    """Whether a host is outside the public cloud's domains."""
    return not host.endswith(tuple(f".{domain}" for domain in PUBLIC))


def check_name(check: str, host: str, profile: Profile) -> Iterator[Diagnosis]:
    """Whether a host name resolves; if not, the line for /etc/hosts."""
    if not host:
        return
    try:
        addresses = resolve_host(host)
    except (OSError, UnicodeError) as error:  # UnicodeError: a label of the name is empty or too long
        reason = getattr(error, "strerror", None) or str(error)
        message = Message("{host} does not resolve ({reason})", host=host, reason=reason)
        is_registry = check == "dns.swr"
        state = State.WARN if is_registry else State.FAIL
        if not is_registry and proxy_for(f"https://{host}"):
            needless = Message("{message}, and need not: the proxy resolves it", message=message)
            yield Diagnosis(check, State.OK, needless)
        elif not _is_private(host):
            advice = Message("check the region in the profile, the network and its DNS server")
            yield Diagnosis(check, state, message, advice)
        else:
            address = UNKNOWN
            if check == "dns.bucket":  # a bucket has the address of its OBS server; nothing here tells the others
                with suppress(OSError):
                    address = resolve_host(_get_host_name(profile.obs_server))[0]
            yield Diagnosis(check, state, message, ASK, (f"{address} {host}",))
        return
    message = Message("{host} is {address}", host=host, address=addresses[0])
    if len(addresses) > 1:
        message = Message("{message} and {count} more", message=message, count=len(addresses) - 1)
    yield Diagnosis(check, State.OK, message)


def _get_host_name(address: str) -> str:
    host = split_address(address).hostname or ""
    if is_loopback(address):
        return ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    return ""


# The cloud refuses requests that are signed with a clock further off (RequestTimeTooSkewed).
REFUSED_FROM = timedelta(minutes=15)

ENDS_SOON = timedelta(days=14)  # time for administrators to renew a certificate
CONNECT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Server:
    """One service of a region, and how its adapter connects. `trust` reads the CA file and may raise OSError."""

    service: str
    address: str
    proxy: Proxy | None
    trust: Callable[[], ssl.SSLContext]
    verify: bool


def check_route(server: Server) -> Iterator[Diagnosis]:
    """Whether a service is reached through a proxy; a warning for private clouds, which proxies often cannot reach."""
    check, host = f"proxy.{server.service}", split_address(server.address).hostname or ""
    if server.proxy is None:
        yield Diagnosis(check, State.OK, Message("{host} is reached directly", host=host))
        return
    message = Message("{host} is reached through the proxy {proxy}", host=host, proxy=_format_address(server.proxy))
    if _is_private(host):
        advice = Message("if the cloud is in your own network, add {host} to NO_PROXY", host=host)
        yield Diagnosis(check, State.WARN, message, advice)
    else:
        yield Diagnosis(check, State.OK, message)


def check_server(server: Server, clock: Clock) -> Iterator[Diagnosis]:
    """Whether the server answers, its certificate and its clock."""
    try:
        trust = server.trust()
    except OSError as error:
        message = Message("the CA file cannot be read: {reason}", reason=error.strerror or error)
        hint = Message("check REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE")
        yield Diagnosis(f"tls.{server.service}", State.FAIL, message, hint)
        return
    try:
        result = probe_server(server.address, server.proxy, trust, CONNECT_SECONDS, clock)
    except (OSError, HTTPException) as error:
        yield _diagnose_unreachable(server, error)
        return
    answered = Message(
        "{address} answers in {milliseconds:.0f} ms", address=server.address, milliseconds=result.seconds * 1000
    )
    if server.proxy:
        answered = Message("{answered} through {proxy}", answered=answered, proxy=_format_address(server.proxy))
    yield Diagnosis(f"reach.{server.service}", State.OK, answered)
    yield _diagnose_certificate(server, result, clock)
    yield _diagnose_clock(server.service, result)


def _diagnose_unreachable(server: Server, error: Exception) -> Diagnosis:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    message = Message("{address} does not answer: {reason}", address=server.address, reason=reason)
    advice = Message("check the address in the profile and the network")
    if server.proxy:
        message = Message(
            "{address} through the proxy {proxy} does not answer: {reason}",
            address=server.address,
            proxy=_format_address(server.proxy),
            reason=reason,
        )
        advice = Message("check HTTPS_PROXY and NO_PROXY")
    if is_loopback(server.address):
        advice = Message("check the address in the profile; is the sandbox running?")
    return Diagnosis(f"reach.{server.service}", State.FAIL, message, advice)


def _format_address(proxy: Proxy) -> str:
    return f"{proxy.host}:{proxy.port}"


def _diagnose_certificate(server: Server, result: ServerProbe, clock: Clock) -> Diagnosis:
    check, host = f"tls.{server.service}", split_address(server.address).hostname
    if split_address(server.address).scheme == "http":
        if is_loopback(server.address):
            return Diagnosis(check, State.OK, Message("plain http on this machine needs no certificate"))
        plain = Message("{address} is plain http: data and results are sent unencrypted", address=server.address)
        return Diagnosis(check, State.WARN, plain, Message("use https:// in the profile, if the cloud offers it"))
    if result.distrust:
        return _not_trusted(check, server, result.distrust)
    if not server.verify:
        unverified = Message("{host}'s certificate is not verified (verify_tls: false)", host=host)
        return Diagnosis(check, State.WARN, unverified, Message("set verify_tls: true; the certificate is valid"))
    if result.expires is None:
        return Diagnosis(check, State.OK, Message("{host}'s certificate is trusted", host=host))
    until = Message("{host}'s certificate is trusted until {day}", host=host, day=f"{result.expires:%Y-%m-%d}")
    if result.expires - clock() < ENDS_SOON:
        return Diagnosis(check, State.WARN, until, Message("tell the cloud's administrators that it expires soon"))
    return Diagnosis(check, State.OK, until)


def _not_trusted(check: str, server: Server, reason: str) -> Diagnosis:
    host = split_address(server.address).hostname
    message = Message("{host}'s certificate is not trusted: {reason}", host=host, reason=reason)
    if not server.verify:
        accepted = Message("{message} (verify_tls: false, so it is accepted)", message=message)
        return Diagnosis(check, State.WARN, accepted)
    # The two SDKs trust different stores: OBS the system's, ModelArts the one that `requests` ships.
    variable = "SSL_CERT_FILE" if server.service == "obs" else "REQUESTS_CA_BUNDLE"
    advice = Message(
        "check the address and this machine's clock; for a private CA, set {variable} to its certificate file",
        variable=variable,
    )
    return Diagnosis(check, State.FAIL, message, advice)


def _diagnose_clock(service: str, result: ServerProbe) -> Diagnosis:
    check = f"clock.{service}"
    if result.ahead is None:
        advice = Message("check the address: the cloud always sends one")
        return Diagnosis(check, State.WARN, Message("the answer has no Date header"), advice)
    off = timedelta(seconds=abs(result.ahead))
    if off <= NOTABLE_SKEW:
        seconds = max(1, round(off.total_seconds()))
        return Diagnosis(check, State.OK, Message("the clocks agree within {seconds} s", seconds=seconds))
    length = format_duration(off.total_seconds())
    message = (
        Message("this machine's clock is {length} behind; requests are refused from 15 min on", length=length)
        if result.ahead > 0
        else Message("this machine's clock is {length} ahead; requests are refused from 15 min on", length=length)
    )
    state = State.WARN if off < REFUSED_FROM else State.FAIL
    return Diagnosis(check, state, message, Message("set the clock"))
