"""Preflight rules about packages to install, log levels, and the script ma-pre-start.sh."""

import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Literal

from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring import pre_start
from aisbench_core.domain.authoring.software import FIELDS, PATTERNS, PackageFile, package_of, platform_of
from aisbench_core.domain.preflight.rule import Source, Subject, Violation, rule
from aisbench_core.domain.preflight.rules.resources import find_accelerator
from aisbench_core.model import Level


@rule("update.file", Level.ERROR, "update", Source.CONSOLE)
def update_file(subject: Subject) -> Iterator[Violation]:
    """Each package is a readable file on this machine, given by its absolute path."""
    for field, path in subject.spec.update.packages.items():
        why = _find_problem(path)
        if why:
            yield Violation(why, Message("give the absolute path of a file on this machine"), f"update.{field}")


@rule("update.kind", Level.ERROR, "update", Source.UPSTREAM)
def update_kind(subject: Subject) -> Iterator[Violation]:
    """Each package is of the right kind, by its file name."""
    for field, path in subject.spec.update.packages.items():
        package = package_of(path)
        # Only the name: a CANN installer has gigabytes, and preflight runs whenever a field changes.
        if package is None or package.kind not in FIELDS[field]:
            name = Path(path).name
            message = (
                Message("{name!r} is {package}", name=name, package=package)
                if package
                else Message("{name!r} is not the file name of such a package", name=name)
            )
            hint = Message("expected: {pattern}; keep the package's original file name", pattern=PATTERNS[field])
            yield Violation(message, hint, f"update.{field}")


@rule("update.architecture", Level.ERROR, "update", Source.UPSTREAM)
def update_architecture(subject: Subject) -> Iterator[Violation]:
    """Each package matches the image's architecture (aarch64 or x86_64)."""
    image = platform_of(subject.spec.engine_version).architecture
    for field, package in _list_packages(subject):
        if image and package.architecture not in ("", image):
            message = Message(
                "{file} is for {architecture}, but {engine} is {image}",
                file=package.name,
                architecture=package.architecture,
                engine=subject.spec.engine_version,
                image=image,
            )
            yield Violation(message, Message("choose the package for {image}", image=image), f"update.{field}")
    # Without a known image, the packages must at least match each other.
    for (_, one), (field, other) in combinations(_list_packages(subject), 2):
        if not image and one.architecture and other.architecture and one.architecture != other.architecture:
            message = Message("{one} and {other} are for different architectures", one=one.name, other=other.name)
            yield Violation(message, "", f"update.{field}")


@rule("update.python", Level.ERROR, "update", Source.CONSOLE)
def update_python(subject: Subject) -> Iterator[Violation]:
    """Each wheel matches the image's Python version, if the engine's name contains one."""
    image = platform_of(subject.spec.engine_version).python
    for field, package in _list_packages(subject):
        if image and package.python not in ("", image):
            message = Message(
                "{file} is for Python {python}, but {engine} has {image}",
                file=package.name,
                python=package.python,
                engine=subject.spec.engine_version,
                image=image,
            )
            hint = Message("choose the wheel for cp{version}", version=image.replace(".", ""))
            yield Violation(message, hint, f"update.{field}")


@rule("update.accelerator", Level.WARNING, "update.cann", Source.CONSOLE)
def update_accelerator(subject: Subject) -> Iterator[Violation]:
    """CANN is only updated on Ascend cards."""
    kind = find_accelerator(subject)
    if subject.spec.update.cann and kind not in ("", "Ascend"):
        message = Message(
            "a CANN package is given, but the flavor {flavor!r} has {accelerator}",
            flavor=subject.spec.flavor,
            accelerator=kind,
        )
        yield Violation(message)


@rule("update.image", Level.ERROR, "update", Source.API)
def update_image(subject: Subject) -> Iterator[Violation]:
    """Packages are only installed in preset images: custom images do not run ma-pre-start.sh."""
    if subject.spec.has_own_start:
        for field in subject.spec.update.packages:
            fix = ((f"update.{field}", None),)
            message = Message("packages cannot be installed in a custom image")
            yield Violation(message, Message("install it in the image itself"), f"update.{field}", fix)


@rule("pre-start.own", Level.INFO, "code_dir", Source.CONSOLE)
def pre_start_own(subject: Subject) -> Iterator[Violation]:
    """A ma-pre-start.sh in the code directory runs as well, after packages are installed."""
    if pre_start.is_needed(subject.spec) and pre_start.own_script(subject.spec):
        yield Violation(
            Message(
                "the code directory has its own {script}; it is uploaded as {own} and run by the console's script",
                script=pre_start.SCRIPT,
                own=pre_start.OWN,
            ),
            Message("packages are installed before it; the spec's mode and log levels override what it sets"),
        )


@rule("pre-start.names", Level.ERROR, "code_dir", Source.CONSOLE)
def pre_start_names(subject: Subject) -> Iterator[Violation]:
    """The file names of added packages and scripts are not in use in the code directory."""
    spec = subject.spec
    if not pre_start.is_needed(spec):
        return
    for name, source in {pre_start.get_sibling_path(spec, pre_start.OWN): None, **pre_start.map_packages(spec)}.items():
        file = subject.code_dir / name
        if file.exists() and not (source and source.exists() and file.samefile(source)):
            message = Message("{name!r} already exists in the code directory", name=name)
            yield Violation(message, Message("rename or remove it"))


@rule("log-levels.twice", Level.ERROR, "log_levels", Source.CONSOLE)
def log_levels_twice(subject: Subject) -> Iterator[Violation]:
    """A log level is set in one place: by its name in log_levels, or as an environment variable."""
    for name in subject.spec.log_levels.variables:
        if name in subject.spec.environments:
            field = f"environments.{name}"
            message = Message("{name} is also set by log_levels", name=name)
            yield Violation(message, Message("leave it out"), field, ((field, None),))


@rule("log-levels.reach", Level.ERROR, "log_levels", Source.API)
def log_levels_reach(subject: Subject) -> Iterator[Violation]:
    """With api v1, log levels need a preset image: ma-pre-start.sh sets them."""
    if subject.spec.api.has_versions and subject.spec.has_own_start and subject.spec.log_levels.variables:
        message = Message("api {api} passes no log levels to a custom image", api=subject.spec.api)
        yield Violation(message, Message("set them in the image, or use api: v2"))


def _list_packages(subject: Subject) -> list[tuple[str, PackageFile]]:
    update = subject.spec.update.packages
    return [(field, package) for field, path in update.items() if (package := package_of(path))]


def _find_problem(path: str) -> Message | Literal[""]:
    file = Path(path)
    if not file.is_absolute():
        return Message("{file!r} is not an absolute path", file=path)
    try:
        if not file.is_file():
            return Message("{file!r} is not a file on this machine", file=path)
    except (OSError, ValueError) as error:
        return Message("{file!r} cannot be used: {why}", file=path, why=error)
    if not os.access(file, os.R_OK):
        return Message("{file!r} cannot be read", file=path)
    # An empty file is usually a download that failed.
    return "" if file.stat().st_size else Message("{file!r} is empty", file=path)
