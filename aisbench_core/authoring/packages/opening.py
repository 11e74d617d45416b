"""From what an intake took to a package: its name, its configuration, its scripts."""

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from aisbench_core.authoring.packages.intake import CODE, Intake
from aisbench_core.authoring.packages.package import Package
from aisbench_core.authoring.pre_start import SCRIPT
from aisbench_core.authoring.upstream import reading
from aisbench_core.authoring.upstream.found import ConfigFile, Document, LineFinding, finding
from aisbench_core.authoring.upstream.packages import package_name
from aisbench_core.authoring.upstream.source import MOST_BYTES, decoded
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message, message_of
from aisbench_core.model import canonical_json

WHAT_IT_IS = Message("a package has its training code in code/code, and its configuration in code/config")
CONFIG_FILE = "modelarts_config.py"
LONGEST_SOURCE = 200


def base_of(folder: Path) -> Path:
    """The folder that holds code/code: the one that is named, or the only one in it. Raises ConfigError."""
    if (folder / "code" / "code").is_dir():
        return folder
    inside = [file for file in sorted(folder.iterdir()) if (file / "code" / "code").is_dir()]
    if len(inside) == 1:
        return inside[0]
    if inside:
        raise ConfigError(
            Message("{folder} holds {count} packages", folder=folder, count=len(inside)), Message("name one of them")
        )
    raise ConfigError(Message("{folder} holds no package", folder=folder), WHAT_IT_IS)


def package_of(source: str, path: str, folder: Path, intake: Intake) -> Package:
    """The package. `path`: where it was found, whose parts may tell its name. Raises ConfigError if it has no code."""
    if not intake.hashes:
        raise ConfigError(Message("there is no file in {folder}", folder="/".join(CODE)), WHAT_IT_IS)
    findings: list[LineFinding] = list(_recoded(intake))
    name = package_name(path) or package_name(intake.root or "")
    told = [name.workload, name.framework_version] if name else ["", ""]
    return Package(
        source=plain(source),
        name=name,
        folder=folder,
        document=_document(folder, intake, findings),
        scripts=tuple(sorted((each for each in intake.hashes if each.endswith(".py")), key=_depth)),
        entries=len(intake.hashes),
        size=intake.size,
        sha256=hashlib.sha256(canonical_json([*told, intake.sha256]).encode()).hexdigest(),
        findings=tuple(findings),
    )


def plain(source: str) -> str:
    """A file's name without directories, short, and without characters that cannot be shown."""
    name = source.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return "".join(letter if letter.isprintable() else "_" for letter in name)[:LONGEST_SOURCE] or "package"


def _document(folder: Path, intake: Intake, findings: list[LineFinding]) -> Document | None:
    """The configuration; None, with a finding, if there is none that can be read."""
    if CONFIG_FILE not in intake.configs:
        findings.append(
            finding("package.config", CONFIG_FILE, Message("is not in code/config"), hint=Message("fill in the draft"))
        )
        return None
    files = [ConfigFile(name, content) for name, content in intake.configs.items()]
    try:
        return reading.read([*files, *_pre_start(folder, intake, findings)])
    except ConfigError as error:
        findings.append(finding("package.config", CONFIG_FILE, message_of(error.message), hint=message_of(error.hint)))
        return None


def _pre_start(folder: Path, intake: Intake, findings: list[LineFinding]) -> Iterator[ConfigFile]:
    """The script of the code that tells log levels and the mode; it stays in the code and still runs."""
    names = sorted((each for each in intake.hashes if PurePosixPath(each).name == SCRIPT), key=_depth)
    for name in names[:1]:
        with (folder / "code" / name).open("rb") as opened:
            file = ConfigFile(SCRIPT, opened.read(MOST_BYTES + 1))
        try:
            decoded(file)
            yield file
        except ConfigError as error:
            findings.append(finding("package.config", SCRIPT, message_of(error.message), hint=message_of(error.hint)))


def _recoded(intake: Intake) -> Iterator[LineFinding]:
    if intake.recoded:
        number, first = len(intake.recoded), intake.recoded[0]
        one = Message("1 name was in GBK, such as {name!r}", name=first)
        several = Message("{number} names were in GBK, such as {name!r}", number=number, name=first)
        hint = Message("the code must call such files by their names in UTF-8")
        yield finding("package.encoding", "code", one if number == 1 else several, hint=hint)


def _depth(name: str) -> tuple[int, str]:
    return len(PurePosixPath(name).parts), name
