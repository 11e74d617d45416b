"""The values of an upstream configuration with their lines, findings about them, and the import's result."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import SecretStr

from aisbench_core.base.messages import Hint, Message
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.exchange.upstream.configs.keys import APIS
from aisbench_core.model import Api, Finding, Level, LogLevels, RunSpec

# The rules for reading and writing configurations and packages: level and requirement of each.
RULES: Mapping[str, tuple[Level, str]] = {
    "config.code": (Level.WARNING, "The file only assigns dicts; nothing in it is ever executed."),
    "config.literal": (Level.ERROR, "Each value is a literal: text, a number, True, False, None, a list or a dict."),
    "config.literal-key": (Level.WARNING, "Keys that code computes are not imported."),
    "config.duplicate": (Level.ERROR, "No key is given twice: Python would silently keep the last one."),
    "config.unknown": (Level.WARNING, "Each key is one that the upstream tool reads."),
    "config.type": (Level.ERROR, "Each value is of the type that the upstream tool needs."),
    "config.range": (Level.ERROR, "Each value is one that a spec or a profile accepts."),
    "config.secret": (Level.ERROR, "The keys are in access_config and nowhere else."),
    "config.keys": (Level.WARNING, "Either both keys are set, or neither is."),
    "config.profile": (Level.WARNING, "Region, project, OBS address and the bucket of out_base_url are set."),
    "config.endpoints": (Level.WARNING, "The three endpoints of a private cloud are set together."),
    "config.workload": (Level.WARNING, "Boot file, engine and parameters identify the workload."),
    "config.version": (Level.WARNING, "Parameters, package or engine determine the workload's framework version."),
    "config.contradiction": (Level.WARNING, "Parameters, package and engine are for the same framework version."),
    "config.boot-file": (Level.ERROR, "The boot file is in the code directory."),
    "config.volume": (Level.ERROR, "An NFS share has a type, an address and a mount path."),
    "config.cards": (Level.INFO, "The flavor's name contains the number of cards per node."),
    "config.code-dir": (Level.INFO, "The training code is on this machine: the console uploads it at launch."),
    "config.shell": (Level.WARNING, "config.sh only sets variables, to plain text."),
    "config.pre-start": (
        Level.INFO,
        "Only log levels and the mode are read from ma-pre-start.sh; it is never executed.",
    ),
    "config.left-out": (Level.WARNING, "The upstream tool supports every field that the spec sets."),
    "config.mode": (Level.WARNING, "Single-server mode is written into config.sh."),
    "job.left-out": (Level.WARNING, "A spec has a counterpart of each field of another tool's file."),
    "job.computed": (Level.WARNING, "Values are literals: what a script or Terraform computes is not known."),
    "job.secret": (Level.WARNING, "A file of another tool contains no keys and passwords."),
    "job.workload": (Level.INFO, "The file names its workload."),
    "package.name": (Level.WARNING, "The package's name contains workload, architecture and framework version."),
    "package.architecture": (Level.WARNING, "The package matches the architecture that it runs on."),
    "package.config": (Level.WARNING, "code/config contains a readable modelarts_config.py."),
    "package.boot-file": (Level.ERROR, "The boot file is known and is in code/code."),
    "package.engine": (Level.ERROR, "The engine is known."),
    "package.parameter": (Level.WARNING, "Each parameter has a name that a manifest accepts."),
    "package.manifest": (Level.ERROR, "The package yields a valid manifest."),
    "package.throughput": (Level.WARNING, "The definition of throughput and the data set are known."),
    "package.encoding": (Level.INFO, "File names are in UTF-8; names in GBK are converted."),
    "package.taken": (Level.ERROR, "No other workload has the name."),
}


@dataclass(frozen=True, slots=True)
class LineFinding(Finding):
    """A finding with the line of the file that it is about, or 0."""

    line: int = 0


def make_finding(rule: str, field: str, message: Message, line: int = 0, hint: Hint = "") -> LineFinding:
    """A finding of one of the RULES."""
    return LineFinding(rule, RULES[rule][0], field, message, hint, line)


@dataclass(frozen=True, slots=True)
class NotLiteral:
    """Placeholder for a value that is not a literal, about which there is a finding."""


class SensitiveValue(NotLiteral):
    """Placeholder for the value of a variable that holds a key or a password."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value, its first line, and its comment."""

    value: "str | bool | int | float | SecretStr | NotLiteral | tuple[Literal, ...] | Mapping[str, Literal] | None"
    line: int
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Assigned:
    """One dict of the file, with the keys that upstream reads."""

    name: str
    line: int
    entries: Mapping[str, Literal]


