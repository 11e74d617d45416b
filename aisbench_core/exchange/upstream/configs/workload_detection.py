"""Infers the workload and framework version of a configuration, which does not name them."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.exchange.upstream.configs.contents import Hints, PackageName
from aisbench_core.model import Scalar

_ENGINE_VERSION = re.compile(r"[A-Za-z]+[-_]([0-9]+)\.([0-9]+)")


def workload_of(
    boot_file: str,
    engine: str,
    parameters: Collection[str],
    workloads: Workloads,
    hints: Hints,
    package: PackageName | None,
    may_be: Callable[[Workload], bool] = lambda _: True,
) -> Workload | None:
    """The workload from the hints, from the package, or the best match for boot file, engine and parameters.

    `may_be`: what a match must fulfil as well. None if there is no match, or two equally good ones. Raises ConfigError
    if the hints name an unknown one."""
    if hints.workload:
        return workloads.get(hints.workload)
    if package:
        names = (package.workload, package.workload.removeprefix("train_"))
        named = [workload for workload in workloads.all() if workload.name in names]
        if named:
            return named[0]
    candidates = filter(may_be, _iterate_candidates(boot_file, engine, workloads))
    pairs = ((_score_workload(candidate, engine, parameters), candidate) for candidate in candidates)
    matches = sorted(pairs, key=lambda pair: pair[0], reverse=True)
    if not matches or (len(matches) > 1 and matches[0][0] == matches[1][0]):
        return None
    return matches[0][1]


@dataclass(frozen=True, slots=True)
class Clue:
    """The framework versions that one part of a configuration implies. `key`: that part."""

    source: Message
    key: str
    implied: str
    versions: frozenset[str]


@dataclass(frozen=True, slots=True)
class VersionClues:
    """The framework version of a workload; empty if several are `possible`.

    `contradictions`: pairs of a rejected clue and the stronger one that contradicts it."""

    version: str
    possible: tuple[str, ...]
    contradictions: tuple[tuple[Clue, Clue], ...]


def version_of(
    workload: Workload, engine: str, parameters: Mapping[str, Scalar], hints: Hints, package: PackageName | None
) -> VersionClues:
    """The version that all clues agree on; the stronger of contradicting clues wins.

    Raises ConfigError if the hints name an unknown version."""
    possible, accepted, rejected = frozenset(workload.versions), list[Clue](), list[Clue]()
    for clue in _iterate_clues(workload, engine, parameters, hints, package):
        if possible & clue.versions:
            possible &= clue.versions
            accepted.append(clue)
        else:
            rejected.append(clue)
    contradictions = (
        (clue, next((stronger for stronger in accepted if not stronger.versions & clue.versions), accepted[0]))
        for clue in rejected
        if accepted
    )
    ordered = tuple(version for version in workload.versions if version in possible)
    return VersionClues(ordered[0] if len(ordered) == 1 else "", ordered, tuple(contradictions))


def release_of(engine: str) -> str:
    """The framework's release from an engine's version, such as 1.3; empty if unknown."""
    match = _ENGINE_VERSION.match(engine)
    return f"{match[1]}.{match[2]}" if match else ""


def _iterate_clues(
    workload: Workload, engine: str, parameters: Mapping[str, Scalar], hints: Hints, package: PackageName | None
) -> Iterator[Clue]:
    """All clues, strongest first.

    Parameters are strongest, because the code refuses unknown ones. The engine is weakest: it is often copied from the
    manual's example, and a script installs another MindSpore before the training starts."""
    if hints.framework_version:
        named = workload.edition(hints.framework_version).version
        yield Clue(Message("your choice"), "", named, frozenset({named}))
    yield from _iterate_name_clues(workload, parameters)
    if package:
        version = package.framework_version
        message = Message("the package")
        yield Clue(message, "framework_version", version, frozenset({version} & workload.versions.keys()))
    yield from _iterate_value_clues(workload, parameters)
    implied = {name for name, edition in workload.versions.items() if edition.engine_version == engine}
    release = release_of(engine)
    if release and not implied:
        implied = {f"r{release}", release} & workload.versions.keys()
    if implied or release:
        text = _join_versions(workload, frozenset(implied)) or release
        yield Clue(Message("the engine"), "framework_version", text, frozenset(implied))


def _iterate_name_clues(workload: Workload, parameters: Mapping[str, Scalar]) -> Iterator[Clue]:
    """Parameters that only some versions have."""
    for name in parameters:
        having = frozenset(version for version in workload.versions if name in workload.edition(version).parameters)
        if having and len(having) < len(workload.versions):
            yield Clue(Message("parameter {name}", name=name), name, _join_versions(workload, having), having)


def _iterate_value_clues(workload: Workload, parameters: Mapping[str, Scalar]) -> Iterator[Clue]:
    """Parameters whose value is the default of only some versions."""
    for name, value in parameters.items():
        declared = {version: workload.edition(version).parameters.get(name) for version in workload.versions}
        defaults = {version: str(parameter.default) for version, parameter in declared.items() if parameter}
        equal = frozenset(version for version, default in defaults.items() if default == str(value))
        if equal and len(set(defaults.values())) > 1:
            yield Clue(Message("the value of {name}", name=name), name, _join_versions(workload, equal), equal)


def _join_versions(workload: Workload, versions: frozenset[str]) -> str:
    return ", ".join(version for version in workload.versions if version in versions)


def _iterate_candidates(boot_file: str, engine: str, workloads: Workloads) -> Iterator[Workload]:
    name = PurePosixPath(boot_file).name
    for workload in workloads.all():
        boot_files = {workload.boot_file, *(edition.boot_file for edition in workload.versions.values())}
        boots = name and name in {PurePosixPath(file).name for file in boot_files if file}
        if boots and (_is_exact(workload, engine) or workload.framework.lower() in engine.lower()):
            yield workload


def _score_workload(workload: Workload, engine: str, parameters: Collection[str]) -> tuple[int, bool, bool]:
    declared = {name for version in workload.versions for name in workload.edition(version).parameters}
    # A shipped workload wins a tie: users choose their own ones by name.
    return len(declared.intersection(parameters)), _is_exact(workload, engine), not workload.is_own


def _is_exact(workload: Workload, engine: str) -> bool:
    return any(edition.engine_version == engine for edition in workload.versions.values())
