"""Preflight rules and their subject: a rule has an id, a level, a field and a function that yields violations."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Hint, Message
from aisbench_core.config.job_secrets import JobSecrets
from aisbench_core.config.settings import Profile
from aisbench_core.domain.authoring import pre_start
from aisbench_core.domain.authoring.code_folder import CodeFolder, measure_folder
from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.model import Api, Finding, Flavor, Level, Run, RunSpec, Scalar

S = TypeVar("S")

Fix = tuple[tuple[str, Scalar | None], ...]
"""Changes to a spec: dotted field names with their new values; None removes a name."""


FindRun = Callable[[str], Run | None]
"""Finds a run of this console by its id."""


class Source(StrEnum):
    """Where a rule comes from."""

    UPSTREAM = "AISBench manual"
    API = "ModelArts API"
    GUIDE = "ModelArts user guide"
    OBS = "OBS documentation"
    REGION = "the region"
    MANIFEST = "the workload's manifest"
    CONSOLE = "this console"


class Violation(NamedTuple):
    """One violation of a rule, and what is allowed. An empty field means the rule's own."""

    message: Message
    hint: Hint = ""
    field: str = ""
    fix: Fix = ()


@dataclass(frozen=True)
class PreflightRule(Generic[S]):
    """One check of preflight. `check` yields one violation per offending value."""

    rule_id: str
    level: Level
    field: str
    source: Source
    check: Callable[[S], Iterable[Violation]]

    @property
    def summary(self) -> str:
        """The first line of the check's docstring, which the documentation and the console show."""
        return (self.check.__doc__ or "").strip().splitlines()[0]

    def findings(self, subject: S) -> Iterator[Finding]:
        """The rule's findings about one subject."""
        for message, hint, field, fix in self.check(subject):
            yield Finding(
                self.rule_id, self.level, field or self.field, message, hint, source=str(self.source), fix=fix
            )


def rule(
    rule_id: str, level: Level, field: str, source: Source
) -> Callable[[Callable[[S], Iterable[Violation]]], PreflightRule[S]]:
    """Turn a function into a rule; its docstring becomes the summary."""
    return lambda check: PreflightRule(rule_id, level, field, source, check)


def rules_in(namespace: Mapping[str, object]) -> tuple[PreflightRule[Any], ...]:
    """The rules of a module's namespace, in the order of their definition."""
    return tuple(value for value in namespace.values() if isinstance(value, PreflightRule))


@dataclass(frozen=True)
class Subject:
    """A spec to check, with everything that is known without the cloud.

    `written` is the spec as the user wrote it; `spec` has the defaults of manifest and profile filled in.
    `workload` is None if the spec's workload cannot be used; `workload_error` then says why."""

    written: RunSpec
    spec: RunSpec
    profile: Profile
    workload: Workload | None
    workload_error: AisbenchError | None
    flavors: Sequence[Flavor]
    secrets: JobSecrets | None = None
    earlier: Run | None = None
    """The run that `resume_from` names, if this console has launched one."""

    @property
    def code_dir(self) -> Path:
        """The code directory on this machine; meaningless if the spec has none."""
        return Path(os.path.expanduser(self.spec.code_dir))  # noqa: PTH111  # pathlib's raises for an unknown ~name

    @cached_property
    def code(self) -> CodeFolder:
        """Number and size of the files to upload: the code directory, the reporter, the script and the packages."""
        if not self.spec.code_dir or not self.code_dir.is_dir():
            return CodeFolder()
        reporter = self.workload.reporter_files if self.workload else ()
        folder = measure_folder(self.code_dir)
        packages = pre_start.map_packages(self.spec).values() if pre_start.is_needed(self.spec) else ()
        # Preflight must not pass what the launch would make too large.
        entries = folder.entries + len(reporter) + len(packages) + bool(packages) + pre_start.is_needed(self.spec)
        return replace(folder, entries=entries, size=folder.size + sum(map(_get_size, packages)))

    @property
    def flavor(self) -> Flavor | None:
        """The spec's flavor in the region's list; None if it is not there, or the list is unknown."""
        return next((flavor for flavor in self.flavors if flavor.flavor_id == self.spec.flavor), None)


def _get_size(file: Path) -> int:
    try:
        return file.stat().st_size
    except (OSError, ValueError):
        return 0


def subject_of(spec: RunSpec, profile: Profile, workloads: Workloads, flavors: Sequence[Flavor] = ()) -> Subject:
    """The spec as it would be launched. An unknown workload or version does not raise; rules report it."""
    with_defaults = _with_profile(spec, profile)
    try:
        workload = workloads.get(spec.workload)
    except AisbenchError as error:
        return Subject(spec, with_defaults, profile, None, error, flavors)
    exists = not spec.framework_version or spec.framework_version in workload.versions
    filled = workload.fill_spec(with_defaults) if exists else with_defaults
    return Subject(spec, _prefetch_outputs(filled), profile, workload, None, flavors)


def _prefetch_outputs(spec: RunSpec) -> RunSpec:
    """A job finds its earlier outputs only if they are downloaded before it starts."""
    if not spec.resume_from:
        return spec
    outputs = tuple(channel.model_copy(update={"prefetch": True}) for channel in spec.outputs)
    return spec.model_copy(update={"outputs": outputs})


def _with_profile(spec: RunSpec, profile: Profile) -> RunSpec:
    if spec.api is Api.V2:  # the default of a spec; the profile may say otherwise
        spec = spec.model_copy(update={"api": profile.api})
    # The profile's pool and flavor belong together: a spec that sets one of them gets neither.
    if spec.flavor or spec.pool_id:
        return spec
    return spec.model_copy(update={"flavor": profile.flavor, "pool_id": profile.pool_id})
