"""Checks of this machine: keys, data folder, libraries, proxy variables."""

import re
import shlex
import stat
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies_environment

from aisbench_core.base.errors import AisbenchError, ReadOnlyFolder
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.base.private_files import is_shared, require_writable
from aisbench_core.cloud.addresses import is_proxied, split_address
from aisbench_core.config.credentials import find_credentials
from aisbench_core.config.data_folder import closed_paths, open_paths
from aisbench_core.config.sdk_package import INSTALL, PACKAGE, installed_version, is_installed, package_path
from aisbench_core.config.settings import Profile, Settings
from aisbench_core.maintenance.doctor.diagnosis import Diagnosis, State
from aisbench_core.store.ledger.database.clock import SET_CLOCK, skew_message

LIBRARIES = ("esdk-obs-python", "huaweicloudsdkcore", "huaweicloudsdkmodelarts", "requests", "urllib3")
HERE = ("127.0.0.1", "localhost")

_REGION = re.compile(r"[a-z]{2}-[a-z]+-[0-9]+")  # such as cn-north-4
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)$", re.MULTILINE)


def check_addresses(profile: Profile) -> Iterator[Diagnosis]:
    """Whether the host names contain the profile's region. A profile's own `caution` comes first."""
    if profile.caution:
        advice = Message("see docs/sandbox.md, Isolation of jobs")
        yield Diagnosis("profile", State.WARN, make_verbatim(profile.caution), advice)
        return
    for key, address in (("obs_server", profile.obs_server), ("modelarts_endpoint", profile.training_endpoint)):
        # An address without a region in its name, such as an IP address, proves nothing.
        named = set(_REGION.findall(split_address(address).hostname or ""))
        if named and _REGION.fullmatch(profile.region) and profile.region not in named:
            yield Diagnosis(
                "profile",
                State.WARN,
                Message(
                    "{key} {address} is in region {regions}, but the profile says {region}",
                    key=key,
                    address=address,
                    regions=", ".join(sorted(named)),
                    region=profile.region,
                ),
                Message("correct region or {key} in profile {profile}", key=key, profile=profile.name),
            )
            return
    message = Message(
        "{profile}: region {region}, bucket {bucket}",
        profile=profile.name,
        region=profile.region,
        bucket=profile.bucket,
    )
    yield Diagnosis("profile", State.OK, message)


def check_keys(settings: Settings, profile: Profile) -> Iterator[Diagnosis]:
    """Whether the profile has keys; they are shown masked."""
    try:
        keys = find_credentials(settings, profile)
    except AisbenchError as error:
        yield Diagnosis("keys", State.FAIL, error.message, error.hint)
        return
    source = Message("{source}, temporary", source=keys.source) if keys.security_token else keys.source
    message = Message("{keys} ({source})", keys=keys.masked, source=source)
    values = (keys.access_key.get_secret_value(), keys.secret_key.get_secret_value())
    # Copying from a terminal or a mail wraps keys; the cloud then only says that the signature does not match.
    if any(value != "".join(value.split()) for value in values):
        spaced = Message("{keys}: a key contains white space", keys=message)
        yield Diagnosis("keys", State.WARN, spaced, Message("copy the key again"))
    else:
        yield Diagnosis("keys", State.OK, message)


def check_data_folder(settings: Settings) -> Iterator[Diagnosis]:
    """Whether the data folder is writable, and private to this account or to its group."""
    try:
        require_writable(settings.data_dir)
    except ReadOnlyFolder as error:
        yield Diagnosis("data", State.WARN, error.message, error.hint)
    exposed = open_paths(settings)
    if not exposed:
        yield Diagnosis("data", State.OK, _private_to_whom(settings.data_dir))
    for path in exposed:
        message = Message("other accounts can access {path} (mode {mode})", path=path, mode=_format_mode(path))
        others = "o" if is_shared(path) or is_shared(path.parent) else "go"
        yield Diagnosis("data", State.WARN, message, make_verbatim(f"chmod -R {others}-rwx {shlex.quote(str(path))}"))
    for path in closed_paths(settings):
        message = Message(
            "the data folder is shared, but its group cannot write to {path} (mode {mode})",
            path=path,
            mode=_format_mode(path),
        )
        yield Diagnosis("data", State.WARN, message, make_verbatim(f"chmod -R g+rwX {shlex.quote(str(path))}"))


def _private_to_whom(folder: Path) -> Message:
    if not is_shared(folder):
        return Message("{folder} is private to this account", folder=folder)
    try:
        group = folder.group()
    except KeyError:  # without a name
        group = str(folder.stat().st_gid)
    return Message("{folder} is private to the group {group}", folder=folder, group=group)


def _format_mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


