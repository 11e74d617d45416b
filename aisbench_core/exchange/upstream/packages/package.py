"""An unpacked package of ais-bench-stubs, the user's answers about it, and the resulting workload."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.config_file import MOST_BYTES, ConfigFile, decode_text
from aisbench_core.domain.authoring.pre_start import SCRIPT
from aisbench_core.domain.authoring.workloads import Workload
from aisbench_core.exchange.upstream.configs import reading
from aisbench_core.exchange.upstream.configs.contents import (
    Document,
    ImportedConfig,
    LineFinding,
    PackageName,
    make_finding,
    package_name,
)
from aisbench_core.exchange.upstream.packages.entries import CODE, PackageEntries
from aisbench_core.model import Level, canonical_json


@dataclass(frozen=True, slots=True)
class Answers:
    """The user's answers about a package; empty: the package decides. `profile`: name of the profile to create."""

    name: str = ""
    boot_file: str = ""
    engine_version: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """A package, unpacked into a temporary folder until it becomes a workload or is dropped.

    `name` is None if unknown, `document` if there is no readable configuration. `scripts` are the Python files of the
    code. `sha256` (hex) covers workload, framework version and code, and identifies a package."""

    source: str
    name: PackageName | None
    folder: Path
    document: Document | None
    scripts: tuple[str, ...]
    entries: int
    size: int
    sha256: str
    findings: tuple[LineFinding, ...] = ()

    @property
    def code(self) -> Path:
        """The folder with its code."""
        return self.folder / "code"


@dataclass(frozen=True, slots=True)
class PackagedWorkload:
    """The workload from a package, and its name. `workload` is None if errors in `findings` prevent it.

    `existing`: the workload that was created from the same package before, if any."""

    name: str
    workload: Workload | None
    manifest: Mapping[str, Any]
    imported: ImportedConfig
    existing: str = ""

    @property
    def findings(self) -> tuple[LineFinding, ...]:
        """All findings, errors first."""
        worst_first = (Level.ERROR, Level.WARNING, Level.INFO)
        return tuple(sorted(self.imported.findings, key=lambda finding: worst_first.index(finding.level)))


@dataclass(frozen=True, slots=True)
class Made:
    """A workload created from a package; `new` is false if it already existed."""

    name: str
    new: bool


PACKAGE_LAYOUT = Message("a package has its training code in code/code, and its configuration in code/config")
CONFIG_FILE = "modelarts_config.py"
LONGEST_SOURCE = 200


def base_of(folder: Path) -> Path:
    """The folder that contains code/code: `folder` itself, or its only subfolder that does. Raises ConfigError."""
    if (folder / "code" / "code").is_dir():
        return folder
    packages = [file for file in sorted(folder.iterdir()) if (file / "code" / "code").is_dir()]
    if len(packages) == 1:
        return packages[0]
    if packages:
        message = Message("{folder} contains {count} packages", folder=folder, count=len(packages))
        raise ConfigError(message, Message("give the path of one of them"))
    raise ConfigError(Message("{folder} contains no package", folder=folder), PACKAGE_LAYOUT)


def package_of(source: str, path: str, folder: Path, entries: PackageEntries) -> Package:
    """The package. `path`: its original location, which may contain its name. Raises ConfigError if it has no code."""
    if not entries.hashes:
        raise ConfigError(Message("{folder} contains no files", folder="/".join(CODE)), PACKAGE_LAYOUT)
    findings: list[LineFinding] = list(_report_recoded(entries))
    name = package_name(path) or package_name(entries.root or "")
    # Equal packages are one workload, whatever their files are called; archives of the same code differ in time stamps.
    identity = [name.workload, name.framework_version] if name else ["", ""]
    return Package(
        source=clean_name(source),
        name=name,
        folder=folder,
        document=_read_document(folder, entries, findings),
        scripts=tuple(sorted((path for path in entries.hashes if path.endswith(".py")), key=_get_depth)),
        entries=len(entries.hashes),
        size=entries.size,
        sha256=hashlib.sha256(canonical_json([*identity, entries.sha256]).encode()).hexdigest(),
        findings=tuple(findings),
    )


def clean_name(source: str) -> str:
    """A file's name without directories and unprintable characters, shortened."""
    name = source.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return "".join(letter if letter.isprintable() else "_" for letter in name)[:LONGEST_SOURCE] or "package"


def _read_document(folder: Path, entries: PackageEntries, findings: list[LineFinding]) -> Document | None:
    """The configuration; None, with a finding, if it is missing or unreadable."""
    if CONFIG_FILE not in entries.configs:
        findings.append(
            make_finding(
                "package.config", CONFIG_FILE, Message("is not in code/config"), hint=Message("fill in the draft")
            )
        )
        return None
    files = [ConfigFile(name, content) for name, content in entries.configs.items()]
    try:
        return reading.read_document([*files, *_pre_start(folder, entries, findings)])
    except ConfigError as error:
        findings.append(make_finding("package.config", CONFIG_FILE, error.message, hint=error.hint))
        return None


def _pre_start(folder: Path, entries: PackageEntries, findings: list[LineFinding]) -> Iterator[ConfigFile]:
    """The code's own ma-pre-start.sh, for its log levels and mode; it stays in the code and still runs."""
    names = sorted((path for path in entries.hashes if PurePosixPath(path).name == SCRIPT), key=_get_depth)
    for name in names[:1]:  # the topmost one is usually beside the boot file
        with (folder / "code" / name).open("rb") as opened:
            file = ConfigFile(SCRIPT, opened.read(MOST_BYTES + 1))
        try:
            decode_text(file)
            yield file
        except ConfigError as error:
            findings.append(make_finding("package.config", SCRIPT, error.message, hint=error.hint))


def _report_recoded(entries: PackageEntries) -> Iterator[LineFinding]:
    if entries.recoded:
        number, first = len(entries.recoded), entries.recoded[0]
        one = Message("1 file name was in GBK: {name!r}", name=first)
        several = Message("{number} file names were in GBK, such as {name!r}", number=number, name=first)
        hint = Message("the code must refer to these files by their UTF-8 names")
        yield make_finding("package.encoding", "code", one if number == 1 else several, hint=hint)


def _get_depth(name: str) -> tuple[int, str]:
    return len(PurePosixPath(name).parts), name
