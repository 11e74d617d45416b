"""config.sh and ma-pre-start.sh: variables set to plain text; the shell is never started."""

import re
import shlex
from collections.abc import Mapping
from typing import TypeVar

from aisbench_core.authoring.pre_start import HEAD, SCRIPT
from aisbench_core.authoring.upstream.found import LineFinding, ShellConfig, finding
from aisbench_core.authoring.upstream.keys import PRE_START_KEYS, SHELL_KEYS
from aisbench_core.authoring.upstream.literals import shown
from aisbench_core.messages import Message
from aisbench_core.model import Api, CannLevel, LogLevels, MindSporeLevel

T = TypeVar("T")

_SETS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_MODES = {"true": True, "false": False, "": None}
_APIS = {"v1": Api.V1, "v2": Api.V2, "": None}
_SWITCH = {"0": False, "1": True, "": None}
_LEVELS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "cann": ("ASCEND_GLOBAL_LOG_LEVEL", {"": None} | {str(n): each for n, each in enumerate(CannLevel)}),
    "mindspore": ("GLOG_v", {"": None} | {str(n): each for n, each in enumerate(MindSporeLevel)}),
    "events": ("ASCEND_GLOBAL_EVENT_ENABLE", _SWITCH),
    "stdout": ("ASCEND_SLOG_PRINT_TO_STDOUT", _SWITCH),
}
_PRE_START = frozenset(key.name for key in PRE_START_KEYS)
CONFIG = "config.sh"


def read_shell(text: str) -> tuple[ShellConfig, list[LineFinding]]:
    """What the variables mean; lines that do more than set one are reported and have no effect."""
    findings: list[LineFinding] = []
    values: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        for name, value in _settings(line, number, findings):
            values[name] = (value, number)
    for name in values.keys() - {key.name for key in SHELL_KEYS}:
        message = Message("is not read by the training on ModelArts")
        findings.append(finding("config.unknown", f"config.sh.{shown(name)}", message, values[name][1]))
    single = _word("SINGLESERVER_MODE", values, _MODES, CONFIG, findings)
    api = _word("MODELARTS_VERSION", values, _APIS, CONFIG, findings)
    return ShellConfig(single, api), sorted(findings, key=lambda each: each.line)


def read_pre_start(text: str) -> tuple[ShellConfig, list[LineFinding]]:
    """Log levels and mode that a ma-pre-start.sh sets; one finding tells that it does more, and where that begins."""
    findings: list[LineFinding] = []
    values: dict[str, tuple[str, int]] = {}
    more = 0
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        found = {name: value for name, value in _pieces(line) if name in _PRE_START}
        values |= {name: (value, number) for name, value in found.items()}
        if not found and line.strip() and not line.strip().startswith("#"):
            more = more or number
    if more and not text.startswith(HEAD):  # the console's own script does what the spec says
        message = Message("does more than set log levels and the mode, which is not read")
        hint = Message("it still runs where it lies in the code directory; name packages in the spec's update instead")
        findings.append(finding("config.pre-start", SCRIPT, message, more, hint))
    levels = {field: _word(name, values, words, SCRIPT, findings) for field, (name, words) in _LEVELS.items()}
    single = _word("SINGLESERVER_MODE", values, _MODES, SCRIPT, findings)
    return ShellConfig(single, levels=LogLevels.model_validate(levels)), sorted(findings, key=lambda each: each.line)


def _settings(line: str, number: int, findings: list[LineFinding]) -> list[tuple[str, str]]:
    try:
        sets = _plain(line)
    except ValueError:
        findings.append(finding("config.shell", CONFIG, Message("has a quote without its end"), number))
        return []
    if sets is None:
        message = Message("does more than set a variable to plain text; it is not executed")
        findings.append(finding("config.shell", CONFIG, message, number))
    return sets or []


def _pieces(line: str) -> list[tuple[str, str]]:
    """The same of a line of any script, which may be part of something longer."""
    try:
        return _plain(line) or []
    except ValueError:
        return []


def _plain(line: str) -> list[tuple[str, str]] | None:
    """The variables that a line sets; None if it does anything else. Raises ValueError for a quote without its end."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["export"]:
        words = words[1:]
    sets = [_SETS.fullmatch(word) for word in words]
    code = any(letter in line.partition("#")[0] for letter in "$`;&|<>(")
    return None if code or not all(sets) else [(each[1], each[2]) for each in sets if each]


def _word(
    name: str, values: dict[str, tuple[str, int]], allowed: Mapping[str, T], file: str, findings: list[LineFinding]
) -> T | None:
    value, line = values.get(name, ("", 0))
    if value.lower() not in allowed:
        known = ", ".join(word.capitalize() for word in allowed if word)
        message = Message("is {found!r}; allowed: {known}", found=shown(value), known=known)
        findings.append(finding("config.type", f"{file}.{name}", message, line))
        return None
    return allowed[value.lower()]
