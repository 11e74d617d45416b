"""Imports and exports upstream configurations: to and from a profile, its keys, and a spec per session_config."""

import re
from collections.abc import Mapping, Sequence

from pydantic import SecretStr

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import SpecError
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.profile_files import save_keys, save_profile
from aisbench_core.config.settings import Profile, Settings, load_profile
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.exchange.upstream.configs import reading, writing
from aisbench_core.exchange.upstream.configs.contents import (
    Assigned,
    Document,
    ExportedConfig,
    Hints,
    ImportedConfig,
    ImportedSpec,
    package_name,
)
from aisbench_core.exchange.upstream.configs.keys import ACCESS, APIS, ENDPOINTS, OUTPUT, SECRET
from aisbench_core.exchange.upstream.configs.session import ConfigReader, spec_of
from aisbench_core.model import Actor, Channel, RunSpec

NAMELESS = "imported"
_FIELDS = {"obs_server": "server", "region": "region_name"}  # fields of a profile with another name in the file


def interpret_document(document: Document, workloads: Workloads, hints: Hints) -> ImportedConfig:
    """Profile, keys and specs of a configuration. Raises ConfigError if a workload or version in a hint is unknown."""
    findings = list(document.findings)
    assigned = document.dicts.get(ACCESS, Assigned(ACCESS, 0, {}))
    access = ConfigReader(assigned, findings)
    keys = _read_keys(access, document.name)
    package = package_name(hints.package)
    # Both dicts may be there: config.sh decides which one upstream uses.
    jobs = [ConfigReader(job, findings) for name in APIS if (job := document.dicts.get(name)) and job.entries]
    specs = [spec_of(job, workloads, hints, package, document.shell) for job in jobs]
    outputs = (job.text("out_base_url").split("/") for job in jobs)  # /bucket/directory/
    bucket = next((parts[1] for parts in outputs if not parts[0] and len(parts) > 1 and parts[1]), "")
    profile = _build_profile(access, bucket, hints)
    # Both dicts usually have the same mistakes; findings without a line come last.
    unique = tuple(sorted(dict.fromkeys(findings), key=lambda finding: finding.line or 1 << 30))
    return ImportedConfig(profile, keys, tuple(spec for spec in specs if spec), unique, document.shell.api)


def _read_keys(access: ConfigReader, source: str) -> Credentials | None:
    pair: list[SecretStr | None] = [access.secret(name) for name in SECRET]
    if pair[0] and pair[1]:  # one key alone would only replace a working pair
        return Credentials(access_key=pair[0], secret_key=pair[1], source=source)
    if any(pair):
        missing = SECRET[0 if pair[1] else 1]
        access.report("config.keys", missing, Message("is not set, so neither key is imported"))
    return None


def _build_profile(access: ConfigReader, bucket: str, hints: Hints) -> Profile | None:
    region = access.text("region_name")
    answers = {
        "name": hints.profile or re.sub(r"[^a-z0-9_-]+", "-", region.lower()).strip("-_")[:40] or NAMELESS,
        "region": region,
        "project_id": access.text("project_id"),
        "obs_server": access.text("server"),
        "bucket": bucket,
    }
    missing = [_FIELDS.get(field, field) for field, answer in answers.items() if not answer]
    if missing:
        names = [Message("out_base_url with a bucket") if field == "bucket" else field for field in missing]
        message = Message("no profile can be created without {names}", names=join_parts(", ", names))
        access.report("config.profile", "", message)
        return None
    try:
        return parse_document(
            Profile, answers | _read_endpoints(access), Message("profile {name}", name=answers["name"])
        )
    except SpecError as error:
        for problem in error.problems:
            access.refuse(problem, _FIELDS.get(problem.field, problem.field))
        return None


def _read_endpoints(access: ConfigReader) -> dict[str, str]:
    """The three addresses of a private cloud; upstream uses them only if all three are set."""
    endpoints = {name: text for name in ENDPOINTS if (text := access.text(name))}
    if len(endpoints) == len(ENDPOINTS):
        return endpoints
    if endpoints:
        missing = ", ".join(name for name in ENDPOINTS if name not in endpoints)
        message = Message("has no effect without {missing}: the three are used together or not at all", missing=missing)
        access.report("config.endpoints", next(iter(endpoints)), message)
    return {}


class Configs:
    """Configurations of ais-bench-stubs: import, export, and saving what was imported."""

    def __init__(self, settings: Settings, workloads: Workloads) -> None:
        self._settings = settings
        self._workloads = workloads

    def read(self, files: Sequence[ConfigFile]) -> Document:
        """Read the files without executing them. Raises ConfigError for unreadable files."""
        return reading.read_document(files)

    def understand(self, document: Document, hints: Hints) -> ImportedConfig:
        """Convert to profile, keys and specs, with findings. Stores nothing.

        Raises ConfigError if a workload or version in the hints does not exist."""
        return interpret_document(document, self._workloads, hints)

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
