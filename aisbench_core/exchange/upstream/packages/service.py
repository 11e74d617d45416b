"""Imports packages of ais-bench-stubs as workloads, for the console and the command line."""

import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from aisbench_core.base import strict_yaml
from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.base.private_files import is_orphan, process_name
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.domain.authoring.manifest import Manifest
from aisbench_core.domain.authoring.workloads import MANIFEST, Workload, Workloads
from aisbench_core.exchange.upstream.configs.contents import (
    Hints,
    ImportedConfig,
    ImportedSpec,
    LineFinding,
    make_finding,
)
from aisbench_core.exchange.upstream.configs.service import interpret_document
from aisbench_core.exchange.upstream.packages import manifests
from aisbench_core.exchange.upstream.packages.entries import (
    LIMITS,
    PackageEntries,
    PackageLimits,
    read_folder,
    unpack_entries,
)
from aisbench_core.exchange.upstream.packages.package import (
    Answers,
    Made,
    Package,
    PackagedWorkload,
    base_of,
    clean_name,
    package_of,
)
from aisbench_core.model import Actor, Flavor, Level, RunSpec

# Prefix of the temporary folders, followed by the process id. Registries skip folders that start with a dot.
UNPACKED = ".import-"

ABANDONED_S = 24 * 3600.0  # temporary folders are removed after this time, or when their process has ended

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{manifests.LONGEST_NAME - 1}}}")


