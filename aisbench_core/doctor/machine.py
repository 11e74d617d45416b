"""What is looked at on this machine: keys, libraries, proxy variables."""

import re
import shlex
import stat
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies_environment

from aisbench_core.cloud.addresses import Proxy, is_led_away, split
from aisbench_core.data_folder import open_paths
from aisbench_core.doctor.diagnosis import Diagnosis, State
from aisbench_core.errors import AisbenchError, ReadOnlyFolder
from aisbench_core.read_only import require_writable
from aisbench_core.sdk_package import INSTALL, PACKAGE, installed_version, is_installed, place_of
from aisbench_core.settings import Profile, Settings, find_credentials

LIBRARIES = ("esdk-obs-python", "huaweicloudsdkcore", "huaweicloudsdkmodelarts", "requests", "urllib3")
HERE = ("127.0.0.1", "localhost")

_REGION = re.compile(r"[a-z]{2}-[a-z]+-[0-9]+")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)$", re.MULTILINE)


def look_at_addresses(profile: Profile) -> Iterator[Diagnosis]:
    """Whether the addresses name another region than the profile, and what its region itself warns of."""
    if profile.caution:
        yield Diagnosis("profile", State.WARN, profile.caution, "see docs/sandbox.md, What jobs see of this machine")
        return
    for key, address in (("obs_server", profile.obs_server), ("modelarts_endpoint", profile.training_endpoint)):
        named = set(_REGION.findall(split(address).hostname or ""))
        if named and _REGION.fullmatch(profile.region) and profile.region not in named:
            yield Diagnosis(
                "profile",
                State.WARN,
                f"{key} {address} is of region {', '.join(sorted(named))}, and the profile says {profile.region}",
                f"correct region or {key} in profile {profile.name}",
            )
            return
    yield Diagnosis("profile", State.OK, f"{profile.name}: region {profile.region}, bucket {profile.bucket}")


def look_at_keys(settings: Settings, profile: Profile) -> Iterator[Diagnosis]:
    """Whether keys are found; they are shown masked."""
    try:
        keys = find_credentials(settings, profile)
    except AisbenchError as error:
        yield Diagnosis("keys", State.FAIL, error.message, error.hint)
        return
    found = f"{keys.masked} ({keys.source})" + (", temporary" if keys.security_token else "")
    if any(
        key.get_secret_value() != "".join(key.get_secret_value().split()) for key in (keys.access_key, keys.secret_key)
    ):
        yield Diagnosis("keys", State.WARN, f"{found}: a blank or a line break is part of a key", "copy the key again")
    else:
        yield Diagnosis("keys", State.OK, found)


def check_data_folder(settings: Settings) -> Iterator[Diagnosis]:
    """Whether anything can be stored, and other accounts of this machine can read ledger, results or runs."""
    try:
        require_writable(settings.data_dir)
    except ReadOnlyFolder as error:
        yield Diagnosis("data", State.WARN, error.message, error.hint)
    found = open_paths(settings)
    if not found:
        yield Diagnosis("data", State.OK, f"{settings.data_dir} is for this account only")
    for path in found:
        command = f"chmod -R go-rwx {shlex.quote(str(path))}"
        mode = stat.S_IMODE(path.stat().st_mode)
        yield Diagnosis("data", State.WARN, f"other accounts can use {path} (mode {mode:04o})", command)


def look_at_libraries(pins: Path) -> Iterator[Diagnosis]:
    """Whether the libraries are those that were tested. `pins` is constraints.txt, which a wheel does not bring."""
    tested = dict(_PIN.findall(pins.read_text("utf-8"))) if pins.is_file() else {}
    for name in LIBRARIES:
        wanted = tested.get(name, "")
        install = f"pip install '{name}{'==' if wanted else ''}{wanted}'"
        try:
            here = version(name)
        except PackageNotFoundError:
            yield Diagnosis("library", State.FAIL, f"{name} is not installed", install)
            continue
        if wanted and here != wanted:
            yield Diagnosis("library", State.WARN, f"{name} {here}; tested with {wanted}", install)
        else:
            yield Diagnosis("library", State.OK, f"{name} {here}" + ("" if wanted else "; nothing to compare it with"))


def look_at_sdk(profile: Profile) -> Iterator[Diagnosis]:
    """Whether the package that a profile's api needs is installed; only `sdk` and `sdk-v1` need one."""
    if not profile.api.needs_package:
        return
    place = place_of(profile)
    if not is_installed(profile):
        yield Diagnosis("library", State.FAIL, f"{PACKAGE} is not installed in {place}", INSTALL)
        return
    told = f"{PACKAGE} {installed_version(profile)}".strip()
    yield Diagnosis("library", State.OK, f"{told} in {place}; nothing to compare it with")


def look_at_loopback() -> Iterator[Diagnosis]:
    """Whether proxy variables would carry requests for this machine away."""
    proxies = {name: value for name, value in getproxies_environment().items() if name in ("http", "https", "all")}
    astray = [host for host in HERE if is_led_away(host)]
    named = ", ".join(f"{name.upper()}_PROXY={masked(value)}" for name, value in sorted(proxies.items()))
    if not proxies:
        yield Diagnosis("proxy.loopback", State.OK, "no proxy variable is set")
    elif astray:
        yield Diagnosis(
            "proxy.loopback",
            State.WARN,
            f"{named}, and NO_PROXY leaves out {', '.join(astray)}",
            "add localhost,127.0.0.1,::1 to NO_PROXY: the console reaches this machine directly, other programs do not",
        )
    else:
        yield Diagnosis("proxy.loopback", State.OK, f"{named}; NO_PROXY names this machine")


def look_at_way(service: str, address: str, proxy: Proxy | None, is_private: bool) -> Iterator[Diagnosis]:
    """Whether a service is reached through a proxy; a cloud in the house's own network mostly must not be."""
    check, host = f"proxy.{service}", split(address).hostname or ""
    if proxy is None:
        yield Diagnosis(check, State.OK, f"{host} is reached directly")
        return
    found = f"{host} is reached through the proxy {proxy.host}:{proxy.port}"
    if is_private:
        yield Diagnosis(check, State.WARN, found, f"if the cloud is in your own network, add {host} to NO_PROXY")
    else:
        yield Diagnosis(check, State.OK, found)


def masked(proxy: str) -> str:
    """A proxy's address without its user's name and password."""
    parts = urlsplit(proxy if "://" in proxy else f"//{proxy}")
    place = parts.netloc.rpartition("@")[2]
    shown = urlunsplit(parts._replace(netloc=f"…@{place}" if "@" in parts.netloc else place))
    return shown.removeprefix("//")
