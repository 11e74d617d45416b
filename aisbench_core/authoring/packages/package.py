"""A package of the upstream tool: what was found in it, what a person adds, and the workload that it makes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aisbench_core.authoring.upstream.found import Document, ImportedConfig, LineFinding, PackageName
from aisbench_core.authoring.workloads import Workload
from aisbench_core.model import Level


@dataclass(frozen=True, slots=True)
class Answers:
    """What a person says about a package; empty: the package decides. `profile` names the profile to be made."""

    name: str = ""
    boot_file: str = ""
    engine_version: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """A package whose code lies unpacked in a folder of its own, until it is made a workload or dropped.

    `name` is None when nothing tells it, `document` when it brings no configuration that can be read. `scripts` are the
    Python files of the code. `sha256` (hex) is that of workload, framework version and code: what tells packages
    apart."""

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
        """Where its code was unpacked."""
        return self.folder / "code"


@dataclass(frozen=True, slots=True)
class PackagedWorkload:
    """The workload that a package makes, and its name; None, with findings that say why, while it makes none.

    `existing` names the workload that was made of the same package before; empty: none was."""

    name: str
    workload: Workload | None
    manifest: Mapping[str, Any]
    imported: ImportedConfig
    existing: str = ""

    @property
    def findings(self) -> tuple[LineFinding, ...]:
        """What there is to say, errors first."""
        worst_first = (Level.ERROR, Level.WARNING, Level.INFO)
        return tuple(sorted(self.imported.findings, key=lambda each: worst_first.index(each.level)))


@dataclass(frozen=True, slots=True)
class Made:
    """A workload made of a package; `new` is false when it was there already."""

    name: str
    new: bool
