"""A door for packages over an empty data folder, without console, command line or cloud."""

import io
from pathlib import Path
from typing import Any

from aisbench_core.config.settings import Settings
from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.exchange.upstream.configs.contents import LineFinding
from aisbench_core.exchange.upstream.packages.entries import LIMITS, PackageLimits
from aisbench_core.exchange.upstream.packages.package import Answers, Package, PackagedWorkload
from aisbench_core.exchange.upstream.packages.service import Packages
from tests.actors import TESTER
from tests.upstream_package import NAME, files, packed

NO_ANSWERS = Answers()
SOURCE = f"{NAME}.tar.gz"


class Door:
    """The packages of a console over an empty data folder."""

    def __init__(self, data_dir: Path) -> None:
        settings = Settings(data_dir=data_dir)
        self.own = settings.own_workloads_dir
        self.workloads = Workloads(settings.workloads_dir, self.own)
        self.packages = Packages(settings, self.workloads)

    def opened(self, name: str = NAME, **contents: Any) -> Package:
        """A package of this name; see `files` for its contents."""
        return self.packages.unpack(f"{name}.tar.gz", io.BytesIO(packed(files(**contents))))

    def described(self, name: str = NAME, answers: Answers = NO_ANSWERS, **contents: Any) -> PackagedWorkload:
        """What a package makes."""
        return self.packages.describe(self.opened(name, **contents), answers)

    def made(self, name: str = NAME, answers: Answers = NO_ANSWERS, **contents: Any) -> Workload:
        """The workload of a package, as it is read from its folder."""
        package = self.opened(name, **contents)
        made = self.packages.make(package, self.packages.describe(package, answers), actor=TESTER)
        return self.workloads.get(made.name)


def said(described: PackagedWorkload, rule: str) -> list[LineFinding]:
    """The findings of one rule."""
    return [each for each in described.findings if each.rule == rule]


def kept(folder: Path) -> str:
    """Every byte below a folder."""
    return "".join(file.read_bytes().decode("latin-1") for file in folder.rglob("*") if file.is_file())


def opener(data_dir: Path, limits: PackageLimits = LIMITS) -> Packages:
    """The door for packages over an empty data folder."""
    return Packages(Settings(data_dir=data_dir), Workloads(data_dir), limits)


def unpacked(data_dir: Path, content: bytes, limits: PackageLimits = LIMITS) -> Package:
    """The package of an archive."""
    return opener(data_dir, limits).unpack(SOURCE, io.BytesIO(content))


def left_behind(data_dir: Path) -> list[Path]:
    """What is on disk of packages."""
    return [*(data_dir / "workloads").iterdir()]
