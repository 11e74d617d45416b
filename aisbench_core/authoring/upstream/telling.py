"""Which workload a configuration is for, in which framework version: the file does not say so in words."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from aisbench_core.authoring.upstream.found import Hints, PackageName
from aisbench_core.authoring.workloads import Workload, Workloads
from aisbench_core.messages import Message
from aisbench_core.model import Scalar

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
        named = [workload for workload in workloads.all() if workload.name in names]
        if named:
            return named[0]
    candidates = _candidates(boot_file, engine, workloads)
    pairs = ((_fit(candidate, engine, parameters), candidate) for candidate in candidates)
    fits = sorted(pairs, key=lambda pair: pair[0], reverse=True)
    if not fits or (len(fits) > 1 and fits[0][0] == fits[1][0]):
        return None
    return fits[0][1]


@dataclass(frozen=True, slots=True)
class Clue:
    """What one part of a configuration implies: for which framework versions it is. `key`: where it stands."""

    source: Message
    key: str
    implied: str
    versions: frozenset[str]


@dataclass(frozen=True, slots=True)
class VersionClues:
    """The framework version of a workload, as far as the clues determine it (empty: `possible` are left).

    `contradictions`: a clue that does not fit, and one that counts."""

    version: str
    possible: tuple[str, ...]
    contradictions: tuple[tuple[Clue, Clue], ...]


def version_of(
    workload: Workload, engine: str, parameters: Mapping[str, Scalar], hints: Hints, package: PackageName | None
) -> VersionClues:
    """The version that all clues are for; of clues that contradict each other the stronger one counts.

    Raises ConfigError if the workload does not have the version that is named."""
    possible, accepted, others = frozenset(workload.versions), list[Clue](), list[Clue]()
    for clue in _clues(workload, engine, parameters, hints, package):
        if possible & clue.versions:
            possible &= clue.versions
            accepted.append(clue)
        else:
            others.append(clue)
    contradicted = ((clue, next((each for each in accepted if not each.versions & clue.versions), accepted[0]))
                    for clue in others if accepted)  # fmt: skip
    ordered = tuple(version for version in workload.versions if version in possible)
    return VersionClues(ordered[0] if len(ordered) == 1 else "", ordered, tuple(contradicted))


def release_of(engine: str) -> str:
    """The framework's release in an engine's name, such as 1.3; empty if it does not tell."""
    number = _ENGINE_VERSION.match(engine)
    return f"{number[1]}.{number[2]}" if number else ""


def _clues(
    workload: Workload, engine: str, parameters: Mapping[str, Scalar], hints: Hints, package: PackageName | None
) -> Iterator[Clue]:
    """The strongest first. Code refuses parameters that it does not know; a package's name is about its code; the
    engine is often the example's, whose MindSpore a script replaces before the training starts."""
    if hints.framework_version:
        named = workload.edition(hints.framework_version).version
        yield Clue(Message("your choice"), "", named, frozenset({named}))
    yield from _names(workload, parameters)
    if package:
        version = package.framework_version
        yield Clue(
            Message("the package"), "framework_version", version, frozenset({version} & workload.versions.keys())
        )
    yield from _values(workload, parameters)
    implied = {name for name, edition in workload.versions.items() if edition.engine_version == engine}
    release = release_of(engine)
    if release and not implied:
        implied = {f"r{release}", release} & workload.versions.keys()
    if implied or release:
        shown = _listed(workload, frozenset(implied)) or release
        yield Clue(Message("the engine"), "framework_version", shown, frozenset(implied))


def _names(workload: Workload, parameters: Mapping[str, Scalar]) -> Iterator[Clue]:
    """Parameters that only some versions have."""
    for name in parameters:
        having = frozenset(version for version in workload.versions if name in workload.edition(version).parameters)
        if having and len(having) < len(workload.versions):
            yield Clue(Message("parameter {name}", name=name), name, _listed(workload, having), having)


def _values(workload: Workload, parameters: Mapping[str, Scalar]) -> Iterator[Clue]:
    """Parameters whose value is the default of some versions, while others have another one."""
    for name, value in parameters.items():
        known = {version: workload.edition(version).parameters.get(name) for version in workload.versions}
        alike = frozenset(each for each, one in known.items() if one and str(one.default) == str(value))
        if alike and len({str(one.default) for one in known.values() if one}) > 1:
            yield Clue(Message("the value of {name}", name=name), name, _listed(workload, alike), alike)


def _listed(workload: Workload, versions: frozenset[str]) -> str:
    return ", ".join(version for version in workload.versions if version in versions)


def _candidates(boot_file: str, engine: str, workloads: Workloads) -> Iterator[Workload]:
    name = PurePosixPath(boot_file).name
    for workload in workloads.all():
        boot_files = {workload.boot_file, *(edition.boot_file for edition in workload.versions.values())}
        boots = name and name in {PurePosixPath(file).name for file in boot_files if file}
        if boots and (_is_exact(workload, engine) or workload.framework.lower() in engine.lower()):
            yield workload


def _fit(workload: Workload, engine: str, parameters: Collection[str]) -> tuple[int, bool, bool]:
    """How well it fits; of two that fit alike, the shipped one is meant: the user's own are named."""
    known = {name for version in workload.versions for name in workload.edition(version).parameters}
    return len(known.intersection(parameters)), _is_exact(workload, engine), not workload.is_own


def _is_exact(workload: Workload, engine: str) -> bool:
    return any(edition.engine_version == engine for edition in workload.versions.values())
