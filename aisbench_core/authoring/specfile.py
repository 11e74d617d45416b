"""Spec files: a RunSpec as YAML that a person writes, reads and keeps beside the results."""

import re
from collections.abc import Iterator, Mapping

from aisbench_core import strict_yaml
from aisbench_core.documents import parse, parse_yaml
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message
from aisbench_core.model import RunSpec

WHAT = Message("the spec")

_PARAMETERS = "parameters"
_COMMENT = re.compile(r"  # ?(.*)")
_ENTRY = re.compile(r"  (?=[^ #])")


def to_yaml(spec: RunSpec, comments: Mapping[str, str] | None = None) -> str:
    """The spec as YAML in the model's order; fields at their defaults are left out. `from_yaml` gives it back.

    `comments` stand above the parameters of their names."""
    answers = spec.model_dump(mode="json", exclude_defaults=True)
    text = strict_yaml.dump(answers)
    if not comments or _PARAMETERS not in answers:
        return text
    lines = "".join(_parameter(name, value, comments.get(name, "")) for name, value in answers[_PARAMETERS].items())
    parts = (
        f"{_PARAMETERS}:\n{lines}" if field == _PARAMETERS else strict_yaml.dump({field: answer})
        for field, answer in answers.items()
    )
    return "".join(parts)


def from_yaml(text: str) -> RunSpec:
    """The spec that the text describes.

    Raises ConfigError, naming the line, if it is not YAML or has a key twice; SpecError, with one problem per
    field, if a field is unknown, of the wrong type or out of range."""
    return parse(RunSpec, parse_yaml(text, WHAT), WHAT)


def comments_of(text: str) -> dict[str, str]:
    """The comments that stand above parameters, by the parameters' names; of a text that is a spec in YAML."""
    return dict(_comments(iter(text.split("\n"))))


def _comments(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if line.rstrip() == f"{_PARAMETERS}:":
            break
    above: list[str] = []
    for line in lines:
        comment = _COMMENT.fullmatch(line)
        if comment:
            above.append(comment[1].strip())
        elif _ENTRY.match(line):
            name = _name(line)
            if name is not None and above:
                yield name, " ".join(above)
            above = []
        elif line and not line.startswith(" "):
            return


def _name(line: str) -> str | None:
    """The key of a line; None when the line is only part of an entry."""
    try:
        return next((str(key) for key in parse_yaml(line, WHAT)), None)
    except ConfigError:
        return None


def _parameter(name: str, value: object, comment: str) -> str:
    entry = strict_yaml.dump({name: value})
    words = " ".join(comment.split())
    above = f"  # {words}\n" if words else ""
    return above + "".join(f"  {line}\n" for line in entry.rstrip("\n").split("\n"))