class Packages:
    """Workloads from packages: open a package, describe it any number of times, then `make` or `drop` it."""

    def __init__(self, settings: Settings, workloads: Workloads, limits: PackageLimits = LIMITS) -> None:
        self._settings = settings
        self._workloads = workloads
        self._limits = limits

    def unpack(self, source: str, packed: IO[bytes]) -> Package:
        """Unpack an archive. Raises ConfigError, and leaves nothing behind, if it is unreadable or unsafe."""
        return self._open_package(source, source, lambda entries: unpack_entries(packed, entries, self._limits))

    @permitted
    def open(self, path: str, actor: Actor) -> Package:  # noqa: ARG002  # the guard reads it
        """Open an archive or a folder on this machine. Raises as `unpack_entries` does, and NotAllowed."""
        location = Path(os.path.expanduser(path))  # noqa: PTH111  # pathlib's raises for an unknown ~name
        if location.is_dir():
            base = base_of(location).absolute()
            return self._open_package(base.name, str(base), lambda entries: read_folder(base, entries))
        try:
            with location.open("rb") as packed:
                return self.unpack(location.name, packed)
        except OSError as error:
            raise ConfigError(Message("{path} cannot be read: {why}", path=location, why=error.strerror)) from None

    def describe(
        self, package: Package, answers: Answers, flavors: Sequence[Flavor] = (), flavor: str = ""
    ) -> PackagedWorkload:
        """The workload and the meaning of the configuration, with findings about what is missing. Stores nothing.

        `flavors`: the region's; `flavor`: the default for a job without one."""
        findings = list(package.findings)
        config = manifests.job_config(package)
        existing = next(
            (one for one in self._workloads.all() if one.package and one.package.sha256 == package.sha256), None
        )
        version = manifests.framework_version(package, config)
        name = existing.name if existing else answers.name or manifests.suggested_name(package)
        if existing:
            workload: Workload | None = existing
            manifest: dict[str, Any] = {}
        else:
            shipped = manifests.shipped_workload(package, version, self._workloads)
            manifest = manifests.manifest_of(package, answers, config, shipped)
            findings += manifests.unknown_facts(package, config, shipped)
            workload = self._build_workload(package, name, manifest, findings)
        imported = self._import_config(package, workload, version, answers)
        findings += _other_architecture(package, imported, flavors, flavor)
        imported = replace(imported, findings=(*findings, *imported.findings))
        return PackagedWorkload(name, workload, manifest, imported, existing.name if existing else "")

    @permitted
    def make(self, package: Package, described: PackagedWorkload, actor: Actor) -> Made:
        """Save the workload in `data/workloads/`, unless the same package was imported before.

        Raises ConfigError if it has errors, or if another workload has taken its name in the meantime."""
        if described.existing:  # importing twice is fine, and makes no second copy
            self.drop(package)
            return Made(described.existing, new=False)
        if described.workload is None:
            raise ConfigError(Message("the package cannot be imported yet"), Message("see the findings"))
        log_change(actor, f"new workload {described.workload.name}")
        _save_workload(self._settings, described.workload, package, described.manifest)
        return Made(described.workload.name, new=True)

    def drop(self, package: Package) -> None:
        """Remove the temporary folder of a package."""
        shutil.rmtree(package.folder, ignore_errors=True)

    def _open_package(self, source: str, path: str, read: Callable[[PackageEntries], None]) -> Package:
        folder = self._settings.own_workloads_dir / f"{UNPACKED}{process_name()}{secrets.token_hex(6)}"
        try:
            self._remove_abandoned()
            folder.mkdir(parents=True)
            entries = PackageEntries(folder / "code", self._limits)
            read(entries)
            return package_of(source, path, folder, entries)
        except BaseException as error:  # also Ctrl-C while a large archive is unpacked
            shutil.rmtree(folder, ignore_errors=True)
            # Messages are about entries; the name of the package goes in front.
            if isinstance(error, ConfigError):
                raise ConfigError(join_parts(": ", [clean_name(source), error.message]), error.hint) from None
            if isinstance(error, OSError):
                message = Message("{package} cannot be unpacked: {why}", package=clean_name(source), why=error.strerror)
                raise ConfigError(message) from error
            raise

    def _remove_abandoned(self) -> None:
        for folder in self._settings.own_workloads_dir.glob(f"{UNPACKED}*"):
            if time.time() - folder.stat().st_mtime > ABANDONED_S or is_orphan(folder.name.removeprefix(UNPACKED)):
                shutil.rmtree(folder, ignore_errors=True)

    def _build_workload(
        self, package: Package, name: str, manifest: dict[str, Any], findings: list[LineFinding]
    ) -> Workload | None:
        """The workload as it would be read from its folder; None, with findings, if it has errors."""
        before = len(findings)  # earlier findings do not prevent the import
        findings += manifests.find_missing(package, manifest)
        findings += _name_problems(self._settings, name)
        if any(finding.level is Level.ERROR for finding in findings[before:]):
            return None
        try:
            parse_document(Manifest, manifest, Message("workload {name}", name=name))
        except SpecError as error:
            findings += [
                make_finding(
                    "package.manifest",
                    problem.field,
                    Message("{problem} ({found})", problem=problem.message, found=problem.value),
                )
                for problem in error.problems
            ]
            return None
        folders = {"folder": self._settings.own_workloads_dir / name, "shipped_dir": self._settings.workloads_dir}
        return Workload.model_validate({**manifest, "name": name, **folders})

    def _import_config(
        self, package: Package, workload: Workload | None, version: str, answers: Answers
    ) -> ImportedConfig:
        if workload is None:
            return ImportedConfig(None, None, (), ())
        own = ImportedSpec("", RunSpec(workload=workload.name), {})
        if package.document is None:
            return ImportedConfig(None, None, (own,), ())
        hints = Hints(workload.name, version if version in workload.versions else "", profile=answers.profile)
        imported = interpret_document(package.document, self._workloads.joined_by(workload), hints)
        # The package contains its code, so the import's question for a code directory does not apply.
        findings = tuple(finding for finding in imported.findings if finding.rule != "config.code-dir")
        return replace(imported, specs=imported.specs or (own,), findings=findings)


def _name_problems(settings: Settings, name: str) -> Iterator[LineFinding]:
    if not _NAME.fullmatch(name):
        message = Message(
            "{name!r} is not a valid workload name; allowed: {most} of a-z, A-Z, 0-9, - and _",
            name=name,
            most=manifests.LONGEST_NAME,
        )
        yield make_finding("package.manifest", "name", message)
        return
    error = _find_conflict(settings, name)
    if error:
        yield make_finding("package.taken", "name", error.message, hint=error.hint)


