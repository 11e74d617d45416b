"""Configurations in and out: what console and command line ask for."""

from collections.abc import Mapping, Sequence

from aisbench_core.authoring.rules import subject_of
from aisbench_core.authoring.upstream import meaning, reading, writing
from aisbench_core.authoring.upstream.found import (
    ConfigFile,
    Document,
    ExportedConfig,
    FoundSpec,
    Hints,
    ImportedConfig,
)
from aisbench_core.authoring.upstream.keys import OUTPUT
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.model import Channel, RunSpec
from aisbench_core.profile_files import save_keys, save_profile
from aisbench_core.settings import Credentials, Profile, Settings, load_profile


class Configs:
    """Configurations of the upstream tool, read for and written by this console."""

    def __init__(self, settings: Settings, workloads: Workloads) -> None:
        self._settings = settings
        self._workloads = workloads

    def read(self, files: Sequence[ConfigFile]) -> Document:
        """What the files hold, without executing anything. Raises ConfigError for files that cannot be read."""
        return reading.read(files)

    def understand(self, document: Document, hints: Hints) -> ImportedConfig:
        """What it means: profile, keys and specs, with findings. Nothing is stored.

        Raises ConfigError when a workload or version that the hints name does not exist."""
        return meaning.understand(document, self._workloads, hints)

    def write(self, spec: RunSpec, profile: str, comments: Mapping[str, str] | None = None) -> ExportedConfig:
        """The configuration of the job that a launch of the spec with this profile would create.

        A spec that was imported gives its file back: nothing is added, and `comments` stand above the parameters.
        Raises SpecError when the upstream tool cannot run it, ConfigError for what does not exist."""
        place = load_profile(self._settings, profile)
        subject = subject_of(spec, place, self._workloads)
        if subject.workload is None:
            raise subject.trouble or AssertionError("a subject without workload says why")
        if spec.imported:
            whole, notes = spec, comments or {}
        else:
            known = subject.workload.edition(subject.spec.framework_version).parameters
            whole, notes = _placed(subject.spec, place), {name: each.help for name, each in known.items()}
        text = writing.write([FoundSpec("", whole, notes)], place)
        return ExportedConfig(text, tuple(writing.left_out(whole)), writing.script(whole))

    def save_profile(self, profile: Profile, replace: bool = False) -> bool:
        """Write a profile's file; False if it is there already. Raises ConfigError for another one of that name."""
        return save_profile(self._settings, profile, replace)

    def save_keys(self, profile: str, keys: Credentials, replace: bool = False) -> bool:
        """Write keys into the credentials file; only ever called when a person agreed. False if they are there.

        Raises ConfigError when the profile has other keys, or when others can read the file."""
        return save_keys(self._settings, profile, keys, replace)


def _placed(spec: RunSpec, place: Profile) -> RunSpec:
    """The spec with a name and an output directory, which the upstream tool cannot do without."""
    first, *others = spec.outputs or (Channel(name=OUTPUT),)
    output = first if first.path else first.model_copy(update={"path": place.path("output")})
    return spec.model_copy(update={"name": spec.name or spec.workload, "outputs": (output, *others)})
