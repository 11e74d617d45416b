"""Preflight rules about packages to install, log levels, and the script that brings both to the job."""

import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Literal

from aisbench_core.authoring import pre_start
from aisbench_core.authoring.preflight_rules_resources import accelerator
from aisbench_core.authoring.rules import Complaint, Source, Subject, rule
from aisbench_core.authoring.software import FIELDS, PATTERNS, PackageFile, package_of, platform_of
from aisbench_core.messages import Message
from aisbench_core.model import Level


@rule("update.file", Level.ERROR, "update", Source.CONSOLE)
def update_file(subject: Subject) -> Iterator[Complaint]:
    """Each package is a file of this machine that can be read, named by its absolute path."""
    for field, path in subject.spec.update.packages.items():
        why = _unusable(path)
        if why:
            yield Complaint(why, Message("give the absolute path of a file on this machine"), f"update.{field}")


@rule("update.kind", Level.ERROR, "update", Source.UPSTREAM)
def update_kind(subject: Subject) -> Iterator[Complaint]:
    """Each package is of the right kind, which its file's name tells."""
    for field, path in subject.spec.update.packages.items():
        package = package_of(path)
        if package is None or package.kind not in FIELDS[field]:
            name = Path(path).name
            found = (
                Message("{name!r} is {package}", name=name, package=package)
                if package
                else Message("{name!r} is not named as such packages are", name=name)
            )
            hint = Message("expected: {pattern}; keep the name that the package came with", pattern=PATTERNS[field])
            yield Complaint(found, hint, f"update.{field}")


@rule("update.architecture", Level.ERROR, "update", Source.UPSTREAM)
def update_architecture(subject: Subject) -> Iterator[Complaint]:
    """Each package is made for the image's architecture (aarch64 or x86_64)."""
    image = platform_of(subject.spec.engine_version).architecture
    for field, package in _packages(subject):
        if image and package.architecture not in ("", image):
            yield Complaint(
                Message(
                    "{file} is for {architecture}, and {engine} is {image}",
                    file=package.name,
                    architecture=package.architecture,
                    engine=subject.spec.engine_version,
                    image=image,
                ),
                Message("choose the package for {image}", image=image),
                f"update.{field}",
            )
    for (_, one), (field, other) in combinations(_packages(subject), 2):
        if not image and one.architecture and other.architecture and one.architecture != other.architecture:
            yield Complaint(
                Message("{one} and {other} are for different architectures", one=one.name, other=other.name),
                "",
                f"update.{field}",
            )


@rule("update.python", Level.ERROR, "update", Source.CONSOLE)
def update_python(subject: Subject) -> Iterator[Complaint]:
    """Each wheel is made for the image's Python, as far as the engine's name tells which one that is."""
    image = platform_of(subject.spec.engine_version).python
    for field, package in _packages(subject):
        if image and package.python not in ("", image):
            yield Complaint(
                Message(
                    "{file} is for Python {python}, and {engine} has {image}",
                    file=package.name,
                    python=package.python,
                    engine=subject.spec.engine_version,
                    image=image,
                ),
                Message("choose the wheel for cp{version}", version=image.replace(".", "")),
                f"update.{field}",
            )


@rule("update.accelerator", Level.WARNING, "update.cann", Source.CONSOLE)
def update_accelerator(subject: Subject) -> Iterator[Complaint]:
    """CANN is updated where there are Ascend cards."""
    there = accelerator(subject)
    if subject.spec.update.cann and there not in ("", "Ascend"):
        yield Complaint(
            Message(
                "a CANN package is given, and the flavor {flavor!r} has {accelerator}",
                flavor=subject.spec.flavor,
                accelerator=there,
            )
        )


@rule("update.image", Level.ERROR, "update", Source.API)
def update_image(subject: Subject) -> Iterator[Complaint]:
    """Packages are installed in preset images only: an image of one's own is started without ma-pre-start.sh."""
    if subject.has_custom_image:
        for field in subject.spec.update.packages:
            fix = ((f"update.{field}", None),)
            yield Complaint(
                Message("nothing is installed in a custom image"), Message("install it there"), f"update.{field}", fix
            )


@rule("pre-start.own", Level.INFO, "code_dir", Source.CONSOLE)
def pre_start_own(subject: Subject) -> Iterator[Complaint]:
    """A ma-pre-start.sh of the code directory's own runs, too: after packages are installed."""
    if pre_start.is_needed(subject.spec) and pre_start.own_script(subject.spec):
        yield Complaint(
            Message(
                "the code directory has its own {script}; it is uploaded as {own} and run by ours",
                script=pre_start.SCRIPT,
                own=pre_start.OWN,
            ),
            Message("packages are installed before it; mode and log levels of this spec win over what it sets"),
        )


@rule("pre-start.names", Level.ERROR, "code_dir", Source.CONSOLE)
def pre_start_names(subject: Subject) -> Iterator[Complaint]:
    """The code directory has no other files where packages and the person's own script are put."""
    spec = subject.spec
    if not pre_start.is_needed(spec):
        return
    added = pre_start.packages(spec)
    for name, source in {pre_start.beside(spec, pre_start.OWN): None, **added}.items():
        there = subject.code_dir / name
        if there.exists() and not (source and source.exists() and there.samefile(source)):
            yield Complaint(
                Message("{name!r} is in the code directory already", name=name), Message("rename it or take it away")
            )


@rule("log-levels.twice", Level.ERROR, "log_levels", Source.CONSOLE)
def log_levels_twice(subject: Subject) -> Iterator[Complaint]:
    """A log level is set in one place: by its name in log_levels, or as an environment variable."""
    for name in subject.spec.log_levels.variables:
        if name in subject.spec.environments:
            field = f"environments.{name}"
            yield Complaint(
                Message("{name} is also set by log_levels", name=name), Message("leave it out"), field, ((field, None),)
            )


@rule("log-levels.reach", Level.ERROR, "log_levels", Source.API)
def log_levels_reach(subject: Subject) -> Iterator[Complaint]:
    """Log levels reach the job: api v1 has only ma-pre-start.sh for them, which a custom image does not run."""
    if subject.spec.api.has_versions and subject.has_custom_image and subject.spec.log_levels.variables:
        yield Complaint(
            Message("api {api} passes no log levels to a custom image", api=subject.spec.api),
            Message("set them in the image, or use api: v2"),
        )


def _packages(subject: Subject) -> list[tuple[str, PackageFile]]:
    found = ((field, package_of(path)) for field, path in subject.spec.update.packages.items())
    return [(field, package) for field, package in found if package]


def _unusable(path: str) -> Message | Literal[""]:
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
    return "" if file.stat().st_size else Message("{file!r} is empty", file=path)


RULES = (
    update_file,
    update_kind,
    update_architecture,
    update_python,
    update_accelerator,
    update_image,
    pre_start_own,
    pre_start_names,
    log_levels_twice,
    log_levels_reach,
)
