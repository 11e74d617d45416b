"""Reads the files of an upstream configuration, without executing them."""

import ast
import re
import shlex
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath
from typing import TypeVar

from pydantic import SecretStr

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.config_file import ConfigFile, decode_text
from aisbench_core.domain.authoring.pre_start import HEAD, SCRIPT
from aisbench_core.exchange.upstream.configs.contents import (
    Assigned,
    Document,
    LineFinding,
    Literal,
    NotLiteral,
    ShellConfig,
    make_finding,
)
from aisbench_core.exchange.upstream.configs.keys import ACCESS, DICTS, PRE_START_KEYS, SECRET, SHELL_KEYS, keys_of
from aisbench_core.exchange.upstream.configs.literals import Literals, collect_comments, parse_source, quote_key
from aisbench_core.model import Api, CannLevel, LogLevels, MindSporeLevel

EASYDICT = ("easydict", "EasyDict")
MASK = "••••"
SHORTEST_SECRET = 8  # shorter ones occur in other text by chance
CONSTRUCTORS = frozenset({"ed", "edict", "EasyDict", "dict"})


def read_document(files: Sequence[ConfigFile]) -> Document:
    """The content of a modelarts_config.py, and of its config.sh and ma-pre-start.sh if they are given.

    Raises ConfigError for a file that is too large, not text or not Python, for two files of one kind, and without a
    modelarts_config.py."""
    scripts = [file for file in files if PurePath(file.name).suffix == ".sh"]
    pre_starts = [file for file in scripts if PurePath(file.name).name == SCRIPT]
    shells = [file for file in scripts if file not in pre_starts]
    pythons = [file for file in files if file not in scripts]
    if len(pythons) != 1 or len(shells) > 1 or len(pre_starts) > 1:
        names = ", ".join(file.name for file in files) or Message("nothing")
        message = Message(
            "expected one modelarts_config.py, optionally with its config.sh and {script}; got: {names}",
            script=SCRIPT,
            names=names,
        )
        raise ConfigError(message)
    document = read_python(pythons[0])
    shell, findings = read_shell(decode_text(shells[0])) if shells else (ShellConfig(), [])
    script, more = read_pre_start(decode_text(pre_starts[0])) if pre_starts else (ShellConfig(), [])
    single = script.single_server if shell.single_server is None else shell.single_server
    both = ShellConfig(single, shell.api, script.levels)
    return Document(document.name, document.dicts, both, (*document.findings, *findings, *more))


def read_python(file: ConfigFile) -> Document:
    """The dicts of a modelarts_config.py. Raises ConfigError as `read` does."""
    text = textwrap.dedent(decode_text(file))  # copied out of a manual, all lines may be indented
    tree = parse_source(text, file.name)
    literals = Literals(CONSTRUCTORS | set(_iterate_aliases(tree)), collect_comments(text))
    dicts: dict[str, Assigned] = {}
    findings: list[LineFinding] = []
    for statement in tree.body:
        assigned = _parse_assignment(statement, literals)
        if assigned is None:
            findings.extend(_iterate_code(statement))
            continue
        if first := dicts.get(assigned.name):
            message = Message("is given twice (first in line {line}); the last one counts", line=first.line)
            findings.append(make_finding("config.duplicate", assigned.name, message, assigned.line))
        dicts[assigned.name] = assigned
    if not dicts:
        hint = Message("is it a modelarts_config.py?")
        raise ConfigError(Message("{file} assigns none of {names}", file=file.name, names=", ".join(DICTS)), hint)
    supported = {name: _select_supported(assigned, findings) for name, assigned in dicts.items()}
    clean, all_findings = _mask_secrets(supported, [*findings, *literals.findings])
    return Document(file.name, clean, findings=tuple(sorted(all_findings, key=lambda finding: finding.line)))


