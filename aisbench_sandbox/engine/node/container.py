"""A node's container: private namespaces with the container's own paths, names and user, where the system allows it."""

import json
import os
import posixpath
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from aisbench_sandbox.engine.node.interpreter import list_package_folders
from aisbench_sandbox.engine.node.job_user import JobUser, give_folder, job_user
from aisbench_sandbox.engine.node.probing import PYTHON, find_failure

HOME, CONFIG, CACHE, TEMPORARY = "/home/ma-user", "/user", "/cache", "/tmp"  # noqa: S108 - names inside
USER, GROUP = 1000, 100  # ma-user of the preset images
# Training guide 4.9 and the manual for custom images: code, inputs and outputs below the home directory, the rank
# table in /user/config.
_FOLDERS = {HOME: "ma-user", CONFIG: "user", CACHE: "cache", TEMPORARY: "tmp"}
_VOLUMES = "volumes"
_PACKAGE = str(Path(__file__).parents[2])
_LIBRARIES = ("lib", "lib32", "lib64", "libx32")
# The system directories that a container sees, read-only. Nothing else of the machine's root is visible.
_SYSTEM = frozenset(("bin", "etc", "gnu", "nix", "opt", "sbin", "snap", "sys", "usr", *_LIBRARIES))
_NOT_FOR_VOLUMES = _SYSTEM | {"boot", "dev", "proc", "root", "run", "srv", "var"}
_CHECK = """
import os, socket
assert os.getuid() == 1000 and os.path.isdir("/cache") and os.path.isdir("/home/ma-user/probe"), "not built"
assert socket.gethostbyname(socket.gethostname() + ".probe") == "127.0.0.1", "no names"
"""


