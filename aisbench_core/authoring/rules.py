"""What a preflight rule is: an id, a level, a field, and a function that looks at a spec and complains."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from aisbench_core.authoring import pre_start
from aisbench_core.authoring.code_folder import CodeFolder, measure
from aisbench_core.authoring.workloads import Workload, Workloads
from aisbench_core.errors import AisbenchError
from aisbench_core.job_secrets import JobSecrets
from aisbench_core.messages import Hint, Message
from aisbench_core.model import Api, Finding, Flavor, Level, RunSpec, Scalar
from aisbench_core.settings import Profile

S = TypeVar("S")


Fix = tuple[tuple[str, Scalar | None], ...]
"""What would mend a spec: fields by their dotted names, and their new values; None takes a name away."""


class Source(StrEnum):
    """Who says that a rule holds."""

    UPSTREAM = "AISBench manual"
    API = "ModelArts API"
    GUIDE = "ModelArts user guide"
    OBS = "OBS documentation"
    REGION = "the region"
    MANIFEST = "the workload's manifest"
    CONSOLE = "this console"


class Complaint(NamedTuple):
    """What is wrong with a spec: what was found and what is allowed. An empty field means the rule's own."""

    message: Message
    hint: Hint = ""
    field: str = ""
    fix: Fix = ()


@dataclass(frozen=True)
class PreflightRule(Generic[S]):
    """One thing that preflight looks at. `check` gives one complaint for each place that breaks the rule."""

    rule_id: str
    level: Level
    field: str
    source: Source
    check: Callable[[S], Iterable[Complaint]]

    @property
    def summary(self) -> str:
        """What the rule demands: the first line of its function's docstring."""
        return (self.check.__doc__ or "").strip().splitlines()[0]

    def findings(self, subject: S) -> Iterator[Finding]:
        """The rule's complaints about one subject."""
        for message, hint, field, fix in self.check(subject):
            yield Finding(
                self.rule_id, self.level, field or self.field, message, hint, source=str(self.source), fix=fix
            )


def rule(
    rule_id: str, level: Level, field: str, source: Source
) -> Callable[[Callable[[S], Iterable[Complaint]]], PreflightRule[S]]:
    """Make a rule of a checking function."""
    return lambda check: PreflightRule(rule_id, level, field, source, check)


@dataclass(frozen=True)
class Subject:
    """A spec on its way to launch, with what is known about it without asking the cloud.

    `written` is the spec as the person wrote it, `spec` has the manifest's and the profile's answers filled in.
    `workload` is None when the spec names none that can be used; `trouble` then says why."""

    written: RunSpec
    spec: RunSpec
    profile: Profile
    workload: Workload | None
    trouble: AisbenchError | None
    flavors: Sequence[Flavor]
    secrets: JobSecrets | None = None

    @property
    def code_dir(self) -> Path:
        """Where the code lies on this machine; only meaningful when the spec says so."""
        return Path(os.path.expanduser(self.spec.code_dir))  # noqa: PTH111  # pathlib's raises for an unknown ~name

    @cached_property
    def code(self) -> CodeFolder:
        """What the code directory holds, with the reporter, the script and the packages that are uploaded beside it."""
        if not self.spec.code_dir or not self.code_dir.is_dir():
            return CodeFolder()
        adds_reporter = self.workload is not None and self.workload.reporter
        found = measure(self.code_dir)
        packages = pre_start.packages(self.spec).values() if pre_start.is_needed(self.spec) else ()
        entries = found.entries + adds_reporter + len(packages) + bool(packages) + pre_start.is_needed(self.spec)
        return replace(found, entries=entries, size=found.size + sum(map(_size, packages)))

    @property
    def flavor(self) -> Flavor | None:
        """The spec's flavor as the region offers it, if the region's flavors are known."""
        return next((flavor for flavor in self.flavors if flavor.flavor_id == self.spec.flavor), None)

    @property
    def has_custom_image(self) -> bool:
        """Whether the person brings the image instead of choosing a preset one."""
        return bool(self.spec.image_url or self.spec.command)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except (OSError, ValueError):
        return 0


def subject_of(spec: RunSpec, profile: Profile, workloads: Workloads, flavors: Sequence[Flavor] = ()) -> Subject:
    """The spec as it would be launched. Nothing is raised for a workload or version that does not exist."""
    placed = _placed(spec, profile)
    try:
        workload = workloads.get(spec.workload)
    except AisbenchError as error:  # a finding beside the field, not the end of the form
        return Subject(spec, placed, profile, None, error, flavors)
    known = not spec.framework_version or spec.framework_version in workload.versions
    return Subject(spec, workload.filled(placed) if known else placed, profile, workload, None, flavors)


def _placed(spec: RunSpec, profile: Profile) -> RunSpec:
    if spec.api is Api.V2:
        spec = spec.model_copy(update={"api": profile.api})
    if spec.flavor or spec.pool_id:
        return spec
    return spec.model_copy(update={"flavor": profile.flavor, "pool_id": profile.pool_id})
