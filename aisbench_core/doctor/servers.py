"""Whether a region's servers answer, what certificates they have and what time they say it is."""

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from http.client import HTTPException

from aisbench_core.cloud.addresses import Proxy, is_loopback, split
from aisbench_core.cloud.probes import Look, look
from aisbench_core.doctor.diagnosis import Diagnosis, State
from aisbench_core.model import Clock

REFUSED_FROM = timedelta(minutes=15)
"""Requests that are signed further off are refused by the cloud."""

WORTH_SETTING = timedelta(minutes=2)
ENDS_SOON = timedelta(days=14)
CONNECT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Server:
    """One service of a region, and how its adapter reaches it. `trust` reads the authorities; it may raise OSError."""

    service: str
    address: str
    proxy: Proxy | None
    trust: Callable[[], ssl.SSLContext]
    verify: bool


def look_at_server(server: Server, clock: Clock) -> Iterator[Diagnosis]:
    """Whether it answers, its certificate and its clock."""
    try:
        trust = server.trust()
    except OSError as error:
        yield Diagnosis(
            f"tls.{server.service}",
            State.FAIL,
            f"the file of authorities cannot be read: {error.strerror or error}",
            "check REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE",
        )
        return
    try:
        seen = look(server.address, server.proxy, trust, CONNECT_SECONDS, clock)
    except (OSError, HTTPException) as error:
        yield _unreached(server, error)
        return
    through = f" through {server.proxy.host}:{server.proxy.port}" if server.proxy else ""
    answered = f"{server.address} answers in {seen.seconds * 1000:.0f} ms{through}"
    yield Diagnosis(f"reach.{server.service}", State.OK, answered)
    yield _certificate(server, seen, clock)
    yield _time(server.service, seen)


def _unreached(server: Server, error: Exception) -> Diagnosis:
    to = f" through the proxy {server.proxy.host}:{server.proxy.port}" if server.proxy else ""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    advice = "check HTTPS_PROXY and NO_PROXY" if server.proxy else "check the address in the profile and the network"
    if is_loopback(server.address):
        advice = "check the address in the profile; is the sandbox running?"
    return Diagnosis(f"reach.{server.service}", State.FAIL, f"{server.address}{to} does not answer: {reason}", advice)


def _certificate(server: Server, seen: Look, clock: Clock) -> Diagnosis:
    check, host = f"tls.{server.service}", split(server.address).hostname
    if split(server.address).scheme == "http":
        return _without_certificate(check, server)
    if seen.distrust:
        return _not_trusted(check, server, seen.distrust)
    if not server.verify:
        advice = "set verify_tls: true: the certificate would be trusted"
        return Diagnosis(check, State.WARN, f"{host}'s certificate is not looked at (verify_tls: false)", advice)
    if seen.expires is None:
        return Diagnosis(check, State.OK, f"{host}'s certificate is trusted")
    until = f"{host}'s certificate is trusted until {seen.expires:%Y-%m-%d}"
    if seen.expires - clock() < ENDS_SOON:
        return Diagnosis(check, State.WARN, until, "tell the cloud's administrators that it ends soon")
    return Diagnosis(check, State.OK, until)


def _without_certificate(check: str, server: Server) -> Diagnosis:
    if is_loopback(server.address):
        return Diagnosis(check, State.OK, "plain http on this machine needs no certificate")
    return Diagnosis(
        check,
        State.WARN,
        f"{server.address} is plain http: data and results travel in clear text",
        "write https:// in the profile, if the cloud has it",
    )


def _not_trusted(check: str, server: Server, reason: str) -> Diagnosis:
    found = f"{split(server.address).hostname}'s certificate is not trusted: {reason}"
    if not server.verify:
        return Diagnosis(check, State.WARN, f"{found} (verify_tls: false, so it is used all the same)")
    variable = "SSL_CERT_FILE" if server.service == "obs" else "REQUESTS_CA_BUNDLE"
    return Diagnosis(
        check,
        State.FAIL,
        found,
        f"check the address and this machine's clock; for an authority of your own name its file in {variable}",
    )


def _time(service: str, seen: Look) -> Diagnosis:
    check = f"clock.{service}"
    if seen.ahead is None:
        advice = "check the address: the cloud always says it"
        return Diagnosis(check, State.WARN, "the answer does not say what time it is", advice)
    off = timedelta(seconds=abs(seen.ahead))
    if off <= WORTH_SETTING:
        return Diagnosis(check, State.OK, f"both clocks agree within {max(1, round(off.total_seconds()))} s")
    found = f"this machine's clock is {_length(off)} {'behind' if seen.ahead > 0 else 'ahead'}"
    if off < REFUSED_FROM:
        return Diagnosis(check, State.WARN, f"{found}; requests are refused from 15 min on", "set the clock")
    return Diagnosis(check, State.FAIL, f"{found}: requests are refused from 15 min on", "set the clock")


def _length(span: timedelta) -> str:
    minutes, seconds = divmod(round(span.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
