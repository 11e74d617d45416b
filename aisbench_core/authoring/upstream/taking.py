"""ConfigReader values out of a dict of the file, each of the right type."""

from pydantic import SecretStr

from aisbench_core.authoring.upstream.found import Assigned, LineFinding, Literal, NotLiteral, finding
from aisbench_core.authoring.upstream.literals import shown
from aisbench_core.errors import Problem
from aisbench_core.messages import Hint, Message, message_of, verbatim
from aisbench_core.model import Scalar


class ConfigReader:
    """One dict of the file, asked key by key. What is wrong with a value is a finding, and the value is not taken."""

    def __init__(self, assigned: Assigned, findings: list[LineFinding]) -> None:
        self.name = assigned.name
        self.line = assigned.line
        self._entries = assigned.entries
        self._findings = findings

    def text(self, key: str) -> str:
        """Text without blanks around it; empty when it is not set (None, '')."""
        found = self._entries.get(key)
        if found is None or found.value is None or isinstance(found.value, NotLiteral):
            return ""
        if not isinstance(found.value, str):
            self.say("config.type", key, Message("must be text (found {found})", found=_kind(found)))
            return ""
        return found.value.strip()

    def whole_number(self, key: str) -> int | None:
        """A whole number; None when it is not set."""
        found = self._entries.get(key)
        if found is None or found.value is None or isinstance(found.value, NotLiteral):
            return None
        if type(found.value) is not int:
            self.say(
                "config.type",
                key,
                Message("must be a whole number (found {found})", found=_kind(found)),
                Message("write it without quotes"),
            )
            return None
        return found.value

    def secret(self, key: str) -> SecretStr | None:
        """A key; None when it is not set."""
        found = self._entries.get(key)
        secret = found.value if found else None
        if isinstance(secret, SecretStr) and secret.get_secret_value().strip():
            return SecretStr(secret.get_secret_value().strip())
        return None

    def parameters(self, key: str, label: str) -> list[tuple[str, Scalar, str, int]]:
        """Name, value, comment and line of each parameter of a list such as `[{'name': …, 'value': …}]`."""
        found = self._entries.get(key)
        if found is None or found.value is None or isinstance(found.value, NotLiteral):
            return []
        if not isinstance(found.value, tuple):
            self.say("config.type", key, Message("must be a list (found {found})", found=_kind(found)))
            return []
        taken: dict[str, tuple[str, Scalar, str, int]] = {}
        for index, item in enumerate(found.value):
            parameter = self._parameter(f"{key}[{index}]", item, label)
            if parameter and parameter[0] in taken:
                message = Message(
                    "is given twice (first in line {line}); the last one counts", line=taken[parameter[0]][3]
                )
                self.say("config.duplicate", f"{key}.{shown(parameter[0])}", message, line=item.line)
            if parameter:
                taken[parameter[0]] = parameter
        return list(taken.values())

    def say(self, rule: str, key: str, message: Message, hint: Hint = "", line: int = 0) -> None:
        """Report something about a key."""
        field = f"{self.name}.{key}" if key else self.name
        self._findings.append(finding(rule, field, message, line or self.line_of(key), hint))

    def refuse(self, problem: Problem, key: str) -> None:
        """Report what a spec or a profile has against a value."""
        said = message_of(problem.message)
        if problem.found:
            said = Message("{problem} (found {found})", problem=said, found=problem.found)
        self.say("config.range", key, said)

    def line_of(self, key: str) -> int:
        """The line of a key; that of the dict when the key is not there."""
        return self._entries[key].line if key in self._entries else self.line

    def _parameter(self, field: str, item: Literal, label: str) -> tuple[str, Scalar, str, int] | None:
        if isinstance(item.value, NotLiteral):
            return None
        entries = item.value if isinstance(item.value, dict) else {}
        name, value = (entries[key].value if key in entries else None for key in (label, "value"))
        if isinstance(name, NotLiteral):
            return None
        if not isinstance(name, str) or not name.strip() or "value" not in entries or len(entries) > 2:
            message = Message("must be {{'{label}': 'a name', 'value': 'a value'}}", label=label)
            self.say("config.type", field, message, line=item.line)
            return None
        field = f"{field.partition('[')[0]}.{shown(name.strip())}"
        if isinstance(value, NotLiteral) or value is None:
            return None
        if not isinstance(value, str | bool | int | float):
            self.say(
                "config.type",
                field,
                Message("must be text (found {found})", found=_kind(entries["value"])),
                line=item.line,
            )
            return None
        text = value.strip() if isinstance(value, str) else value
        return name.strip(), text, item.comment, item.line


def _kind(found: Literal) -> Message:
    if isinstance(found.value, str):
        return Message("text")
    if isinstance(found.value, tuple | dict):
        return Message("a list") if isinstance(found.value, tuple) else Message("a dict")
    return verbatim(repr(found.value)[:80])
