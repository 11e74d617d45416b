"""Typed access to the values of one dict, with findings about wrong types."""

from pydantic import SecretStr

from aisbench_core.errors import Problem
from aisbench_core.messages import Hint, Message, verbatim
from aisbench_core.model import Scalar
from aisbench_core.upstream.configs.contents import Assigned, LineFinding, Literal, NotLiteral, finding
from aisbench_core.upstream.configs.literals import shown


class ConfigReader:
    """Reads one dict key by key. A value of the wrong type is a finding, and counts as not set."""

    def __init__(self, assigned: Assigned, findings: list[LineFinding]) -> None:
        self.name = assigned.name
        self.line = assigned.line
        self._entries = assigned.entries
        self._findings = findings

    def text(self, key: str) -> str:
        """Stripped text; empty if not set (None, '')."""
        entry = self._entry(key)
        if entry is None:
            return ""
        if not isinstance(entry.value, str):
            self.report("config.type", key, Message("must be text (found {found})", found=_kind(entry)))
            return ""
        return entry.value.strip()

    def whole_number(self, key: str) -> int | None:
        """A whole number; None if not set."""
        entry = self._entry(key)
        if entry is None:
            return None
        if isinstance(entry.value, int) and not isinstance(entry.value, bool):
            return entry.value
        message = Message("must be a whole number (found {found})", found=_kind(entry))
        self.report("config.type", key, message, Message("write it without quotes"))
        return None

    def secret(self, key: str) -> SecretStr | None:
        """A key of the account; None if not set."""
        entry = self._entries.get(key)
        secret = entry.value if entry else None
        if isinstance(secret, SecretStr) and secret.get_secret_value().strip():
            return SecretStr(secret.get_secret_value().strip())
        return None

    def parameters(self, key: str, label: str) -> list[tuple[str, Scalar, str, int]]:
        """Name, value, comment and line of each parameter in a list such as `[{'name': …, 'value': …}]`."""
        entry = self._entry(key)
        if entry is None:
            return []
        if not isinstance(entry.value, tuple):
            self.report("config.type", key, Message("must be a list (found {found})", found=_kind(entry)))
            return []
        parameters: dict[str, tuple[str, Scalar, str, int]] = {}
        for index, item in enumerate(entry.value):
            parameter = self._parameter(f"{key}[{index}]", item, label)
            if parameter is None:
                continue
            if first := parameters.get(parameter[0]):
                message = Message("is given twice (first in line {line}); the last one counts", line=first[3])
                self.report("config.duplicate", f"{key}.{shown(parameter[0])}", message, line=item.line)
            parameters[parameter[0]] = parameter
        return list(parameters.values())

    def report(self, rule: str, key: str, message: Message, hint: Hint = "", line: int = 0) -> None:
        """Add a finding about a key."""
        field = f"{self.name}.{key}" if key else self.name
        self._findings.append(finding(rule, field, message, line or self.line_of(key), hint))

    def refuse(self, problem: Problem, key: str) -> None:
        """Add a finding about a value that a spec or a profile refuses."""
        message = problem.message
        if problem.value:
            message = Message("{problem} (found {found})", problem=message, found=problem.value)
        self.report("config.range", key, message)

    def line_of(self, key: str) -> int:
        """The line of a key; the line of the dict if the key is missing."""
        return self._entries[key].line if key in self._entries else self.line

    def _entry(self, key: str) -> Literal | None:
        entry = self._entries.get(key)
        return None if entry is None or entry.value is None or isinstance(entry.value, NotLiteral) else entry

    def _parameter(self, field: str, item: Literal, label: str) -> tuple[str, Scalar, str, int] | None:
        if isinstance(item.value, NotLiteral):
            return None
        entries = item.value if isinstance(item.value, dict) else {}
        name, value = (entries[key].value if key in entries else None for key in (label, "value"))
        if isinstance(name, NotLiteral):
            return None
        if not isinstance(name, str) or not name.strip() or "value" not in entries or len(entries) > 2:
            message = Message("must be {{'{label}': 'a name', 'value': 'a value'}}", label=label)
            self.report("config.type", field, message, line=item.line)
            return None
        field = f"{field.partition('[')[0]}.{shown(name.strip())}"
        if isinstance(value, NotLiteral) or value is None:
            return None
        if not isinstance(value, str | bool | int | float):
            message = Message("must be text (found {found})", found=_kind(entries["value"]))
            self.report("config.type", field, message, line=item.line)
            return None
        text = value.strip() if isinstance(value, str) else value
        return name.strip(), text, item.comment, item.line


def _kind(literal: Literal) -> Message:
    if isinstance(literal.value, str):
        return Message("text")
    if isinstance(literal.value, tuple | dict):
        return Message("a list") if isinstance(literal.value, tuple) else Message("a dict")
    return verbatim(repr(literal.value)[:80])
