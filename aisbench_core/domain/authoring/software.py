"""Packages of CANN and MindSpore on this machine, described by their file names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath

CANN, MINDSPORE, PROTOBUF = "cann", "mindspore", "protobuf"  # the fields of a spec's `update`


class PackageKind(StrEnum):
    """The kind of a package; the first three are variants of CANN."""

    NNAE = "nnae"
    NNRT = "nnrt"
    TOOLKIT = "toolkit"
    MINDSPORE = "MindSpore"
    PROTOBUF = "protobuf"


# The kinds that each field accepts.
FIELDS = {
    CANN: (PackageKind.NNAE, PackageKind.NNRT, PackageKind.TOOLKIT),
    MINDSPORE: (PackageKind.MINDSPORE,),
    PROTOBUF: (PackageKind.PROTOBUF,),
}

# File names of such packages, for display.
PATTERNS = {
    CANN: "Ascend-cann-{nnae|nnrt|toolkit}_VERSION_linux-{aarch64|x86_64}.run",
    MINDSPORE: "mindspore[_ascend]-VERSION-PYTHON-ABI-PLATFORM.whl",
    PROTOBUF: "protobuf-VERSION-PYTHON-ABI-PLATFORM.whl",
}

_RUN = re.compile(r"Ascend-cann-(nnae|nnrt|toolkit)_([0-9][0-9A-Za-z.]*)_linux-(aarch64|x86_64)\.run")
_WHEEL = re.compile(
    r"(mindspore|mindspore_ascend|protobuf)-([0-9][0-9A-Za-z.+!]*)(?:-[0-9][0-9A-Za-z_.]*)?"
    r"-([a-z0-9_.]+)-([a-z0-9_.]+)-([a-z0-9_.]+)\.whl"
)
_CPYTHON = re.compile(r"cp([0-9])([0-9]+)")  # cp37, cp310
_ARCHITECTURE = re.compile(r"aarch64|x86_64")
_ENGINE_PYTHON = re.compile(r"-py(?:thon)?_?([0-9]+\.[0-9]+)")  # -py_3.7-, -python3.7-


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A package, from its file name. An empty architecture or Python version means any."""

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
    """Architecture and Python version of an image; empty if unknown."""

    architecture: str = ""
    python: str = ""


def package_of(path: str) -> PackageFile | None:
    """The package that a file name describes; None for other names."""
    name = PurePath(path).name
    if match := _RUN.fullmatch(name):
        return PackageFile(name, PackageKind(match[1]), match[2], match[3])
    if match := _WHEEL.fullmatch(name):
        kind = PackageKind.PROTOBUF if match[1] == "protobuf" else PackageKind.MINDSPORE
        return PackageFile(name, kind, match[2], _parse_architecture(match[5]), _parse_python(match[3], match[4]))
    return None


def platform_of(engine_version: str) -> Platform:
    """The platform of a preset image, as far as the engine's version names it."""
    architecture = _ARCHITECTURE.search(engine_version)
    python = _ENGINE_PYTHON.search(engine_version)
    return Platform(architecture[0] if architecture else "", python[1] if python else "")


def _parse_architecture(platform: str) -> str:
    if platform == "any":
        return ""
    match = _ARCHITECTURE.search(platform)
    # manylinux2014_aarch64 fits linux; any other platform fits no image, so it is kept as it is.
    return match[0] if match and "linux" in platform else platform


def _parse_python(tag: str, abi: str) -> str:
    match = _CPYTHON.fullmatch(tag)
    # abi3 wheels run on every later CPython, too.
    return f"{match[1]}.{match[2]}" if match and abi != "abi3" else ""


class SoftwarePackages:
    """A folder with packages to choose from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list_offered(self, field: str) -> Sequence[tuple[str, PackageFile]]:
        """The packages that one field of `update` accepts, with their absolute paths, sorted by name."""
        files = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        packages = [(str(file), package_of(file.name)) for file in files if file.is_file()]
        return [(path, package) for path, package in packages if package and package.kind in FIELDS[field]]
