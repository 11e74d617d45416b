"""Python scripts that create jobs with the SDK's Estimator, read as a syntax tree: nothing is executed.

Values may be literals, or names, sums and f-strings of literals. What else the script computes is not known."""

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from aisbench_core.base.messages import Message
from aisbench_core.domain.preflight.rules.secrets import is_likely_secret
from aisbench_core.exchange.upstream.configs.contents import (
    LineFinding,
    Literal,
    NotLiteral,
    SensitiveValue,
    make_finding,
)
from aisbench_core.exchange.upstream.configs.literals import MOST_LEVELS, quote_key
from aisbench_core.exchange.upstream.jobs.names import JobKind
from aisbench_core.exchange.upstream.jobs.script_names import find_unclear, iterate_named, name_node

ESTIMATOR = "Estimator"
MOST_JOBS = 50  # of one script: the calls of each are looked for
MODULES = {"modelarts.estimatorV2": JobKind.SDK, "modelarts.estimator": JobKind.SDK_V1}
_PARTS = {
    "TrainingFiles": ("code_dir", "boot_file"),
    "InputData": ("obs_path", "name"),
    "OutputData": ("obs_path",),
    "dict": (),
}
_KEYS = ("access_key", "secret_key", "password", "security_token")
_PLAIN = (-1, ord("s"))  # how f-strings write a value: as it is, or by str()
_RUNS = ("fit", "create_job_version")  # of an estimator


def finds_estimator(tree: ast.Module) -> bool:
    """Whether a script imports the SDK's estimators and calls one."""
    return bool(_find_classes(tree)) and any(True for _ in _iterate_calls(tree, _find_classes(tree)))


def read_script(tree: ast.Module) -> tuple[list[tuple[JobKind, Literal]], list[str], list[LineFinding]]:
    """The jobs that a script creates, as trees of arguments; the account's keys in it; and findings."""
    classes = _find_classes(tree)
    values = _Values(tree, classes)
    names = {id(call): name for name, call in iterate_named(tree)}
    jobs = []
    for call, kind in _iterate_calls(tree, classes):
        arguments = values.read_arguments(call, "", positions=("session",))
        run = _find_run(tree, call, names.get(id(call), ""))
        if run is not None:
            arguments |= values.read_arguments(run, "", positions=("inputs",))
        if "job_id" in arguments and "framework_type" not in arguments and run is None:
            continue  # only looks at a job that exists
        jobs.append((kind, Literal(arguments, call.lineno)))
    keys = [key for call in _find_sessions(tree) for key in values.read_keys(call)]
    return jobs, keys, values.findings


def _find_classes(tree: ast.Module) -> dict[str, JobKind]:
    """The estimators, by what the script calls them."""
    found: dict[str, JobKind] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            found |= {name.asname or name.name: MODULES[node.module] for name in node.names if name.name == ESTIMATOR}
        elif isinstance(node, ast.ImportFrom) and node.module == "modelarts":
            modules = {name.asname or name.name: MODULES.get(f"modelarts.{name.name}") for name in node.names}
            found |= {f"{module}.{ESTIMATOR}": kind for module, kind in modules.items() if kind}
        elif isinstance(node, ast.Import):
            imported = {name.asname or name.name: MODULES.get(name.name) for name in node.names}
            found |= {f"{module}.{ESTIMATOR}": kind for module, kind in imported.items() if kind}
    return found


def _iterate_calls(tree: ast.Module, classes: Mapping[str, JobKind]) -> Iterator[tuple[ast.Call, JobKind]]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_node(node.func) in classes]
    ordered = sorted(calls, key=lambda call: (call.lineno, call.col_offset))
    yield from ((call, classes[name_node(call.func)]) for call in ordered[:MOST_JOBS] if call.keywords)


