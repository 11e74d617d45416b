"""Imports and exports upstream configurations, for the console and the command line."""

from collections.abc import Mapping, Sequence

from aisbench_core.authoring.workloads import Workloads
from aisbench_core.changes import log_change
from aisbench_core.model import Actor, Channel, RunSpec
from aisbench_core.preflight.rule import subject_of
from aisbench_core.profile_files import save_keys, save_profile
from aisbench_core.settings import Credentials, Profile, Settings, load_profile
from aisbench_core.upstream.configs import conversion, reading, writing
from aisbench_core.upstream.configs.contents import (
    ConfigFile,
    Document,
    ExportedConfig,
    Hints,
    ImportedConfig,
    ImportedSpec,
)
from aisbench_core.upstream.configs.keys import OUTPUT


class Configs:
    """Configurations of ais-bench-stubs: import, export, and saving what was imported."""

    def __init__(self, settings: Settings, workloads: Workloads) -> None:
        self._settings = settings
        self._workloads = workloads

    def read(self, files: Sequence[ConfigFile]) -> Document:
        """Read the files without executing them. Raises ConfigError for unreadable files."""
        return reading.read(files)

    def understand(self, document: Document, hints: Hints) -> ImportedConfig:
        """Convert to profile, keys and specs, with findings. Stores nothing.

        Raises ConfigError if a workload or version in the hints does not exist."""
        return conversion.understand(document, self._workloads, hints)

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
            whole = _completed(subject.spec, target)
            notes = {name: parameter.help for name, parameter in parameters.items()}
        text = writing.write([ImportedSpec("", whole, notes)], target)
        return ExportedConfig(text, tuple(writing.unsupported(whole)), writing.script(whole))

    def save_profile(self, profile: Profile, actor: Actor, replace: bool = False) -> bool:
        """Write a profile's file; False if it exists already. Raises ConfigError if another one has its name."""
        log_change(actor, f"save profile {profile.name}")
        return save_profile(self._settings, profile, replace)

    def save_keys(self, profile: str, keys: Credentials, actor: Actor, replace: bool = False) -> bool:
        """Write keys to the credentials file, with the user's consent; False if they are there already.

        Raises ConfigError if the profile has other keys, or if others can read the file."""
        log_change(actor, f"save keys of profile {profile}")
        return save_keys(self._settings, profile, keys, replace)


def _completed(spec: RunSpec, profile: Profile) -> RunSpec:
    """The spec with a name and an output directory, which upstream requires."""
    first, *rest = spec.outputs or (Channel(name=OUTPUT),)
    output = first if first.path else first.model_copy(update={"path": profile.path("output")})
    return spec.model_copy(update={"name": spec.name or spec.workload, "outputs": (output, *rest)})