def _iterate_aliases(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == EASYDICT[0]:
            yield from (name.asname or name.name for name in statement.names if name.name == EASYDICT[1])


def _parse_assignment(statement: ast.stmt, literals: Literals) -> Assigned | None:
    """One of the three dicts, if the statement assigns it."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    value = getattr(statement, "value", None)
    name = targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
    if name not in DICTS or not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(value, ast.expr):
        return None
    literal = literals.read(value, name)
    if isinstance(literal.value, dict):
        return Assigned(name, statement.lineno, literal.value)
    if not isinstance(literal.value, NotLiteral):
        literals.findings.append(make_finding("config.type", name, Message("must be a dict"), literal.line))
    return Assigned(name, statement.lineno, {})


def _select_supported(assigned: Assigned, findings: list[LineFinding]) -> Assigned:
    """The dict with only the keys that upstream reads; others could contain anything, even a secret."""
    allowed = [key.name for key in keys_of(assigned.name)]
    for key, value in assigned.entries.items():
        if key not in allowed:
            message = Message("is not a known key; known: {known}", known=", ".join(allowed))
            findings.append(make_finding("config.unknown", f"{assigned.name}.{quote_key(key)}", message, value.line))
    entries = {key: value for key, value in assigned.entries.items() if key in allowed}
    return Assigned(assigned.name, assigned.line, entries)


def _iterate_code(statement: ast.stmt) -> Iterator[LineFinding]:
    """Findings about statements other than imports and docstrings."""
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    if text or isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass):
        return
    changed = _find_changed_dict(statement)
    if changed:
        message = Message("is changed here by code, which is not executed")
        yield make_finding(
            "config.literal", changed, message, statement.lineno, Message("write the value into the dict")
        )
    else:
        message = Message("is neither an import nor one of the three dicts; it is not executed")
        yield make_finding("config.code", "", message, statement.lineno)


def _find_changed_dict(statement: ast.stmt) -> str:
    """The dict that a statement changes, such as `session_config.job_name = …`; empty if none."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):  # print(session_config)
        return ""
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return next((name for name in DICTS if name in names), "")


# --- keys outside access_config -----------------------------------------------------------------------


def _mask_secrets(
    dicts: Mapping[str, Assigned], findings: Iterable[LineFinding]
) -> tuple[dict[str, Assigned], list[LineFinding]]:
    """Dicts and findings without the texts and comments that contain a key of access_config."""
    secrets = list(_iterate_secrets(dicts.get(ACCESS)))
    added: list[LineFinding] = []
    clean = {}
    for name, assigned in dicts.items():
        entries = {
            key: _remove_secrets(value, secrets, f"{name}.{key}", added) for key, value in assigned.entries.items()
        }
        clean[name] = replace(assigned, entries=entries)
    return clean, [replace(finding, field=_hide_secrets(finding.field, secrets)) for finding in (*findings, *added)]


def _iterate_secrets(access: Assigned | None) -> Iterator[str]:
    entries = access.entries if access else {}
    for name in SECRET:
        value = entries[name].value if name in entries else None
        secret = value.get_secret_value().strip() if isinstance(value, SecretStr) else ""
        if len(secret) >= SHORTEST_SECRET:
            yield secret


def _remove_secrets(literal: Literal, secrets: Collection[str], field: str, findings: list[LineFinding]) -> Literal:
    value, comment = literal.value, "" if _has_secret(literal.comment, secrets) else literal.comment
    if isinstance(value, str) and _has_secret(value, secrets):
        message = Message("repeats a key of access_config, and is left out")
        findings.append(make_finding("config.secret", field, message, literal.line))
        return Literal(NotLiteral(), literal.line, comment)
    if isinstance(value, tuple):
        inner = (_remove_secrets(item, secrets, f"{field}[{index}]", findings) for index, item in enumerate(value))
        return Literal(tuple(inner), literal.line, comment)
    if isinstance(value, Mapping):
        entries = {
            _hide_secrets(key, secrets): _remove_secrets(entry, secrets, f"{field}.{key}", findings)
            for key, entry in value.items()
        }
        return Literal(entries, literal.line, comment)
    return Literal(value, literal.line, comment)


def _hide_secrets(field: str, secrets: Collection[str]) -> str:
    # A key of a dict may itself be a secret, if somebody swapped name and value.
    for secret in secrets:
        field = field.replace(secret, MASK)
    return field


def _has_secret(text: str, secrets: Collection[str]) -> bool:
    return any(secret in text for secret in secrets)


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
        for name, value in _read_settings(line, number, findings):
            values[name] = (value, number)
    # config.sh belongs to the upstream tool, which ignores other variables on ModelArts.
    for name in values.keys() - {key.name for key in SHELL_KEYS}:
        message = Message("has no effect on ModelArts")
        findings.append(make_finding("config.unknown", f"config.sh.{quote_key(name)}", message, values[name][1]))
    single = _choose_word("SINGLESERVER_MODE", values, _MODES, CONFIG, findings)
    api = _choose_word("MODELARTS_VERSION", values, _APIS, CONFIG, findings)
    return ShellConfig(single, api), sorted(findings, key=lambda finding: finding.line)


def read_pre_start(text: str) -> tuple[ShellConfig, list[LineFinding]]:
    """The log levels and the mode of a ma-pre-start.sh; one finding has the first line that does more."""
    findings: list[LineFinding] = []
    values: dict[str, tuple[str, int]] = {}
    more = 0
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        pieces: list[tuple[str, str]] | None = None
        with suppress(ValueError):  # an unclosed quote: the line is part of a longer command
            pieces = _parse_line(line)
        settings = {name: value for name, value in pieces or () if name in _PRE_START}
        values |= {name: (value, number) for name, value in settings.items()}
        if not settings and line.strip() and not line.strip().startswith("#"):
            more = more or number
    if more and not text.startswith(HEAD):  # a script of the console comes from the spec itself
        message = Message("does more than set log levels and the mode; the rest is not imported")
        hint = Message("it still runs from the code directory; list packages under the spec's update instead")
        findings.append(make_finding("config.pre-start", SCRIPT, message, more, hint))
    levels = {field: _choose_word(name, values, words, SCRIPT, findings) for field, (name, words) in _LEVELS.items()}
    single = _choose_word("SINGLESERVER_MODE", values, _MODES, SCRIPT, findings)
    return ShellConfig(single, levels=LogLevels.model_validate(levels)), sorted(
        findings, key=lambda finding: finding.line
    )


def _read_settings(line: str, number: int, findings: list[LineFinding]) -> list[tuple[str, str]]:
    try:
        sets = _parse_line(line)
    except ValueError:
        findings.append(make_finding("config.shell", CONFIG, Message("has an unclosed quote"), number))
        return []
    if sets is None:
        message = Message("does more than set a variable to plain text; it is not executed")
        findings.append(make_finding("config.shell", CONFIG, message, number))
    return sets or []


def _parse_line(line: str) -> list[tuple[str, str]] | None:
    """The variables that a line sets; None if it does anything else. Raises ValueError for an unclosed quote."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["export"]:
        words = words[1:]
    sets = [_SETS.fullmatch(word) for word in words]
    # Substitutions, pipes and redirections: such a value is not plain text.
    code = any(letter in line.partition("#")[0] for letter in "$`;&|<>(")
    return None if code or not all(sets) else [(match[1], match[2]) for match in sets if match]


def _choose_word(
    name: str, values: dict[str, tuple[str, int]], allowed: Mapping[str, T], file: str, findings: list[LineFinding]
) -> T | None:
    value, line = values.get(name, ("", 0))
    if value.lower() not in allowed:
        words = ", ".join(word.capitalize() for word in allowed if word)
        message = Message("is {found!r}; allowed: {known}", found=quote_key(value), known=words)
        findings.append(make_finding("config.type", f"{file}.{name}", message, line))
        return None
    return allowed[value.lower()]
