"""Packages of the upstream tool, unpacked, looked at and made workloads: what console and command line ask for."""

import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from aisbench_core.authoring.manifest import Manifest
from aisbench_core.authoring.packages import describing, opening
from aisbench_core.authoring.packages.intake import LIMITS, Intake, PackageLimits
from aisbench_core.authoring.packages.keeping import conflict, keep
from aisbench_core.authoring.packages.package import Answers, Made, Package, PackagedWorkload
from aisbench_core.authoring.packages.unpacking import take_folder, unpack
from aisbench_core.authoring.upstream import meaning
from aisbench_core.authoring.upstream.found import FoundSpec, Hints, ImportedConfig, LineFinding, finding
from aisbench_core.authoring.workloads import Workload, Workloads
from aisbench_core.documents import parse
from aisbench_core.errors import ConfigError, SpecError
from aisbench_core.messages import Message, joined, message_of
from aisbench_core.model import Flavor, Level, RunSpec
from aisbench_core.settings import Settings

UNPACKED = ".import-"
"""How folders of packages begin that are no workloads yet, before the process that looks at them; no registry looks
into them."""

FORGOTTEN_S = 24 * 3600.0
"""Such a folder is removed after so long, because whoever opened it has left, and at once when its process is gone."""

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{describing.LONGEST_NAME - 1}}}")


class Packages:
    """Workloads from packages. A package is opened, described as often as a person likes, then made or dropped."""

    def __init__(self, settings: Settings, workloads: Workloads, limits: PackageLimits = LIMITS) -> None:
        self._settings = settings
        self._workloads = workloads
        self._limits = limits

    def unpack(self, source: str, packed: IO[bytes]) -> Package:
        """A package as an archive. Raises ConfigError, and keeps nothing, if it cannot or must not be unpacked."""
        return self._opened(source, source, lambda intake: unpack(packed, intake, self._limits))

    def open(self, path: str) -> Package:
        """A package on this machine: an archive or a folder, which stays as it is. Raises as `unpack` does."""
        place = Path(os.path.expanduser(path))  # noqa: PTH111  # pathlib's raises for an unknown ~name
        if place.is_dir():
            base = opening.base_of(place).absolute()
            return self._opened(base.name, str(base), lambda intake: take_folder(base, intake))
        try:
            with place.open("rb") as packed:
                return self.unpack(place.name, packed)
        except OSError as error:
            raise ConfigError(Message("{path} cannot be read: {why}", path=place, why=error.strerror)) from None

    def describe(
        self, package: Package, answers: Answers, flavors: Sequence[Flavor] = (), flavor: str = ""
    ) -> PackagedWorkload:
        """The workload that it makes and what its configuration means, or what is missing. Nothing is stored.

        `flavors`: the region's; `flavor`: the one of a job that names none."""
        findings = list(package.findings)
        told = describing.told_by(package)
        existing = self._made_of(package)
        version = describing.version_told(package, told)
        name = existing.name if existing else answers.name or describing.suggested_name(package)
        if existing:
            workload: Workload | None = existing
            manifest: dict[str, Any] = {}
        else:
            known = describing.known_workload(package, version, self._workloads)
            manifest = describing.manifest_of(package, answers, told, known)
            findings += describing.left_open(package, told, known)
            workload = self._workload(package, name, manifest, findings)
        imported = self._imported(package, workload, version, answers)
        findings += _other_architecture(package, imported, flavors, flavor)
        imported = replace(imported, findings=(*findings, *imported.findings))
        return PackagedWorkload(name, workload, manifest, imported, existing.name if existing else "")

    def make(self, package: Package, described: PackagedWorkload) -> Made:
        """The workload, kept in `data/workloads/`; one that was made of the same package before is used as it is.

        Raises ConfigError when it is not described to its end, or when another workload took its name meanwhile."""
        if described.existing:
            self.drop(package)
            return Made(described.existing, new=False)
        if described.workload is None:
            raise ConfigError(Message("the package makes no workload yet"), Message("see the findings"))
        keep(self._settings, described.workload, package, described.manifest)
        return Made(described.workload.name, new=True)

    def drop(self, package: Package) -> None:
        """Remove what was unpacked of a package that is not made a workload."""
        shutil.rmtree(package.folder, ignore_errors=True)

    def _opened(self, source: str, path: str, take: Callable[[Intake], None]) -> Package:
        folder = self._settings.own_workloads_dir / f"{UNPACKED}{os.getpid()}-{secrets.token_hex(6)}"
        try:
            self._forget_old()
            folder.mkdir(parents=True)
            intake = Intake(folder / "code", self._limits)
            take(intake)
            return opening.package_of(source, path, folder, intake)
        except BaseException as error:  # such as Ctrl-C in a large archive
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, ConfigError):
                raise ConfigError(joined(": ", [opening.plain(source), error.message]), error.hint) from None
            if isinstance(error, OSError):
                raise ConfigError(
                    Message("{package} cannot be unpacked: {why}", package=opening.plain(source), why=error.strerror)
                ) from error
            raise

    def _forget_old(self) -> None:
        for forgotten in self._settings.own_workloads_dir.glob(f"{UNPACKED}*"):
            if time.time() - forgotten.stat().st_mtime > FORGOTTEN_S or _is_orphan(forgotten):
                shutil.rmtree(forgotten, ignore_errors=True)

    def _made_of(self, package: Package) -> Workload | None:
        own = (workload for workload in self._workloads.all() if workload.package)
        return next((each for each in own if each.package and each.package.sha256 == package.sha256), None)

    def _workload(
        self, package: Package, name: str, manifest: dict[str, Any], findings: list[LineFinding]
    ) -> Workload | None:
        """The workload as it would be read from its folder; None, with findings, if it cannot be made."""
        before = len(findings)
        findings += describing.missing(package, manifest)
        findings += _name_problems(self._settings, name)
        if any(each.level is Level.ERROR for each in findings[before:]):
            return None
        try:
            parse(Manifest, manifest, Message("workload {name}", name=name))
        except SpecError as error:
            findings += [
                finding(
                    "package.manifest",
                    problem.field,
                    Message("{problem} ({found})", problem=problem.message, found=problem.found),
                )
                for problem in error.problems
            ]
            return None
        place = {"folder": self._settings.own_workloads_dir / name, "shipped_dir": self._settings.workloads_dir}
        return Workload.model_validate({**manifest, "name": name, **place})

    def _imported(self, package: Package, workload: Workload | None, version: str, answers: Answers) -> ImportedConfig:
        if workload is None:
            return ImportedConfig(None, None, (), ())
        own = FoundSpec("", RunSpec(workload=workload.name), {})
        if package.document is None:
            return ImportedConfig(None, None, (own,), ())
        known = version if version in workload.versions else ""
        hints = Hints(workload.name, known, "", "", answers.profile)
        imported = meaning.understand(package.document, self._workloads.joined_by(workload), hints)
        # The code is here: it is the workload's own.
        kept = tuple(each for each in imported.findings if each.rule != "config.code-dir")
        return replace(imported, specs=imported.specs or (own,), findings=kept)


