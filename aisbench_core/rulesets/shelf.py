"""Which rulesets there are: those that are shipped, and a lab's own, each a YAML file."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from aisbench_core.documents import parse, read_yaml
from aisbench_core.errors import ConfigError, SpecError
from aisbench_core.messages import Message
from aisbench_core.rulesets.ruleset import DEFAULT, Ruleset

SHIPPED = Path(__file__).parent
MOST_EXTENDED = 8
_ID = re.compile(r"""^id:\s*["']?([^\s"'#]+)""", re.MULTILINE)


class Rulesets:
    """The shipped rulesets and those of a folder. A file that cannot be used hurts nobody who does not ask for it."""

    def __init__(self, own: Path | None = None) -> None:
        self._own = own

    def ids(self) -> list[str]:
        """Every ruleset, the product's own first. Raises ConfigError when two files have the same id."""
        known = self._files()
        return [DEFAULT, *sorted(known.keys() - {DEFAULT})]

    def get(self, ruleset_id: str) -> Ruleset:
        """One ruleset. Raises ConfigError when there is none, SpecError naming file, field, found and allowed."""
        return _read(self._file(ruleset_id), self._files())

    def bases(self) -> dict[str, str]:
        """By id, the basis of each ruleset with inferred rules; files that cannot be used are left out."""
        try:
            files = self._files()
        except ConfigError:  # of two of a lab's own files nobody knows which is meant
            return Rulesets().bases() if self._own else {}
        return {ruleset_id: basis for ruleset_id, file in files.items() if (basis := _basis(file, files))}

    def text(self, ruleset_id: str) -> str:
        """The file as it stands, to be copied and changed. Raises ConfigError."""
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
        known: dict[str, Path] = {}
        for file in [*sorted(SHIPPED.glob("*.yaml")), *self._own_files()]:
            ruleset_id = _id_of(file)
            if ruleset_id in known:
                raise ConfigError(
                    Message(
                        "ruleset file {name} has the id {ruleset_id}, as {other} has",
                        name=file.name,
                        ruleset_id=ruleset_id,
                        other=known[ruleset_id].name,
                    ),
                    Message("give it an id of its own"),
                )
            known[ruleset_id] = file
        return known

    def _own_files(self) -> list[Path]:
        return sorted(self._own.glob("*.yaml")) if self._own else []


@cache
def shipped(ruleset_id: str = DEFAULT) -> Ruleset:
    """A ruleset of this product."""
    return Rulesets().get(ruleset_id)


def _id_of(file: Path) -> str:
    """What a file calls itself. It is not parsed for that, which is slow, and would let one damaged file spoil all."""
    try:
        found = _ID.search(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        found = None
    return found.group(1) if found else file.stem


def _read(file: Path, files: Mapping[str, Path]) -> Ruleset:
    answers = _whole(file, files, MOST_EXTENDED)
    return parse(Ruleset, answers, f"ruleset {file.name}")


def _basis(file: Path, files: Mapping[str, Path]) -> str:
    try:
        return _read(file, files).basis
    except (ConfigError, SpecError):
        return ""


def _whole(file: Path, files: Mapping[str, Path], levels: int) -> dict[str, Any]:
    """What a file says, and what it does not say from the one that it extends."""
    answers = read_yaml(file)
    base = answers.pop("extends", None)
    if base is None:
        return answers
    if base not in files or not levels:
        known = ", ".join(sorted(files))
        raise ConfigError(
            Message(
                "ruleset file {name}: extends: must name another ruleset (found {base!r})", name=file.name, base=base
            ),
            Message("known are {known}", known=known),
        )
    return _laid_over(_whole(files[base], files, levels - 1), answers)


def _laid_over(base: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    """Mapping by mapping; every other value replaces the one that was there."""
    both = {
        key: _laid_over(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in answers.items()
    }
    return {**base, **both}
