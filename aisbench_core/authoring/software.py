"""Packages of CANN and MindSpore: what their file names say, and which ones lie ready on this machine."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath

CANN, MINDSPORE, PROTOBUF = "cann", "mindspore", "protobuf"
"""The fields of a spec's `update`."""


class PackageKind(StrEnum):
    """What a package is. CANN comes as one of the first three."""

    NNAE = "nnae"
    NNRT = "nnrt"
    TOOLKIT = "toolkit"
    MINDSPORE = "MindSpore"
    PROTOBUF = "protobuf"


FIELDS = {
    CANN: (PackageKind.NNAE, PackageKind.NNRT, PackageKind.TOOLKIT),
    MINDSPORE: (PackageKind.MINDSPORE,),
    PROTOBUF: (PackageKind.PROTOBUF,),
}
"""Which kinds each field takes."""

PATTERNS = {
    CANN: "Ascend-cann-{nnae|nnrt|toolkit}_VERSION_linux-{aarch64|x86_64}.run",
    MINDSPORE: "mindspore[_ascend]-VERSION-PYTHON-ABI-PLATFORM.whl",
    PROTOBUF: "protobuf-VERSION-PYTHON-ABI-PLATFORM.whl",
}
"""How such files are named, for people."""

_RUN = re.compile(r"Ascend-cann-(nnae|nnrt|toolkit)_([0-9][0-9A-Za-z.]*)_linux-(aarch64|x86_64)\.run")
_WHEEL = re.compile(
    r"(mindspore|mindspore_ascend|protobuf)-([0-9][0-9A-Za-z.+!]*)(?:-[0-9][0-9A-Za-z_.]*)?"
    r"-([a-z0-9_.]+)-([a-z0-9_.]+)-([a-z0-9_.]+)\.whl"
)
_CPYTHON = re.compile(r"cp([0-9])([0-9]+)")
_ARCHITECTURE = re.compile(r"aarch64|x86_64")
_ENGINE_PYTHON = re.compile(r"-py(?:thon)?_?([0-9]+\.[0-9]+)")


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A package by its file's name. An empty architecture or Python version means that any will do."""

    name: str
    kind: PackageKind
    version: str
    architecture: str = ""
    python: str = ""

    def __str__(self) -> str:
        parts = (f"{self.kind} {self.version}", self.architecture, self.python and f"Python {self.python}")
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Platform:
    """What an engine's name says of the image; empty: it does not say."""

    architecture: str = ""
    python: str = ""


def package_of(path: str) -> PackageFile | None:
    """What a file's name says; None if it is not named as such packages are."""
    name = PurePath(path).name
    if found := _RUN.fullmatch(name):
        return PackageFile(name, PackageKind(found[1]), found[2], found[3])
    if found := _WHEEL.fullmatch(name):
        kind = PackageKind.PROTOBUF if found[1] == "protobuf" else PackageKind.MINDSPORE
        return PackageFile(name, kind, found[2], _architecture(found[5]), _python(found[3], found[4]))
    return None


def platform_of(engine_version: str) -> Platform:
    """Architecture and Python version of a preset image."""
    architecture = _ARCHITECTURE.search(engine_version)
    python = _ENGINE_PYTHON.search(engine_version)
    return Platform(architecture[0] if architecture else "", python[1] if python else "")


def _architecture(platform: str) -> str:
    if platform == "any":
        return ""
    found = _ARCHITECTURE.search(platform)
    return found[0] if found and "linux" in platform else platform


def _python(tag: str, abi: str) -> str:
    """The one version of CPython that a wheel is for."""
    found = _CPYTHON.fullmatch(tag)
    return f"{found[1]}.{found[2]}" if found and abi != "abi3" else ""


class SoftwareShelf:
    """A folder on this machine in which packages lie ready to be chosen by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def offered(self, field: str) -> Sequence[tuple[str, PackageFile]]:
        """The packages that one field of `update` takes: absolute path and what the name says, by name."""
        files = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        found = [(str(file), package_of(file.name)) for file in files if file.is_file()]
        return [(path, package) for path, package in found if package and package.kind in FIELDS[field]]
