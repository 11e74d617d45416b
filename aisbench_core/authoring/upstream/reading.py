"""From the files of an upstream configuration to the dicts that it assigns, with lines and comments."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from aisbench_core.authoring.pre_start import SCRIPT
from aisbench_core.authoring.upstream.found import (
    Assigned,
    ConfigFile,
    Document,
    LineFinding,
    Literal,
    NotLiteral,
    ShellConfig,
    finding,
)
from aisbench_core.authoring.upstream.keys import DICTS, keys_of
from aisbench_core.authoring.upstream.literals import Literals, shown
from aisbench_core.authoring.upstream.masking import masked
from aisbench_core.authoring.upstream.shell import read_pre_start, read_shell
from aisbench_core.authoring.upstream.source import comments, decoded, parsed, straight
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

EASYDICT = ("easydict", "EasyDict")
CONSTRUCTORS = frozenset({"ed", "edict", "EasyDict", "dict"})


def read(files: Sequence[ConfigFile]) -> Document:
    """What a modelarts_config.py holds, and a config.sh and a ma-pre-start.sh that are given with it.

    Raises ConfigError for a file that is too large, no text or not Python, naming the line; for two files of one
    kind; and when there is no modelarts_config.py."""
    scripts = [file for file in files if PurePath(file.name).suffix == ".sh"]
    pre_starts = [file for file in scripts if PurePath(file.name).name == SCRIPT]
    shells = [file for file in scripts if file not in pre_starts]
    pythons = [file for file in files if file not in scripts]
    if len(pythons) != 1 or len(shells) > 1 or len(pre_starts) > 1:
        names = ", ".join(file.name for file in files) or Message("nothing")
        raise ConfigError(
            Message(
                "one modelarts_config.py is needed, and perhaps its config.sh and {script}; given: {names}",
                script=SCRIPT,
                names=names,
            )
        )
    document = read_python(pythons[0])
    shell, findings = read_shell(decoded(shells[0])) if shells else (ShellConfig(), [])
    script, more = read_pre_start(decoded(pre_starts[0])) if pre_starts else (ShellConfig(), [])
    single = script.single_server if shell.single_server is None else shell.single_server
    both = ShellConfig(single, shell.api, script.levels)
    return Document(document.name, document.dicts, both, (*document.findings, *findings, *more))


def read_python(file: ConfigFile) -> Document:
    """The dicts of a modelarts_config.py. Raises ConfigError as `read` does."""
    text = straight(decoded(file))
    tree = parsed(text, file.name)
    literals = Literals(CONSTRUCTORS | set(_aliases(tree)), comments(text))
    dicts: dict[str, Assigned] = {}
    findings: list[LineFinding] = []
    for statement in tree.body:
        found = _assigned(statement, literals)
        if found is None:
            findings.extend(_code(statement))
            continue
        if found.name in dicts:
            message = Message("is given twice (first in line {line}); the last one counts", line=dicts[found.name].line)
            findings.append(finding("config.duplicate", found.name, message, found.line))
        dicts[found.name] = found
    if not dicts:
        raise ConfigError(
            Message("{file} assigns none of {names}", file=file.name, names=", ".join(DICTS)),
            Message("is it a modelarts_config.py?"),
        )
    known = {name: _known(each, findings) for name, each in dicts.items()}
    clean, all_findings = masked(known, [*findings, *literals.findings])
    return Document(file.name, clean, findings=tuple(sorted(all_findings, key=lambda each: each.line)))


def _aliases(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == EASYDICT[0]:
            yield from (name.asname or name.name for name in statement.names if name.name == EASYDICT[1])


def _assigned(statement: ast.stmt, literals: Literals) -> Assigned | None:
    """One of the three dicts, if that is what the statement assigns."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    value = getattr(statement, "value", None)
    name = targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
    if name not in DICTS or not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(value, ast.expr):
        return None
    read = literals.read(value, name)
    entries = read.value if isinstance(read.value, dict) else _no_dict(read, name, literals)
    return Assigned(name, statement.lineno, entries)


def _no_dict(read: Literal, name: str, literals: Literals) -> dict[str, Literal]:
    if not isinstance(read.value, NotLiteral):
        literals.findings.append(finding("config.type", name, Message("must be a dict"), read.line))
    return {}


def _known(each: Assigned, findings: list[LineFinding]) -> Assigned:
    """The dict with the keys that the upstream tool reads; what else stands there may be anything, even a secret."""
    allowed = [key.name for key in keys_of(each.name)]
    for key, value in each.entries.items():
        if key not in allowed:
            message = Message("is not a known key; known: {known}", known=", ".join(allowed))
            findings.append(finding("config.unknown", f"{each.name}.{shown(key)}", message, value.line))
    kept = {key: value for key, value in each.entries.items() if key in allowed}
    return Assigned(each.name, each.line, kept)


def _code(statement: ast.stmt) -> Iterator[LineFinding]:
    """Everything but imports and text that documents the file is worth a word."""
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    if text or isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass):
        return
    changed = _changed(statement)
    if changed:
        message = Message("is changed here by code, which is not executed")
        yield finding("config.literal", changed, message, statement.lineno, Message("write the value into the dict"))
    else:
        message = Message("is neither an import nor one of the three dicts; it is not executed")
        yield finding("config.code", "", message, statement.lineno)


def _changed(statement: ast.stmt) -> str:
    """Which of the three dicts a statement would change, such as `session_config.job_name = …`; empty: none."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):  # print(session_config)
        return ""
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return next((name for name in DICTS if name in names), "")