class Containers(StrEnum):
    """Whether jobs run in private namespaces: where the system allows it, or never."""

    AUTO = "auto"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Visibility:
    """What containers see of this machine beside its system directories; the longer of two paths decides.

    `readable`: visible at its own path. `hidden`: appears empty."""

    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerView:
    """One node's files at the paths that they have inside. `root` is the node's own directory on this machine.

    `host` is the node's name, `hosts` are all nodes' addresses with their names, `volumes` are further paths inside
    that belong to the node, `shared` are those shared with others; of these, `read_only` must not be written to."""

    root: Path
    host: str
    hosts: Sequence[tuple[str, str]]
    volumes: Sequence[str] = ()
    shared: Mapping[str, Path] = field(default_factory=dict)
    read_only: frozenset[str] = frozenset()

    def inside(self, text: str) -> str:
        """A path, argument or variable translated to the paths inside the container."""
        for path, folder in (*_FOLDERS.items(), ("", _VOLUMES)):
            # As text, since paths stand in the middle of arguments and variables, too.
            text = text.replace(f"{self.root}/{folder}", path)
        return text

    def command(self, folder: Path, command: Sequence[str]) -> list[str]:
        """The launcher's arguments that run the command inside, in this directory."""
        return ["--container", str(self._file), self.inside(str(folder)), *map(self.inside, command)]

    def write(self, visibility: Visibility) -> None:
        """Write the description of the container for the launcher."""
        for folder in (self._base, *(host_path(self.root, path) for path in (*_FOLDERS, *self.volumes))):
            folder.mkdir(parents=True, exist_ok=True)
        own = self._list_own_folders()
        user = job_user()
        # Where two have the same path, the later one is mounted over the earlier: what is hidden comes last.
        binds = [
            *_list_binds({path: folder for path, folder in own.items() if path != CONFIG}, writable=True),
            *_list_binds(
                {path: folder for path, folder in self.shared.items() if path not in self.read_only}, writable=True
            ),
            *_list_binds({path: folder for path, folder in self.shared.items() if path in self.read_only}),
            *_list_binds({CONFIG: own[CONFIG]}),
            *_list_binds({str(path): path.resolve() for path in visibility.readable}),
            *_list_binds({str(path): None for path in visibility.hidden}),
        ]
        view = {
            "host": self.host,
            "root": str(self._base),
            "system": sorted(_SYSTEM),
            # Outer directories first, because a mount hides what is mounted below it already.
            "binds": sorted(binds, key=lambda bind: len(Path(bind["path"]).parts)),
            "files": self._system_files(),
            "uid": USER,
            "gid": GROUP,
            # Only root can map another user than itself into a namespace (user_namespaces(7)).
            "outside": [user.uid, user.gid] if user else None,
        }
        self._file.write_text(json.dumps(view), "utf-8")

    def hand_over(self) -> None:
        """Give the job's user ownership of the node's own directories."""
        user = job_user()
        if user:
            hand_over(self.root, self.volumes, user)

    def _list_own_folders(self) -> dict[str, Path]:
        """The outermost of nested directories: a job could replace an inner one by a link."""
        paths = (*_FOLDERS, *self.volumes)
        return {path: host_path(self.root, path) for path in paths if not any(is_below(path, other) for other in paths)}

    @property
    def _file(self) -> Path:
        return self.root / "container.json"

    @property
    def _base(self) -> Path:
        return self.root / "container"

    def _system_files(self) -> dict[str, str]:
        """Files of /etc that describe the job's user and its nodes; only those that this machine has."""
        etc = self.root / "etc"
        etc.mkdir(exist_ok=True)
        contents = {
            "hosts": "127.0.0.1 localhost\n" + "".join(f"{address} {names}\n" for address, names in self.hosts),
            "passwd": f"ma-user:x:{USER}:{GROUP}::{HOME}:/bin/bash\n" + _other_entries("passwd", USER),
            "group": f"ma-group:x:{GROUP}:\n" + _other_entries("group", GROUP),
            # The machine's own may name services, such as sssd or systemd-resolved, whose sockets in /run are not
            # inside.
            "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        }
        there = {name: content for name, content in contents.items() if Path("/etc", name).exists()}
        for name, content in there.items():
            (etc / name).write_text(content, "utf-8")
            (etc / name).chmod(0o644)
        names = Path("/etc/resolv.conf")  # often a link to /run, which the container does not have
        return {f"/etc/{name}": str(etc / name) for name in there} | (
            {str(names.resolve()): str(names.resolve())} if names.is_file() else {}
        )


def host_path(root: Path, path: str) -> Path:
    """The path on this machine of an absolute path inside a node's container."""
    for mount, folder in _FOLDERS.items():
        if path == mount or path.startswith(f"{mount}/"):
            return root / folder / path[len(mount) + 1 :]
    return root / _VOLUMES / path.lstrip("/")


def hand_over(root: Path, volumes: Sequence[str], user: JobUser) -> None:
    """Give a user ownership of all of a node's own directories but the platform's."""
    for path in (*_FOLDERS, *volumes):
        if path != CONFIG and host_path(root, path).is_dir():
            give_folder(host_path(root, path), user)


def normalise_volume(path: str) -> str:
    """The requested directory inside, normalised; empty if it cannot be one of the node's own."""
    tidy = posixpath.normpath(path)
    parts = tidy.strip("/").split("/")
    if not path.startswith("/") or "\0" in path or parts[0] in _NOT_FOR_VOLUMES or parts in ([""], ["home"]):
        return ""
    return "/" + "/".join(parts)


def is_volume(path: str) -> bool:
    """Whether a path inside the container is outside of the directories that every node has."""
    return not any(path == mount or is_below(path, mount) for mount in _FOLDERS)


def is_below(path: str, other: str) -> bool:
    """Whether a path inside is below another one."""
    return path.startswith(f"{other}/")


def why_no_containers(wish: Containers, work: Path) -> str:
    """Empty if jobs can run in containers below `work`, else why they cannot. It is found out by trying."""
    if wish is Containers.NONE:
        return "the sandbox was started with --container none"
    if sys.platform != "linux":
        return "only Linux has namespaces"
    # There are many ways to forbid namespaces (AppArmor, sysctl, seccomp, an outer container), so only trying tells.
    root = Path(tempfile.mkdtemp(prefix="probe-", dir=work))
    try:
        return _try_container(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def build_visibility(*more: Path, hidden: Sequence[Path] = ()) -> Visibility:
    """The paths that every process needs: the interpreter, its packages, the sandbox's own programs, and `more`.

    The home directory of the sandbox's user is always hidden."""
    names: list[str | Path] = [
        sys.prefix,
        sys.base_prefix,
        Path(os.path.realpath(sys.executable)).parent,
        *list_package_folders(),
        _PACKAGE,
        *more,
    ]
    return Visibility(_with_real_paths(names), _with_real_paths([*_list_homes(), *hidden]))


def _list_binds(paths: Mapping[str, Path | None], *, writable: bool = False) -> list[dict[str, Any]]:
    return [
        {"path": path, "source": str(source) if source else "", "writable": writable} for path, source in paths.items()
    ]


def _with_real_paths(names: Iterable[str | Path]) -> tuple[Path, ...]:
    """Each path as written and with its links resolved."""
    return tuple(dict.fromkeys(path for name in names for path in (Path(name).absolute(), Path(name).resolve())))


def _list_homes() -> list[Path]:
    """Home directories of this process' user, except system directories such as /bin and /usr/sbin."""
    own = (entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid == os.geteuid())
    folders = [Path(name) for name in (os.environ.get("HOME", ""), *own)]
    # Services have homes such as /bin or /usr/sbin; hiding those would hide the system.
    return [folder for folder in folders if len(folder.parts) > (3 if folder.parts[:2] == ("/", "usr") else 2)]


def _try_container(root: Path) -> str:
    view = ContainerView(root, "probe", [("127.0.0.1", "probe.probe probe")])
    (root / "ma-user" / "probe").mkdir(parents=True)
    view.write(build_visibility())
    view.hand_over()
    try:
        reason = find_failure(view.command(root / "ma-user", [*PYTHON, "-c", _CHECK]))
    except OSError as error:
        return f"namespaces cannot be tried here: {error}"
    return f"namespaces do not work here: {reason}" if reason else ""


def _other_entries(name: str, number: int) -> str:
    """The lines of /etc/passwd or /etc/group with any other number."""
    file = Path("/etc", name)
    # Else the lookup of ma-user's number could find a user of this machine.
    lines = file.read_text("utf-8", "replace").splitlines() if file.exists() else []
    return "".join(f"{line}\n" for line in lines if line.split(":")[2:3] != [str(number)])
