"""What an import finds: values with their lines, findings, and what they amount to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import SecretStr

from aisbench_core.authoring.upstream.keys import APIS
from aisbench_core.messages import Hint, Message
from aisbench_core.model import Api, Finding, Level, LogLevels, RunSpec
from aisbench_core.settings import Credentials, Profile

RULES: Mapping[str, tuple[Level, str]] = {
    "config.code": (Level.WARNING, "The file only assigns dicts; nothing in it is ever executed."),
    "config.literal": (Level.ERROR, "Each value is a literal: text, a number, True, False, None, a list or a dict."),
    "config.literal-key": (Level.WARNING, "Keys that code computes are not imported."),
    "config.duplicate": (Level.ERROR, "No key is given twice: Python would silently keep the last one."),
    "config.unknown": (Level.WARNING, "Each key is one that the upstream tool reads."),
    "config.type": (Level.ERROR, "Each value is of the type that the upstream tool needs."),
    "config.range": (Level.ERROR, "Each value is one that a spec or a profile accepts."),
    "config.secret": (Level.ERROR, "The keys stand in access_config and nowhere else."),
    "config.keys": (Level.WARNING, "Either both keys are set, or neither is."),
    "config.profile": (Level.WARNING, "Region, project, OBS address and the bucket of out_base_url make a profile."),
    "config.endpoints": (Level.WARNING, "The three endpoints of a private cloud are set together."),
    "config.workload": (Level.ERROR, "Boot file, engine and parameters tell which workload it is."),
    "config.version": (Level.ERROR, "Parameters, package or engine determine the workload's framework version."),
    "config.contradiction": (Level.WARNING, "Parameters, package and engine are for the same framework version."),
    "config.boot-file": (Level.ERROR, "The boot file lies in the code directory."),
    "config.volume": (Level.ERROR, "An NFS share comes with its type, its address and its mount path."),
    "config.cards": (Level.INFO, "The flavor tells how many cards a node has."),
    "config.code-dir": (Level.INFO, "The training code is on this machine: the console uploads it at launch."),
    "config.shell": (Level.WARNING, "config.sh only sets variables, to plain text."),
    "config.pre-start": (Level.INFO, "Of ma-pre-start.sh only log levels and the mode are read; it is never executed."),
    "config.left-out": (Level.WARNING, "The upstream tool has a place for everything that the spec says."),
    "config.mode": (Level.WARNING, "Single-server mode is written into config.sh."),
    "package.name": (Level.WARNING, "The package's name tells workload, architecture and framework version."),
    "package.architecture": (Level.WARNING, "The package is for the architecture that it shall run on."),
    "package.config": (Level.WARNING, "A modelarts_config.py that can be read lies in code/config."),
    "package.boot-file": (Level.ERROR, "The boot file is told, and lies in code/code."),
    "package.engine": (Level.ERROR, "The engine is told."),
    "package.parameter": (Level.WARNING, "Each parameter has a name that a manifest accepts."),
    "package.manifest": (Level.ERROR, "What the package says makes a manifest."),
    "package.throughput": (Level.WARNING, "It is known how throughput is computed and what data is needed."),
    "package.encoding": (Level.INFO, "Names are in UTF-8; those in GBK are written anew."),
    "package.taken": (Level.ERROR, "No other workload has the name."),
}
"""Everything that reading or writing a configuration or a package may say: how grave it is, and what is expected."""


@dataclass(frozen=True, slots=True)
class LineFinding(Finding):
    """A finding about a line of a file; 0 when no line is to blame."""

    line: int = 0


def finding(rule: str, field: str, message: Message, line: int = 0, hint: Hint = "") -> LineFinding:
    """A finding of one of the rules above."""
    return LineFinding(rule, RULES[rule][0], field, message, hint, line)


@dataclass(frozen=True, slots=True)
class NotLiteral:
    """Stands for a value that is no literal; a finding says so."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as the file has it, the line where it begins, and the comment that belongs to it."""

    value: "str | bool | int | float | SecretStr | NotLiteral | tuple[Literal, ...] | Mapping[str, Literal] | None"
    line: int
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Assigned:
    """One dict of the file: its name, its line, its known keys."""

    name: str
    line: int
    entries: Mapping[str, Literal]


NO_LEVELS = LogLevels()


@dataclass(frozen=True, slots=True)
class ShellConfig:
    """What config.sh and ma-pre-start.sh set: single-server mode, which interface is used, log levels.

    None when they do not say."""

    single_server: bool | None = None
    api: Api | None = None
    levels: LogLevels = NO_LEVELS


@dataclass(frozen=True, slots=True)
class PackageName:
    """What the name of a package says."""

    company: str
    workload: str
    architecture: str
    tool_version: str
    framework_version: str
    environment: str


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file as it was uploaded, pasted or read; its bytes may hold keys and are in no text of ours."""

    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """What the files of one configuration hold. Keys are masked in every text of it."""

    name: str
    dicts: Mapping[str, Assigned]
    shell: ShellConfig = ShellConfig()
    findings: tuple[LineFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Hints:
    """What a person says about a configuration that the file does not; empty: the file decides."""

    workload: str = ""
    framework_version: str = ""
    package: str = ""
    code_dir: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class FoundSpec:
    """The spec of one dict (`source`; empty before there is one), and the comments on its parameters by name."""

    source: str
    spec: RunSpec
    comments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ImportedConfig:
    """What a configuration means here. Keys are apart: a profile never holds them."""

    profile: Profile | None
    keys: Credentials | None
    specs: tuple[FoundSpec, ...]
    findings: tuple[LineFinding, ...]
    api: Api | None = None

    @property
    def has_errors(self) -> bool:
        """Whether something was left out that the upstream tool would have used."""
        return any(each.level is Level.ERROR for each in self.findings)

    @property
    def first(self) -> FoundSpec | None:
        """The spec that the upstream tool would run by config.sh; else the one for V2, else any."""
        wanted = self.api or Api.V2
        return next((spec for spec in self.specs if spec.spec.api is wanted), self.specs[0] if self.specs else None)

    def only(self, api: Api) -> "ImportedConfig":
        """The same without the other interface's spec and the findings about its dict."""
        others = tuple(f"{name}." for name, other in APIS.items() if other is not api)
        findings = tuple(each for each in self.findings if not f"{each.field}.".startswith(others))
        return replace(self, specs=tuple(spec for spec in self.specs if spec.spec.api is api), findings=findings)


@dataclass(frozen=True, slots=True)
class ExportedConfig:
    """A modelarts_config.py, and what of the spec has no place in it.

    `script`: the ma-pre-start.sh for beside the boot file, where the spec needs one; otherwise empty."""

    text: str
    findings: tuple[LineFinding, ...]
    script: str = ""
