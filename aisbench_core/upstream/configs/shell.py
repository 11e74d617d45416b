"""Reads the variables in config.sh and ma-pre-start.sh, without starting a shell."""

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar

from aisbench_core.authoring.pre_start import HEAD, SCRIPT
from aisbench_core.messages import Message
from aisbench_core.model import Api, CannLevel, LogLevels, MindSporeLevel
from aisbench_core.upstream.configs.contents import LineFinding, ShellConfig, finding
from aisbench_core.upstream.configs.keys import PRE_START_KEYS, SHELL_KEYS
from aisbench_core.upstream.configs.literals import shown

T = TypeVar("T")

_SETS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_MODES = {"true": True, "false": False, "": None}  # "": set to nothing, which means the default
_APIS = {"v1": Api.V1, "v2": Api.V2, "": None}
_SWITCH = {"0": False, "1": True, "": None}
_LEVELS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "cann": ("ASCEND_GLOBAL_LOG_LEVEL", {"": None} | {str(n): level for n, level in enumerate(CannLevel)}),
    "mindspore": ("GLOG_v", {"": None} | {str(n): level for n, level in enumerate(MindSporeLevel)}),
    "events": ("ASCEND_GLOBAL_EVENT_ENABLE", _SWITCH),
    "stdout": ("ASCEND_SLOG_PRINT_TO_STDOUT", _SWITCH),
}
_PRE_START = frozenset(key.name for key in PRE_START_KEYS)
CONFIG = "config.sh"


def read_shell(text: str) -> tuple[ShellConfig, list[LineFinding]]:
    """The settings of a config.sh; lines that do more than set a variable are findings and have no effect."""
    findings: list[LineFinding] = []
    values: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        for name, value in _settings(line, number, findings):
            values[name] = (value, number)
    # config.sh belongs to the upstream tool, which ignores other variables on ModelArts.
    for name in values.keys() - {key.name for key in SHELL_KEYS}:
        message = Message("has no effect on ModelArts")
        findings.append(finding("config.unknown", f"config.sh.{shown(name)}", message, values[name][1]))
    single = _word("SINGLESERVER_MODE", values, _MODES, CONFIG, findings)
    api = _word("MODELARTS_VERSION", values, _APIS, CONFIG, findings)
    return ShellConfig(single, api), sorted(findings, key=lambda finding: finding.line)


def read_pre_start(text: str) -> tuple[ShellConfig, list[LineFinding]]:
    """The log levels and the mode of a ma-pre-start.sh; one finding has the first line that does more."""
    findings: list[LineFinding] = []
    values: dict[str, tuple[str, int]] = {}
    more = 0
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        pieces: list[tuple[str, str]] | None = None
        with suppress(ValueError):  # an unclosed quote: the line is part of a longer command
            pieces = _plain(line)
        settings = {name: value for name, value in pieces or () if name in _PRE_START}
        values |= {name: (value, number) for name, value in settings.items()}
        if not settings and line.strip() and not line.strip().startswith("#"):
            more = more or number
    if more and not text.startswith(HEAD):  # a script of the console comes from the spec itself
        message = Message("does more than set log levels and the mode; the rest is not imported")
        hint = Message("it still runs from the code directory; list packages under the spec's update instead")
        findings.append(finding("config.pre-start", SCRIPT, message, more, hint))
    levels = {field: _word(name, values, words, SCRIPT, findings) for field, (name, words) in _LEVELS.items()}
    single = _word("SINGLESERVER_MODE", values, _MODES, SCRIPT, findings)
    return ShellConfig(single, levels=LogLevels.model_validate(levels)), sorted(
        findings, key=lambda finding: finding.line
    )


def _settings(line: str, number: int, findings: list[LineFinding]) -> list[tuple[str, str]]:
    try:
        sets = _plain(line)
    except ValueError:
        findings.append(finding("config.shell", CONFIG, Message("has an unclosed quote"), number))
        return []
    if sets is None:
        message = Message("does more than set a variable to plain text; it is not executed")
        findings.append(finding("config.shell", CONFIG, message, number))
    return sets or []


def _plain(line: str) -> list[tuple[str, str]] | None:
    """The variables that a line sets; None if it does anything else. Raises ValueError for an unclosed quote."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["export"]:
        words = words[1:]
    sets = [_SETS.fullmatch(word) for word in words]
    # Substitutions, pipes and redirections: such a value is not plain text.
    code = any(letter in line.partition("#")[0] for letter in "$`;&|<>(")
    return None if code or not all(sets) else [(match[1], match[2]) for match in sets if match]


def _word(
    name: str, values: dict[str, tuple[str, int]], allowed: Mapping[str, T], file: str, findings: list[LineFinding]
) -> T | None:
    value, line = values.get(name, ("", 0))
    if value.lower() not in allowed:
        words = ", ".join(word.capitalize() for word in allowed if word)
        message = Message("is {found!r}; allowed: {known}", found=shown(value), known=words)
        findings.append(finding("config.type", f"{file}.{name}", message, line))
        return None
    return allowed[value.lower()]
