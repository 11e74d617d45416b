"""Spec files: a RunSpec as YAML."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aisbench_core.base import strict_yaml
from aisbench_core.base.documents import NotYaml, parse_document, parse_yaml
from aisbench_core.base.errors import AisbenchError, ConfigError, Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.config.flavor_names import asks_for_cards
from aisbench_core.domain.authoring.number_ranges import NumberRange, range_of
from aisbench_core.model import Finding, Level, RunSpec

SPEC = Message("the spec")
DOCUMENT = "document"

NUMBERS: Mapping[str, NumberRange] = {
    name: range_of(field, is_whole=True)
    for name, field in RunSpec.model_fields.items()
    if field.annotation in (int, int | None)
}
"""The spec's fields that are whole numbers, with what they take."""

_PARAMETERS = "parameters"
_COMMENT = re.compile(r"  # ?(.*)")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,99}")
_ENTRY = re.compile(r"  (?=[^ #])")


def to_yaml(spec: RunSpec, comments: Mapping[str, str] | None = None) -> str:
    """The spec as YAML in the model's order, without fields at their defaults; the inverse of `from_yaml`.

    `comments` are written above the parameters that they are named after."""
    dumped, changed = spec.model_dump(mode="json"), spec.model_dump(mode="json", exclude_defaults=True)
    # One card counts as stated where nothing else says it.
    stated = {"cards_per_node"} & spec.model_fields_set if spec.pool_id or asks_for_cards(spec.flavor) else set()
    answers = {name: value for name, value in dumped.items() if name in changed or name in stated}
    answers |= changed
    text = strict_yaml.dump(answers)
    # YAML libraries drop comments, so that parameters are written one by one.
    if not comments or _PARAMETERS not in answers:
        return text
    lines = "".join(
        _format_parameter(name, value, comments.get(name, "")) for name, value in answers[_PARAMETERS].items()
    )
    parts = (
        f"{_PARAMETERS}:\n{lines}" if field == _PARAMETERS else strict_yaml.dump({field: answer})
        for field, answer in answers.items()
    )
    return "".join(parts)


def from_yaml(text: str) -> RunSpec:
    """Parse a spec.

    Raises ConfigError with the line if the text is not YAML or has a duplicate key; SpecError with one problem per
    field if a field is unknown, of the wrong type or out of range."""
    return parse_document(RunSpec, parse_yaml(text, SPEC), SPEC)


@dataclass(frozen=True, slots=True)
class WrittenSpec:
    """A spec as somebody is writing it: without the numbers that it does not take, and those as they are written."""

    spec: RunSpec
    refused: Mapping[str, str]

    @property
    def problem(self) -> SpecError | None:
        """What is wrong with the refused numbers, and what is allowed."""
        problems = [Problem(field, message) for field, message in self.problems.items()]
        return SpecError(SPEC, problems) if problems else None

    @property
    def problems(self) -> Mapping[str, Message]:
        """The same, by field."""
        found = {field: NUMBERS[field].problem(text) for field, text in self.refused.items()}
        return {field: message for field, message in found.items() if message}

    def to_yaml(self, comments: Mapping[str, str] | None = None) -> str:
        """As `to_yaml`, with the refused numbers at its end; the inverse of `read_written`."""
        answers = {field: _as_written(text) for field, text in self.refused.items()}
        return to_yaml(self.spec, comments) + (strict_yaml.dump(answers) if answers else "")


def read_written(text: str) -> WrittenSpec:
    """Parse a spec whose numbers may be invalid. Raises as `from_yaml` if anything else is."""
    answers = parse_yaml(text, SPEC)
    try:
        return WrittenSpec(parse_document(RunSpec, answers, SPEC), {})
    except SpecError as error:
        refused = {problem.field: answers.get(problem.field) for problem in error.problems}
        if not all(field in NUMBERS and isinstance(value, _SCALARS) for field, value in refused.items()):
            raise
    others = {field: answer for field, answer in answers.items() if field not in refused}
    written = {field: "" if value is None else str(value) for field, value in refused.items()}
    return WrittenSpec(parse_document(RunSpec, others, SPEC), written)


_SCALARS = (int, float, str, type(None))


def _as_written(text: str) -> int | str:
    """Digits without quotes; anything else, such as 007, as the text that it is."""
    return int(text) if _INTEGER.fullmatch(text) else text


def find_line(text: str, field: str) -> int | None:
    """The line, from 1, where the text of a spec sets a field or else what holds it; None where it sets neither.

    Of the DOCUMENT, the line where it stops to be YAML."""
    try:
        parse_yaml(text, SPEC)
        lines = strict_yaml.find_lines(text)
    except NotYaml as error:
        return error.line if field == DOCUMENT else None
    while field and field not in lines:
        field = field.rpartition(".")[0]
    return lines.get(field)


def explain_error(error: AisbenchError) -> tuple[Finding, ...]:
    """Why a text is no spec, field by field; what is about no field is about the DOCUMENT."""
    if not isinstance(error, SpecError):
        return (Finding("spec", Level.ERROR, DOCUMENT, error.message, error.hint),)
    return tuple(Finding("spec", Level.ERROR, problem.field, problem.explanation) for problem in error.problems)


def comments_of(text: str) -> dict[str, str]:
    """The comments above parameters, by parameter, in the YAML text of a spec."""
    return dict(_iterate_comments(iter(text.split("\n"))))


def _iterate_comments(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if line.rstrip() == f"{_PARAMETERS}:":
            break
    above: list[str] = []
    for line in lines:
        comment = _COMMENT.fullmatch(line)
        if comment:
            above.append(comment[1].strip())
        elif _ENTRY.match(line):  # two blanks: a parameter; more: the rest of its value
            name = _parse_key(line)
            if name is not None and above:
                yield name, " ".join(above)
            above = []
        elif line and not line.startswith(" "):
            return


def _parse_key(line: str) -> str | None:
    """The key of a line; None if the line continues an entry."""
    try:
        return next((str(key) for key in parse_yaml(line, SPEC)), None)
    except ConfigError:
        return None


def _format_parameter(name: str, value: object, comment: str) -> str:
    entry = strict_yaml.dump({name: value})
    words = " ".join(comment.split())
    above = f"  # {words}\n" if words else ""
    return above + "".join(f"  {line}\n" for line in entry.rstrip("\n").split("\n"))
