"""config.sh: variables set to plain text; the shell is never started."""

import re
import shlex
from typing import TypeVar

from aisbench_core.authoring.upstream.found import LineFinding, ShellConfig, finding
from aisbench_core.authoring.upstream.keys import SHELL_KEYS
from aisbench_core.authoring.upstream.literals import shown
from aisbench_core.model import Api

T = TypeVar("T")

_SETS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_MODES = {"true": True, "false": False, "": None}
_APIS = {"v1": Api.V1, "v2": Api.V2, "": None}


def read_shell(text: str) -> tuple[ShellConfig, list[LineFinding]]:
    """What the variables mean; lines that do more than set one are reported and have no effect."""
    findings: list[LineFinding] = []
    values: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        for name, value in _settings(line, number, findings):
            values[name] = (value, number)
    for name in values.keys() - {key.name for key in SHELL_KEYS}:
        message = "is not read by the training on ModelArts"
        findings.append(finding("config.unknown", f"config.sh.{shown(name)}", message, values[name][1]))
    single = _word("SINGLESERVER_MODE", values, _MODES, findings)
    api = _word("MODELARTS_VERSION", values, _APIS, findings)
    return ShellConfig(single, api), sorted(findings, key=lambda each: each.line)


def _settings(line: str, number: int, findings: list[LineFinding]) -> list[tuple[str, str]]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        findings.append(finding("config.shell", "config.sh", "has a quote without its end", number))
        return []
    if words[:1] == ["export"]:
        words = words[1:]
    sets = [_SETS.fullmatch(word) for word in words]
    code = any(letter in line.partition("#")[0] for letter in "$`;&|<>(")
    if code or not all(sets):
        message = "does more than set a variable to plain text; it is not executed"
        findings.append(finding("config.shell", "config.sh", message, number))
        return []
    return [(each[1], each[2]) for each in sets if each]


def _word(
    name: str, values: dict[str, tuple[str, int]], allowed: dict[str, T], findings: list[LineFinding]
) -> T | None:
    value, line = values.get(name, ("", 0))
    if value.lower() not in allowed:
        known = ", ".join(word.capitalize() for word in allowed if word)
        message = f"is {shown(value)!r}; allowed: {known}"
        findings.append(finding("config.type", f"config.sh.{name}", message, line))
        return None
    return allowed[value.lower()]
