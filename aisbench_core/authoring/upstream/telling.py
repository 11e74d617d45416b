"""Which workload a configuration is for, in which framework version: the file does not say so in words."""

import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from aisbench_core.authoring.upstream.found import Hints, PackageName
from aisbench_core.authoring.workloads import Workload, Workloads

_ENGINE_VERSION = re.compile(r"[A-Za-z]+[-_]([0-9]+)\.([0-9]+)")


def workload_of(
    boot_file: str,
    engine: str,
    parameters: Collection[str],
    workloads: Workloads,
    hints: Hints,
    package: PackageName | None,
) -> Workload | None:
    """The workload: the one that is named, the package's, or the one that boot file, engine and parameters fit.

    None if nothing tells, or if two fit equally well. Raises ConfigError if the one that is named does not exist."""
    if hints.workload:
        return workloads.get(hints.workload)
    if package:
        names = (package.workload, package.workload.removeprefix("train_"))
        named = [each for each in workloads.all() if each.name in names]
        if named:
            return named[0]
    fits = sorted(((_fit(each, engine, parameters), each) for each in _candidates(boot_file, engine, workloads)),
                  key=lambda pair: pair[0], reverse=True)  # fmt: skip
    if not fits or (len(fits) > 1 and fits[0][0] == fits[1][0]):
        return None
    return fits[0][1]


def version_of(workload: Workload, engine: str, hints: Hints, package: PackageName | None) -> str:
    """The framework version of the workload: the one that is named, the package's, or the engine's; empty: unknown.

    Raises ConfigError if the workload does not have the one that is named."""
    if hints.framework_version:
        return workload.edition(hints.framework_version).version
    return next((each for each in _told(workload, engine, package) if each in workload.versions), "")


def release_of(engine: str) -> str:
    """The framework's release in an engine's name, such as 1.3; empty if it does not tell."""
    number = _ENGINE_VERSION.match(engine)
    return f"{number[1]}.{number[2]}" if number else ""


def _told(workload: Workload, engine: str, package: PackageName | None) -> Iterator[str]:
    if package:
        yield package.framework_version
    yield from (name for name, edition in workload.versions.items() if edition.engine_version == engine)
    release = release_of(engine)
    if release:
        yield from (f"r{release}", release)


def _candidates(boot_file: str, engine: str, workloads: Workloads) -> Iterator[Workload]:
    name = PurePosixPath(boot_file).name
    for each in workloads.all():
        boot_files = {each.boot_file, *(edition.boot_file for edition in each.versions.values())}
        boots = name and name in {PurePosixPath(file).name for file in boot_files if file}
        if boots and (_is_exact(each, engine) or each.framework.lower() in engine.lower()):
            yield each


def _fit(workload: Workload, engine: str, parameters: Collection[str]) -> tuple[int, bool, bool]:
    """How well it fits; of two that fit alike, the shipped one is meant: the user's own are named."""
    known = {name for version in workload.versions for name in workload.edition(version).parameters}
    return len(known.intersection(parameters)), _is_exact(workload, engine), not workload.is_own


def _is_exact(workload: Workload, engine: str) -> bool:
    return any(edition.engine_version == engine for edition in workload.versions.values())
