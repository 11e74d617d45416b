"""Imports and exports configurations of ais-bench-stubs and other tools, and stores profiles and keys found in them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aisbench_core.base.messages import Message
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.profile_files import save_keys, save_profile
from aisbench_core.config.settings import Profile, Settings, load_profile
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.exchange.upstream.configs import writing
from aisbench_core.exchange.upstream.configs.contents import (
    Document,
    ExportedConfig,
    Hints,
    ImportedConfig,
    ImportedSpec,
    LineFinding,
    make_finding,
)
from aisbench_core.exchange.upstream.configs.keys import OUTPUT
from aisbench_core.exchange.upstream.configs.service import interpret_document, order_findings
from aisbench_core.exchange.upstream.jobs.recognition import describe_reply, read_configuration
from aisbench_core.exchange.upstream.jobs.trees import to_tree
from aisbench_core.exchange.upstream.jobs.understanding import understand_job
from aisbench_core.exchange.upstream.jobs.writing import JobForm, write_job
from aisbench_core.model import Actor, Channel, RunSpec, find_differences


class Configs:
    """Configurations of ais-bench-stubs and other tools: import, export, and saving what was imported."""

    def __init__(self, settings: Settings, workloads: Workloads) -> None:
        self._settings = settings
        self._workloads = workloads

    def read(self, files: Sequence[ConfigFile]) -> Document:
        """Read the files, which may be of any tool, without executing them. Raises ConfigError for unreadable ones."""
        return read_configuration(files)

    def describe_job(self, reply: Mapping[str, Any], name: str) -> Document:
        """A job of a region, as its API describes it, like a file that describes it."""
        return describe_reply(to_tree(reply), name)

    def understand(self, document: Document, hints: Hints) -> ImportedConfig:
        """Convert to profile, keys and specs, with findings. Stores nothing.

        Raises ConfigError if a workload or version in the hints does not exist."""
        if not document.jobs:
            return interpret_document(document, self._workloads, hints)
        findings = list(document.findings)
        specs = tuple(understand_job(job, self._workloads, hints, findings) for job in document.jobs)
        return ImportedConfig(None, None, specs, order_findings(findings))

    def write(self, spec: RunSpec, profile: str, comments: Mapping[str, str] | None = None) -> ExportedConfig:
        """The configuration for the job that launching the spec with this profile would create.

        An imported spec round-trips: no defaults are added, and `comments` are written above the parameters.
        Raises SpecError if upstream cannot run it, ConfigError for an unknown profile or workload."""
        target = load_profile(self._settings, profile)
        subject = subject_of(spec, target, self._workloads)
        if subject.workload is None:
            raise subject.workload_error or AssertionError("no workload and no error")
        # The defaults of the manifest would change what the file said.
        if spec.imported:
            whole, notes = spec, comments or {}
        else:
            parameters = subject.workload.edition(subject.spec.framework_version).parameters
            whole = _complete_spec(subject.spec, target)
            notes = {name: parameter.help for name, parameter in parameters.items()}
        text = writing.write_config([ImportedSpec("", whole, notes)], target)
        return ExportedConfig(text, tuple(writing.find_unsupported(whole)), writing.build_script(whole))

    def write_job(self, form: JobForm, spec: RunSpec, profile: str) -> ExportedConfig:
        """The same job for another tool, with findings about what an import of the text would not give back.

        Raises ConfigError for an unknown profile or workload."""
        target = load_profile(self._settings, profile)
        subject = subject_of(spec, target, self._workloads)
        if subject.workload is None:
            raise subject.workload_error or AssertionError("no workload and no error")
        whole = spec if spec.imported else _complete_spec(subject.spec, target)
        text = write_job(form, whole, target)
        return ExportedConfig(text, tuple(self._find_losses(text, whole)))

    def _find_losses(self, text: str, spec: RunSpec) -> Iterator[LineFinding]:
        document = read_configuration([ConfigFile("job", text.encode())])
        hints = Hints(spec.workload, spec.framework_version, code_dir=spec.code_dir)
        again = self.understand(document, hints).specs[0].spec.model_copy(update={"imported": spec.imported})
        for difference in find_differences(spec.model_copy(update={"name": again.name}), again):  # a job needs one
            message = Message("is left out: such a file cannot hold it")
            yield make_finding("config.left-out", difference.field, message)

    @permitted
    def save_profile(self, profile: Profile, actor: Actor, replace: bool = False) -> bool:
        """Write a profile's file; False if it exists already. Raises ConfigError if another one has its name."""
        log_change(actor, f"save profile {profile.name}")
        return save_profile(self._settings, profile, replace)

    @permitted
    def save_keys(self, profile: str, keys: Credentials, actor: Actor, replace: bool = False) -> bool:
        """Write keys to the credentials file, with the user's consent; False if they are there already.

        Raises ConfigError if the profile has other keys, or if others can read the file."""
        log_change(actor, f"save keys of profile {profile}")
        return save_keys(self._settings, profile, keys, replace)


def _complete_spec(spec: RunSpec, profile: Profile) -> RunSpec:
    """The spec with a name and an output directory, which upstream requires."""
    first, *rest = spec.outputs or (Channel(name=OUTPUT),)
    output = first if first.path else first.model_copy(update={"path": profile.path("output")})
    return spec.model_copy(update={"name": spec.name or spec.workload, "outputs": (output, *rest)})