def check_ledger(read: Callable[[], object], clock_ahead: Callable[[], timedelta]) -> Iterator[Diagnosis]:
    """Whether a team's ledger in PostgreSQL can be read, and has the time of this machine."""
    try:
        read()
    except AisbenchError as error:
        yield Diagnosis("ledger", State.FAIL, error.message, error.hint)
    else:
        yield Diagnosis("ledger", State.OK, Message("the ledger in PostgreSQL answers"))
        yield _compare_clocks(clock_ahead())


def _compare_clocks(ahead: timedelta) -> Diagnosis:
    if message := skew_message(Message("this machine"), ahead):
        return Diagnosis("clock.ledger", State.WARN, message, SET_CLOCK)
    seconds = max(1, round(abs(ahead).total_seconds()))
    return Diagnosis("clock.ledger", State.OK, Message("the clocks agree within {seconds} s", seconds=seconds))


def check_run_folders(publish: Callable[[], object]) -> Iterator[Diagnosis]:
    """Whether files of runs can be published on OBS."""
    try:
        publish()
    except AisbenchError as error:
        yield Diagnosis("run_folders", State.FAIL, error.description, error.hint)
    else:
        yield Diagnosis("run_folders", State.OK, Message("an object was written to run_folders, read and deleted"))


def check_libraries(pins: Path) -> Iterator[Diagnosis]:
    """Whether the installed libraries are the tested versions. `pins` is constraints.txt, which a wheel lacks."""
    tested = dict(_PIN.findall(pins.read_text("utf-8"))) if pins.is_file() else {}
    for name in LIBRARIES:
        pinned = tested.get(name, "")
        install = make_verbatim(f"pip install '{name}{'==' if pinned else ''}{pinned}'")
        try:
            installed = version(name)
        except PackageNotFoundError:
            missing = Message("{library} is not installed", library=name)
            yield Diagnosis("library", State.FAIL, missing, install)
            continue
        library = f"{name} {installed}"
        if not pinned:
            yield Diagnosis("library", State.OK, Message("{library}; no tested version is known", library=library))
        elif installed == pinned:
            yield Diagnosis("library", State.OK, make_verbatim(library))
        else:
            other = Message("{library}; tested with {version}", library=library, version=pinned)
            yield Diagnosis("library", State.WARN, other, install)


def check_sdk(profile: Profile) -> Iterator[Diagnosis]:
    """Whether the package `modelarts` is installed, if the profile's api is `sdk` or `sdk-v1`."""
    if not profile.api.needs_package:
        return
    path = package_path(profile)
    if not is_installed(profile):
        missing = Message("{package} is not installed in {path}", package=PACKAGE, path=path)
        yield Diagnosis("library", State.FAIL, missing, INSTALL)
        return
    package = f"{PACKAGE} {installed_version(profile)}".strip()
    message = Message("{package} in {path}; no tested version is known", package=package, path=path)
    yield Diagnosis("library", State.OK, message)


def check_ascend_fd(settings: Settings) -> Iterator[Diagnosis]:
    """Whether ascend-fd is installed in `ascend_fd_venv`, if that is set."""
    if not settings.ascend_fd_venv:
        return
    venv = Path(settings.ascend_fd_venv).expanduser()
    if any(venv.glob("lib/python3*/site-packages/ascend_fd")):
        message = Message("{package} in {path}; no tested version is known", package="ascend-fd", path=str(venv))
        yield Diagnosis("library", State.OK, message)
        return
    missing = Message("{package} is not installed in {path}", package="ascend-fd", path=str(venv))
    yield Diagnosis("library", State.WARN, missing, Message("see docs/diagnosis.md, ascend-fd"))


def check_loopback() -> Iterator[Diagnosis]:
    """Whether proxy variables apply to requests to this machine."""
    proxies = {name: value for name, value in getproxies_environment().items() if name in ("http", "https", "all")}
    proxied = [host for host in HERE if is_proxied(host)]
    named = ", ".join(f"{name.upper()}_PROXY={mask_password(value)}" for name, value in sorted(proxies.items()))
    if not proxies:
        yield Diagnosis("proxy.loopback", State.OK, Message("no proxy variable is set"))
    elif proxied:
        yield Diagnosis(
            "proxy.loopback",
            State.WARN,
            Message("{variables}, and NO_PROXY lacks {hosts}", variables=named, hosts=", ".join(proxied)),
            Message(
                "add localhost,127.0.0.1,::1 to NO_PROXY: the console ignores the proxy for them, other programs do not"
            ),
        )
    else:
        message = Message("{variables}; NO_PROXY covers this machine", variables=named)
        yield Diagnosis("proxy.loopback", State.OK, message)


def mask_password(proxy: str) -> str:
    """A proxy's address without user name and password."""
    parts = urlsplit(proxy if "://" in proxy else f"//{proxy}")
    credentials, _, server = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"…@{server}" if credentials else server)).removeprefix("//")