def _find_run(tree: ast.Module, call: ast.Call, name: str) -> ast.Call | None:
    """The first call of `fit` on the estimator behind it, or on its name."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _RUNS
        and (node.func.value is call or (name and name_node(node.func.value) == name and node.lineno >= call.lineno))
    ]
    return min(found, key=lambda node: node.lineno, default=None)


def _find_sessions(tree: ast.Module) -> list[ast.Call]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in calls if any(keyword.arg in _KEYS for keyword in call.keywords)]


class SecretText(str):
    """The value of a variable whose name says that it is a key or a password, or a text that holds one."""

    __slots__ = ()


class _Values:
    """The values of a script's expressions."""

    def __init__(self, tree: ast.Module, classes: Collection[str]) -> None:
        self.findings: list[LineFinding] = []
        self._names: dict[str, ast.expr | None] = {}
        for name, value in iterate_named(tree):
            self._names[name] = None if name in self._names else value  # two values: which one holds is not known
        self._names |= dict.fromkeys(find_unclear(tree, {*_PARTS, *_RUNS, ESTIMATOR, *classes}))

    def read_arguments(self, call: ast.Call, field: str, positions: tuple[str, ...] = ()) -> dict[str, Literal]:
        """The arguments of a call by name. `positions`: the names of those without one."""
        named = [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
        placed = list(zip(positions, call.args, strict=False))
        for number, extra in enumerate(call.args[len(positions) :], start=len(positions) + 1):
            message = Message("has no name in the script: write it as name=value")
            self.findings.append(make_finding("job.left-out", f"{field}argument {number}", message, extra.lineno))
        for keyword in call.keywords:
            if keyword.arg is None:  # **settings
                settings = self._look_up(keyword.value)
                pairs = zip(settings.keys, settings.values, strict=True) if isinstance(settings, ast.Dict) else ()
                named += [(key.value, value) for key, value in pairs if _is_text(key)]  # type: ignore[union-attr]
                if not isinstance(settings, ast.Dict) or not all(map(_is_text, settings.keys)):
                    self._refuse(keyword.value, f"{field}**")
        return {name: self.read(value, f"{field}{name}") for name, value in (*placed, *named)}

    def read_keys(self, call: ast.Call) -> list[str]:
        """The keys in a call that signs in, which are named and left out."""
        values = [(keyword.arg, self.evaluate(keyword.value)) for keyword in call.keywords if keyword.arg in _KEYS]
        found = [(name, value) for name, value in values if isinstance(value, str) and value]
        if found:
            names = ", ".join(str(name) for name, _ in found)
            message = Message("{names} are keys of the account, and are left out", names=names)
            hint = Message("store them with the profile: a spec holds none")
            self.findings.append(make_finding("job.secret", name_node(call.func), message, call.lineno, hint))
        return [value for _, value in found]

    def read(self, node: ast.expr, field: str, level: int = 0) -> Literal:
        """The value as a tree; what is computed becomes a finding."""
        target = self._look_up(node)
        if level > MOST_LEVELS:
            return self._refuse(node, field)
        if isinstance(target, ast.List | ast.Tuple):
            items = (self.read(item, f"{field}[{index}]", level + 1) for index, item in enumerate(target.elts))
            return Literal(tuple(items), node.lineno)
        if isinstance(target, ast.Dict):
            entries: dict[str, Literal] = {}
            for key, value in zip(target.keys, target.values, strict=True):
                name = self.evaluate(key) if key else None
                if isinstance(name, str):
                    entries[name] = self.read(value, f"{field}.{quote_key(name)}", level + 1)
                else:
                    self._refuse(key or value, field)
            return Literal(entries, node.lineno)
        part = name_node(target.func).rpartition(".")[2] if isinstance(target, ast.Call) else ""
        if isinstance(target, ast.Call) and part in _PARTS:
            return Literal(self.read_arguments(target, f"{field}.", _PARTS[part]), node.lineno)
        value = self.evaluate(node)
        if isinstance(value, SecretText):
            return Literal(SensitiveValue(), node.lineno)
        return self._refuse(node, field) if isinstance(value, NotLiteral) else Literal(value, node.lineno)

    def evaluate(self, node: ast.expr, level: int = 0) -> Any:
        """A plain value; NotLiteral for one that only running the script would give."""
        value = self._evaluate(self._look_up(node), level)
        is_named = isinstance(value, str | int | float) and not isinstance(value, bool)
        is_secret = is_named and is_likely_secret(name_node(node).rpartition(".")[2], str(value))
        return SecretText(value) if is_secret else value

    def _evaluate(self, node: ast.expr, level: int) -> Any:
        if level > MOST_LEVELS:
            return NotLiteral()
        if isinstance(node, ast.Constant):
            plain = node.value is None or isinstance(node.value, str | bool | int | float)
            return node.value if plain else NotLiteral()
        if isinstance(node, ast.JoinedStr):
            return self._join([self.evaluate(part, level + 1) for part in node.values])
        if isinstance(node, ast.FormattedValue) and node.format_spec is None and node.conversion in _PLAIN:
            return self.evaluate(node.value, level + 1)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.evaluate(node.operand, level + 1)
            return -value if isinstance(value, int | float) else NotLiteral()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = [self.evaluate(node.left, level + 1), self.evaluate(node.right, level + 1)]
            return self._join(parts) if all(isinstance(part, str) for part in parts) else NotLiteral()
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords and name_node(node.func) == "str":
            return self._join([self.evaluate(node.args[0], level + 1)])
        if isinstance(node, ast.Call) and name_node(node.func) in ("os.path.join", "posixpath.join"):
            parts = [self.evaluate(argument, level + 1) for argument in node.args]
            joined = self._join([f"{part}/" if isinstance(part, str) and part[-1:] != "/" else part for part in parts])
            is_directory = bool(parts) and isinstance(parts[-1], str) and parts[-1][-1:] in ("", "/")
            return joined if is_directory or isinstance(joined, NotLiteral) else joined.rstrip("/")
        return NotLiteral()

    def _look_up(self, node: ast.expr) -> ast.expr:
        """What a name stands for, if the script gives it one value."""
        for _ in range(MOST_LEVELS):
            value = self._names.get(name_node(node))
            if value is None:
                break
            node = value
        return node

    def _join(self, parts: list[Any]) -> str | NotLiteral:
        known = all(isinstance(part, str | bool | int | float) for part in parts)
        if not known:
            return NotLiteral()
        text = "".join(map(str, parts))
        return SecretText(text) if any(isinstance(part, SecretText) for part in parts) else text

    def _refuse(self, node: ast.expr, field: str) -> Literal:
        if field.rpartition(".")[2] not in ("session", "modelarts_session"):
            message = Message("is computed by the script, which is not executed")
            self.findings.append(
                make_finding("job.computed", field, message, node.lineno, Message("set it in the draft"))
            )
        return Literal(NotLiteral(), node.lineno)


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
