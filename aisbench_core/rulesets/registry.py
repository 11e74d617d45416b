"""The rulesets: those that are shipped, and a lab's own, each a YAML file."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from aisbench_core.documents import parse, read_yaml
from aisbench_core.errors import ConfigError, SpecError
from aisbench_core.messages import Hint, Message
from aisbench_core.rulesets.ruleset import DEFAULT, Ruleset

SHIPPED = Path(__file__).parent
MAX_EXTENDED = 8  # ends files that extend each other
_ID = re.compile(r"""^id:\s*["']?([^\s"'#]+)""", re.MULTILINE)


class Rulesets:
    """The shipped rulesets and those of a folder. A file that cannot be used fails only when it is asked for."""

    def __init__(self, own: Path | None = None) -> None:
        self._own = own

    def ids(self) -> list[str]:
        """All ids, the product's own first. Raises ConfigError when two files have the same."""
        return [DEFAULT, *sorted(self._files().keys() - {DEFAULT})]

    def get(self, ruleset_id: str) -> Ruleset:
        """One ruleset. Raises ConfigError when there is none, SpecError about each field that is wrong."""
        return _read(self._file(ruleset_id), self._files())

    def bases(self) -> dict[str, Message]:
        """The basis of each ruleset with inferred rules, by id; files that cannot be used are left out."""
        try:
            files = self._files()
        except ConfigError:  # two of the lab's own files have the same id
            return Rulesets().bases() if self._own else {}
        return {ruleset_id: basis for ruleset_id, file in files.items() if (basis := _basis(file, files))}

    def text(self, ruleset_id: str) -> str:
        """The file's text, as a start for an own one. Raises ConfigError."""
        return self._file(ruleset_id).read_text("utf-8")

    def _file(self, ruleset_id: str) -> Path:
        files = self._files()
        if ruleset_id not in files:
            raise ConfigError(
                Message(
                    "there is no ruleset {ruleset_id!r}; known are {ids}",
                    ruleset_id=ruleset_id,
                    ids=", ".join(self.ids()),
                ),
                Message("write data/rulesets/<name>.yaml, or name one that there is"),
            )
        return files[ruleset_id]

    def _files(self) -> dict[str, Path]:
        by_id: dict[str, Path] = {}
        own = self._own.glob("*.yaml") if self._own else []
        for file in [*sorted(SHIPPED.glob("*.yaml")), *sorted(own)]:
            ruleset_id = _id_of(file)
            if ruleset_id in by_id:
                raise ConfigError(
                    Message(
                        "ruleset file {name} has the id {ruleset_id}, as {other} has",
                        name=file.name,
                        ruleset_id=ruleset_id,
                        other=by_id[ruleset_id].name,
                    ),
                    Message("give it an id of its own"),
                )
            by_id[ruleset_id] = file
        return by_id


@cache
def shipped(ruleset_id: str = DEFAULT) -> Ruleset:
    """A shipped ruleset."""
    return Rulesets().get(ruleset_id)


def _id_of(file: Path) -> str:
    # By a pattern: to parse all files for their ids is slow, and one damaged file would make all of them unusable.
    try:
        match = _ID.search(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        match = None
    return match.group(1) if match else file.stem


def _read(file: Path, files: Mapping[str, Path]) -> Ruleset:
    content = _with_bases(file, files, MAX_EXTENDED)
    return parse(Ruleset, content, Message("ruleset {name}", name=file.name))


def _basis(file: Path, files: Mapping[str, Path]) -> Hint:
    try:
        return _read(file, files).basis
    except (ConfigError, SpecError):
        return ""


def _with_bases(file: Path, files: Mapping[str, Path], levels: int) -> dict[str, Any]:
    """The content of a file, completed by that of the file that it extends."""
    content = read_yaml(file)
    base = content.pop("extends", None)
    if base is None:
        return content
    if base not in files or not levels:
        ids = ", ".join(sorted(files))
        raise ConfigError(
            Message(
                "ruleset file {name}: extends: must name another ruleset (found {base!r})", name=file.name, base=base
            ),
            Message("known are {known}", known=ids),
        )
    return _merged(_with_bases(files[base], files, levels - 1), content)


def _merged(base: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings are merged; any other value replaces that of the base."""
    changes = {
        key: _merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in content.items()
    }
    return {**base, **changes}