def _name_problems(settings: Settings, name: str) -> Iterator[LineFinding]:
    if not _NAME.fullmatch(name):
        message = Message(
            "{name!r} cannot be a workload's name; allowed: {most} of a-z, A-Z, 0-9, - and _",
            name=name,
            most=describing.LONGEST_NAME,
        )
        yield finding("package.manifest", "name", message)
        return
    trouble = conflict(settings, name)
    if trouble:
        yield finding("package.taken", "name", message_of(trouble.message), hint=message_of(trouble.hint))


def _other_architecture(
    package: Package, imported: ImportedConfig, flavors: Sequence[Flavor], flavor: str
) -> Iterator[LineFinding]:
    """A word about each thing that says another architecture than the package's name."""
    if package.name is None:
        return
    wanted, job = package.name.architecture, imported.first
    chosen = (job.spec.flavor if job else "") or flavor
    offered = [flavor for flavor in flavors if flavor.flavor_id == chosen] or flavors
    told = sorted({each.architecture for each in offered if each.architecture})
    hint = Message(
        "look at what the code brings along: .whl, .run and .so files only work on the one that they were built for"
    )
    if told and wanted not in told:
        who = Message("flavor {flavor}", flavor=chosen) if len(offered) == 1 else Message("the region")
        yield finding(
            "package.architecture",
            "flavor",
            Message(
                "the package is for {wanted}, and {where} has {found}", wanted=wanted, where=who, found=", ".join(told)
            ),
            hint=hint,
        )
    engine = job.spec.engine_version if job else ""
    other = {"aarch64": "x86_64", "x86_64": "aarch64"}.get(wanted, "")
    if other and other in engine:
        yield finding(
            "package.architecture",
            "engine_version",
            Message("the package is for {wanted}, and the engine is {engine}", wanted=wanted, engine=engine),
            hint=hint,
        )


def _is_orphan(folder: Path) -> bool:
    """Whether the process that a folder belongs to has ended."""
    process = folder.name.removeprefix(UNPACKED).partition("-")[0]
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OverflowError, PermissionError):  # of an older version, or of another person
        return False
    return False