def _other_architecture(
    package: Package, imported: ImportedConfig, flavors: Sequence[Flavor], flavor: str
) -> Iterator[LineFinding]:
    if package.name is None:
        return
    architecture, job = package.name.architecture, imported.first
    chosen = (job.spec.flavor if job else "") or flavor
    offered = [flavor for flavor in flavors if flavor.flavor_id == chosen] or flavors
    architectures = sorted({flavor.architecture for flavor in offered if flavor.architecture})
    hint = Message(
        "check the code's .whl, .run and .so files: they only work on the architecture that they were built for"
    )
    if architectures and architecture not in architectures:
        where = Message("flavor {flavor}", flavor=chosen) if len(offered) == 1 else Message("the region")
        message = Message(
            "the package is for {wanted}, but {where} has {found}",
            wanted=architecture,
            where=where,
            found=", ".join(architectures),
        )
        yield make_finding("package.architecture", "flavor", message, hint=hint)
    engine = job.spec.engine_version if job else ""
    other = {"aarch64": "x86_64", "x86_64": "aarch64"}.get(architecture, "")
    if other and other in engine:
        message = Message("the package is for {wanted}, but the engine is {engine}", wanted=architecture, engine=engine)
        yield make_finding("package.architecture", "engine_version", message, hint=hint)


def _find_conflict(settings: Settings, name: str) -> ConfigError | None:
    """Why a workload cannot have this name; None if it can."""
    if (settings.workloads_dir / name).exists():
        return ConfigError(Message("a workload named {name!r} is shipped", name=name), Message("choose another name"))
    if (settings.own_workloads_dir / name).exists():
        return ConfigError(
            Message("there is another workload named {name!r}, which does not come from this package", name=name),
            Message(
                "choose another name, or remove {folder} if it is not needed", folder=settings.own_workloads_dir / name
            ),
        )
    return None


def _save_workload(settings: Settings, workload: Workload, package: Package, manifest: Mapping[str, Any]) -> None:
    """Write manifest and README beside the code, and rename the folder. Raises ConfigError if the name is in use."""
    problem = _find_conflict(settings, workload.name)
    if problem:
        raise problem
    try:
        (package.folder / MANIFEST).write_text(strict_yaml.dump(dict(manifest)), "utf-8")
        (package.folder / "README.md").write_text(_build_readme(workload, package), "utf-8")
        # One rename, so that other processes see the whole workload or none.
        package.folder.rename(settings.own_workloads_dir / workload.name)
    except FileNotFoundError:
        message = Message("the unpacked code of {package} is gone", package=package.source)
        raise ConfigError(message, Message("import the package again")) from None
    except OSError as error:
        problem = _find_conflict(settings, workload.name)  # another process may have been faster
        raise problem or ConfigError(
            Message("{workload!r} cannot be written: {why}", workload=workload.name, why=error.strerror)
        ) from error


def _build_readme(workload: Workload, package: Package) -> str:
    edition = workload.edition()
    name = package.name
    rows = [
        ("package", f"`{package.source}`"),
        ("company", name.company if name else "unknown"),
        ("architecture", name.architecture if name else "unknown"),
        ("framework", f"{workload.framework}, {edition.version}"),
        ("engine", f"`{edition.engine_version}`"),
        ("boot file", f"`{edition.boot_file}`"),
        ("code", f"{package.entries:,} files, {package.size:,} bytes, as they were in `code/code`"),
        ("throughput", workload.definitions[edition.throughput_definition].text),
        ("data", workload.dataset.name),
    ]
    table = "".join(f"| {head} | {text} |\n" for head, text in rows)
    return (
        f"# {workload.name}\n\nImported from a package of ais-bench-stubs. What the package does not say is "
        f"marked as unknown in `{MANIFEST}`; fill it in there.\n\n| | |\n|---|---|\n{table}\n"
        "The code writes its own result files, so the manifest does not request the reporter. This folder contains no\n"
        "keys from the package's configuration.\n"
    )