NO_LEVELS = LogLevels()


@dataclass(frozen=True, slots=True)
class ShellConfig:
    """The settings of config.sh and ma-pre-start.sh; None where they do not set one."""

    single_server: bool | None = None
    api: Api | None = None
    levels: LogLevels = NO_LEVELS


@dataclass(frozen=True, slots=True)
class PackageName:
    """The parts of a package's file name."""

    company: str
    workload: str
    architecture: str
    tool_version: str
    framework_version: str
    environment: str


@dataclass(frozen=True, slots=True)
class ForeignJob:
    """A job as another tool describes it. `values` and `names`: the values, and what the file calls them, by the
    field of a spec that they are for."""

    source: str
    line: int
    api: Api
    values: Mapping[str, Literal]
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one configuration's files, with keys masked. `kind`: what it is, if it is not ais-bench-stubs'."""

    name: str
    dicts: Mapping[str, Assigned]
    shell: ShellConfig = ShellConfig()
    findings: tuple[LineFinding, ...] = ()
    jobs: tuple[ForeignJob, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Hints:
    """The user's answers about a configuration; empty: the file decides."""

    workload: str = ""
    framework_version: str = ""
    package: str = ""
    code_dir: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class ImportedSpec:
    """The spec of one dict (`source`; empty if it comes from none), and comments by parameter."""

    source: str
    spec: RunSpec
    comments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ImportedConfig:
    """The profile, keys and specs of a configuration. Keys are separate: profiles never contain them."""

    profile: Profile | None
    keys: Credentials | None
    specs: tuple[ImportedSpec, ...]
    findings: tuple[LineFinding, ...]
    api: Api | None = None

    @property
    def has_errors(self) -> bool:
        """Whether something that upstream would use could not be imported."""
        return any(finding.level is Level.ERROR for finding in self.findings)

    @property
    def first(self) -> ImportedSpec | None:
        """The spec that config.sh selects; else the one for V2, else any."""
        selected = self.api or Api.V2
        return next((spec for spec in self.specs if spec.spec.api is selected), self.specs[0] if self.specs else None)

    def only(self, api: Api) -> "ImportedConfig":
        """The same without the specs for other APIs and the findings about their dicts."""
        prefixes = tuple(f"{name}." for name, other in APIS.items() if other is not api)
        findings = tuple(finding for finding in self.findings if not f"{finding.field}.".startswith(prefixes))
        return replace(self, specs=tuple(spec for spec in self.specs if spec.spec.api is api), findings=findings)


@dataclass(frozen=True, slots=True)
class ExportedConfig:
    """The text of a modelarts_config.py, with findings about what it cannot express.

    `script`: the ma-pre-start.sh to put beside the boot file; empty if the spec needs none."""

    text: str
    findings: tuple[LineFinding, ...]
    script: str = ""


FRAMEWORKS: Mapping[str, str] = {"mindspore": "MindSpore", "pytorch": "PyTorch", "tensorflow": "TensorFlow"}

_NAME = re.compile(
    r"(?:train|inference)_(?P<company>[A-Za-z0-9]+)_(?P<workload>[A-Za-z]\w*)-Ais-Benchmark-Stubs"
    r"-(?P<architecture>aarch64|x86_64)-(?P<tool_version>[0-9]+(?:\.[0-9]+){0,9})"
    r"-(?P<framework_version>[A-Za-z]{0,9}[0-9]+(?:\.[0-9]+){0,9})_(?P<environment>[a-z]+)"
)


def package_name(path: str) -> PackageName | None:
    """The package's name from the last part of a path that is one; None if no part is.

    Unpacked folders keep the name of their package, often with a suffix."""
    for part in reversed(re.split(r"[/\\]", path)):
        if match := _NAME.match(part):
            return PackageName(**match.groupdict())
    return None
