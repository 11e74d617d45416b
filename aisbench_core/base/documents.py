"""Parses what people write (settings, profiles, manifests, specs), and reports one problem per invalid field."""

import re
import stat
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import yaml
from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic_core import ErrorDetails

from aisbench_core.base import strict_yaml
from aisbench_core.base.errors import ConfigError, Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import file_mode, is_open_to_others
from aisbench_core.base.value_errors import make_refusal, value_error

Model = TypeVar("Model", bound=BaseModel)


class NotYaml(ConfigError):
    """A text is not YAML with one mapping; `line` is where the parser noticed it."""

    def __init__(self, message: Message, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


# Names whose values are keys or passwords, more likely than not.
SECRET_NAME = re.compile(r"(^|[_.-])(ak|sk)$|(?<!\[)key|token|passw|secret|credential", re.IGNORECASE)


def _with_scheme(address: str) -> str:
    if address and not address.startswith(("https://", "http://")):
        raise make_refusal(Message("must begin with https://, such as https://{address}", address=address))
    return address


Address = Annotated[str, AfterValidator(_with_scheme)]
"""The address of a service. One without a scheme is refused, because clients interpret it differently."""


def read_yaml(file: Path) -> dict[str, Any]:
    """A YAML file that holds one mapping. Raises ConfigError, naming the file and the line, if it does not."""
    try:
        stat_now = file.stat()
        return dict(_parse_cached(file, stat_now.st_mtime_ns, stat_now.st_size))
    except OSError as error:
        raise ConfigError(Message("{file} cannot be read: {why}", file=file.name, why=error.strerror)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(Message("{file} is not UTF-8 text", file=file.name), Message("save it as UTF-8")) from error


@lru_cache(maxsize=64)
def _parse_cached(file: Path, _changed_ns: int, _size: int) -> dict[str, Any]:
    """The content of a file. Cached, because parsing is slow and profiles are read at every step of every run."""
    return parse_yaml(file.read_text("utf-8"), file.name)


def parse_yaml(text: str, title: str) -> dict[str, Any]:
    """YAML text that holds one mapping. Raises NotYaml, naming the line, if it does not."""
    try:
        answers = strict_yaml.load(text) or {}
    except yaml.MarkedYAMLError as error:
        line, problem = error.problem_mark.line + 1 if error.problem_mark else 1, error.problem
        message = Message("{what} is not YAML: line {line}: {problem}", what=title, line=line, problem=problem)
        raise NotYaml(message, line) from None
    except yaml.YAMLError as error:
        # A character that YAML forbids, or a document that is too long, which is a Message.
        cause = error.args[0] if error.args else None
        problem = cause if isinstance(cause, Message) else str(error).splitlines()[0]
        raise NotYaml(Message("{what} is not YAML: {problem}", what=title, problem=problem)) from None
    if not isinstance(answers, dict):
        kind = type(answers).__name__
        raise NotYaml(Message("{what} must hold `key: value` lines, and it holds a {found}", what=title, found=kind))
    return answers


def read_private(file: Path) -> dict[str, Any]:
    """A YAML file with keys. Raises ConfigError if it cannot be read, or if anybody but its owner can read it."""
    try:
        mode = file.stat().st_mode
    except OSError as error:
        raise ConfigError(
            Message("the credentials file {file} cannot be read: {why}", file=file.name, why=error.strerror)
        ) from error
    if is_open_to_others(file):
        octal = f"{stat.S_IMODE(mode):04o}"
        raise ConfigError(
            Message("the credentials file {file} can be read by others (mode {mode})", file=file.name, mode=octal),
            Message("run chmod {mode:o} {file}", mode=file_mode(file.parent), file=file.name),
        )
    try:
        return read_yaml(file)
    except ConfigError as error:
        if isinstance(error.__cause__, OSError):
            raise
        line = error.line if isinstance(error, NotYaml) else 1
        raise ConfigError(
            Message("{file} is not YAML that holds keys (line {line})", file=file.name, line=line),
            # Of a malformed file no word is repeated: any may be a key.
            Message("check its lines; none is shown here, for it may hold a key"),
        ) from None


def parse_private(model: type[Model], answers: Mapping[str, Any], title: Message) -> Model:
    """Like `parse_document`, but errors do not repeat unknown names: name and value may have been swapped."""
    unknown = [name for name in answers if name not in model.model_fields]
    if unknown:
        problem = Message(
            "{count} keys are unknown; allowed: {allowed}", count=len(unknown), allowed=", ".join(model.model_fields)
        )
        raise SpecError(title, [Problem("document", problem)])
    return parse_document(model, answers, title)


def parse_document(model: type[Model], answers: Mapping[str, Any], title: Message) -> Model:
    """The document as a value. Raises SpecError with one problem per field; secrets are not repeated."""
    try:
        return model.model_validate(answers)
    except ValidationError as error:
        raise SpecError(title, [_to_problem(model, detail) for detail in error.errors()]) from None


def _to_problem(model: type[BaseModel], detail: ErrorDetails) -> Problem:
    field = ".".join(str(part) for part in detail["loc"]) or "document"
    if detail["type"] == "extra_forbidden":
        allowed = ", ".join(_part_of(model, detail["loc"][:-1]).model_fields)
        return Problem(field, Message("is not a known key; allowed: {allowed}", allowed=allowed))
    text = "" if isinstance(detail["input"], dict) else repr(detail["input"])[:80]
    secret = SECRET_NAME.search(field)
    return Problem(field, value_error(detail), "" if secret else text)


def _part_of(model: type[BaseModel], location: Iterable[Any]) -> type[BaseModel]:
    for step in location:
        field = model.model_fields.get(step)
        model = (_model_in(field.annotation) if field else None) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((inner for inner in map(_model_in, get_args(annotation)) if inner), None)
