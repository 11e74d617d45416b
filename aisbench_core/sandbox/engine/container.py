"""What a job's processes see of the machine: where the system allows it, the container's own paths, names and user."""

import json
import os
import posixpath
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from aisbench_core.sandbox.engine import launcher

HOME, CONFIG, CACHE, TEMPORARY = "/home/ma-user", "/user", "/cache", "/tmp"  # noqa: S108 - names inside
USER, GROUP = 1000, 100  # ma-user of the preset images
_FOLDERS = {HOME: "ma-user", CONFIG: "user", CACHE: "cache", TEMPORARY: "tmp"}
_VOLUMES = "volumes"
_PACKAGE = str(Path(__file__).parents[1])
_PROTECTED = frozenset(("bin", "boot", "etc", "lib", "lib32", "lib64", "libx32", "opt", "root", "sbin", "srv", "usr"))
_OF_THE_SYSTEM = _PROTECTED | {"dev", "proc", "run", "sys", "var"}  # in these, programs may have to write
_LONGEST_SECONDS = 60
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
class View:
    """One node's files at the paths that they have inside. `root` is the node's own directory of this machine.

    `host` is the node's name, `hosts` are all nodes' addresses with their names, `volumes` are further paths inside
    that are the node's own."""

    root: Path
    host: str
    hosts: Sequence[tuple[str, str]]
    volumes: Sequence[str] = ()

    def inside(self, text: str) -> str:
        """A path, argument or variable as the job's processes have to read it."""
        for path, folder in (*_FOLDERS.items(), ("", _VOLUMES)):
            text = text.replace(f"{self.root}/{folder}", path)
        return text

    def command(self, folder: Path, command: Sequence[str]) -> list[str]:
        """The launcher's arguments that run the command inside, in this directory."""
        return ["--container", str(self._file), self.inside(str(folder)), *map(self.inside, command)]

    def write(self, kept: Sequence[Path]) -> None:
        """Write down for the launcher what there is to build; `kept` stays visible where it is on this machine."""
        places = {path: here(self.root, path) for path in (*_FOLDERS, *self.volumes)}
        for folder in (self._base, *places.values()):
            folder.mkdir(parents=True, exist_ok=True)
        hidden = [path for path in kept if any(str(path).startswith(f"{place}/") for place in places)]
        view = {
            "host": self.host,
            "root": str(self._base),
            "places": {path: str(folder) for path, folder in places.items()},
            "kept": {str(path): str(path.resolve()) for path in hidden},
            "read_only": sorted(f"/{name}" for name in _PROTECTED),
            "files": self._system_files(),
            "uid": USER,
            "gid": GROUP,
        }
        self._file.write_text(json.dumps(view), "utf-8")

    @property
    def _file(self) -> Path:
        return self.root / "container.json"

    @property
    def _base(self) -> Path:
        return self.root / "container"

    def _system_files(self) -> dict[str, str]:
        """The files of /etc in which the job finds itself and the other nodes; only those that this machine has."""
        etc = self.root / "etc"
        etc.mkdir(exist_ok=True)
        contents = {
            "hosts": "127.0.0.1 localhost\n" + "".join(f"{address} {names}\n" for address, names in self.hosts),
            "passwd": f"ma-user:x:{USER}:{GROUP}::{HOME}:/bin/bash\n" + _others("passwd", USER),
            "group": f"ma-group:x:{GROUP}:\n" + _others("group", GROUP),
            "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        }
        there = {name: content for name, content in contents.items() if Path("/etc", name).exists()}
        for name, content in there.items():
            (etc / name).write_text(content, "utf-8")
        return {f"/etc/{name}": str(etc / name) for name in there}


def here(root: Path, path: str) -> Path:
    """Where this machine has a node's `path` (absolute, as inside)."""
    for place, folder in _FOLDERS.items():
        if path == place or path.startswith(f"{place}/"):
            return root / folder / path[len(place) + 1 :]
    return root / _VOLUMES / path.lstrip("/")


def volume(path: str) -> str:
    """The directory inside that a request names, tidied; nothing if it cannot be a node's own directory."""
    tidy = posixpath.normpath(path)
    parts = tidy.strip("/").split("/")
    if not path.startswith("/") or "\0" in path or parts[0] in _OF_THE_SYSTEM or parts in ([""], ["home"]):
        return ""
    return "/" + "/".join(parts)


def is_volume(path: str) -> bool:
    """Whether this directory inside lies in none of those that every node has."""
    return not any(path == place or path.startswith(f"{place}/") for place in _FOLDERS)


def why_not(wish: Containers, work: Path) -> str:
    """Nothing if jobs can run in containers below `work`; else why they cannot. It is found out by trying."""
    if wish is Containers.NONE:
        return "the sandbox was started with --container none"
    if sys.platform != "linux":
        return "only Linux has namespaces"
    root = Path(tempfile.mkdtemp(prefix="probe-", dir=work))
    try:
        return _try(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def kept_visible(data: Path) -> tuple[Path, ...]:
    """What every process needs at its own path, wherever that is: the interpreter, its packages, the sandbox's data."""
    names = [sys.prefix, sys.base_prefix, os.path.realpath(sys.executable), *filter(os.path.isdir, sys.path), _PACKAGE]
    given = [Path(name).parent if Path(name).is_file() else Path(name) for name in names]
    wanted = dict.fromkeys(path for folder in (*given, data) for path in (folder.absolute(), folder.resolve()))
    return tuple(path for path in wanted if not any(other in path.parents for other in wanted))


def _try(root: Path) -> str:
    view = View(root, "probe", [("127.0.0.1", "probe.probe probe")])
    (root / "ma-user" / "probe").mkdir(parents=True)
    view.write(kept_visible(root))
    check = [sys.executable, "-I", "-S", "-c", _CHECK]
    command = [sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()), *view.command(root / "ma-user", check)]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=_LONGEST_SECONDS, check=False, env={"PATH": os.defpath}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"namespaces cannot be tried here: {error}"
    return "" if ended.returncode == 0 else f"namespaces do not work here: {_last_line(ended.stderr)}"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason was given"])[-1]


def _others(name: str, number: int) -> str:
    """The lines of /etc/passwd or /etc/group about everybody but this number."""
    file = Path("/etc", name)
    lines = file.read_text("utf-8", "replace").splitlines() if file.exists() else []
    return "".join(f"{line}\n" for line in lines if line.split(":")[2:3] != [str(number)])
