"""Names of a script: what each is given, and which of them have a value that more than one place decides."""

import ast
from collections.abc import Collection, Iterator

_CHANGES = frozenset(
    {"append", "extend", "insert", "update", "setdefault", "pop", "popitem", "remove", "clear", "sort", "reverse"}
)
_HARMLESS = frozenset(
    {"print", "pprint", "len", "str", "repr", "list", "tuple", "dict", "set", "sorted", "enumerate", "zip", "copy",
     "deepcopy", "dumps", "dump", "join", "format", "debug", "info", "warning", "error", "index", "count", "get"}
)  # fmt: skip
"""Functions that change no list or dictionary that they are given."""


def name_node(node: ast.AST) -> str:
    """A name such as `a.b`; empty for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id])) if isinstance(node, ast.Name) else ""


def iterate_named(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Values of plain assignments, in order, with their names."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(value, ast.expr):
            yield from ((name, value) for target in targets if target and (name := name_node(target)))


def find_unclear(tree: ast.Module, known: Collection[str]) -> set[str]:
    """Names that get a value by more than a plain assignment, or whose value is changed in place, also by another
    name for it, or by a function that may do so. `known`: functions that change nothing, by their last name."""
    changed = {*_iterate_changed(tree), *_iterate_given(tree, {*known, *_HARMLESS})}
    groups = [names for node in ast.walk(tree) if len(names := {*_iterate_shared(node)}) > 1]
    while more := {name for names in groups if names & changed for name in names} - changed:
        changed |= more
    return (changed - _find_plain(tree)) | {*_iterate_rebound(tree)}


def _find_plain(tree: ast.Module) -> set[str]:
    """Names of texts and numbers, which nothing changes in place."""
    plain: set[str] = set()
    for name, value in iterate_named(tree):
        is_plain = isinstance(value, ast.Constant | ast.JoinedStr) or name_node(value) in plain
        (plain.add if is_plain else plain.discard)(name)
    return plain


def _iterate_rebound(tree: ast.Module) -> Iterator[str]:
    statements = (node for node in ast.walk(tree) if not isinstance(node, ast.NamedExpr))
    plain = {id(target) for node in statements for target in _list_targets(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and not (isinstance(node.ctx, ast.Load) or id(node) in plain):
            yield name_node(node)


def _iterate_changed(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            yield from _iterate_held(node.func.value)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield from _iterate_held(node)
        elif isinstance(node, ast.AugAssign):
            yield from _iterate_held(node.target)


def _iterate_given(tree: ast.Module, harmless: Collection[str]) -> Iterator[str]:
    """Names that are given to functions of which nothing is known."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_node(node.func).rpartition(".")[2] not in harmless:
            for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from _iterate_held(value)


def _iterate_shared(node: ast.AST) -> Iterator[str]:
    """The names on both sides of an assignment or a loop: they may stand for one list."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield from (name for target in _list_targets(node) for name in _iterate_held(target))
        yield from _iterate_held(node.value)
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield from _iterate_held(node.target)
        yield from _iterate_held(node.iter)


def _iterate_held(node: ast.expr) -> Iterator[str]:
    """Names whose value an expression is, or holds."""
    if name := name_node(node):
        yield name
    elif isinstance(node, ast.Subscript | ast.Starred | ast.Attribute):
        yield from _iterate_held(node.value)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        yield from (name for item in node.elts for name in _iterate_held(item))
    elif isinstance(node, ast.Dict):
        yield from (name for item in node.values for name in _iterate_held(item))
    elif isinstance(node, ast.IfExp):
        yield from (name for item in (node.body, node.orelse) for name in _iterate_held(item))


def _list_targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign | ast.NamedExpr) else []
